//! An opened model: file, program, vocabulary, template, and the machine it runs on.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use recinto_arch::{Archs, Options as CompileOptions, Origin, OutputKind, Program, compile};
use recinto_kernels::{DType, Kernels, KvType, Machine, NUMERICS, Stop};
use recinto_receipt::{Claimant, Digest, Hasher, Held, Part, Verdict};
use recinto_tokenizer::Tokenizer;
use recinto_weights::{Advice, File};
use serde::Serialize;

use crate::{
    ahead::Ahead,
    claim::{self, Claim},
    digest::{self, Cache, Digests, Known, Pending},
    error::{Error, Kind, guarded},
    exec::Bound,
    need::{Need, mib_above},
    open::{Beside, OpenOptions, Pin, TemplateSource, Verify},
    order::Interleaved,
    quantize::Precision,
    session::{Session, SessionOptions, position_bytes},
    templates::Chosen,
    watch::Watch,
};

/// An opened model: immutable, shareable, cheap to clone.
///
/// Its weights stay in the mapped file, unless [`Pin`] says otherwise. Opening starts the SHA-256
/// of that file on a thread of its own, which gives way to all others; [`Model::digests`] finishes
/// it.
///
/// A file that changes or is replaced while it is open makes replies fail. One that is cut short
/// makes the next read of a lost page raise SIGBUS: the library handles no signals, so this is the
/// host's affair (`docs/unsafe.md`), unless the weights are a copy.
#[derive(Clone)]
pub struct Model(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub bound: Arc<Bound>,
    pub tokenizer: Tokenizer,
    pub template: Chosen,
    pub path: PathBuf,
    pub name: String,
    pub lock_memory: bool,
    pub build: Option<&'static str>,
    pub load: Duration,
    weights: Pending,
    need: Need,
    /// Ends with the model, if it has not ended before.
    _ahead: Option<Ahead>,
    architecture: Digest,
    claims: Vec<Claim>,
    beside: Vec<Beside>,
    allow_mismatch: bool,
    watch: Watch,
    /// Whether every claim was found to hold.
    vouched: AtomicBool,
}

/// What there is to know about an opened model, for people and programs.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// As asked for.
    pub name: String,
    /// The file; of several, the first one.
    pub path: PathBuf,
    /// Files of the model.
    pub files: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Architecture's name.
    pub architecture: String,
    /// `built-in`, or the path of the arch file.
    pub architecture_origin: String,
    /// What matrix products are computed in: `f32` or `int8`.
    pub precision: Precision,
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
    /// Memory that was asked for before anything was loaded.
    pub need: Need,
    /// What the files do not say and is assumed, and what is unusual about the vocabulary; one line
    /// each.
    pub notes: Vec<String>,
}

