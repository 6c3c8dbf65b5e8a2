//! What can go wrong between a file and a reply.

use std::fmt;

/// The kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The file cannot be opened or is not a model.
    Open,
    /// The architecture is missing, broken or does not fit the file.
    Architecture,
    /// The vocabulary is missing, broken or of an unknown kind.
    Tokenizer,
    /// The chat template failed.
    Template,
    /// The request is out of its bounds.
    Request,
    /// The prompt does not fit the context.
    Overflow {
        /// Positions the prompt needs, at least one generated token included.
        needed: usize,
        /// Positions the session has.
        available: usize,
    },
    /// The caller said stop while the prompt was being read.
    Cancelled,
    /// The deadline passed while the prompt was being read.
    Deadline,
    /// A value was not a number.
    NonFinite {
        /// Line in the arch file.
        line: u32,
        /// The layer, if the line stands in a repeated block.
        layer: Option<u32>,
    },
    /// What may come next cannot be said, or is nothing.
    Constraint,
    /// The answer has a call of a tool that is not well formed.
    Call,
    /// Keys and values of earlier positions are no longer there to go back to.
    Forgotten,
    /// A saved session is damaged, cut, or of another model.
    Saved,
    /// A saved session could not be written or read.
    Transfer,
    /// The system gave no memory, or would not lock it.
    Memory,
    /// The file changed while it was mapped.
    Changed,
    /// A part of the model is not what somebody said it is by its digest.
    Mismatch,
    /// The machine lacks what was asked for (a CPU level, threads).
    Machine,
    /// A fault of this engine's own; please report it.
    Internal,
}

/// A failure: kind, what and where, and what to do. Never holds words of a prompt or a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    hint: Option<String>,
}

impl Error {
    /// A failure of `kind`; `what` says what and where.
    pub fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None }
    }

    /// What to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it, where there is something.
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What is wrong and where, without the hint.
    pub fn what(&self) -> &str {
        &self.what
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

/// Runs `work`; a panic in it becomes an error, so that none crosses into the host program.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        // The payload could quote data: it is dropped unread.
        Err(Error::new(Kind::Internal, "a fault inside the engine")
            .hint("please report it with the command and the model's name"))
    })
}

/// Errors of the rooms below: their texts already say what, where and what to do.
macro_rules! from {
    ($($error:ty => $kind:ident,)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                let text = error.to_string();
                let (what, hint) = match text.split_once("\nhint: ") {
                    Some((what, hint)) => (what.trim_end(), Some(hint.to_owned())),
                    None => (text.as_str(), None),
                };
                Error { kind: Kind::$kind, what: what.to_owned(), hint }
            }
        }
    )*};
}

from! {
    recinto_weights::Error => Open,
    recinto_arch::Error => Architecture,
    recinto_tokenizer::Error => Tokenizer,
    recinto_chat::Error => Template,
}
