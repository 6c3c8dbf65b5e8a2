//! Every setting, a row each; where its value comes from: flag, environment, `.env`, the three
//! `recinto.toml` files, or the default.

mod key;
mod look;
mod source;

use std::{path::PathBuf, sync::Arc, time::Duration};

use recinto_engine::{KvType, Level, Options, Pin, SessionOptions, Verify};
use recinto_store::licence::Allowed;

pub(crate) use key::PREFIX;
pub use key::{Fallback, Key};
pub(crate) use look::{model_of, variables};
pub use source::{Setting, Source};

use crate::{
    ConfigFile, EnvFile, LockFile, Name, Reader,
    config::{self, At, Entry, OptionSetting},
    error::{Error, Kind},
    line::KeyOf,
    lock::NONE,
    surroundings::Surroundings,
    values,
};
use look::{Layers, Paths};

/// From the table of settings: the keys, the flags, the settings, and how each is looked up.
macro_rules! settings {
    ($(
        $(#[$doc:meta])*
        $field:ident: $type:ty {
            read: $read:expr, show: $show:expr, paths: $paths:expr,
            short: $short:expr, value: $value:literal, example: $example:literal,
            default: $default:expr, about: $about:literal $(,)?
        }
    )*) => {
        #[allow(non_upper_case_globals, reason = "named as the setting")]
        mod keys {
            use super::key::{self, Fallback, Key};

            $(pub(super) const $field: Key = {
                const NAME: &str = stringify!($field);
                static FLAG: [u8; key::flag_len(NAME)] = key::flag(NAME);
                static VARIABLE: [u8; key::variable_len(NAME)] = key::variable(NAME);
                Key {
                    name: NAME,
                    flag: key::text(&FLAG),
                    variable: key::text(&VARIABLE),
                    short: $short,
                    value: $value,
                    example: $example,
                    default: $default,
                    about: $about,
                }
            };)*
        }

        /// Every setting there is.
        pub const KEYS: &[Key] = &[$(keys::$field),*];

        /// What the command line says; `None` where it says nothing.
        #[derive(Clone, Debug, Default)]
        pub struct Flags {
            $($(#[$doc])* pub $field: Option<String>,)*
            /// `--env-file` and `--no-env-file`.
            pub env_file: EnvFile,
            /// `--config` and `--no-config`.
            pub config: ConfigFile,
        }

        impl Flags {
            /// Sets the flag of `key`; whether there is such a setting.
            pub fn set(&mut self, key: &Key, value: String) -> bool {
                match key.name {
                    $(stringify!($field) => self.$field = Some(value),)*
                    _ => return false,
                }
                true
            }
        }

        /// All settings, each with its source; `None` where nobody said anything.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $($(#[$doc])* pub $field: Option<Setting<$type>>,)*
            /// Options of answers that the files set, each in the words of the nearest file.
            pub options: Vec<OptionSetting>,
            /// Secrets that are there, by name, and where. What they are is not known here.
            pub secrets: Vec<(&'static str, Source)>,
            /// The `.env` file that was read.
            pub env_file: Option<PathBuf>,
            /// The `recinto.toml` files that were read, the nearest first.
            pub files: Vec<PathBuf>,
            /// Names of all that is set in the `.env` file, sorted: whether a key is there that a
            /// profile names.
            pub(crate) env_names: Arc<[String]>,
            /// Whose key is used.
            pub(crate) key_of: KeyOf,
            /// Whether a line of `.env` named the first of them.
            pub(crate) config_of_env_file: bool,
            /// Their tables; shared, since settings are copied for each profile and can be long.
            pub(crate) tables: Arc<[TableOf]>,
        }

        impl Settings {
            fn from_layers(flags: &Flags, layers: &Layers<'_>) -> Result<Settings, Error> {
                Ok(Settings {
                    $($field: layers.look(&keys::$field, $paths, &flags.$field, $read)?,)*
                    options: config::merged(layers.files)?,
                    secrets: layers.secrets(),
                    env_file: layers.env.path.clone(),
                    env_names: layers.env.names.clone().into(),
                    key_of: KeyOf::Process,
                    files: layers.files.iter().map(|file| file.path.clone()).collect(),
                    config_of_env_file: layers.of_env_file,
                    tables: layers.tables().into(),
                })
            }

            /// Whether `text` can be the value of the setting `name`.
            pub(crate) fn check(name: &str, text: &str) -> Result<(), Error> {
                match name {
                    $(stringify!($field) => {
                        let read: fn(&str) -> Result<$type, Error> = $read;
                        read(text).map(drop)
                    })*
                    _ => Ok(()),
                }
            }

            /// Takes `text`, which stands at `source` in a file of `folder`, as the value of the
            /// setting `name`.
            pub(crate) fn say(
                &mut self,
                name: &str,
                text: &str,
                source: Source,
                folder: &std::path::Path,
                around: &Surroundings,
            ) -> Result<(), Error> {
                match name {
                    $(stringify!($field) => {
                        let read: fn(&str) -> Result<$type, Error> = $read;
                        let value = read(&$paths.rebased(text, folder, around))?;
                        self.$field = Some(Setting { value, source });
                    })*
                    _ => {}
                }
                Ok(())
            }

            /// Every setting as text.
            pub fn shown(&self) -> Vec<Shown<'_>> {
                vec![$(Shown::of(&keys::$field, self.$field.as_ref(), $show),)*]
            }
        }
    };
}

settings! {
    /// Who answers; see [`Settings::provider`] for who does when nobody said anything.
    provider: Name {
        read: Name::from_name, show: |name| name.to_string(), paths: Paths::No,
        short: None, value: "NAME", example: "\"local\"",
        default: Fallback::Value("local"),
        about: "Who answers: local (this process), mock, anthropic, openai, openai-compatible",
    }
    /// The model's name as given; see [`Settings::model`] for the error when there is none.
    model: String {
        read: values::text, show: |name| name.clone(), paths: Paths::Name,
        short: Some('m'), value: "NAME", example: "\"./model.gguf\"",
        default: Fallback::Nothing, about: "The model: a path to a .gguf file, a name of an Ollama store or of the Hugging Face \
                cache (`recinto models` lists them)",
    }
    /// Who answers, by a name of the operator's; see [`Settings::choose`].
    profile: String {
        read: values::profile, show: |name| name.clone(), paths: Paths::No,
        short: None, value: "NAME", example: "\"fast\"",
        default: Fallback::Words("what `[tasks]` says of the task"),
        about: "Who answers, in place of provider and model: a name of `[profiles]` or `[cascade]`"
    }
    /// Who reads a judge's questions; see [`Settings::reader`].
    judge_provider: Reader {
        read: Reader::from_name, show: |reader| reader.to_string(), paths: Paths::No,
        short: None, value: "NAME", example: "\"gguf\"",
        default: Fallback::Value("gguf"),
        about: "Who reads a judge's questions: gguf (any causal model, by letters), laya (its \
                encoder), hosted (a service), mock (no model)",
    }
    /// The judge's own model; see [`Settings::judge_model`].
    judge_model: String {
        read: values::text, show: |name| name.clone(), paths: Paths::Name,
        short: None, value: "NAME", example: "\"./judge.gguf\"",
        default: Fallback::Words("the model"),
        about: "The model that reads a judge's questions",
    }
    /// The service that reads a judge's questions; see [`Settings::judge_service`].
    judge_service: &'static str {
        read: values::service, show: |name| (*name).into(), paths: Paths::No,
        short: None, value: "NAME", example: "\"openrouter\"",
        default: Fallback::Value("typesafe"),
        about: "Which service reads a judge's questions with hosted: typesafe, openrouter, openai, \
                fireworks, cloudflare, sarvam, runware, systemone (one of your own)",
    }
    /// The address of that service, where it is not the vendor's own.
    judge_base_url: String {
        read: values::address, show: |url| url.clone(), paths: Paths::No,
        short: None, value: "URL", example: "\"http://localhost:8080\"",
        default: Fallback::Words("the service's own"),
        about: "Where the service is that reads a judge's questions",
    }
    /// The file that holds that service's key.
    judge_api_key_file: PathBuf {
        read: values::key_file,
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FILE", example: "\"/run/secrets/judge\"",
        default: Fallback::Words("RECINTO_JUDGE_API_KEY, or the service's own variable"),
        about: "The file that holds that service's key, and nothing else",
    }
    /// The address of the service, where it is not the vendor's own.
    base_url: String {
        read: values::address, show: |url| url.clone(), paths: Paths::No,
        short: None, value: "URL", example: "\"http://localhost:8080/v1\"",
        default: Fallback::Words("the vendor's own"),
        about: "Where the service is, when it is elsewhere",
    }
    /// How the service is spoken to.
    wire: &'static str {
        read: values::wire, show: |wire| (*wire).into(), paths: Paths::No,
        short: None, value: "WIRE", example: "\"responses\"",
        default: Fallback::Words("chat with openai, messages with anthropic"),
        about: "How the service is spoken to: chat, responses, messages",
    }
    /// The file that holds the service's key.
    api_key_file: PathBuf {
        read: values::key_file,
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FILE", example: "\"/run/secrets/openai\"",
        default: Fallback::Words("RECINTO_API_KEY, or the vendor's own variable"),
        about: "The file that holds the service's key, and nothing else",
    }
    /// Longest time without a byte of an answer from elsewhere.
    silence: Duration {
        read: values::silence, show: |time| time.as_secs_f64().to_string(), paths: Paths::No,
        short: None, value: "SECONDS", example: "60",
        default: Fallback::Value("120"),
        about: "Longest silence of a service, before its answer and within it; of a judge's \
                service, the longest time of one try (10 where nobody says)",
    }
    /// How often a failed request is sent again.
    retries: u32 {
        read: values::retries, show: |count| count.to_string(), paths: Paths::No,
        short: None, value: "N", example: "0",
        default: Fallback::Value("2"),
        about: "How often a request that a service did not work on is sent again",
    }
    /// The proxy through which the service is reached.
    proxy: String {
        read: values::address, show: |url| url.clone(), paths: Paths::No,
        short: None, value: "URL", example: "\"http://proxy.example.com:3128\"",
        default: Fallback::Words("none, whatever other variables say"),
        about: "Through which proxy the service is reached",
    }
    /// The only certificates that may vouch for the service.
    ca_file: PathBuf {
        read: values::key_file,
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FILE", example: "\"/etc/ssl/own.pem\"",
        default: Fallback::Words("the system's list"),
        about: "Certificates in PEM, the only ones that may vouch for the service",
    }
    /// Whether a service is asked for its answer piece by piece.
    stream: bool {
        read: values::switch, show: |on| values::switched(*on), paths: Paths::No,
        short: None, value: "WHETHER", example: "\"off\"",
        default: Fallback::Value("on"),
        about: "Whether a service sends its answer piece by piece: on, off",
    }
    /// What becomes of an option that a service does not take.
    unsupported: &'static str {
        read: values::unsupported, show: |rule| (*rule).into(), paths: Paths::No,
        short: None, value: "RULE", example: "\"error\"",
        default: Fallback::Value("note"),
        about: "What becomes of an option that a service does not take: note (it is left out, and \
                the answer says so), error",
    }
    /// A folder with more architectures.
    arch_dir: PathBuf {
        read: |text| values::text(text).map(PathBuf::from),
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FOLDER", example: "\"archs\"",
        default: Fallback::Words("none"),
        about: "A folder whose .arch files add to the built-in ones or replace them",
    }
    /// Threads that compute.
    threads: usize {
        read: values::threads, show: |count| count.to_string(), paths: Paths::No,
        short: None, value: "N", example: "4",
        default: Fallback::Words("cores this process may use"),
        about: "Threads that compute",
    }
    /// The set of CPU instructions.
    level: Level {
        read: values::level, show: |level| level.name().into(), paths: Paths::No,
        short: None, value: "LEVEL", example: "\"avx2\"",
        default: Fallback::Words("the best"),
        about: "CPU level: portable, avx2, avx-vnni, avx512, avx512-vnni",
    }
    /// Whether the weights are copied into this process.
    pin: Pin {
        read: values::pin, show: |pin| pin.name().into(), paths: Paths::No,
        short: None, value: "WHERE", example: "\"memory\"",
        default: Fallback::Value("off"),
        about: "Where the weights lie: off (in the mapped file), memory (in a private copy, hashed \
                before the first token)",
    }
    /// Whether a digest known from an earlier run counts.
    verify: Verify {
        read: values::verify, show: |verify| verify.name().into(), paths: Paths::No,
        short: None, value: "WHEN", example: "\"always\"",
        default: Fallback::Value("cached"),
        about: "Which digests of the weights count: cached (known for this very file from an \
                earlier run), always (computed now)",
    }
    /// How keys and values are stored.
    kv: KvType {
        read: values::kv, show: |kv| kv.name().into(), paths: Paths::No,
        short: None, value: "TYPE", example: "\"q8_0\"",
        default: Fallback::Value("bf16"),
        about: "How keys and values are stored: bf16, f16, q8_0 (half the memory, coarser; other \
                bits)",
    }
    /// Whether sessions are kept between requests.
    prompt_cache: bool {
        read: values::switch, show: |on| values::switched(*on), paths: Paths::No,
        short: None, value: "WHETHER", example: "\"off\"",
        default: Fallback::Value("on"),
        about: "Whether this process keeps what it read of a prompt for the next one: on, off (it \
                is wiped after each answer)",
    }
    /// The lock file that holds; `recinto.lock` of the working directory where nobody says.
    lock: LockFile {
        read: |text| Ok(LockFile::named(text)), show: |lock| lock.to_string(), paths: Paths::Or(NONE),
        short: None, value: "FILE", example: "\"recinto.lock\"",
        default: Fallback::Words("./recinto.lock, if it is there"),
        about: "What models must be: the lock file to go by, or none",
    }
    /// Licences and digests that may run; all where it is not set.
    licenses: Allowed {
        read: |list| Ok(list.parse::<Allowed>()?), show: |list| list.to_string(), paths: Paths::No,
        short: None, value: "LIST", example: "\"apache-2.0,mit\"",
        default: Fallback::Words("all"),
        about: "Licences and digests (sha256:…) that may run, with commas between them",
    }
    /// Where sends to other machines are written down, unless the machine's policy says it.
    egress_log: PathBuf {
        read: |text| values::text(text).map(PathBuf::from),
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FILE", example: "\"egress.jsonl\"",
        default: Fallback::Words("recinto/egress.jsonl of the user's state folder"),
        about: "Where each send to a remote provider is written down, before it leaves",
    }
    /// The file with the key of the digests in that log.
    egress_key: PathBuf {
        read: values::key_file,
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FILE", example: "\"egress.key\"",
        default: Fallback::Words("none, and no digests"),
        about: "A file of 32 bytes or more: the key of the digests in the log of sends",
    }
    /// Whether a line of that log must have reached the disk before anything is sent.
    egress_sync: bool {
        read: values::yes, show: |yes| yes.to_string(), paths: Paths::No,
        short: None, value: "BOOL", example: "true",
        default: Fallback::Words("false"),
        about: "Whether a line of the log of sends must have reached the disk before anything is \
                sent: true, false",
    }
    /// Where spans are written.
    trace_file: PathBuf {
        read: |text| values::text(text).map(PathBuf::from),
        show: |path| path.display().to_string(), paths: Paths::Yes,
        short: None, value: "FILE", example: "\"spans.jsonl\"",
        default: Fallback::Words("none"),
        about: "Where a program that was built with the feature `otel` writes spans, a line of \
                OTLP as JSON each",
    }
    /// Whether spans hold the words of requests and answers; see [`Settings::traces_content`].
    trace_content: bool {
        read: values::yes, show: |yes| yes.to_string(), paths: Paths::No,
        short: None, value: "BOOL", example: "false",
        default: Fallback::Words("false"),
        about: "Whether spans hold the words of requests and answers too; `true` is heard from \
                the flag and the environment only: true, false",
    }
}

