//! Flags that every command with a model has, and opening it.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use recinto_arch::Archs;
use recinto_engine::{Facts, OpenOptions, Reply, SessionOptions};
use recinto_provider::{EnvFile, Flags, Local, Name, Settings, digest_cache};
use recinto_tokenizer::Tokenizer;

use crate::{failure::Failure, screen::Screen, write::Target};

/// Which model, and what it runs on.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// The model: a path to a .gguf file [variable: RECINTO_MODEL]
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,

    /// Who answers [variable: RECINTO_PROVIDER] [default: local]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// Read settings from this file instead of ./.env
    #[arg(long, value_name = "FILE", conflicts_with = "no_env_file")]
    pub env_file: Option<PathBuf>,

    /// Do not read a .env file
    #[arg(long)]
    pub no_env_file: bool,

    /// A folder whose .arch files add to the built-in ones or replace them
    /// [variable: RECINTO_ARCH_DIR]
    #[arg(long, value_name = "FOLDER")]
    pub arch_dir: Option<String>,

    /// Let this metadata key pass although the architecture does not read it; repeatable
    #[arg(long, value_name = "KEY")]
    pub allow_key: Vec<String>,

    /// Threads that compute [variable: RECINTO_THREADS] [default: cores this process may use]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<String>,

    /// CPU level: portable, avx2, avx-vnni, avx512, avx512-vnni [variable: RECINTO_LEVEL]
    /// [default: the best]
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<String>,

    /// Where the weights lie: off (in the mapped file), memory (in a private copy, hashed before
    /// the first token) [variable: RECINTO_PIN] [default: off]
    #[arg(long, value_name = "WHERE")]
    pub pin: Option<String>,

    /// Which digests of the weights count: cached (known for this very file from an earlier run),
    /// always (computed now) [variable: RECINTO_VERIFY] [default: cached]
    #[arg(long, value_name = "WHEN")]
    pub verify: Option<String>,

    /// How keys and values are stored: bf16, f16, q8_0 (half the memory, coarser; other bits)
    /// [variable: RECINTO_KV] [default: bf16]
    #[arg(long, value_name = "TYPE")]
    pub kv: Option<String>,

    /// What models must be: the lock file to go by, or none [variable: RECINTO_LOCK]
    /// [default: ./recinto.lock, if it is there]
    #[arg(long, value_name = "FILE", conflicts_with = "no_lock")]
    pub lock: Option<String>,

    /// Go by no lock file
    #[arg(long)]
    pub no_lock: bool,

    /// Use a file also where its store says that it has other bytes
    #[arg(long)]
    pub allow_mismatch: bool,

    /// Keep text, token ids, keys and values out of the swap
    #[arg(long)]
    pub lock_memory: bool,

    /// Open the model even if it does not fit in the memory that is free
    #[arg(long)]
    pub any_size: bool,
}

impl ModelArgs {
    /// Every setting with its source.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let env_file = match (&self.env_file, self.no_env_file) {
            (_, true) => EnvFile::Ignored,
            (Some(path), _) => EnvFile::At(path.clone()),
            (None, _) => EnvFile::Here,
        };
        let flags = Flags {
            provider: self.provider.clone(),
            model: self.model.clone(),
            arch_dir: self.arch_dir.clone(),
            threads: self.threads.clone(),
            level: self.level.clone(),
            pin: self.pin.clone(),
            verify: self.verify.clone(),
            kv: self.kv.clone(),
            lock: if self.no_lock { Some("none".into()) } else { self.lock.clone() },
            env_file,
        };
        Ok(Settings::resolve(&flags)?)
    }

    /// Opens the model of `settings`.
    pub fn open_with(&self, settings: &Settings) -> Result<Local, Failure> {
        self.open_for(settings, SessionOptions::default())
    }

    /// The same for sessions such as `session`, whose memory is asked for with the model's.
    pub fn open_for(&self, settings: &Settings, session: SessionOptions) -> Result<Local, Failure> {
        let options = OpenOptions {
            allow_keys: self.allow_key.clone(),
            lock_memory: self.lock_memory,
            allow_mismatch: self.allow_mismatch,
            digest_cache: digest_cache(&|name| env::var_os(name)),
            session,
            any_size: self.any_size,
            ..OpenOptions::default()
        };
        match settings.provider.value {
            Name::Local => Ok(Local::open(settings, options)?),
            other => Err(Failure::usage(format!("provider `{other}` opens no file"))),
        }
    }
}

