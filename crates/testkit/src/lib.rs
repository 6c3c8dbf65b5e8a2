//! Tiny models and case tables for the tests; never published.
#![forbid(unsafe_code)]

pub mod gguf;
pub mod stores;

use std::path::PathBuf;

/// The folder with real models, named by `RECINTO_TEST_MODELS`; `None` when it is not set.
pub fn models() -> Option<PathBuf> {
    std::env::var_os("RECINTO_TEST_MODELS").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Says on standard output that `test` was not run, and why.
pub fn skipped(test: &str, reason: &str) {
    println!("skipped: {test}: {reason}");
}
