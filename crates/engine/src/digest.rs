//! SHA-256 of what ran: the weights (beside the first prompt, or known already), the
//! architecture's text, the chat template, and the object that holds this code.

mod cache;

use std::{
    io::Read,
    path::Path,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

pub(crate) use cache::Cache;
use recinto_kernels::Stop;
use recinto_receipt::{Digest, Hasher, Held, Origin, Shard, Verdict, of_files, sha256};
use recinto_weights::File;
use serde::Serialize;

use crate::{
    error::{Error, Kind},
    open::Beside,
};

/// What ran, by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Digests {
    /// The whole model file; of a model in several files, what [`recinto_receipt::of_files`] makes
    /// of the digests in `shards`.
    pub weights: Digest,
    /// Whether the digest of the weights was computed now, or is known, of one file at least, from
    /// an earlier run.
    pub weights_origin: Origin,
    /// Each file of a model in several, in order; empty for a model in one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Shard>,
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
    /// What the model's store keeps beside it; empty for a file that no store keeps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// What was said of these parts, and whether it is so.
    pub claims: Vec<Verdict>,
}

/// The digests of all files' bytes, and how they came to be.
#[derive(Clone)]
pub(crate) struct Known {
    /// In the files' order.
    pub files: Vec<(Digest, Origin)>,
    /// Time spent on hashing.
    pub time: Duration,
}

impl Known {
    /// The digest of the model.
    pub fn digest(&self) -> Digest {
        let digests: Vec<Digest> = self.files.iter().map(|file| file.0).collect();
        of_files(&digests)
    }

    /// Computed, when every byte was hashed in this run.
    pub fn origin(&self) -> Origin {
        match self.files.iter().all(|file| file.1 == Origin::Computed) {
            true => Origin::Computed,
            false => Origin::Cached,
        }
    }
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
    tokenizer: OnceLock<Digest>,
    /// Whose turn it is; it only rises.
    turn: AtomicU8,
}

/// The first prompt is being read: a thread hashes with what that leaves over.
const BESIDE: u8 = 0;
/// It has been read: a thread hashes like any other.
const AFTER: u8 = 1;
/// Somebody waits, who hashes himself; or nobody will ever ask.
const OVER: u8 = 2;

/// One stream of bytes a file, one file after the other, taken up by whoever has the time.
struct Work {
    hasher: Hasher,
    /// Bytes of the first file without a digest that were hashed.
    at: usize,
    time: Duration,
    /// What is known, in the files' order.
    files: Vec<Option<(Digest, Origin)>>,
}

impl Work {
    /// The digests, if none is missing.
    fn done(&self) -> Option<Known> {
        let files = self.files.iter().copied().collect::<Option<Vec<_>>>()?;
        Some(Known { files, time: self.time })
    }
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
        let found = file.shards().iter().map(|shard| {
            let digest = cache.as_ref()?.find(&shard.identity()?)?;
            Some((digest, Origin::Cached))
        });
        let found = found.collect();
        let pending = Pending::new(file, cache, began, found, Duration::ZERO);
        if !pending.is_done() {
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
                shared.others();
                let _ = recinto_os::cpus::yield_to_others();
            }
            while shared.turn.load(Ordering::Relaxed) == turn && shared.step().is_none() {}
        };
        std::thread::Builder::new().name("recinto-digest".into()).spawn(work).map(drop)
    }

    /// Digests, one a file, that were computed while the files were copied, from `began` on.
    pub fn computed(
        file: &Arc<File>,
        cache: Option<Cache>,
        began: SystemTime,
        digests: Vec<Digest>,
        time: Duration,
    ) -> Pending {
        let done = digests.iter().map(|digest| Some((*digest, Origin::Computed))).collect();
        let pending = Pending::new(file, cache, began, done, time);
        for (shard, digest) in file.shards().iter().zip(digests) {
            pending.shared.keep(shard, digest);
        }
        pending
    }

    fn new(
        file: &Arc<File>,
        cache: Option<Cache>,
        began: SystemTime,
        files: Vec<Option<(Digest, Origin)>>,
        time: Duration,
    ) -> Pending {
        let work = Mutex::new(Work { hasher: Hasher::new(), at: 0, time, files });
        let (file, tokenizer) = (Arc::clone(file), OnceLock::new());
        let turn = AtomicU8::new(BESIDE);
        Pending { shared: Arc::new(Shared { file, cache, began, work, tokenizer, turn }) }
    }

    /// Whether it is there already.
    pub fn is_done(&self) -> bool {
        self.shared.work.lock().unwrap_or_else(PoisonError::into_inner).done().is_some()
    }

    /// The digest of the vocabulary.
    pub fn of_tokenizer(&self) -> Digest {
        self.shared.of_tokenizer()
    }

    /// Computes, on whatever thread calls it, the digests that a first receipt would wait for.
    pub fn others(&self) -> impl FnOnce() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.others()
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
    /// Hashes a little more; the digests when that was all.
    fn step(&self) -> Option<Known> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(current) = work.files.iter().position(Option::is_none) else {
            return work.done();
        };
        let began = Instant::now();
        let shard = self.file.shards().get(current)?;
        let bytes = shard.bytes();
        let end = work.at.saturating_add(STRIDE).min(bytes.len());
        let at = std::mem::replace(&mut work.at, end);
        work.hasher.update(&bytes[at..end]);
        work.time += began.elapsed();
        if end < bytes.len() {
            return None;
        }
        let digest = std::mem::replace(&mut work.hasher, Hasher::new()).finish();
        work.at = 0;
        // Before anybody gets it: who has the digest may end the process, and with it this thread.
        self.keep(shard, digest);
        work.files[current] = Some((digest, Origin::Computed));
        work.done()
    }

    /// Remembers a computed digest for later runs, where that is wanted and safe. A cache that
    /// cannot be written is no fault of the answer's.
    fn keep(&self, shard: &recinto_weights::Shard, digest: Digest) {
        let (Some(cache), Some(identity)) = (&self.cache, shard.identity()) else { return };
        if identity.settled(self.began, SETTLED) && shard.unchanged() {
            let _ = cache.keep(&identity, &digest);
        }
    }

    fn of_tokenizer(&self) -> Digest {
        *self.tokenizer.get_or_init(|| of_tokenizer(&self.file))
    }

    fn others(&self) {
        let _ = of_engine();
        self.of_tokenizer();
    }
}

/// SHA-256 of the vocabulary's entries, as [`Digests::tokenizer`] says.
pub(crate) fn of_tokenizer(file: &File) -> Digest {
    let vocabulary =
        |key: &str| key.starts_with("tokenizer.") && !key.starts_with("tokenizer.chat_template");
    let mut hasher = Hasher::new();
    file.metadata().stored(vocabulary).for_each(|entry| hasher.update(entry));
    hasher.finish()
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

/// A file's name without its folder, as receipts have it.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What records say of each file of a model in several; nothing for a model in one.
pub(crate) fn of_shards(file: &File, known: &Known) -> Vec<Shard> {
    let files = file.shards().iter().zip(&known.files);
    let files = files.map(|(shard, (digest, origin))| Shard {
        file: shard.path().map(name_of).unwrap_or_default(),
        size: shard.bytes().len() as u64,
        digest: *digest,
        digest_origin: *origin,
    });
    if known.files.len() > 1 { files.collect() } else { Vec::new() }
}
