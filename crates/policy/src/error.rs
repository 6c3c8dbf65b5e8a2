//! What can be wrong with a policy, a label, a log of sends, a budget or a mapping of profiles.

use std::{fmt, path::Path};

use crate::tree::Fault;

/// The kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A file or table of the operator's has a word or a value that cannot be.
    Policy,
    /// A text that is no label.
    Label,
    /// An address or a model's name that nothing may be sent to.
    Destination,
    /// A send that was refused; see [`Refused`](crate::Refused).
    Refused,
    /// The log of sends cannot be written or read, or the key for its digests cannot be used.
    Egress,
    /// The ceiling of a budget; see [`Exhausted`](crate::Exhausted).
    Exhausted,
    /// No profile has that name, or nobody mapped that task.
    Profile,
}

/// A fault: kind, what and where, and what to do. Never a word of what was to be sent, never a key.
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

    pub(crate) fn hint(self, hint: impl Into<String>) -> Error {
        Error { hint: Some(hint.into()), ..self }
    }

    /// A fault at a place in `file`.
    pub fn in_file(file: &Path, fault: Fault) -> Error {
        let (line, column) = (fault.at.line, fault.at.column);
        let what = format!("{}, line {line}, column {column}: {}", file.display(), fault.what);
        Error { kind: Kind::Policy, what, hint: fault.hint }
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What and where, without what to do.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    pub fn what_to_do(&self) -> Option<&str> {
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
