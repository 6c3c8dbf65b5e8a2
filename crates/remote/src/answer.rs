//! What came back.

use std::time::Duration;

use recinto_engine::{Options, ToolCall, Usage};
use zeroize::Zeroize;

pub use crate::draft::Token;

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model said it was done.
    End,
    /// The limit of tokens, or the end of the context.
    Length,
    /// A stop text; which of the options', where the service says so.
    Stop(Option<usize>),
    /// It waits for the results of the tools that it calls.
    Calls,
    /// The caller said stop; what came before stands.
    Cancelled,
    /// The deadline passed; what came before stands.
    Deadline,
}

/// An answer. Texts are wiped when it is dropped.
pub struct Answer {
    /// The answer; of a form, the JSON.
    pub text: String,
    /// What the model thought before, where the service tells.
    pub reasoning: String,
    /// Calls of the tools that the request offered.
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens as the service counts them.
    pub usage: Usage,
    /// The options as they were sent; of those that were not, `notes` tells.
    pub options: Options,
    /// How likely each token was.
    pub tokens: Vec<Token>,
    /// What a reader should know: options that were not sent or have no effect.
    pub notes: Vec<String>,
    /// Whose it is.
    pub facts: Facts,
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.text.zeroize();
        self.reasoning.zeroize();
        self.tokens.iter_mut().for_each(Zeroize::zeroize);
    }
}

/// What is known of how an answer came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The host that was asked.
    pub host: String,
    /// The wire's name.
    pub wire: &'static str,
    /// The model that answered, as the service names it.
    pub model: Option<String>,
    /// The answer's id.
    pub id: Option<String>,
    /// The request's id, for questions to the vendor.
    pub request_id: Option<String>,
    /// What the service says of its system.
    pub fingerprint: Option<String>,
    /// Of the body that was sent last, as it stands in the log of sends; `None` without a key.
    pub request_digest: Option<String>,
    /// Requests that were sent for it, failed ones included.
    pub requests: u32,
    /// Options that were given and not sent.
    pub not_sent: Vec<String>,
    /// From the sending to the first of the answer.
    pub first: Option<Duration>,
    /// From the first sending to the end, waits included.
    pub whole: Duration,
}
