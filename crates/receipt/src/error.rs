//! What can be wrong with a digest or a receipt that is read back.

use std::fmt;

/// The kind of a fault in a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text that is no SHA-256 digest.
    Digest,
    /// Bytes that are no receipt.
    NotReceipt,
    /// A receipt of a schema that this version does not know.
    Schema,
    /// A receipt whose bytes were changed or written by something else.
    NotCanonical,
    /// An answer from elsewhere: it cannot be replayed.
    Remote,
}

/// A fault in a receipt: kind, what and where, and what to do. It never repeats the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    hint: Option<&'static str>,
}

impl Error {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Error {
        self.hint = Some(hint);
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
        match self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
