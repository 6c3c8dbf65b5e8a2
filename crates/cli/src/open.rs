//! Flags that every command with a model has, and opening it.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use recinto_arch::Archs;
use recinto_engine::{Facts, Model, OpenOptions, Reply};
use recinto_provider::{EnvFile, Flags, Local, Name, Settings, digest_cache, one_file};
use recinto_store::{
    Files,
    licence::{Licence, Use},
};
use recinto_tokenizer::Tokenizer;
use recinto_weights::File;

use crate::{failure::Failure, screen::Screen, write::Target};

/// Which model, and what it runs on.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// The model: a path to a .gguf file, a name of an Ollama store or of the Hugging Face cache
    /// (`recinto models` lists them) [variable: RECINTO_MODEL]
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

    /// Licences and digests that may run, as in apache-2.0,mit,sha256:…; anything else is refused
    /// [variable: RECINTO_LICENSES] [default: all]
    #[arg(long, value_name = "LIST")]
    pub licenses: Option<String>,

    /// Keep text, token ids, keys and values out of the swap
    #[arg(long)]
    pub lock_memory: bool,
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
            licenses: self.licenses.clone(),
            env_file,
        };
        Ok(Settings::resolve(&flags)?)
    }

    /// Opens the model of `settings`.
    pub fn open_with(&self, settings: &Settings) -> Result<Local, Failure> {
        let options = OpenOptions {
            allow_keys: self.allow_key.clone(),
            lock_memory: self.lock_memory,
            digest_cache: digest_cache(&|name| env::var_os(name)),
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

/// The files that a name leads to, in the stores of this user.
pub fn files(name: &str) -> Result<Files, Failure> {
    Ok(recinto_store::resolve(name, &recinto_provider::roots()?)?)
}

/// The model file that a name led to, opened for looking at.
pub fn model_file(files: &Files) -> Result<File, Failure> {
    Ok(File::open(one_file(files)?)?)
}

/// The files a command reads, none of which it may replace: the model, the `.env` file, the arch
/// files, this program, and `others`.
pub fn files_read(settings: &Settings, others: &[Option<&Path>]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = others.iter().flatten().map(|path| (*path).to_owned()).collect();
    files.extend(settings.env_file.clone());
    if let Some(model) = &settings.model {
        // A name that leads nowhere is reported when it is opened.
        files.extend(self::files(&model.value).map_or_else(|_| Vec::new(), |found| found.weights));
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

/// Says what was opened: a foreign architecture and what of the store is left out always, the rest
/// with `-v`.
pub fn introduce(screen: &Screen, local: &Local, facts: &Facts) {
    let model: &Model = local.model();
    local.notes().iter().for_each(|note| screen.note(note));
    let licences = licences(local.licences());
    screen.detail(&format!("licence: {licences}"));
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
    remarks(screen, model.tokenizer());
}

/// Says with `-v` what is unusual about a vocabulary.
pub fn remarks(screen: &Screen, tokenizer: &Tokenizer) {
    tokenizer.notes().iter().for_each(|note| screen.detail(&format!("tokenizer: {note}")));
}

/// Licences in one line, those that ask for more than to be named with what they ask.
pub fn licences(stated: &[Licence]) -> String {
    if stated.is_empty() {
        return Use::Missing.name().into();
    }
    let one = |licence: &Licence| match licence.allows {
        Use::Open => licence.to_string(),
        other => format!("{licence} ({})", other.name()),
    };
    stated.iter().map(one).collect::<Vec<_>>().join(", ")
}
