//! Small readers of entries, shared by the tables of this room.

use std::{fmt, path::Path, sync::Arc};

use crate::tree::{At, Entry, Fault, Value};

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named when it was read.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file.display(), self.line)
    }
}

/// An unknown word, with those that are known.
pub(crate) fn unknown(at: At, what: &str, word: &str, known: &str) -> Fault {
    Fault::unknown(at, what, word).hint(format!("known: {known}"))
}

/// The text of an entry that must be one.
pub(crate) fn text(entry: &Entry) -> Result<&str, Fault> {
    match &entry.value {
        Value::Text(text) if !text.trim().is_empty() => Ok(text),
        _ => Err(Fault::new(entry.value_at, format!("`{}`: a text is needed", entry.key))),
    }
}

/// Whether an entry says true.
pub(crate) fn yes(entry: &Entry) -> Result<bool, Fault> {
    match &entry.value {
        Value::Word(word) if word == "true" => Ok(true),
        Value::Word(word) if word == "false" => Ok(false),
        _ => Err(Fault::new(entry.value_at, format!("`{}`: true or false is needed", entry.key))),
    }
}

/// The entries below an entry that must be a table.
pub(crate) fn table(entry: &Entry) -> Result<&[Entry], Fault> {
    match &entry.value {
        Value::Table(entries) => Ok(entries),
        _ => Err(Fault::new(entry.value_at, format!("`{}`: a table is needed", entry.key))),
    }
}

/// Whether a text can be a name of the operator's: a short plain word.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=60).contains(&text.chars().count()) && text.chars().all(plain)
}
