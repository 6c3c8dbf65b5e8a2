//! The door to whoever reads: a model in this process, a service, or the mock.

mod mock;

pub use mock::Mock;

use serde::{Deserialize, Serialize};

use crate::{Form, Model, Question, State, Unavailable, answer::Truncation, check::Readout};

/// A question as it is to be shown: slot `s` holds option `order[s]` of the declared order.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The question.
    pub question: &'a Question,
    /// A permutation of its options.
    pub order: &'a [usize],
}

/// What was read about one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// One value a slot, in the order in which options were shown.
    pub evidence: Evidence,
    /// Share of all probability that the labels hold together; `None` where it cannot be known.
    pub mass: Option<f64>,
    /// How much of the state was read.
    pub truncation: Truncation,
    /// The model that answered, where a service says so with each answer.
    pub model: Option<Model>,
    /// Tokens.
    pub usage: Usage,
}

/// What a backend gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Raw logits, not divided by anything.
    Logits(Vec<f64>),
    /// Probabilities, about 1 in sum, where a service gives no more. For a form of yes or no: no,
    /// then yes.
    Probabilities(Vec<f64>),
}

/// Tokens read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens read, without padding.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl Usage {
    /// The sum; stays at the largest number.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }
}

/// What a backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The most options of one question.
    pub options: usize,
    /// How options are read.
    pub readout: Readout,
}

/// Whoever reads questions about a state.
///
/// One call holds all questions about one state, so that a causal model reads the state once and
/// a service is asked once. A backend never invents a number: what it cannot read is
/// [`Unavailable`].
pub trait Backend {
    /// The model that reads.
    fn model(&self) -> Model;

    /// The word for prompt and readout with its version, such as `letters/1`; a change of either
    /// changes the word, and with it what calibrations and gates fit.
    fn reading(&self) -> String;

    /// What it can do.
    fn abilities(&self) -> Abilities;

    /// What the model's own makers divide logits by for such a question, where they say: it is used
    /// when no calibration of the user's applies, and the answer still counts as uncalibrated.
    fn temperature(&self, _form: Form, _options: usize) -> f64 {
        1.0
    }

    /// Whether the options of such a question can be shown in another order. Where not, it is read
    /// once, whatever orders are asked for, and the answer tells of no other.
    fn reorders(&self, _form: Form) -> bool {
        true
    }

    /// Reads each question once, in the order it is shown in. As many results as questions, in
    /// their order; an error stands for all of them.
    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable>;

    /// Why the last call failed, in the backend's own words, for a log: what, and perhaps a line
    /// with a hint. Never words of a state or a question.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Whether no later call can succeed either: the weights are no longer what they were, or a
    /// budget is spent. A batch ends there, and what is left is not done.
    fn ended(&self) -> bool {
        false
    }
}

impl<B: Backend + ?Sized> Backend for Box<B> {
    fn model(&self) -> Model {
        (**self).model()
    }

    fn reading(&self) -> String {
        (**self).reading()
    }

    fn abilities(&self) -> Abilities {
        (**self).abilities()
    }

    fn temperature(&self, form: Form, options: usize) -> f64 {
        (**self).temperature(form, options)
    }

    fn reorders(&self, form: Form) -> bool {
        (**self).reorders(form)
    }

    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        (**self).read(state, shown)
    }

    fn trouble(&self) -> Option<String> {
        (**self).trouble()
    }

    fn ended(&self) -> bool {
        (**self).ended()
    }
}
