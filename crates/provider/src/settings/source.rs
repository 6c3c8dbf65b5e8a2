//! Where a value was said.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::Key;

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
    /// A line of a `recinto.toml`: the project's, the user's or the machine's.
    File {
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
            Source::EnvFile { path, line } | Source::File { path, line } => {
                write!(f, "{}, line {line}", path.display())
            }
            Source::Default => f.write_str("default"),
        }
    }
}

impl Source {
    /// File and line, where it is one.
    pub fn file(&self) -> Option<(&Path, usize)> {
        match self {
            Source::EnvFile { path, line } | Source::File { path, line } => Some((path, *line)),
            _ => None,
        }
    }

    /// Where the value of `key` stands, for an error's text.
    pub(crate) fn place(&self, key: &Key) -> String {
        match self {
            Source::Flag(flag) => (*flag).into(),
            Source::Environment(name) => format!("environment variable {name}"),
            Source::EnvFile { .. } | Source::Default => format!("{self}: {}", key.variable),
            Source::File { .. } => format!("{self}: {}", key.name),
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