/// How much is said, and in which form.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// One JSON envelope on stdout
    #[arg(long)]
    pub json: bool,

    /// Say nothing on stderr but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more on stderr
    #[arg(short, long)]
    pub verbose: bool,
}

/// Where the record of an answer goes.
#[derive(Args, Debug, Default)]
pub struct ReceiptArgs {
    /// Write the receipt of the (latest) answer to this file: digests and options, no words
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
}

/// A place for receipts, checked before anything is computed.
pub struct Receipts(Option<Target>);

impl ReceiptArgs {
    /// The place, which must be none of the files that `settings` or `others` have read.
    pub fn target(
        &self,
        settings: &Settings,
        others: &[Option<&Path>],
    ) -> Result<Receipts, Failure> {
        let target = |path| Target::new(path, &files_read(settings, others));
        Ok(Receipts(self.receipt.as_deref().map(target).transpose()?))
    }
}

/// The files a command reads, none of which it may replace: the model, the `.env` file, the arch
/// files, this program, and `others`.
pub fn files_read(settings: &Settings, others: &[Option<&Path>]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = others.iter().flatten().map(|path| (*path).to_owned()).collect();
    files.extend(settings.env_file.clone());
    if let Some(model) = &settings.model {
        // A name that leads nowhere is reported when it is opened.
        if let Ok(found) = recinto_store::resolve(&model.value) {
            files.extend(recinto_weights::siblings(&found.weights));
            files.push(found.weights);
        }
    }
    if let Some(folder) = &settings.arch_dir
        && let Ok(entries) = std::fs::read_dir(&folder.value)
    {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.extend(std::env::current_exe());
    files
}

impl Receipts {
    /// Writes the receipt of `reply`, whole or not at all.
    pub fn write(&self, reply: &Reply) -> Result<(), Failure> {
        self.0.as_ref().map_or(Ok(()), |target| target.write(&reply.receipt.to_bytes()))
    }
}

/// Where more architectures are, for commands that open no model.
#[derive(Args, Debug, Default)]
pub struct ArchArgs {
    /// A folder whose .arch files add to the built-in ones or replace them
    /// [variable: RECINTO_ARCH_DIR]
    #[arg(long, value_name = "FOLDER")]
    pub arch_dir: Option<String>,

    /// Read settings from this file instead of ./.env
    #[arg(long, value_name = "FILE", conflicts_with = "no_env_file")]
    pub env_file: Option<PathBuf>,

    /// Do not read a .env file
    #[arg(long)]
    pub no_env_file: bool,
}

impl ArchArgs {
    /// The settings that hold without a model's flags.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let model = ModelArgs {
            arch_dir: self.arch_dir.clone(),
            env_file: self.env_file.clone(),
            no_env_file: self.no_env_file,
            ..ModelArgs::default()
        };
        model.settings()
    }

    /// The architectures at hand.
    pub fn archs(&self) -> Result<Archs, Failure> {
        archs(&self.settings()?)
    }
}

/// The architectures that `settings` lead to.
pub fn archs(settings: &Settings) -> Result<Archs, Failure> {
    Ok(match &settings.arch_dir {
        Some(folder) => Archs::with_dir(&folder.value)?,
        None => Archs::built_in(),
    })
}

/// Says what was opened: a foreign architecture and what is wrong with files always, the rest with
/// `-v`.
pub fn introduce(screen: &Screen, local: &Local, facts: &Facts) {
    local.warnings().iter().for_each(|warning| screen.note(warning));
    if facts.architecture_origin != "built-in" {
        let (name, origin) = (&facts.architecture, &facts.architecture_origin);
        screen.note(&format!("the architecture `{name}` comes from {origin}"));
    }
    screen.detail(&format!(
        "{} ({}), weights {}, {} threads, level {}, opened in {:.0} ms",
        facts.name,
        facts.architecture,
        facts.weights.name(),
        facts.threads,
        facts.level,
        facts.load_ms
    ));
    remarks(screen, local.model().tokenizer());
    let model = local.model();
    model.program().notes.iter().for_each(|note| screen.detail(&format!("architecture: {note}")));
    remarks(screen, model.tokenizer());
}

/// Says with `-v` what is unusual about a vocabulary.
pub fn remarks(screen: &Screen, tokenizer: &Tokenizer) {
    tokenizer.notes().iter().for_each(|note| screen.detail(&format!("tokenizer: {note}")));
}