/// This engine's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Model {
    /// Opens the model in `path`: maps and checks the file, compiles its architecture, compares
    /// what it needs with the memory that is free, builds its vocabulary and its template. Nothing
    /// is copied but small tables, unless [`OpenOptions::pin`] asks for it.
    ///
    /// A path to one shard of a model in several files opens all of them, which must lie beside
    /// it under names that end in `-00001-of-00003.gguf` and the like.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Model, Error> {
        Model::open_files(std::slice::from_ref(&path.to_owned()), options)
    }

    /// The same of a model in the files `paths`: one, or all its shards in their order. Their names
    /// need not tell anything.
    pub fn open_files(paths: &[PathBuf], options: &OpenOptions) -> Result<Model, Error> {
        guarded(|| Model::build(paths, options, Reads::Along))
    }

    /// The same of a model that writes or of one that reads whole texts ([`Encoder`]), for who only
    /// asks what it is: its facts, its digests. No session can be made of an encoder.
    ///
    /// [`Encoder`]: crate::Encoder
    ///
    /// # Errors
    ///
    /// As [`Model::open`].
    pub fn open_any(paths: &[PathBuf], options: &OpenOptions) -> Result<Model, Error> {
        guarded(|| Model::build(paths, options, Reads::Either))
    }

    /// A model that reads in the way that is `wanted`.
    pub(crate) fn build(
        paths: &[PathBuf],
        options: &OpenOptions,
        wanted: Reads,
    ) -> Result<Model, Error> {
        let began = Instant::now();
        let threads =
            options.threads.unwrap_or_else(|| recinto_os::cpus::limits(Path::new("/")).threads);
        let archs = match &options.arch_dir {
            Some(dir) => Archs::with_dir(dir)?,
            None => Archs::built_in(),
        };
        let file = File::open_all(paths)?;
        let mut program = compiled(&archs, &file, options, wanted)?;
        // From the header alone: what does not fit is refused before it is read.
        let need = Need::of(&file, &program, options)?;
        if !options.any_size {
            need.fits(Path::new("/"))?;
            need.fills(&file)?;
        }
        let (file, weights) = weights(file, options, threads)?;
        if options.pin == Pin::Memory {
            // Nothing that was read through the mapping counts any more.
            program = compiled(&archs, &file, options, wanted)?;
        }
        let _ahead = (options.pin == Pin::Off && weights.is_done())
            .then(|| Ahead::start(&file, &program, weights.others()));
        let tokenizer = Tokenizer::with_rows(file.metadata(), program.vocabulary)?;
        let template = Chosen::find(&file, &tokenizer, options.template.as_ref())?;
        let machine = machine(options, threads, &file)?;
        let architecture = digest::of_text(&program.text);
        let path = file.shards()[0].path().unwrap_or(Path::new("")).to_owned();
        let asked = paths.first().unwrap_or(&path);
        let bound = Arc::new(Bound::new(file, program, machine)?);
        let inner = Inner {
            tokenizer,
            template,
            name: options.name.clone().unwrap_or_else(|| asked.display().to_string()),
            path,
            need,
            lock_memory: options.lock_memory,
            build: options.build,
            load: began.elapsed(),
            weights,
            _ahead,
            architecture,
            claims: options.claims.clone(),
            beside: options.beside.clone(),
            allow_mismatch: options.allow_mismatch,
            watch: Watch::new(),
            vouched: AtomicBool::new(options.claims.is_empty()),
            bound,
        };
        let model = Model(Arc::new(inner));
        match model.0.weights.is_done() {
            true => model.vouch(&Stop::never())?,
            // What is known without the weights' digest need not wait for it.
            false => model.judge(None).map(drop)?,
        }
        Ok(model)
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

    /// The mapped file, or files.
    pub fn file(&self) -> &File {
        &self.0.bound.file
    }

    /// The file's path; of several files, the first one's.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The arch file, where it is none of the built-in ones.
    pub fn arch_file(&self) -> Option<&Path> {
        match &self.program().origin {
            Origin::BuiltIn => None,
            Origin::File(path) => Some(path),
        }
    }

    /// The chat template's source, where the model has one.
    pub fn template(&self) -> Option<&str> {
        self.0.template.text.as_deref()
    }

    /// The chat template, to render with.
    pub(crate) fn chat_template(&self) -> Option<&recinto_chat::Template> {
        self.0.template.template.as_ref()
    }

    /// Where the template comes from. One of [`OpenOptions::template`] that cannot be carried out
    /// leaves the file's own in its place; see [`Model::template_refused`].
    pub fn template_source(&self) -> TemplateSource {
        self.0.template.source
    }

    /// Why the template of [`OpenOptions::template`] is not in use, where there is one.
    pub fn template_refused(&self) -> Option<&str> {
        self.0.template.refused.as_deref()
    }

    /// SHA-256 of weights, architecture text, engine object, template and tokenizer; finishes the
    /// first, and fails when the file is no longer the one that was mapped or a claim is false.
    pub fn digests(&self) -> Result<Digests, Error> {
        self.digests_until(&Stop::never())
    }

    /// The same, given up when `stop` says so: of a large file that is new here it takes seconds.
    ///
    /// # Errors
    ///
    /// As [`Model::digests`]; and `stop`.
    pub fn digests_until(&self, stop: &Stop) -> Result<Digests, Error> {
        Ok(self.timed_digests(stop)?.0)
    }

    /// Digests of the architecture's text and of the weights; waits for the second.
    pub(crate) fn identity(&self) -> Result<[Digest; 2], Error> {
        Ok([self.0.architecture, self.known(&Stop::never())?.0.digest()])
    }

    /// The digest of the weights, waited for, and what comes of the claims; refused when the file
    /// has changed meanwhile, or when a claim does not hold.
    fn known(&self, stop: &Stop) -> Result<(Known, Vec<Verdict>), Error> {
        let weights = self.0.weights.wait(stop)?;
        self.whole()?;
        let verdicts = self.judge(Some(&weights))?;
        Ok((weights, verdicts))
    }

    /// Waits, where there are claims, until it is known that all of them hold. Before that nothing
    /// that was computed from the weights may leave.
    pub(crate) fn vouch(&self, stop: &Stop) -> Result<(), Error> {
        if !self.0.vouched.load(Ordering::Relaxed) {
            self.known(stop)?;
            self.0.vouched.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Holds the claims against what is there; without the weights' digests, those of other parts.
    fn judge(&self, weights: Option<&Known>) -> Result<Vec<Verdict>, Error> {
        let mut claims: Vec<Claim> = self.0.claims.clone();
        claims.retain(|claim| claim.part != Part::Weights || weights.is_some());
        let files = weights.map_or(&[][..], |known| &known.files);
        // A lock that names fewer files than there are says that the others are not there.
        let locked = |claim: &&Claim| claim.by == Claimant::Lock && claim.part == Part::Weights;
        if let named @ 1.. = claims.iter().filter(locked).count() {
            let by = Claimant::Lock;
            let missing = (named..files.len()).map(|file| Claim {
                by,
                part: Part::Weights,
                file,
                digest: None,
            });
            claims.extend(missing);
        }
        let found = |claim: &Claim| match claim.part {
            Part::Weights => files.get(claim.file).map(|(digest, _)| *digest),
            Part::Tokenizer => Some(self.0.weights.of_tokenizer()),
            Part::Template => self.template().map(digest::of_text),
            Part::Architecture => Some(self.0.architecture),
            part => claim::of_store(&self.0.beside, part),
        };
        claim::judge(&self.0.name, claims.iter(), found, self.0.allow_mismatch)
    }

    /// Refuses to go on when the file is no longer as it was when it was mapped, or no longer the
    /// one of its name. Replies, scores and encoders' readings ask it at their end; who feeds a
    /// session by hand asks it before anything leaves.
    ///
    /// # Errors
    ///
    /// [`Kind::Changed`].
    pub fn whole(&self) -> Result<(), Error> {
        if self.file().unchanged() {
            return Ok(());
        }
        let what = format!("{} changed or was replaced while it was in use", self.0.path.display());
        Err(Error::new(Kind::Changed, what)
            .hint("start again, when nobody writes to it; `--pin memory` runs from a copy"))
    }

    /// The same now and then: before each pass over the weights, looked at where it is time.
    pub(crate) fn still_whole(&self) -> Result<(), Error> {
        if self.0.watch.due() { self.whole() } else { Ok(()) }
    }

    /// Whether `bytes` more fit in what this process may still use.
    pub(crate) fn afford(&self, bytes: u64, what: &str) -> Result<(), Error> {
        let Some(memory) = recinto_os::memory::memory(Path::new("/")) else { return Ok(()) };
        if bytes <= memory.available {
            return Ok(());
        }
        let (needed, available) = (mib_above(bytes), mib_above(memory.available));
        let what = format!("{what}: {needed} MiB needed, {available} available");
        let hint = "a smaller context, a smaller block or a smaller model needs less";
        Err(Error::new(Kind::Memory, what).hint(hint))
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
        let (weights, claims) = self.known(stop)?;
        let digests = Digests {
            weights: weights.digest(),
            weights_origin: weights.origin(),
            shards: digest::of_shards(self.file(), &weights),
            weights_held: self.held(),
            architecture: self.0.architecture,
            engine: digest::of_engine()?,
            template: self.template().map(digest::of_text),
            tokenizer: self.0.weights.of_tokenizer(),
            beside: self.0.beside.clone(),
            claims,
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

    /// What the files do not say and is assumed, then what is unusual about the vocabulary; one
    /// line each.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let assumed = self.program().notes.iter().chain(self.tokenizer().notes());
        assumed.map(String::as_str)
    }

    /// Memory that was asked for before anything was loaded.
    pub fn need(&self) -> &Need {
        &self.0.need
    }

    /// In what its matrix products are computed.
    pub fn precision(&self) -> Precision {
        Precision::of(self.program(), self.file())
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
            files: file.shards().len(),
            bytes: file.size(),
            architecture: program.name.clone(),
            architecture_origin: match &program.origin {
                Origin::BuiltIn => "built-in".into(),
                Origin::File(path) => path.display().to_string(),
            },
            precision: self.precision(),
            dtypes,
            layers: program.layers,
            context: program.context,
            vocabulary: program.vocabulary,
            tokenizer: {
                let description = self.0.tokenizer.describe();
                format!("{}/{}", description.model, description.pre)
            },
            template: self.template().is_some(),
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
            need: self.0.need.clone(),
            notes: self.notes().map(str::to_owned).collect(),
        }
    }
}

/// How a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Token after token, and writes on.
    Along,
    /// Whole texts.
    Whole,
    /// In one of these ways.
    Either,
}

/// The program for `file`, which must be one that reads as is wanted.
fn compiled(
    archs: &Archs,
    file: &File,
    options: &OpenOptions,
    wanted: Reads,
) -> Result<Program, Error> {
    let settings = CompileOptions { allow_keys: options.allow_keys.clone() };
    let program = compile(archs.find(file)?, file, &settings)?;
    let refused = |what: &str, hint: &str| {
        let what = format!("architecture `{}` {what}", program.name);
        Err(Error::new(Kind::Architecture, what).hint(hint))
    };
    let answers = program.output.kind == OutputKind::Logits && !program.whole;
    match wanted {
        Reads::Either if answers || program.whole => Ok(program),
        Reads::Along | Reads::Either if !answers => refused(
            "gives no logits to answer with",
            "an encoder is for `embed`, or for `judge` with the judge provider `laya`",
        ),
        Reads::Whole if !program.whole => {
            refused("writes texts and is no encoder", "`ask` and `chat` are for it")
        }
        _ => Ok(program),
    }
}

/// The file with its weights where they stay, and its digests, known or in the making.
fn weights(
    file: File,
    options: &OpenOptions,
    threads: usize,
) -> Result<(Arc<File>, Pending), Error> {
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
    let (started, began) = (SystemTime::now(), Instant::now());
    let mut hashers = vec![Hasher::new(); file.shards().len()];
    let file = file.pin(threads, &Interleaved, &mut |shard, bytes| {
        hashers[shard].update(bytes);
        ControlFlow::Continue(())
    })?;
    let file = Arc::new(file);
    let digests = hashers.into_iter().map(Hasher::finish).collect();
    let pending = Pending::computed(&file, cache, started, digests, began.elapsed());
    Ok((file, pending))
}

/// The level and the threads to compute with on the tensors of `file`.
fn machine(options: &OpenOptions, threads: usize, file: &File) -> Result<Machine, Error> {
    let mut types: Vec<DType> = Vec::new();
    for tensor in file.tensors() {
        if !types.contains(&tensor.dtype) {
            types.push(tensor.dtype);
        }
    }
    let kernels = match options.level {
        None => Kernels::detect_for(&types),
        Some(level) => Kernels::at_for(level, &types).ok_or_else(|| {
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
