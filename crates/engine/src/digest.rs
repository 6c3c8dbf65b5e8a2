//! SHA-256 of what ran: the mapped weights (beside the first prompt), the architecture's text,
//! the chat template, and the object that holds this code.

use std::{
    io::Read,
    sync::{
        Arc, Condvar, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use recinto_receipt::{Digest, Hasher, sha256};
use serde::Serialize;

use crate::{
    error::{Error, Kind},
    exec::Bound,
};

/// What ran, by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Digests {
    /// The whole model file, as mapped.
    pub weights: Digest,
    /// The arch file's text.
    pub architecture: Digest,
    /// The executable or shared library that holds the engine's code.
    pub engine: Digest,
    /// The chat template's source, where the model has one.
    pub template: Option<Digest>,
}

/// A digest that is being computed on a thread of its own.
pub(crate) struct Pending {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    done: Mutex<Option<(Digest, Duration)>>,
    ready: Condvar,
    cancelled: AtomicBool,
}

/// Bytes hashed between two looks at the cancel flag: under a millisecond.
const STRIDE: usize = 1 << 20;

impl Pending {
    /// Starts hashing the mapped file. The thread keeps the mapping alive, not the model.
    pub fn start(bound: &Arc<Bound>) -> Result<Pending, Error> {
        let shared = Arc::new(Shared::default());
        let (bound, for_thread) = (Arc::clone(bound), Arc::clone(&shared));
        let work = move || {
            let began = Instant::now();
            let mut hasher = Hasher::new();
            for chunk in bound.file.bytes().chunks(STRIDE) {
                if for_thread.cancelled.load(Ordering::Relaxed) {
                    return;
                }
                hasher.update(chunk);
            }
            let digest = hasher.finish();
            let mut done = for_thread.done.lock().unwrap_or_else(|e| e.into_inner());
            *done = Some((digest, began.elapsed()));
            for_thread.ready.notify_all();
        };
        std::thread::Builder::new()
            .name("recinto-digest".into())
            .spawn(work)
            .map_err(|_| Error::new(Kind::Machine, "no thread for the weights' digest"))?;
        Ok(Pending { shared })
    }

    /// The digest and the time it took; waits until it is there.
    pub fn wait(&self) -> (Digest, Duration) {
        let mut done = self.shared.done.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            if let Some(result) = *done {
                return result;
            }
            done = self.shared.ready.wait(done).unwrap_or_else(|e| e.into_inner());
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}

/// SHA-256 of a text.
pub(crate) fn of_text(text: &str) -> Digest {
    sha256(text.as_bytes())
}

/// The object that holds this function's code: the executable, or the shared library this
/// engine was loaded from. Hashed once a process.
pub(crate) fn of_engine() -> Result<Digest, Error> {
    static ENGINE: OnceLock<Result<Digest, String>> = OnceLock::new();
    let result = ENGINE.get_or_init(|| {
        let address = of_engine as *const () as usize;
        let read = || -> std::io::Result<Digest> {
            let mut file = recinto_os::code::object(address)?.open()?;
            let mut hasher = Hasher::new();
            let mut buffer = vec![0; STRIDE];
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(hasher.finish()),
                    n => hasher.update(&buffer[..n]),
                }
            }
        };
        read().map_err(|e| e.to_string())
    });
    result.clone().map_err(|e| {
        Error::new(Kind::Machine, format!("cannot read the object that holds the engine: {e}"))
    })
}
