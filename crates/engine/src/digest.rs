//! SHA-256 of what ran: the weights (beside the first prompt, or known already), the
//! architecture's text, the chat template, and the object that holds this code.

mod cache;

use std::{
    io::Read,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

pub(crate) use cache::Cache;
use recinto_kernels::Stop;
use recinto_receipt::{Digest, Hasher, Held, Origin, Verdict, sha256};
use recinto_weights::{File, Metadata};
use serde::Serialize;

use crate::error::{Error, Kind};

/// What ran, by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Digests {
    /// The whole model file.
    pub weights: Digest,
    /// Whether the digest of the weights was computed now, or is known from an earlier run.
    pub weights_origin: Origin,
    /// Where the weights lie that computed.
    pub weights_held: Held,
    /// The arch file's text.
    pub architecture: Digest,
    /// The executable or shared library that holds the engine's code.
    pub engine: Digest,
    /// The chat template's source, where the model has one.
    pub template: Option<Digest>,
    /// The tokenizer: the entries of the model file whose keys begin with `tokenizer.`, chat
    /// templates apart, as they are stored, one after the other.
    pub tokenizer: Digest,
    /// What was said of these parts, and whether it is so.
    pub claims: Vec<Verdict>,
}

/// The digest of a file's bytes, and how it came to be.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub digest: Digest,
    pub origin: Origin,
    /// Time spent on hashing.
    pub time: Duration,
}

/// The digest of the weights: there already, or being computed beside the rest.
pub(crate) struct Pending {
    shared: Arc<Shared>,
}

struct Shared {
    file: Arc<File>,
    /// Where a computed digest is kept for later runs.
    cache: Option<Cache>,
    began: SystemTime,
    work: Mutex<Work>,
    /// Whose turn it is; it only rises.
    turn: AtomicU8,
}

/// The first prompt is being read: a thread hashes with what that leaves over.
const BESIDE: u8 = 0;
/// It has been read: a thread hashes like any other.
const AFTER: u8 = 1;
/// Somebody waits, who hashes himself; or nobody will ever ask.
const OVER: u8 = 2;

/// One stream of bytes, taken up by whoever has the time.
struct Work {
    hasher: Hasher,
    at: usize,
    time: Duration,
    done: Option<Known>,
}

/// Bytes hashed at one go: the longest that one thread waits for the other.
const STRIDE: usize = 1 << 18;

/// A state of a file that is younger than this is not kept: a later write could leave it as it
/// is, since clocks of file systems go in steps of up to two seconds.
const SETTLED: Duration = Duration::from_secs(2);

/// How long a reply that should stop still waits for the digest.
const GRACE: Duration = Duration::from_millis(100);

impl Pending {
    /// The digest of `file`: from `cache` where it is known, else by a thread of its own, which
    /// keeps the mapping alive, not the model.
    pub fn start(file: &Arc<File>, cache: Option<Cache>) -> Result<Pending, Error> {
        let began = SystemTime::now();
        let identity = file.identity();
        let found = cache.as_ref().zip(identity).and_then(|(cache, id)| cache.find(&id));
        let done =
            found.map(|digest| Known { digest, origin: Origin::Cached, time: Duration::ZERO });
        let pending = Pending::new(file, cache, began, done);
        if done.is_none() {
            pending
                .spawn(BESIDE)
                .map_err(|_| Error::new(Kind::Machine, "no thread for the weights' digest"))?;
        }
        Ok(pending)
    }

    /// The first prompt has been read: the digest need no longer stand back. A low priority cannot
    /// be taken back, so another thread takes the stream over.
    pub fn prompt_read(&self) {
        let turn = &self.shared.turn;
        let mine = turn.compare_exchange(BESIDE, AFTER, Ordering::Relaxed, Ordering::Relaxed);
        if mine.is_ok() && !self.is_done() {
            // Without a thread the one who waits does it all.
            let _ = self.spawn(AFTER);
        }
    }

