//! Questions: whether, choose … or nothing, rate. Read from and written to the hosted API's JSON.
//!
//! Reading settles the form: types, keys, doubles. Whether a question makes sense is for
//! [`crate::check`].

mod toml;
mod wire;

use recinto_receipt::{Digest, sha256};
use serde_json::Value;

use crate::{Bucket, Form};

/// The label of the option "none of them".
pub const NOTHING: &str = "none";
/// Its description, as the model reads it.
pub const NOTHING_TEXT: &str = "None of the options fits the state";

/// One option of a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its label, which comes back as the answer byte for byte.
    pub label: String,
    /// What it means; text or JSON. `None`: the label alone says it.
    pub description: Option<Value>,
}

impl Choice {
    /// An option with a description in words.
    pub fn new(label: impl Into<String>, description: impl Into<String>) -> Choice {
        Choice { label: label.into(), description: Some(Value::String(description.into())) }
    }

    /// An option that its label describes.
    pub fn plain(label: impl Into<String>) -> Choice {
        Choice { label: label.into(), description: None }
    }
}

/// What is asked, by form.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Whether a statement holds.
    Whether {
        /// What yes means; `None`: "yes, the statement holds".
        yes: Option<Value>,
        /// What no means.
        no: Option<Value>,
        /// The words that the model sees for no and for yes, in this order, in place of `false`
        /// and `true`.
        words: Option<[String; 2]>,
    },
    /// One of several options.
    Choose {
        /// The options in their order.
        options: Vec<Choice>,
        /// Whether "none of them" is one more option, at the end.
        or_nothing: bool,
    },
    /// A place on a scale.
    Rate {
        /// Descriptions of the levels, lowest first. Null is read, and refused by the checks.
        levels: Vec<Value>,
    },
}

/// A question about a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What to answer; text or JSON. May point into the state with back-ticks.
    pub instructions: Option<Value>,
    /// The form, with what belongs to it.
    pub ask: Ask,
}

impl Question {
    /// Whether a statement holds.
    pub fn whether(instructions: impl Into<String>) -> Question {
        Question::of(instructions, Ask::Whether { yes: None, no: None, words: None })
    }

    /// One of several options.
    pub fn choose(
        instructions: impl Into<String>,
        options: impl IntoIterator<Item = Choice>,
    ) -> Question {
        let options = options.into_iter().collect();
        Question::of(instructions, Ask::Choose { options, or_nothing: false })
    }

    /// A place on a scale of described levels, lowest first.
    pub fn rate<L: Into<String>>(
        instructions: impl Into<String>,
        levels: impl IntoIterator<Item = L>,
    ) -> Question {
        let levels = levels.into_iter().map(|level| Value::String(level.into())).collect();
        Question::of(instructions, Ask::Rate { levels })
    }

    fn of(instructions: impl Into<String>, ask: Ask) -> Question {
        Question { instructions: Some(Value::String(instructions.into())), ask }
    }

    /// The same choice with "none of them" as one more option. Without effect on other forms.
    pub fn or_nothing(mut self) -> Question {
        if let Ask::Choose { or_nothing, .. } = &mut self.ask {
            *or_nothing = true;
        }
        self
    }

    /// Its form.
    pub fn form(&self) -> Form {
        match &self.ask {
            Ask::Whether { .. } => Form::Whether,
            Ask::Choose { .. } => Form::Choose,
            Ask::Rate { .. } => Form::Rate,
        }
    }

    /// How many options a model is shown.
    pub fn options(&self) -> usize {
        match &self.ask {
            Ask::Whether { .. } => 2,
            Ask::Choose { options, or_nothing } => options.len() + usize::from(*or_nothing),
            Ask::Rate { levels } => levels.len(),
        }
    }

    /// The labels in their declared order: that of every distribution. `false` before `true`.
    pub fn labels(&self) -> Vec<String> {
        match &self.ask {
            Ask::Whether { .. } => vec!["false".into(), "true".into()],
            Ask::Choose { options, or_nothing } => {
                let nothing = or_nothing.then(|| NOTHING.to_owned());
                options.iter().map(|o| o.label.clone()).chain(nothing).collect()
            }
            Ask::Rate { levels } => (0..levels.len()).map(|level| level.to_string()).collect(),
        }
    }

    /// What each label means, in the same order; `None` where the label alone says it.
    pub fn descriptions(&self) -> Vec<Option<Value>> {
        match &self.ask {
            Ask::Whether { yes, no, .. } => vec![no.clone(), yes.clone()],
            Ask::Choose { options, or_nothing } => {
                let nothing = or_nothing.then(|| Some(Value::String(NOTHING_TEXT.into())));
                options.iter().map(|o| o.description.clone()).chain(nothing).collect()
            }
            Ask::Rate { levels } => levels.iter().cloned().map(Some).collect(),
        }
    }

    /// Its bucket.
    pub fn bucket(&self) -> Bucket {
        Bucket::of(self.form(), self.options())
    }

    /// SHA-256 of its JSON without blanks, options in their order.
    pub fn digest(&self) -> Digest {
        sha256(self.to_wire().to_string().as_bytes())
    }
}

/// Questions by their ids, in their order. Ids are not shown to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions(pub(crate) Vec<(String, Question)>);

impl Questions {
    /// No questions yet.
    pub fn new() -> Questions {
        Questions::default()
    }

    /// The same with one more; `None` when the id is blank or taken.
    pub fn with(mut self, id: impl Into<String>, question: Question) -> Option<Questions> {
        let id = id.into();
        if id.trim().is_empty() || self.0.iter().any(|(other, _)| *other == id) {
            return None;
        }
        self.0.push((id, question));
        Some(self)
    }

    /// Each id and question, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Question)> {
        self.0.iter().map(|(id, question)| (id.as_str(), question))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a question is named in messages: by its id when that is a plain word, else by its place.
pub(crate) fn name(id: &str, at: usize) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !id.is_empty() && id.len() <= 64 && id.chars().all(plain) {
        format!("question `{id}`")
    } else {
        format!("question {}", at + 1)
    }
}
