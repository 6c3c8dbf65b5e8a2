//! What comes of a task: a value, or an answer that ended too soon.

use std::ops::ControlFlow;

use recinto_engine::{Digest, Piece, Stop, Usage};
use recinto_provider::{Finish, Provider, Reply, Turn};

use crate::{
    decide::{Leg, Scored},
    error::{Error, Kind},
};

/// A value, or why there is none.
#[derive(Debug)]
pub enum Outcome<T> {
    /// The value, complete.
    Done(T),
    /// The answer ended before it was one.
    Incomplete(Incomplete),
    /// The operator's cascade asks for a clearer answer, and policy lets nobody else be asked.
    Undecided(Box<Undecided>),
}

/// An answer that was not clear enough: it is shown, and is no value.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// What the first profile said, by likelihood of each answer.
    pub scores: Vec<Scored>,
    /// The probability that its model answers with any of them.
    pub mass: f64,
    /// What the cascade says of it.
    pub leg: Leg,
    /// Why the second profile may not be asked: the label, and the file and line that decide.
    pub why: String,
    /// Digest of the first prompt's token ids, as in receipts.
    pub input: Option<Digest>,
    /// Tokens.
    pub usage: Usage,
}

/// An answer that ended before it was a value: no part of it is one.
pub struct Incomplete {
    /// Why it ended.
    pub finish: Finish,
    /// What was answered so far, and what made it.
    pub reply: Box<Reply>,
}

impl std::fmt::Debug for Incomplete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incomplete").field("finish", &self.finish).finish_non_exhaustive()
    }
}

/// A value with the reply that it was read from.
pub struct Answer<T> {
    /// The value.
    pub value: T,
    /// Its text as the model wrote it, and what made it.
    pub reply: Reply,
}

impl<T> Outcome<T> {
    /// The value.
    ///
    /// # Errors
    ///
    /// [`Kind::Incomplete`] or [`Kind::Undecided`] where there is none.
    pub fn value(self) -> Result<T, Error> {
        match self {
            Outcome::Done(value) => Ok(value),
            Outcome::Incomplete(incomplete) => Err(incomplete.error()),
            Outcome::Undecided(undecided) => Err(undecided.error()),
        }
    }

    /// The outcome of one more step, where there is a value.
    pub(crate) fn then<U>(
        self,
        next: impl FnOnce(T) -> Result<U, Error>,
    ) -> Result<Outcome<U>, Error> {
        Ok(match self {
            Outcome::Done(value) => Outcome::Done(next(value)?),
            Outcome::Incomplete(incomplete) => Outcome::Incomplete(incomplete),
            Outcome::Undecided(undecided) => Outcome::Undecided(undecided),
        })
    }
}

impl Undecided {
    /// The same as an error.
    pub fn error(&self) -> Error {
        let Leg { cascade, lacks, .. } = &self.leg;
        let short: Vec<String> = lacks.iter().map(|lack| self.leg.told(*lack)).collect();
        let what =
            format!("undecided: cascade `{cascade}`: {}, and {}", short.join("; "), self.why);
        Error::new(Kind::Undecided, what)
    }
}

impl Incomplete {
    /// The same as an error.
    pub fn error(&self) -> Error {
        let tokens = self.reply.usage.output_tokens;
        let why = match self.finish {
            Finish::Length => "the limit of tokens or the end of the context",
            Finish::Stop(_) => "a stop text",
            Finish::Cancelled => "a request to stop",
            Finish::Deadline => "the deadline",
            _ => "the end of the reply",
        };
        let what = format!("the answer is no value yet: {why} cut it after {tokens} tokens");
        let error = Error::new(Kind::Incomplete(self.finish.clone()), what);
        match self.finish {
            Finish::Length => error.hint("more `max_tokens` or a larger context gives it room"),
            Finish::Stop(_) => error.hint("a stop text cannot be part of what is asked for"),
            _ => error,
        }
    }
}

/// Carries a shaped turn out; a reply that is done keeps to its shape.
pub(crate) fn ask(
    provider: &dyn Provider,
    turn: &Turn,
    stop: &Stop,
) -> Result<Outcome<Reply>, Error> {
    let mut sink = |_: Piece<'_>| ControlFlow::Continue(());
    let reply = provider.complete(turn, stop, &mut sink)?;
    match (reply.complete, &reply.finish) {
        (Some(true), _) => Ok(Outcome::Done(reply)),
        (None, Finish::End) => {
            let name = provider.identity().provider;
            let what = format!("{name} does not say that its answer keeps to the shape");
            Err(Error::new(Kind::Unkept, what))
        }
        (_, finish) => {
            let finish = finish.clone();
            Ok(Outcome::Incomplete(Incomplete { finish, reply: Box::new(reply) }))
        }
    }
}

/// Refuses a task whose provider lacks an ability.
pub(crate) fn needs(provider: &dyn Provider, has: bool, what: &str) -> Result<(), Error> {
    if has {
        return Ok(());
    }
    let name = provider.identity().provider;
    Err(Error::new(Kind::Unable, format!("{name} cannot {what}"))
        .hint("the provider `local` can; take it, or another task"))
}

/// A provider that broke its promise.
pub(crate) fn unkept(provider: &dyn Provider) -> Error {
    let name = provider.identity().provider;
    Error::new(Kind::Unkept, format!("{name} answered with something else than was asked for"))
}