/// A table: its file, its name, where it begins, its entries.
pub(crate) type TableOf = (PathBuf, &'static str, At, Vec<Entry>);

/// A setting as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown<'a> {
    /// Which.
    pub key: &'static Key,
    /// Its value, where somebody said one.
    pub value: Option<String>,
    /// Where.
    pub source: &'a Source,
}

impl Shown<'_> {
    fn of<'a, T>(
        key: &'static Key,
        setting: Option<&'a Setting<T>>,
        show: impl Fn(&T) -> String,
    ) -> Shown<'a> {
        let value = setting.map(|setting| show(&setting.value));
        Shown { key, value, source: setting.map_or(&Source::Default, |setting| &setting.source) }
    }
}

impl Settings {
    /// Looks each setting up: flag, then environment, then `.env`, then the project's, the user's
    /// and the machine's `recinto.toml`, then the default.
    ///
    /// # Errors
    ///
    /// A value that cannot be, an unknown name, a file that cannot be trusted or read.
    pub fn resolve(flags: &Flags) -> Result<Settings, Error> {
        Settings::resolve_from(flags, &Surroundings::now()?)
    }

    /// The same with the environment and the folders given.
    ///
    /// # Errors
    ///
    /// As [`Settings::resolve`].
    pub fn resolve_from(flags: &Flags, around: &Surroundings) -> Result<Settings, Error> {
        let env = crate::env_file::read(&flags.env_file, &around.here)?;
        look::known_variables(around)?;
        let files = config::read(&look::config_file(flags, around, &env)?, around)?;
        let of_env_file = look::config_of_env_file(flags, around, &env);
        Settings::from_layers(flags, &Layers { around, env: &env, files: &files, of_env_file })
    }

