//! Flags that every command with a model has, and opening it.

use std::{
    env,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args;
use recinto_arch::Archs;
use recinto_backends::Laya;
use recinto_engine::{
    Encoder, Facts, Model, OpenOptions, Reply as EngineReply, SessionOptions, Stop,
};
use recinto_provider::{
    Choice, Local, Name, Opened, Provider, Reply, Settings, Task, digest_cache,
};
use recinto_store::{
    Files,
    licence::{Licence, Use},
};
use recinto_tokenizer::Tokenizer;
use recinto_weights::File;

use crate::{
    failure::Failure,
    recorded::{self, Scoring},
    screen::Screen,
    setting_args::{FileArgs, SettingArgs},
    write::Target,
};

/// Which model, and what it runs on.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    #[command(flatten)]
    pub settings: SettingArgs,

    #[command(flatten)]
    pub files: FileArgs,

    /// Let this metadata key pass although the architecture does not read it; repeatable
    #[arg(long, value_name = "KEY", help_heading = "Model")]
    pub allow_key: Vec<String>,

    /// Go by no lock file
    #[arg(long, conflicts_with = "lock")]
    pub no_lock: bool,

    /// Use a file also where its store says that it has other bytes
    #[arg(long)]
    pub allow_mismatch: bool,

    /// Keep text, token ids, keys and values out of the swap
    #[arg(long, help_heading = "Model")]
    pub lock_memory: bool,

    /// Open the model even if it does not fit in the memory that is free
    #[arg(long)]
    pub any_size: bool,
}

impl ModelArgs {
    /// Every setting with its source; a profile that is set stands in place of provider and model.
    pub fn settings(&self) -> Result<Settings, Failure> {
        Ok(self.said()?.choose(None)?.settings)
    }

    /// Who answers `task`, by settings, a profile or the operator's row for it.
    pub fn choice(&self, task: Task) -> Result<Choice, Failure> {
        Ok(self.said()?.choose(Some(task))?)
    }

    /// Every setting as it was said.
    pub fn said(&self) -> Result<Settings, Failure> {
        let mut settings = self.settings.clone();
        if self.no_lock {
            settings.set("lock", Some("none".into()));
        }
        let settings = settings.resolve(&self.files)?;
        crate::trace::start(&settings)?;
        Ok(settings)
    }

    /// Opens the model of `settings`.
    pub fn open_with(&self, settings: &Settings) -> Result<Local, Failure> {
        self.open_for(settings, SessionOptions::default())
    }

    /// Opens the provider of `settings`, whoever it is; sessions of this process are such as
    /// `session`, whose memory is asked for with the model's.
    pub fn provider_for(
        &self,
        settings: &Settings,
        session: SessionOptions,
    ) -> Result<Box<dyn Provider>, Failure> {
        Ok(recinto_provider::open(settings, self.options(session))?)
    }

    /// The same for who was chosen for a task.
    pub fn provider_of(
        &self,
        choice: &Choice,
        session: SessionOptions,
    ) -> Result<Box<dyn Provider>, Failure> {
        Ok(recinto_provider::open_choice(choice, self.options(session))?)
    }

    /// Opens the model of `settings`, for what only this process can do.
    pub fn open_for(&self, settings: &Settings, session: SessionOptions) -> Result<Local, Failure> {
        of_a_file(settings)?;
        Ok(Local::open(settings, self.options(session))?)
    }

    /// Opens the model of `settings`, of whatever kind, to ask what it is: no text is made.
    pub fn open_any(&self, settings: &Settings) -> Result<Opened<Model>, Failure> {
        of_a_file(settings)?;
        let open = |paths: &[PathBuf], options: &OpenOptions| Model::open_any(paths, options);
        let options = self.options(SessionOptions::default());
        Ok(recinto_provider::open_as(settings, options, open, |model| model)?)
    }

    /// Opens the model of `settings` as an encoder.
    pub fn open_encoder(&self, settings: &Settings) -> Result<Opened<Encoder>, Failure> {
        let open = |paths: &[PathBuf], options: &OpenOptions| Encoder::open_files(paths, options);
        let options = self.options(SessionOptions::default());
        Ok(recinto_provider::open_as(settings, options, open, Encoder::model)?)
    }

    /// Opens the model of `settings` as Laya; `stop` ends that, and its readings.
    pub fn open_laya(&self, settings: &Settings, stop: Stop) -> Result<Opened<Laya>, Failure> {
        let open = |paths: &[PathBuf], options: &OpenOptions| {
            Laya::open_files(paths, options, stop.clone())
        };
        fn model(laya: &Laya) -> &recinto_engine::Model {
            laya.encoder().model()
        }
        let options = self.options(SessionOptions::default());
        Ok(recinto_provider::open_as(settings, options, open, model)?)
    }

    fn options(&self, session: SessionOptions) -> OpenOptions {
        OpenOptions {
            allow_keys: self.allow_key.clone(),
            lock_memory: self.lock_memory,
            allow_mismatch: self.allow_mismatch,
            digest_cache: digest_cache(&|name| env::var_os(name)),
            session,
            any_size: self.any_size,
            ..OpenOptions::default()
        }
    }
}

