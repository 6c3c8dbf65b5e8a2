//! One setting through all the places where it can be said.

use std::path::Path;

use super::{Flags, KEYS, Key, PREFIX, Setting, Source};
use crate::{
    config::{CONFIG_FLAG, CONFIG_VARIABLE, ConfigFile, File, nearest},
    env_file::Found,
    error::{Error, Kind},
    policies::POLICY_VARIABLE,
    secret::SECRETS,
    surroundings::Surroundings,
};

/// Beginnings of variables that are no settings: of tests, of measuring beside a peer, of scripts.
const OTHERS: &[&str] = &[
    "RECINTO_TEST_",
    "RECINTO_BENCH_",
    "RECINTO_PEER_",
    "RECINTO_BLESS",
    "RECINTO_REQUIRE_ALL",
    "RECINTO_OS_SIGNAL_TEST",
];

/// Whether the value of a setting is a path, which in a file begins at that file's folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Paths {
    No,
    Yes,
    /// A path, but for one word that means none.
    Or(&'static str),
    /// A model's name: a path when it has the form of one.
    Name,
}

impl Paths {
    /// What `text` in a file of `folder` means.
    pub(super) fn rebased(self, text: &str, folder: &Path, around: &Surroundings) -> String {
        let (prefix, path) = match self {
            Paths::No => return text.to_owned(),
            Paths::Or(word) if text == word => return text.to_owned(),
            Paths::Yes | Paths::Or(_) => ("", text),
            Paths::Name => match text.strip_prefix("path:") {
                Some(path) => ("path:", path),
                None if is_path(text) => ("", text),
                None => return text.to_owned(),
            },
        };
        format!("{prefix}{}", around.rebased(path, folder))
    }
}

/// The name of a model as a table of a file in `folder` has it.
pub(crate) fn model_of(name: &str, folder: &Path, around: &Surroundings) -> String {
    Paths::Name.rebased(name, folder, around)
}

/// Whether a model's name is a path and no name of a store.
fn is_path(name: &str) -> bool {
    let starts = ["./", "../", "~/"].iter().any(|start| name.starts_with(start));
    starts || (name.ends_with(".gguf") && !name.contains(':'))
}

/// Every variable that may stand in a `.env` file.
pub(crate) fn variables() -> Vec<&'static str> {
    KEYS.iter().map(|key| key.variable).chain([CONFIG_VARIABLE]).collect()
}

/// Whether a line of `.env` says which file is the project's: nothing nearer does.
pub(super) fn config_of_env_file(flags: &Flags, around: &Surroundings, env: &Found) -> bool {
    flags.config == ConfigFile::Usual
        && around.variable(CONFIG_VARIABLE).is_none()
        && env.values.iter().any(|(name, ..)| *name == CONFIG_VARIABLE)
}

/// Refuses variables of our prefix that are none of ours: what they were to set would be passed
/// over in silence.
pub(super) fn known_variables(around: &Surroundings) -> Result<(), Error> {
    let known: Vec<&str> = variables().into_iter().chain([POLICY_VARIABLE]).collect();
    for (name, _) in &around.variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let other = OTHERS.iter().any(|start| name.starts_with(start));
        if !other && !known.contains(&name) && !SECRETS.contains(&name) {
            let shown: String = name.chars().take(40).flat_map(char::escape_default).collect();
            let what = format!("environment: unknown variable {shown}");
            return Err(Error::new(Kind::Setting, what).hint(nearest(name, &known)));
        }
    }
    Ok(())
}

/// Which `recinto.toml` is the project's: by flag, variable, or a line of `.env`.
pub(super) fn config_file(
    flags: &Flags,
    around: &Surroundings,
    env: &Found,
) -> Result<ConfigFile, Error> {
    if flags.config != ConfigFile::Usual {
        return Ok(flags.config.clone());
    }
    let empty = |place: String| {
        Err(Error::new(Kind::Setting, format!("{place}: the value is empty"))
            .hint(format!("give it a path or `none`, or remove it; {CONFIG_FLAG} goes before it")))
    };
    if let Some(value) = around.variable(CONFIG_VARIABLE) {
        return match value.to_str() {
            None => Err(Error::new(Kind::Setting, format!("{CONFIG_VARIABLE} is not UTF-8"))),
            Some("") => empty(format!("environment variable {CONFIG_VARIABLE}")),
            Some(value) => Ok(ConfigFile::from_variable(value, &around.here)),
        };
    }
    match env.values.iter().find(|(name, ..)| *name == CONFIG_VARIABLE) {
        None => Ok(ConfigFile::Usual),
        Some((_, value, line)) if value.is_empty() => {
            empty(format!("{}: {CONFIG_VARIABLE}", env.source(*line)))
        }
        Some((_, value, _)) => {
            let folder = env.folder().unwrap_or(&around.here);
            Ok(ConfigFile::from_variable(&around.rebased(value, folder), &around.here))
        }
    }
}

