//! What a provider answered: the same for this process and for others.

use recinto_engine::{self as engine, Options, TokenScore, ToolCall, Usage};
use zeroize::Zeroize;

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model said it was done.
    End,
    /// The limit of tokens, or the end of the context.
    Length,
    /// A stop string; which one, by its index in the options, where the provider says so.
    Stop(Option<usize>),
    /// It waits for the results of the tools that it calls.
    Calls,
    /// The caller said stop; what came before stands.
    Cancelled,
    /// The deadline passed; what came before stands.
    Deadline,
}

impl Finish {
    /// Its word.
    pub fn name(&self) -> &'static str {
        match self {
            Finish::End => "end",
            Finish::Length => "length",
            Finish::Stop(_) => "stop",
            Finish::Calls => "calls",
            Finish::Cancelled => "cancelled",
            Finish::Deadline => "deadline",
        }
    }
}

impl From<&engine::Finish> for Finish {
    fn from(finish: &engine::Finish) -> Finish {
        match finish {
            engine::Finish::End => Finish::End,
            engine::Finish::Length => Finish::Length,
            engine::Finish::Stop(index) => Finish::Stop(Some(*index)),
            engine::Finish::Cancelled => Finish::Cancelled,
            engine::Finish::Deadline => Finish::Deadline,
        }
    }
}

/// What was answered, and by what. Text and thought are wiped when it is dropped.
pub struct Reply {
    /// The answer.
    pub text: String,
    /// What the model thought before; empty for models that do not, or do not tell.
    pub reasoning: String,
    /// Calls of the tools that the request offered; they are not part of the text.
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens.
    pub usage: Usage,
    /// The options as they were used.
    pub options: Options,
    /// How likely each token was, where that was asked for and can be known.
    pub logprobs: Vec<TokenScore>,
    /// Whether a shape was asked for and the answer is complete by it. A reply that was cut is
    /// incomplete, and its text no value of the shape.
    pub complete: Option<bool>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What made it.
    pub made: Made,
}

/// What made a reply.
#[non_exhaustive]
pub enum Made {
    /// This process: digests, times and receipt are in the engine's reply, whose texts are empty.
    Local(Box<engine::Reply>),
}

impl Reply {
    /// The engine's account of a reply that this process made: digests, receipt, times, memory.
    pub fn local(&self) -> Option<&engine::Reply> {
        match &self.made {
            Made::Local(reply) => Some(reply),
        }
    }
}

impl From<engine::Reply> for Reply {
    fn from(mut reply: engine::Reply) -> Reply {
        use std::mem::take;
        Reply {
            text: take(&mut reply.text),
            reasoning: take(&mut reply.reasoning),
            finish: match (&reply.finish, reply.calls.is_empty()) {
                (engine::Finish::End, false) => Finish::Calls,
                (other, _) => other.into(),
            },
            calls: take(&mut reply.calls),
            usage: reply.usage,
            options: reply.options.clone(),
            logprobs: take(&mut reply.logprobs),
            complete: reply.complete,
            notes: take(&mut reply.notes),
            made: Made::Local(Box::new(reply)),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.text.zeroize();
        self.reasoning.zeroize();
    }
}