/// Refuses settings whose provider opens no file.
fn of_a_file(settings: &Settings) -> Result<(), Failure> {
    match settings.provider() {
        Name::Local => Ok(()),
        other => Err(Failure::usage(format!("provider `{other}` opens no file"))
            .hint("this command looks into a model: give --provider local")),
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
    /// Refuses the flag where another than this process would answer.
    pub fn of_this_process(&self, settings: &Settings) -> Result<(), Failure> {
        if self.receipt.is_some() && settings.provider() != Name::Local {
            let what = format!("provider `{}` gives no receipt here", settings.provider());
            return Err(Failure::usage(what).hint("`recinto ask` writes one of its answer"));
        }
        Ok(())
    }

    /// The place, which must be none of the files that `settings` or `others` have read.
    pub fn target(
        &self,
        settings: &Settings,
        others: &[Option<&Path>],
    ) -> Result<Receipts, Failure> {
        if self.receipt.is_some() && settings.provider() == Name::Mock {
            return Err(Failure::usage("provider `mock` gives no receipt")
                .hint("a receipt is of a model that answered; leave out --receipt"));
        }
        let target = |path| Target::new(path, &files_read(settings, others));
        Ok(Receipts(self.receipt.as_deref().map(target).transpose()?))
    }
}

/// The files that a name leads to, in the stores of this user.
pub fn files(name: &str) -> Result<Files, Failure> {
    Ok(recinto_store::resolve(name, &recinto_provider::roots()?)?)
}

/// The same for a model that the lock of `settings` may have.
pub fn files_of(settings: &Settings, name: &str) -> Result<Files, Failure> {
    Ok(recinto_provider::lock::files(settings, name)?)
}

/// The model files that a name led to, opened for looking at.
pub fn model_file(files: &Files) -> Result<File, Failure> {
    Ok(File::open_all(recinto_provider::model_files(files)?)?)
}

/// The files a command reads, none of which it may replace: the model, the files of settings, the
/// arch files, this program, and `others`.
pub fn files_read(settings: &Settings, others: &[Option<&Path>]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = others.iter().flatten().map(|path| (*path).to_owned()).collect();
    files.extend(settings.env_file.iter().chain(&settings.files).cloned());
    files.extend(settings.api_key_file.iter().chain(&settings.ca_file).map(|s| s.value.clone()));
    if let Some(model) = settings.model.as_ref().filter(|_| settings.provider() == Name::Local) {
        // A name that leads nowhere is reported when it is opened.
        // Every part of a model in several files is among them.
        let found = files_of(settings, &model.value);
        files.extend(found.into_iter().flat_map(|found| [found.weights, found.beside].concat()));
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
    /// Writes the receipt of a reply of the engine's, whole or not at all.
    pub fn write(&self, reply: &EngineReply) -> Result<(), Failure> {
        self.put(Some(reply.receipt.to_bytes()))
    }

    /// Writes that of a reply that `provider` made, asked at `begun`.
    pub fn reply(
        &self,
        reply: &Reply,
        provider: &dyn Provider,
        begun: SystemTime,
    ) -> Result<(), Failure> {
        self.put(recorded::of_reply(reply, provider, begun))
    }

    /// Writes that of a scoring.
    pub fn scoring(
        &self,
        scoring: &Scoring<'_>,
        provider: &dyn Provider,
        begun: SystemTime,
    ) -> Result<(), Failure> {
        if self.0.is_none() {
            return Ok(());
        }
        self.put(recorded::of_scoring(scoring, provider, begun)?)
    }

    fn put(&self, bytes: Option<Vec<u8>>) -> Result<(), Failure> {
        match (&self.0, bytes) {
            (Some(target), Some(bytes)) => target.write(&bytes),
            _ => Ok(()),
        }
    }
}

/// Where more architectures are, for commands that open no model.
#[derive(Args, Debug, Default)]
pub struct ArchArgs {
    /// A folder whose .arch files add to the built-in ones or replace them
    /// [variable: RECINTO_ARCH_DIR]
    #[arg(long, value_name = "FOLDER")]
    pub arch_dir: Option<String>,

    #[command(flatten)]
    pub files: FileArgs,
}

impl ArchArgs {
    /// The settings that hold without a model's flags.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = SettingArgs::default();
        settings.set("arch_dir", self.arch_dir.clone());
        settings.resolve(&self.files)
    }

    /// The architectures at hand.
    pub fn archs(&self) -> Result<Archs, Failure> {
        archs(&self.settings()?)
    }
}

/// The architectures that `settings` lead to.
pub fn archs(settings: &Settings) -> Result<Archs, Failure> {
    Ok(match settings.arch_folder()? {
        Some(folder) => Archs::with_dir(folder)?,
        None => Archs::built_in(),
    })
}

/// Says who answers: of this process what was opened, of others where text goes.
pub fn present(screen: &Screen, provider: &dyn Provider) {
    if let Some(local) = provider.local() {
        return introduce(screen, local, &local.model().facts());
    }
    let identity = provider.identity();
    identity.warnings.iter().for_each(|warning| screen.note(warning));
    if let Some(host) = &identity.host {
        screen.detail(&format!("{} at {host}, model {}", identity.provider, identity.model));
    }
}

/// Says what was opened: a foreign architecture, what is wrong with files and what of the store is
/// left out always, the rest with `-v`.
pub fn introduce(screen: &Screen, local: &Local, facts: &Facts) {
    local.warnings().iter().chain(local.notes()).for_each(|note| screen.note(note));
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
    let model = local.model();
    model.program().notes.iter().for_each(|note| screen.detail(&format!("architecture: {note}")));
    remarks(screen, model.tokenizer());
}

/// Says what was opened.
pub fn introduce_encoder<T>(screen: &Screen, opened: &Opened<T>, encoder: &Encoder) {
    opened.warnings.iter().chain(&opened.notes).for_each(|note| screen.note(note));
    let facts = encoder.facts();
    screen.detail(&format!("licence: {}", licences(&opened.licences)));
    screen.detail(&format!(
        "{} ({}), precision {}, {} threads, level {}, opened in {:.0} ms",
        facts.name,
        facts.architecture,
        facts.precision.name(),
        facts.threads,
        facts.level,
        facts.load_ms
    ));
    facts.notes.iter().for_each(|note| screen.detail(note));
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