/// A text that somebody said, its source, and the place for an error.
struct Said {
    text: String,
    source: Source,
    place: String,
}

/// Everything below the flags.
pub(super) struct Layers<'a> {
    pub around: &'a Surroundings,
    pub env: &'a Found,
    /// The nearest first.
    pub files: &'a [File],
    /// Whether a line of `.env` named the first of them.
    pub of_env_file: bool,
}

impl Layers<'_> {
    /// The value of `key`. Every file is checked whole, whatever goes before it; a variable only
    /// when no flag goes before it, so that a flag can be tried on a machine whose environment is
    /// wrong.
    pub(super) fn look<T>(
        &self,
        key: &'static Key,
        paths: Paths,
        flag: &Option<String>,
        read: impl Fn(&str) -> Result<T, Error>,
    ) -> Result<Option<Setting<T>>, Error> {
        let mut nearest = None;
        for Said { text, source, place } in self.said(key, paths, flag)? {
            // An empty one is a fault, not an absence: it would otherwise let a value of lower
            // rank through unseen.
            if text.trim().is_empty() {
                return Err(Error::new(Kind::Setting, format!("{place}: the value is empty"))
                    .hint("give it a value or remove it"));
            }
            let value = read(&text).map_err(|e| e.of(&place))?;
            nearest = nearest.or(Some(Setting { value, source }));
        }
        Ok(nearest)
    }

    fn said(
        &self,
        key: &'static Key,
        paths: Paths,
        flag: &Option<String>,
    ) -> Result<Vec<Said>, Error> {
        let mut out = Vec::new();
        let mut add = |text: String, source: Source, column: Option<usize>| {
            let place = match (&source, column) {
                (Source::File { .. }, Some(c)) => format!("{source}, column {c}: {}", key.name),
                _ => source.place(key),
            };
            out.push(Said { text, source, place });
        };
        if let Some(text) = flag {
            add(text.clone(), Source::Flag(key.flag), None);
        } else if let Some(value) = self.around.variable(key.variable) {
            let value = value.to_str().map(ToOwned::to_owned);
            let value = value.ok_or_else(|| {
                Error::new(Kind::Setting, format!("{} is not UTF-8", key.variable))
            })?;
            add(value, Source::Environment(key.variable), None);
        }
        let in_env = self.env.values.iter().filter(|(name, ..)| *name == key.variable);
        for (_, text, line) in in_env {
            let folder = self.env.folder().unwrap_or(&self.around.here);
            add(paths.rebased(text, folder, self.around), self.env.source(*line), None);
        }
        for file in self.files {
            for (_, text, at) in file.settings.iter().filter(|(row, ..)| row.name == key.name) {
                let text = paths.rebased(text, file.folder(), self.around);
                add(text, file.source(*at), Some(at.column));
            }
        }
        Ok(out)
    }

    /// Secrets that are there, the nearest place of each.
    pub(super) fn secrets(&self) -> Vec<(&'static str, Source)> {
        let found = SECRETS.iter().filter_map(|name| {
            let set = self.around.variable(name).is_some_and(|value| !value.is_empty());
            let line = self.env.secrets.iter().find(|(secret, _)| secret == name);
            match (set, line) {
                (true, _) => Some((*name, Source::Environment(name))),
                (false, Some((_, line))) => Some((*name, self.env.source(*line))),
                (false, None) => None,
            }
        });
        found.collect()
    }

    /// The tables of every file, the nearest file first.
    pub(super) fn tables(&self) -> Vec<super::TableOf> {
        let of = |file: &File| {
            let path = file.path.clone();
            file.tables
                .clone()
                .into_iter()
                .map(move |(name, at, rows)| (path.clone(), name, at, rows))
        };
        self.files.iter().flat_map(of).collect()
    }
}
