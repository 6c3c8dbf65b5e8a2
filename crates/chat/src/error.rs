//! What can go wrong between messages and text.

use std::fmt;

/// The kind of a fault in a template or in its rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The template's text is not a template.
    Syntax,
    /// A filter, test, tag or feature that this interpreter does not have.
    Unsupported,
    /// The template itself refused the conversation (`raise_exception`).
    Raised,
    /// A value that does not exist was used.
    Undefined,
    /// An operation on values that do not allow it.
    Operation,
    /// A limit on steps, memory, depth or output was reached.
    Limit,
    /// An option of the caller cannot be used.
    Option,
    /// A call of a tool in an answer of the model is not well formed.
    Call,
}

/// A fault in a template or in its rendering: kind, what, the template's line, what to do.
///
/// It never holds text of a message, of a tool or of a variable.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    what: String,
    line: Option<usize>,
    /// Byte offset in the template, until the line is known.
    at: Option<u32>,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, what: what.into(), line: None, at: None, hint: None }))
    }

    pub(crate) fn operation(what: impl Into<String>) -> Error {
        Error::new(Kind::Operation, what)
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Error {
        Error::new(Kind::Unsupported, what)
    }

    pub(crate) fn limit(what: impl Into<String>) -> Error {
        Error::new(Kind::Limit, what)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Remembers the innermost place; later calls from outer places change nothing.
    pub(crate) fn at(mut self, at: u32) -> Error {
        self.0.at.get_or_insert(at);
        self
    }

    pub(crate) fn on_line(mut self, line: usize) -> Error {
        self.0.line.get_or_insert(line);
        self
    }

    pub(crate) fn offset(&self) -> Option<u32> {
        self.0.at
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What is wrong, without the line; for [`Kind::Raised`] the template's own words.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The line of the template, from 1, where one is known.
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            Kind::Raised => write!(f, "the chat template refused the messages: {}", self.0.what)?,
            Kind::Call => write!(f, "the model's answer: {}", self.0.what)?,
            _ => write!(f, "chat template: {}", self.0.what)?,
        }
        if let Some(line) = self.0.line {
            write!(f, " (template line {line})")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}
