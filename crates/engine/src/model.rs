//! An opened model: file, program, vocabulary, template, and the machine it runs on.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use recinto_arch::{Archs, Options as CompileOptions, Origin, OutputKind, Program, compile};
use recinto_chat::Template;
use recinto_kernels::{Kernels, KvType, Machine, NUMERICS, Stop};
use recinto_receipt::{Hasher, Held};
use recinto_tokenizer::Tokenizer;
use recinto_weights::{Advice, File};
use serde::Serialize;

use crate::{
    ahead::Ahead,
    digest::{self, Cache, Digests, Known, Pending},
    error::{Error, Kind, guarded},
    exec::Bound,
    open::{OpenOptions, Pin, TemplateSource, Verify},
    order::Interleaved,
    session::{Session, SessionOptions, position_bytes},
};

/// An opened model: immutable, shareable, cheap to clone.
///
/// Its weights stay in the mapped file, unless [`Pin`] says otherwise. Opening starts the SHA-256
/// of that file on a thread of its own, which gives way to all others; [`Model::digests`] finishes
/// it.
#[derive(Clone)]
pub struct Model(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub bound: Arc<Bound>,
    pub tokenizer: Tokenizer,
    pub template: Option<Template>,
    pub template_text: Option<String>,
    pub path: PathBuf,
    pub name: String,
    pub lock_memory: bool,
    pub load: Duration,
    weights: Pending,
    /// Ends with the model, if it has not ended before.
    _ahead: Option<Ahead>,
    architecture: recinto_receipt::Digest,
}

/// What there is to know about an opened model, for people and programs.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// As asked for.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// Architecture's name.
    pub architecture: String,
    /// `built-in`, or the path of the arch file.
    pub architecture_origin: String,
    /// Storage types with their number of tensors.
    pub dtypes: Vec<(String, usize)>,
    /// Repeated layers.
    pub layers: usize,
    /// Trained context length, where the file states one.
    pub context: Option<u64>,
    /// Rows of the embedding table.
    pub vocabulary: usize,
    /// Vocabulary kind and pre-tokenizer.
    pub tokenizer: String,
    /// Whether the file carries a chat template.
    pub template: bool,
    /// The licence the file states.
    pub license: Option<String>,
    /// CPU level.
    pub level: &'static str,
    /// Threads that compute.
    pub threads: usize,
    /// Revision of the numbers.
    pub numerics: u32,
    /// Engine version.
    pub version: &'static str,
    /// Milliseconds that opening took, the digest apart.
    pub load_ms: f64,
    /// Where the weights lie.
    pub weights: Held,
    /// Bytes of keys and values a position, in the type a session has where none is asked for.
    pub kv_bytes_per_position: usize,
}

