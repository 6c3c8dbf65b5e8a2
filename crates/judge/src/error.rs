//! What can be wrong with questions, labelled rows, artefacts and gates.

use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text that is no JSON of the wanted form.
    Json,
    /// A question that cannot be asked.
    Question,
    /// A state that cannot be judged.
    State,
    /// A number out of its range, or none at all.
    Number,
    /// Labelled rows that do not fit each other.
    Rows,
    /// Too little, or nothing in it, to fit with.
    NotDetermined,
    /// An artefact of a schema that this version does not know.
    Schema,
    /// An artefact whose bytes were changed or written by something else.
    NotCanonical,
    /// An artefact that was made for another model, or for other settings of it.
    OtherModel,
    /// A picture could not be drawn.
    Picture,
}

/// A fault: kind, what and where, and what to do. It never holds words of a state, an instruction
/// or an option: questions, options and rows are named by their place.
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

    /// A fault in JSON text. The message of `serde_json` may repeat what it read, so only the
    /// place is kept.
    pub(crate) fn json(what: &str, error: &serde_json::Error) -> Error {
        let (line, column) = (error.line(), error.column());
        let place =
            if line == 0 { String::new() } else { format!(" (line {line}, column {column})") };
        Error::new(Kind::Json, format!("not {what}{place}"))
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What is wrong and where, without the hint.
    pub fn what(&self) -> &str {
        &self.what
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
