//! What can be wrong with a model file.

use std::fmt;

/// The kind of a fault in a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The system refused to open or read the file.
    Io,
    /// The bytes are not a GGUF file.
    NotGguf,
    /// The file ends before what its header announces.
    Truncated,
    /// A count, size or offset is impossible.
    Invalid,
    /// Well formed, but something this engine does not read.
    Unsupported,
    /// A key is missing.
    Missing,
    /// A key has another type than the one that is needed.
    WrongType,
}

/// A fault in a model file: kind, what and where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    offset: Option<u64>,
    hint: Option<String>,
}

impl Error {
    /// A fault of `kind`; `what` names the field.
    pub fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), offset: None, hint: None }
    }

    /// The byte offset in the file at which the fault stands.
    pub fn at(mut self, offset: u64) -> Error {
        self.offset = Some(offset);
        self
    }

    /// What to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Names the file it is about, where it does not yet.
    pub(crate) fn within(mut self, file: &str) -> Error {
        if !self.what.contains(file) {
            self.what = format!("{file}: {}", self.what);
        }
        self
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The byte offset, where one is known.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(offset) = self.offset {
            write!(f, " (at byte {offset})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