/// This engine's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Model {
    /// Opens the model in `path`: maps and checks the file, compiles its architecture, builds
    /// its vocabulary and its template. Nothing is copied but small tables, unless
    /// [`OpenOptions::pin`] asks for it.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Model, Error> {
        guarded(|| Model::build(path, options))
    }

    fn build(path: &Path, options: &OpenOptions) -> Result<Model, Error> {
        let began = Instant::now();
        let threads =
            options.threads.unwrap_or_else(|| recinto_os::cpus::limits(Path::new("/")).threads);
        let (file, weights) = weights(path, options, threads)?;
        let archs = match &options.arch_dir {
            Some(dir) => Archs::with_dir(dir)?,
            None => Archs::built_in(),
        };
        let arch = archs.find(&file)?;
        let settings = CompileOptions { allow_keys: options.allow_keys.clone() };
        let program = compile(arch, &file, &settings)?;
        if program.output.kind != OutputKind::Logits {
            let what = format!("architecture `{}` gives no logits to answer with", program.name);
            return Err(Error::new(Kind::Architecture, what));
        }
        let _ahead =
            (options.pin == Pin::Off && weights.is_done()).then(|| Ahead::start(&file, &program));
        let tokenizer = Tokenizer::from_metadata(file.metadata())?;
        let template_text = file.metadata().str("tokenizer.chat_template")?.map(str::to_owned);
        let template = match &template_text {
            Some(text) => {
                let piece = |id: Option<u32>| id.and_then(|id| tokenizer.piece(id)).unwrap_or("");
                Some(Template::new(text, piece(tokenizer.bos()), piece(tokenizer.eos()))?)
            }
            None => None,
        };
        let machine = machine(options, threads)?;
        let architecture = digest::of_text(&program.text);
        let bound = Arc::new(Bound::new(file, program, machine)?);
        let inner = Inner {
            tokenizer,
            template,
            template_text,
            path: path.to_owned(),
            name: options.name.clone().unwrap_or_else(|| path.display().to_string()),
            lock_memory: options.lock_memory,
            load: began.elapsed(),
            weights,
            _ahead,
            architecture,
            bound,
        };
        Ok(Model(Arc::new(inner)))
    }

    /// A new conversation's memory.
    pub fn session(&self, options: &SessionOptions) -> Result<Session, Error> {
        Session::new(self, options)
    }

    /// Text to ids and back.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.0.tokenizer
    }

    /// What the model computes.
    pub fn program(&self) -> &Program {
        &self.0.bound.program
    }

    /// The mapped file.
    pub fn file(&self) -> &File {
        &self.0.bound.file
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The chat template's source, where the model has one.
    pub fn template(&self) -> Option<&str> {
        self.0.template_text.as_deref()
    }

    /// Where the template comes from. One that [`OpenOptions::template`] gives in a language that
    /// is not interpreted leaves the file's own in its place.
    pub fn template_source(&self) -> TemplateSource {
        match self.0.template {
            Some(_) => TemplateSource::File,
            None => TemplateSource::None,
        }
    }

    /// Whether [`Model::digests`] has nothing left to compute of the weights.
    pub fn digests_are_known(&self) -> bool {
        self.0.weights.is_done()
    }

    /// SHA-256 of weights, architecture text, engine object and template; finishes the first,
    /// and fails when the file is no longer the one that was mapped.
    pub fn digests(&self) -> Result<Digests, Error> {
        Ok(self.timed_digests(&Stop::never())?.0)
    }

    /// Digests of the architecture's text and of the weights; waits for the second.
    pub(crate) fn identity(&self) -> Result<[recinto_receipt::Digest; 2], Error> {
        Ok([self.0.architecture, self.known(&Stop::never())?.digest])
    }

    /// The digest of the weights, waited for; refused when the file has changed meanwhile.
    fn known(&self, stop: &Stop) -> Result<Known, Error> {
        let weights = self.0.weights.wait(stop)?;
        self.whole()?;
        Ok(weights)
    }

    /// Refuses to go on when the file is no longer the one that was mapped.
    pub(crate) fn whole(&self) -> Result<(), Error> {
        if self.file().unchanged() {
            return Ok(());
        }
        let what = format!("{} changed while it was in use", self.0.path.display());
        Err(Error::new(Kind::Changed, what)
            .hint("start again; replace model files by renaming, never in place"))
    }

    /// Whether `bytes` more fit in what this process may still use.
    pub(crate) fn afford(&self, bytes: u64, what: &str) -> Result<(), Error> {
        afford(bytes, what, "a smaller context, a smaller block or a smaller model needs less")
    }

    /// The system gave no memory for a session, or would not lock it.
    pub(crate) fn no_memory(&self) -> Error {
        if !self.0.lock_memory {
            return Error::new(Kind::Memory, "no memory for keys and values")
                .hint("a smaller context or a smaller model needs less");
        }
        let limit = recinto_os::memory::lock_limit();
        let limit = limit.map_or("unlimited".into(), |bytes| format!("{} KiB", bytes / 1024));
        Error::new(Kind::Memory, format!("the system locks no more memory (limit: {limit})"))
            .hint("raise `ulimit -l`, or go without --lock-memory")
    }

    pub(crate) fn timed_digests(&self, stop: &Stop) -> Result<(Digests, Duration), Error> {
        let weights = self.known(stop)?;
        let digests = Digests {
            weights: weights.digest,
            weights_origin: weights.origin,
            weights_held: self.held(),
            architecture: self.0.architecture,
            engine: digest::of_engine()?,
            template: self.template().map(digest::of_text),
        };
        Ok((digests, weights.time))
    }

    /// A first prompt has been read.
    pub(crate) fn prompt_read(&self) {
        self.0.weights.prompt_read();
    }

    /// Where the weights lie.
    fn held(&self) -> Held {
        if self.file().is_pinned() { Held::Pinned } else { Held::Mapped }
    }

    /// What there is to know about the opened model.
    pub fn facts(&self) -> Facts {
        let (file, program) = (self.file(), self.program());
        let mut dtypes: Vec<(String, usize)> = Vec::new();
        for tensor in file.tensors() {
            let name = tensor.dtype.name();
            match dtypes.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => dtypes.push((name.to_owned(), 1)),
            }
        }
        let machine = &self.0.bound.machine;
        Facts {
            name: self.0.name.clone(),
            path: self.0.path.clone(),
            bytes: file.bytes().len() as u64,
            architecture: program.name.clone(),
            architecture_origin: match &program.origin {
                Origin::BuiltIn => "built-in".into(),
                Origin::File(path) => path.display().to_string(),
            },
            dtypes,
            layers: program.layers,
            context: program.context,
            vocabulary: program.vocabulary,
            tokenizer: {
                let description = self.0.tokenizer.describe();
                format!("{}/{}", description.model, description.pre)
            },
            template: self.0.template.is_some(),
            license: file.metadata().str("general.license").ok().flatten().map(str::to_owned),
            level: machine.kernels().level().name(),
            threads: machine.threads(),
            numerics: NUMERICS,
            version: VERSION,
            load_ms: self.0.load.as_secs_f64() * 1e3,
            weights: self.held(),
            kv_bytes_per_position: {
                let default = KvType::default();
                program.caches.iter().map(|shape| position_bytes(shape, default)).sum()
            },
        }
    }
}

