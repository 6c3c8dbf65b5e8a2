//! What can be wrong with a vocabulary or with a call; never carries the text being encoded.

use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A key that every vocabulary needs is not in the file.
    Missing,
    /// A key or the elements of an array have another type than the one that is needed.
    WrongType,
    /// Counts, ids or pieces contradict each other.
    Invalid,
    /// A tokenizer or pre-tokenizer this engine does not have.
    Unsupported,
    /// The arguments of a call do not fit the text or the vocabulary.
    Argument,
    /// The vocabulary has no piece for a byte of the text.
    Unencodable,
}

/// A fault: kind, what and where, and what to do.
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
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<recinto_weights::Error> for Error {
    fn from(error: recinto_weights::Error) -> Error {
        let kind = match error.kind() {
            recinto_weights::Kind::WrongType => Kind::WrongType,
            _ => Kind::Invalid,
        };
        Error::new(kind, error.to_string())
    }
}

/// A piece of a vocabulary for an error text: short and on one line.
pub(crate) fn shown(piece: &str) -> String {
    let mut out: String = piece.chars().take(40).flat_map(char::escape_debug).collect();
    if piece.chars().nth(40).is_some() {
        out.push('…');
    }
    out
}
