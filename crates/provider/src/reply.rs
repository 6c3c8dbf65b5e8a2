//! What a provider answered: the same for this process and for others.

use std::time::Duration;

use recinto_engine::{self as engine, Options, ToolCall, Usage};
use serde::Serialize;
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
    pub logprobs: Vec<Likelihood>,
    /// Whether a shape was asked for and the answer is complete by it. A reply that was cut is
    /// incomplete, and its text no value of the shape.
    pub complete: Option<bool>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What made it.
    pub made: Made,
}

/// How likely one token of a reply was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Likelihood {
    /// The token's id, where the vocabulary is known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Its text, where only that is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// The same among the tokens that were allowed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<f64>,
    /// The likeliest tokens in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<Vec<Likelihood>>,
}

impl Likelihood {
    /// Only what can be told of a token of somebody else's vocabulary.
    #[cfg(feature = "remote")]
    pub(crate) fn of_text(text: String, logprob: f64) -> Likelihood {
        Likelihood { id: None, text: Some(text), logprob, masked: None, top: None }
    }

    fn wipe(&mut self) {
        self.text.zeroize();
        self.top.iter_mut().flatten().for_each(Likelihood::wipe);
    }
}

impl From<&engine::TokenScore> for Likelihood {
    fn from(score: &engine::TokenScore) -> Likelihood {
        let one = |id, logprob, masked, top| Likelihood {
            id: Some(id),
            text: None,
            logprob,
            masked: Some(masked),
            top,
        };
        let top = score.top.iter().map(|other| one(other.id, other.logprob, other.masked, None));
        one(score.id, score.logprob, score.masked, Some(top.collect()))
    }
}

/// What made a reply.
#[non_exhaustive]
pub enum Made {
    /// This process: digests, times and receipt are in the engine's reply, whose texts are empty.
    Local(Box<engine::Reply>),
    /// A service elsewhere.
    Service(Box<Service>),
    /// The mock.
    Mock,
}

/// What is known of how a reply came from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Service {
    /// The host that was asked.
    pub host: String,
    /// The wire's name.
    pub wire: String,
    /// The model that answered, as the service names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The answer's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The request's id, for questions to the vendor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What the service says of its system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// HMAC-SHA-256 of the body that was sent, under the operator's key, as it stands in the log of
    /// sends; left out without a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<String>,
    /// The same of the answer's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_digest: Option<String>,
    /// The rows of policies that let it leave, each as `file:line`, as in the log of sends.
    pub rules: Vec<String>,
    /// Requests that were sent for it, failed ones included.
    pub requests: u32,
    /// Options that were given and not sent.
    pub not_sent: Vec<String>,
    /// To the first of the answer.
    #[serde(rename = "first_ms", serialize_with = "milliseconds")]
    pub first: Option<Duration>,
    /// To its end, waits included.
    #[serde(rename = "whole_ms", serialize_with = "milliseconds")]
    pub whole: Option<Duration>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn milliseconds<S: serde::Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64() * 1e3).serialize(to)
}

impl Reply {
    /// The engine's account of a reply that this process made: digests, receipt, times, memory.
    pub fn local(&self) -> Option<&engine::Reply> {
        match &self.made {
            Made::Local(reply) => Some(reply),
            _ => None,
        }
    }

    /// How it came from elsewhere.
    pub fn service(&self) -> Option<&Service> {
        match &self.made {
            Made::Service(service) => Some(service),
            _ => None,
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
            logprobs: take(&mut reply.logprobs).iter().map(Likelihood::from).collect(),
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
        self.logprobs.iter_mut().for_each(Likelihood::wipe);
    }
}