    /// Who answers: this process, unless somebody says otherwise.
    pub fn provider(&self) -> Name {
        self.provider.as_ref().map_or(Name::Local, |setting| setting.value)
    }

    /// How sessions are made: `context` positions, or as many as the model knows.
    pub fn session(&self, context: Option<usize>) -> SessionOptions {
        let kv = self.kv.as_ref().map(|setting| setting.value).unwrap_or_default();
        SessionOptions { context, kv }
    }

    /// How answers are made where nobody says otherwise: `base`, and what the files set, but for
    /// keys that are `replaced` by something nearer.
    ///
    /// # Errors
    ///
    /// None for settings that were looked up here: their options were checked then.
    pub fn answer_options(
        &self,
        base: Options,
        replaced: impl Fn(&str) -> bool,
    ) -> Result<Options, Error> {
        let mut options = base;
        let heard = self.options.iter().filter(|setting| !replaced(setting.key));
        for OptionSetting { key, values, source } in heard {
            for value in values {
                options.set(key, value).map_err(|e| Error::from(e).of(&source.to_string()))?;
            }
        }
        Ok(options)
    }

    /// The entries of the table `name` in each file that has it, the nearest file first.
    pub fn table<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a std::path::Path, &'a [Entry])> + 'a {
        let named = move |row: &&TableOf| row.1 == name;
        self.tables.iter().filter(named).map(|row| (row.0.as_path(), row.3.as_slice()))
    }

