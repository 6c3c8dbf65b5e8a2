//! Where each setting's value comes from: flag, environment, `.env` file, or the default.

use std::{
    env,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use recinto_engine::{KvType, Level, Pin, SessionOptions, Verify};
use recinto_store::licence::Allowed;

use crate::{
    EnvFile, Name,
    env_file::{self, Found},
    error::{Error, Kind},
    name::shown,
};

/// A setting: its variable and its flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name in the environment and in a `.env` file.
    pub variable: &'static str,
    /// Flag of the command line.
    pub flag: &'static str,
    /// What it sets.
    pub about: &'static str,
}

const PROVIDER: Key =
    Key { variable: "RECINTO_PROVIDER", flag: "--provider", about: "who answers" };
const MODEL: Key = Key { variable: "RECINTO_MODEL", flag: "--model", about: "the model's name" };
const ARCH_DIR: Key = Key {
    variable: "RECINTO_ARCH_DIR",
    flag: "--arch-dir",
    about: "a folder with more architectures",
};
const THREADS: Key =
    Key { variable: "RECINTO_THREADS", flag: "--threads", about: "threads that compute" };
const LEVEL: Key =
    Key { variable: "RECINTO_LEVEL", flag: "--level", about: "the set of CPU instructions" };
const PIN: Key = Key {
    variable: "RECINTO_PIN",
    flag: "--pin",
    about: "whether the weights are copied into this process",
};
const VERIFY: Key = Key {
    variable: "RECINTO_VERIFY",
    flag: "--verify",
    about: "whether a digest known from an earlier run counts",
};
const KV: Key =
    Key { variable: "RECINTO_KV", flag: "--kv", about: "how keys and values are stored" };
const LICENSES: Key = Key {
    variable: "RECINTO_LICENSES",
    flag: "--licenses",
    about: "licences and digests that may run",
};

/// Every setting there is.
pub const KEYS: [Key; 9] = [PROVIDER, MODEL, ARCH_DIR, THREADS, LEVEL, PIN, VERIFY, KV, LICENSES];

/// Where a value comes from; earlier ones win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag(&'static str),
    /// The environment of the process.
    Environment(&'static str),
    /// A line of a `.env` file.
    EnvFile {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag(flag) => f.write_str(flag),
            Source::Environment(name) => write!(f, "environment, {name}"),
            Source::EnvFile { path, line } => write!(f, "{}, line {line}", path.display()),
            Source::Default => f.write_str("default"),
        }
    }
}

impl Source {
    /// Where the value of `key` stands, for an error's text.
    fn place(&self, key: &Key) -> String {
        match self {
            Source::Flag(flag) => (*flag).into(),
            Source::Environment(name) => format!("environment variable {name}"),
            Source::EnvFile { .. } | Source::Default => format!("{self}: {}", key.variable),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub source: Source,
}

/// What the command line says; `None` where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--arch-dir`.
    pub arch_dir: Option<String>,
    /// `--threads`.
    pub threads: Option<String>,
    /// `--level`.
    pub level: Option<String>,
    /// `--pin`.
    pub pin: Option<String>,
    /// `--verify`.
    pub verify: Option<String>,
    /// `--kv`.
    pub kv: Option<String>,
    /// `--licenses`.
    pub licenses: Option<String>,
    /// `--env-file` and `--no-env-file`.
    pub env_file: EnvFile,
}

/// All settings, each with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who answers; `local` unless somebody says otherwise.
    pub provider: Setting<Name>,
    /// The model's name as given; see [`Settings::model`] for the error when there is none.
    pub model: Option<Setting<String>>,
    /// A folder with more architectures.
    pub arch_dir: Option<Setting<PathBuf>>,
    /// Threads that compute.
    pub threads: Option<Setting<usize>>,
    /// The set of CPU instructions.
    pub level: Option<Setting<Level>>,
    /// Whether the weights are copied into this process.
    pub pin: Option<Setting<Pin>>,
    /// Whether a digest known from an earlier run counts.
    pub verify: Option<Setting<Verify>>,
    /// How keys and values are stored.
    pub kv: Option<Setting<KvType>>,
    /// Licences and digests that may run; all where it is not set.
    pub licenses: Option<Setting<Allowed>>,
    /// The `.env` file that was read.
    pub env_file: Option<PathBuf>,
}

impl Settings {
    /// Looks each setting up: flag, then environment, then `.env` file, then default.
    ///
    /// # Errors
    ///
    /// A value that cannot be, an unknown provider, a `.env` file that cannot be trusted.
    pub fn resolve(flags: &Flags) -> Result<Settings, Error> {
        Settings::resolve_from(flags, &|name| env::var_os(name), &working_directory()?)
    }

