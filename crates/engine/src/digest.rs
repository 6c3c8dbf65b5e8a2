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

use recinto_kernels::Stop;
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
    /// The outer one: finished or not; the inner one: `None` when the thread failed.
    done: Mutex<Option<Option<(Digest, Duration)>>>,
    ready: Condvar,
    cancelled: AtomicBool,
}

/// Bytes hashed between two looks at the cancel flag: under a millisecond.
const STRIDE: usize = 1 << 20;

impl Pending {
    /// Starts hashing the mapped file. The thread keeps the mapping alive, not the model.
    pub fn start(bound: &Arc<Bound>) -> Result<Pending, Error> {
        let shared = Arc::new(Shared::default());
        let (bound, report) = (Arc::clone(bound), Report(Arc::clone(&shared), None));
        let work = move || {
            let mut report = report;
            let began = Instant::now();
            let mut hasher = Hasher::new();
            for chunk in bound.file.bytes().chunks(STRIDE) {
                if report.0.cancelled.load(Ordering::Relaxed) {
                    return;
                }
                hasher.update(chunk);
            }
            report.1 = Some((hasher.finish(), began.elapsed()));
        };
        std::thread::Builder::new()
            .name("recinto-digest".into())
            .spawn(work)
            .map_err(|_| Error::new(Kind::Machine, "no thread for the weights' digest"))?;
        Ok(Pending { shared })
    }

    /// The digest and the time it took; waits until it is there, or a little longer than `stop`
    /// allows.
    pub fn wait(&self, stop: &Stop) -> Result<(Digest, Duration), Error> {
        let mut done = self.shared.done.lock().unwrap_or_else(|e| e.into_inner());
        let mut late = None;
        loop {
            if let Some(result) = *done {
                return result.ok_or_else(|| {
                    Error::new(Kind::Internal, "the digest of the weights could not be finished")
                });
            }
            if stop.stopped() && *late.get_or_insert_with(Instant::now) + GRACE < Instant::now() {
                let kind = if stop.cancelled() { Kind::Cancelled } else { Kind::Deadline };
                let what = "stopped before the digest of the weights was finished";
                return Err(Error::new(kind, what).hint("no reply is given without it"));
            }
            let woken = self.shared.ready.wait_timeout(done, LOOK);
            done = woken.unwrap_or_else(|e| e.into_inner()).0;
        }
    }
}

/// How often a waiting reply looks whether it should stop, and how long it waits after that.
const LOOK: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_millis(100);

/// Tells the waiting ones, also when the thread ends early.
struct Report(Arc<Shared>, Option<(Digest, Duration)>);

impl Drop for Report {
    fn drop(&mut self) {
        *self.0.done.lock().unwrap_or_else(|e| e.into_inner()) = Some(self.1);
        self.0.ready.notify_all();
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