/// Whether `bytes` fit in what this process may still use.
fn afford(bytes: u64, what: &str, hint: &str) -> Result<(), Error> {
    let Some(memory) = recinto_os::memory::memory(Path::new("/")) else { return Ok(()) };
    if bytes <= memory.available {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let (needed, available) = (mib(bytes), mib(memory.available));
    let what = format!("{what}: {needed} MiB needed, {available} available");
    Err(Error::new(Kind::Memory, what).hint(hint))
}

/// The file with its weights where they stay, and their digest, known or in the making.
fn weights(
    path: &Path,
    options: &OpenOptions,
    threads: usize,
) -> Result<(Arc<File>, Pending), Error> {
    let file = File::open(path)?;
    let cache = match options.verify {
        Verify::Cached => options.digest_cache.clone().map(Cache::new),
        Verify::Always => None,
    };
    if options.pin == Pin::Off {
        // Whatever is not cached yet is read ahead.
        file.advise(Advice::WillNeed);
        let file = Arc::new(file);
        let pending = Pending::start(&file, cache)?;
        return Ok((file, pending));
    }
    let bytes = file.bytes().len() as u64;
    let hint = "without `--pin memory` the file is used where it lies, or take a smaller model";
    afford(bytes, "a copy of the weights", hint)?;
    let (started, began) = (SystemTime::now(), Instant::now());
    let mut hasher = Hasher::new();
    let file = file.pin(threads, &Interleaved, &mut |bytes| {
        hasher.update(bytes);
        ControlFlow::Continue(())
    })?;
    let file = Arc::new(file);
    let digest = hasher.finish();
    let pending = Pending::computed(&file, cache, started, digest, began.elapsed());
    Ok((file, pending))
}

/// The level and the threads to compute with.
fn machine(options: &OpenOptions, threads: usize) -> Result<Machine, Error> {
    let kernels = match options.level {
        None => Kernels::detect(),
        Some(level) => Kernels::at(level).ok_or_else(|| {
            let known: Vec<&str> = Kernels::available().iter().map(|k| k.level().name()).collect();
            Error::new(Kind::Machine, format!("this CPU has no level `{}`", level.name()))
                .hint(format!("it has: {}", known.join(", ")))
        })?,
    };
    if options.threads.is_some() && !(1..=1024).contains(&threads) {
        let what = format!("{threads} threads asked for; 1 to 1024 are allowed");
        return Err(Error::new(Kind::Machine, what));
    }
    Ok(Machine::new(kernels, threads))
}
