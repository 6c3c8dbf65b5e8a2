//! Why a shape cannot be kept.

use std::fmt;

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The shape says nothing that an answer could be: no label, an empty or a doubled one.
    Empty,
    /// A keyword, a format or a construct that cannot be kept exactly.
    Unsupported,
    /// The text is no regular expression, schema or grammar.
    Invalid,
    /// Compiling would take more than a request may.
    TooLarge,
    /// The model's vocabulary cannot be used for shapes.
    Vocabulary,
}

/// A failure: kind, what and where, and what to do. Holds words of the shape, never of an answer.
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

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
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