    /// The same with the environment and the working directory given.
    ///
    /// # Errors
    ///
    /// As [`Settings::resolve`].
    pub fn resolve_from(
        flags: &Flags,
        environment: &dyn Fn(&str) -> Option<OsString>,
        here: &Path,
    ) -> Result<Settings, Error> {
        let found = env_file::read(&flags.env_file, here)?;
        let look = |key: &Key, flag: &Option<String>| look(key, flag, environment, &found);
        let provider = match look(&PROVIDER, &flags.provider)? {
            Some(text) => text.read(&PROVIDER, Name::from_name)?,
            None => Setting { value: Name::Local, source: Source::Default },
        };
        let threads =
            look(&THREADS, &flags.threads)?.map(|text| text.read(&THREADS, threads)).transpose()?;
        let level = look(&LEVEL, &flags.level)?.map(|text| text.read(&LEVEL, level)).transpose()?;
        let pin = look(&PIN, &flags.pin)?
            .map(|text| text.read(&PIN, |name| word(name, Pin::all(), Pin::name)))
            .transpose()?;
        let verify = look(&VERIFY, &flags.verify)?
            .map(|text| text.read(&VERIFY, |name| word(name, Verify::all(), Verify::name)))
            .transpose()?;
        let kv = look(&KV, &flags.kv)?
            .map(|text| text.read(&KV, |name| word(name, KvType::ALL.into_iter(), KvType::name)))
            .transpose()?;
        let licenses = look(&LICENSES, &flags.licenses)?
            .map(|text| text.read(&LICENSES, |list| Ok(list.parse::<Allowed>()?)))
            .transpose()?;
        let arch_dir = look(&ARCH_DIR, &flags.arch_dir)?
            .map(|text| Setting { value: text.value.into(), source: text.source });
        let model = look(&MODEL, &flags.model)?;
        let env_file = found.path;
        Ok(Settings {
            provider,
            model,
            arch_dir,
            threads,
            level,
            pin,
            verify,
            kv,
            licenses,
            env_file,
        })
    }

    /// How sessions are made: `context` positions, or as many as the model knows.
    pub fn session(&self, context: Option<usize>) -> SessionOptions {
        let kv = self.kv.as_ref().map(|setting| setting.value).unwrap_or_default();
        SessionOptions { context, kv }
    }

    /// The model's name.
    ///
    /// # Errors
    ///
    /// When none is set: the two lines that set one.
    pub fn model(&self) -> Result<&Setting<String>, Error> {
        self.model.as_ref().ok_or_else(|| {
            Error::new(Kind::NoModel, "no model is set").hint(
                "put these two lines into .env or the environment, or give --model; `recinto \
                 models` lists what is here:\n\
                 RECINTO_PROVIDER=local\n\
                 RECINTO_MODEL=/path/to/model.gguf",
            )
        })
    }
}

pub(crate) fn working_directory() -> Result<PathBuf, Error> {
    env::current_dir()
        .map_err(|e| Error::new(Kind::Setting, format!("the working directory is gone: {e}")))
}

/// The text of a setting, from the first place that has one. An empty one is a fault, not an
/// absence: it would otherwise let a value of lower rank through unseen.
fn look(
    key: &Key,
    flag: &Option<String>,
    environment: &dyn Fn(&str) -> Option<OsString>,
    found: &Found,
) -> Result<Option<Setting<String>>, Error> {
    let in_file = || {
        let (_, value, line) = found.values.iter().find(|(name, ..)| *name == key.variable)?;
        let path = found.path.clone()?;
        Some((value.clone(), Source::EnvFile { path, line: *line }))
    };
    let text = match (flag, environment(key.variable)) {
        (Some(value), _) => Some((value.clone(), Source::Flag(key.flag))),
        (None, Some(value)) => {
            let value = value
                .into_string()
                .map_err(|_| Error::new(Kind::Setting, format!("{} is not UTF-8", key.variable)))?;
            Some((value, Source::Environment(key.variable)))
        }
        (None, None) => in_file(),
    };
    let Some((value, source)) = text else { return Ok(None) };
    if value.trim().is_empty() {
        let what = format!("{}: the value is empty", source.place(key));
        return Err(Error::new(Kind::Setting, what).hint("give it a value or remove it"));
    }
    Ok(Some(Setting { value, source }))
}

impl Setting<String> {
    fn read<T>(
        self,
        key: &Key,
        read: impl Fn(&str) -> Result<T, Error>,
    ) -> Result<Setting<T>, Error> {
        let value = read(&self.value).map_err(|e| e.of(&self.source.place(key)))?;
        Ok(Setting { value, source: self.source })
    }
}

/// Most threads that may be asked for; far above any machine this runs on.
const MAX_THREADS: usize = 1024;

fn threads(text: &str) -> Result<usize, Error> {
    match text.trim().parse() {
        Ok(n) if (1..=MAX_THREADS).contains(&n) => Ok(n),
        _ => Err(Error::new(Kind::Setting, format!("a number from 1 to {MAX_THREADS} is needed"))),
    }
}

fn level(text: &str) -> Result<Level, Error> {
    Level::from_name(text.trim()).ok_or_else(|| {
        let known: Vec<&str> = Level::all().map(Level::name).collect();
        let known = known.join(", ");
        let what = match shown(text.trim()) {
            true => format!("unknown level `{}`", text.trim()),
            false => "a value that is not a level's name".into(),
        };
        Error::new(Kind::Setting, what).hint(format!("known: {known}"))
    })
}

/// One of a few words.
fn word<T: Copy>(
    text: &str,
    all: impl Iterator<Item = T>,
    name: impl Fn(T) -> &'static str,
) -> Result<T, Error> {
    let known: Vec<T> = all.collect();
    known.iter().copied().find(|choice| name(*choice) == text.trim()).ok_or_else(|| {
        let known: Vec<&str> = known.iter().copied().map(&name).collect();
        Error::new(Kind::Setting, format!("one of {} is needed", known.join(", ")))
    })
}

/// The folder in which digests of model files are remembered: `recinto` in the user's cache folder.
///
/// `environment` gives variables; `None` when they name no such folder by its whole path.
pub fn digest_cache(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let whole = |path: PathBuf| path.is_absolute().then_some(path);
    let cache = environment("XDG_CACHE_HOME").map(PathBuf::from).and_then(whole);
    let home = || environment("HOME").map(PathBuf::from).and_then(whole);
    Some(cache.or_else(|| Some(home()?.join(".cache")))?.join("recinto"))
}

#[cfg(test)]
mod tests;
