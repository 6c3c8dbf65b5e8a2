//! The flags of settings, one for each row of the table in the `provider` room.

use std::{ffi::OsString, path::PathBuf};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use recinto_provider::{ConfigFile, EnvFile, Flags, KEYS, Key, Settings};

use crate::failure::Failure;

/// What the command line says of settings, by the table's rows.
#[derive(Clone, Debug, Default)]
pub struct SettingArgs(Vec<(&'static Key, String)>);

impl SettingArgs {
    /// Sets the flag of the setting `name`, where there is a value.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        if let Some((key, value)) = KEYS.iter().find(|key| key.name == name).zip(value) {
            self.0.retain(|(before, _)| *before != key);
            self.0.push((key, value));
        }
    }

    /// Each flag and its value, in the table's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(key, value)| (key.flag, value.as_str()))
    }

    /// Every setting with its source.
    pub fn resolve(&self, files: &FileArgs) -> Result<Settings, Failure> {
        let (env_file, config) = (files.env_file(), files.config());
        let mut flags = Flags { env_file, config, ..Flags::default() };
        for (key, value) in &self.0 {
            flags.set(key, value.clone());
        }
        Ok(Settings::resolve(&flags)?)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingArgs, clap::Error> {
        let mut args = SettingArgs::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.clear();
        for key in KEYS {
            if let Some(value) = matches.get_one::<String>(key.name) {
                self.0.push((key, value.clone()));
            }
        }
        Ok(())
    }
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        command.next_help_heading("Model").args(KEYS.iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        SettingArgs::augment_args(command)
    }
}

/// The flag of a setting.
fn arg(key: &'static Key) -> Arg {
    let default = key.default.text().map(|text| format!(" [default: {text}]"));
    let default = default.unwrap_or_default();
    let arg = Arg::new(key.name)
        .long(key.flag.trim_start_matches("--"))
        .value_name(key.value)
        .value_parser(value_parser!(String))
        .allow_negative_numbers(key.value == "N")
        .help(format!("{} [variable: {}]{default}", key.about, key.variable));
    match key.short {
        Some(short) => arg.short(short),
        None => arg,
    }
}

/// Which files settings are read from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
pub struct FileArgs {
    /// Read this file instead of ./recinto.toml [variable: RECINTO_CONFIG]
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub config: Option<PathBuf>,

    /// Read no recinto.toml: not the project's, the user's, or the machine's
    #[arg(long)]
    pub no_config: bool,

    /// Read this file instead of ./.env
    #[arg(long, value_name = "FILE", conflicts_with = "no_env_file")]
    pub env_file: Option<PathBuf>,

    /// Do not read a .env file
    #[arg(long)]
    pub no_env_file: bool,
}

impl FileArgs {
    fn env_file(&self) -> EnvFile {
        match (&self.env_file, self.no_env_file) {
            (_, true) => EnvFile::Ignored,
            (Some(path), _) => EnvFile::At(path.clone()),
            (None, _) => EnvFile::Here,
        }
    }

    fn config(&self) -> ConfigFile {
        match (&self.config, self.no_config) {
            (_, true) => ConfigFile::Ignored,
            (Some(path), _) if path.as_os_str() == "none" => ConfigFile::Ignored,
            (Some(path), _) => ConfigFile::At(path.clone()),
            (None, _) => ConfigFile::Usual,
        }
    }

    /// The same flags for another process.
    pub fn flags(&self) -> Vec<OsString> {
        // Every field by name: a new flag that is forgotten here does not compile.
        let FileArgs { config, no_config, env_file, no_env_file } = self;
        let with = |flag: &str, value: &PathBuf| {
            let mut word = OsString::from(format!("{flag}="));
            word.push(value);
            word
        };
        let paths = [("--config", config), ("--env-file", env_file)];
        let switches = [("--no-config", *no_config), ("--no-env-file", *no_env_file)];
        let given = paths.iter().filter_map(|(flag, path)| Some(with(flag, path.as_ref()?)));
        let set = switches.iter().filter(|(_, set)| *set).map(|(flag, _)| (*flag).into());
        given.chain(set).collect()
    }
}