    fn spawn(&self, turn: u8) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let work = move || {
            if turn == BESIDE {
                let _ = of_engine();
                let _ = recinto_os::cpus::yield_to_others();
            }
            while shared.turn.load(Ordering::Relaxed) == turn && shared.step().is_none() {}
        };
        std::thread::Builder::new().name("recinto-digest".into()).spawn(work).map(drop)
    }

    /// A digest that was computed while the file was copied, from `began` on.
    pub fn computed(
        file: &Arc<File>,
        cache: Option<Cache>,
        began: SystemTime,
        digest: Digest,
        time: Duration,
    ) -> Pending {
        let done = Known { digest, origin: Origin::Computed, time };
        let pending = Pending::new(file, cache, began, Some(done));
        pending.shared.keep(digest);
        pending
    }

    fn new(
        file: &Arc<File>,
        cache: Option<Cache>,
        began: SystemTime,
        done: Option<Known>,
    ) -> Pending {
        let work = Work { hasher: Hasher::new(), at: 0, time: Duration::ZERO, done };
        let (work, turn) = (Mutex::new(work), AtomicU8::new(BESIDE));
        Pending { shared: Arc::new(Shared { file: Arc::clone(file), cache, began, work, turn }) }
    }

    /// Whether it is there already.
    pub fn is_done(&self) -> bool {
        self.shared.work.lock().unwrap_or_else(PoisonError::into_inner).done.is_some()
    }

    /// The digest; computes the rest of it, or gives up a little after `stop` says so.
    pub fn wait(&self, stop: &Stop) -> Result<Known, Error> {
        self.shared.turn.store(OVER, Ordering::Relaxed);
        let mut late = None;
        loop {
            if let Some(known) = self.shared.step() {
                return Ok(known);
            }
            if stop.stopped() && *late.get_or_insert_with(Instant::now) + GRACE < Instant::now() {
                let kind = if stop.cancelled() { Kind::Cancelled } else { Kind::Deadline };
                let what = "stopped before the digest of the weights was finished";
                return Err(Error::new(kind, what).hint("no reply is given without it"));
            }
        }
    }
}

impl Shared {
    /// Hashes a little more; the digest when that was all.
    fn step(&self) -> Option<Known> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if work.done.is_some() {
            return work.done;
        }
        let began = Instant::now();
        let bytes = self.file.bytes();
        let end = work.at.saturating_add(STRIDE).min(bytes.len());
        let at = std::mem::replace(&mut work.at, end);
        work.hasher.update(&bytes[at..end]);
        work.time += began.elapsed();
        if end < bytes.len() {
            return None;
        }
        let digest = work.hasher.clone().finish();
        // Before anybody gets it: who has the digest may end the process, and with it this thread.
        self.keep(digest);
        work.done = Some(Known { digest, origin: Origin::Computed, time: work.time });
        work.done
    }

    /// Remembers a computed digest for later runs, where that is wanted and safe. A cache that
    /// cannot be written is no fault of the answer's.
    fn keep(&self, digest: Digest) {
        let (Some(cache), Some(identity)) = (&self.cache, self.file.identity()) else { return };
        if identity.settled(self.began, SETTLED) && self.file.unchanged() {
            let _ = cache.keep(&identity, &digest);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.shared.turn.store(OVER, Ordering::Relaxed);
    }
}

/// SHA-256 of a text.
pub(crate) fn of_text(text: &str) -> Digest {
    sha256(text.as_bytes())
}

/// SHA-256 of the tokenizer, as [`Digests::tokenizer`] says.
pub(crate) fn of_tokenizer(metadata: Metadata<'_>) -> Digest {
    let wanted =
        |key: &str| key.starts_with("tokenizer.") && !key.starts_with("tokenizer.chat_template");
    let mut hasher = Hasher::new();
    metadata.stored(wanted).for_each(|entry| hasher.update(entry));
    hasher.finish()
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
