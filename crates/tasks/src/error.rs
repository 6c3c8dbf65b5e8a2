//! Why a task has no outcome.

use std::fmt;

use recinto_provider::Finish;

/// The kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The task itself: no label, an empty or a doubled one, a shape that this task does not take.
    Task,
    /// The provider cannot do what the task needs.
    Unable,
    /// The answer ended before it was a value.
    Incomplete(Finish),
    /// The operator's cascade wants a clearer answer, and policy lets nobody else be asked.
    Undecided,
    /// The provider answered with something else than the shape that was asked for.
    Unkept,
    /// The value keeps to its schema and cannot be held by the type it is read into.
    Unreadable,
    /// Whatever the provider could not do.
    Provider(recinto_provider::Kind),
}

/// A failure: kind, what and where, and what to do. Holds no word of an input or an answer.
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
    pub fn kind(&self) -> &Kind {
        &self.kind
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

// Its text already ends with its hint.
impl From<recinto_provider::Error> for Error {
    fn from(error: recinto_provider::Error) -> Error {
        Error::new(Kind::Provider(error.kind().clone()), error.to_string())
    }
}
