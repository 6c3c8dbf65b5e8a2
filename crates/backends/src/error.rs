//! Why a model cannot read a judge's questions.

use std::fmt;

/// The kind of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The model cannot be read this way: no letters of one token, or it thinks before it answers.
    Model,
    /// The engine could not carry it out.
    Engine(recinto_engine::Kind),
}

/// A fault: kind, what and where, and what to do. Never holds words of a state or a question.
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

    /// The kind of fault.
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

impl From<recinto_engine::Error> for Error {
    fn from(error: recinto_engine::Error) -> Error {
        let hint = error.what_to_do().map(ToOwned::to_owned);
        Error { kind: Kind::Engine(error.kind().clone()), what: error.what().to_owned(), hint }
    }
}

impl From<recinto_tokenizer::Error> for Error {
    fn from(error: recinto_tokenizer::Error) -> Error {
        recinto_engine::Error::from(error).into()
    }
}
