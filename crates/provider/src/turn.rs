//! What is asked of a provider, and what it can do: the same for this process and for others.

use recinto_engine::Request;
use recinto_grammar::Shape;

/// One turn of a conversation: what is asked, what the answer must be, what the data is.
#[derive(Clone, Default)]
pub struct Turn {
    /// The conversation so far, the options, the tools.
    pub request: Request,
    /// What the answer must be; `None` is free text. It is a promise: an answer of another shape is
    /// an error, never a reply.
    pub shape: Option<Shape>,
    /// What the data is (`internal`, `client:acme`, …): policy says what may leave. None at all is
    /// data that nobody labelled.
    pub labels: Vec<String>,
    /// For whom this is asked, such as a user: the operator's budget counts for each by itself.
    /// Nobody named is one of them, too. It is sent nowhere and written nowhere.
    pub identity: Option<String>,
}

impl From<Request> for Turn {
    fn from(request: Request) -> Turn {
        Turn { request, ..Turn::default() }
    }
}

impl Turn {
    /// For whom the budget counts.
    pub(crate) fn counted(&self) -> &str {
        self.identity.as_deref().unwrap_or_default()
    }

    /// The same with a shape for the answer.
    pub fn shaped(mut self, shape: Shape) -> Turn {
        self.shape = Some(shape);
        self
    }
}

/// What a provider can do. What it cannot is an error of kind [`Unable`](crate::Kind::Unable).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Answers that are one of some labels, or valid by a JSON Schema.
    pub schemas: bool,
    /// Answers by a regular expression or a grammar. Elsewhere they are checked when they are
    /// there, not held to it while they are made: one that is not of its shape is an error.
    pub grammars: bool,
    /// Probabilities of whole labels.
    pub scores: bool,
    /// Log-probabilities of each token of a reply.
    pub logprobs: bool,
    /// Calls of tools.
    pub tools: bool,
}
