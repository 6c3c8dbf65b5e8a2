//! Why a name leads to no model file.

use std::fmt;

/// The kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The name itself cannot be a name: empty, or with characters no path has.
    Invalid,
    /// A name of a store, which this version does not read.
    Store,
    /// Nothing is at that path.
    Missing,
    /// Something is there, but it is no file: a folder, a pipe, a device.
    NotAFile,
    /// The system refused to look.
    Io,
}

/// A name that leads to no model file: kind, what was looked for, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What to do about it, where something is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
