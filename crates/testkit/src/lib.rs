//! Tiny models and case tables for the tests; never published.
#![forbid(unsafe_code)]

pub mod gguf;
pub mod service;
pub mod stores;

use std::path::{Path, PathBuf};

/// The folder with real models, named by `RECINTO_TEST_MODELS`; `None` when it is not set.
pub fn models() -> Option<PathBuf> {
    std::env::var_os("RECINTO_TEST_MODELS").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Says on standard output that `test` was not run, and why.
pub fn skipped(test: &str, reason: &str) {
    println!("skipped: {test}: {reason}");
}

/// Runs `work` as a user who is bound by the modes of files, on a thread of its own: root reads
/// whatever it likes.
pub fn as_ordinary_user(work: impl FnOnce() + Send) {
    let ordinary = || {
        if rustix::process::geteuid().is_root() {
            // Nobody's number everywhere; the change holds for this thread alone and for good.
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_uid(nobody).expect("root may become nobody");
        }
        work();
    };
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(ordinary).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Whether `part`, which is not empty, stands somewhere in `bytes`. Here, because this crate is
/// optimised where tests are not.
pub fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Writes a file of a model anew: the one before it may still be mapped, by who computes its
/// digest.
pub fn write_anew(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).expect("a place that can be written");
}