    /// Whether spans hold the words of requests and answers.
    ///
    /// # Errors
    ///
    /// A file says so: a folder that somebody works in must not make prompts leave their process.
    pub fn traces_content(&self) -> Result<bool, Error> {
        match &self.trace_content {
            Some(Setting { value: true, source }) if source.file().is_some() => {
                let what =
                    format!("{}: no file can ask for it", source.place(&keys::trace_content));
                Err(Error::new(Kind::Setting, what).hint(
                    "give --trace-content true, or set RECINTO_TRACE_CONTENT in the environment",
                ))
            }
            setting => Ok(setting.as_ref().is_some_and(|setting| setting.value)),
        }
    }

    /// The folder with more architectures, where one is set.
    ///
    /// # Errors
    ///
    /// No folder is there; the error says where it was set.
    pub fn arch_folder(&self) -> Result<Option<&std::path::Path>, Error> {
        let Some(Setting { value, source }) = &self.arch_dir else { return Ok(None) };
        if value.is_dir() {
            return Ok(Some(value));
        }
        let what = match value.symlink_metadata() {
            Ok(_) => "is no folder",
            Err(_) => "is not there",
        };
        let what = format!("{}: {} {what}", source.place(&keys::arch_dir), value.display());
        let hint = "name the folder that the .arch files are in, or take the setting away";
        Err(Error::new(Kind::Setting, what).hint(hint))
    }

    /// Whether a model is named where the provider needs one: the mock answers without.
    ///
    /// # Errors
    ///
    /// As [`Settings::model`].
    pub fn named(&self) -> Result<(), Error> {
        match self.provider() {
            Name::Mock => Ok(()),
            _ => self.model().map(|_| ()),
        }
    }

    /// The model's name.
    ///
    /// # Errors
    ///
    /// When none is set: the two lines that set one.
    pub fn model(&self) -> Result<&Setting<String>, Error> {
        self.model.as_ref().ok_or_else(|| {
            let provider = self.provider();
            if provider.is_remote() {
                return Error::new(Kind::NoModel, "no model is set").hint(format!(
                    "{provider} needs the name of one of its models: give --model, or set \
                     RECINTO_MODEL"
                ));
            }
            Error::new(Kind::NoModel, "no model is set").hint(
                "put these two lines into .env or the environment, or give --model; `recinto \
                 models` lists what is here:\n\
                 RECINTO_PROVIDER=local\n\
                 RECINTO_MODEL=/path/to/model.gguf",
            )
        })
    }
}

#[cfg(test)]
mod tests;
