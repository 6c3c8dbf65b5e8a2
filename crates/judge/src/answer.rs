//! An answer: a value with its whole distribution, and everything that a gate or a person needs to
//! judge it. Made in one place, checked when it is read back.

use recinto_receipt::{Digest, canonical_bytes, sha256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    Bucket, Error, Form, Kind, Question, Unavailable, confidence, debias::Sensitivity,
    question::NOTHING, readout,
};

/// What was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is", deny_unknown_fields)]
pub enum Value {
    /// The statement holds with this probability. It is not a confidence: 0.02 is a sure no.
    Whether {
        /// P(yes).
        yes: f64,
    },
    /// This option; the first of equals.
    Option {
        /// Its index in the declared order.
        index: usize,
    },
    /// None of the options.
    Nothing,
    /// A place on the scale, counted from 0: with n levels, 0..=n − 1 and not 0..=1.
    Level {
        /// Σ i · p(i).
        expected: f64,
        /// The likeliest level; the first of equals.
        likeliest: usize,
    },
}

/// One label and its probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The label.
    pub label: String,
    /// Its probability.
    pub p: f64,
}

/// How much of the state was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// Tokens of the state; 0 where nobody said.
    pub state_tokens: u64,
    /// Tokens of it that were not read.
    pub dropped: u64,
    /// Whether two options look the same after they were cut.
    pub options_alike: bool,
    /// How a state that did not fit was read in parts; absent where it was read at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
}

/// How a state was read that is longer than the model's room: in windows that overlap, each asked
/// by itself, and one of them answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// How many.
    pub count: u64,
    /// Tokens of the state in each, the last one perhaps fewer.
    pub size: u64,
    /// Tokens that two neighbours share.
    pub overlap: u64,
    /// Which of them answers.
    pub rule: Rule,
    /// Which one did, from 0; absent where orders of the options differed in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
}

/// Which of several windows answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The one with the largest probability of yes: what holds anywhere holds.
    LargestYes,
    /// The one with the largest probability of its first option.
    MostConfident,
}

impl Rule {
    /// The rule for a form.
    pub fn of(form: Form) -> Rule {
        match form {
            Form::Whether => Rule::LargestYes,
            Form::Choose | Form::Rate => Rule::MostConfident,
        }
    }
}

impl Truncation {
    /// Whether anything was cut.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0 || self.options_alike
    }
}

/// What is known about how an answer came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Digest of the [`crate::Identity`] that read.
    pub identity: Digest,
    /// The word for prompt and readout, such as `markers-guarded/2`: which way of reading ran.
    pub reading: String,
    /// The model that answered, by the name that a service gave with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Digest of the question.
    pub question: Digest,
    /// Digest of the state.
    pub state: Digest,
    /// Digest of the calibration that was applied; `None`: the numbers are the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<Digest>,
    /// What logits were divided by, where that is how it was calibrated, or the model's own makers
    /// say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Inputs behind the prior that was divided out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_inputs: Option<u64>,
    /// Share of all probability that the labels hold together; absent where it cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option_mass: Option<f64>,
    /// How much the order of the options mattered; absent where one order was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Sensitivity>,
    /// How much of the state was read.
    pub truncation: Truncation,
}

/// An answer to one question. Its numbers belong together: they are made, and when read back
/// compared, by the same code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    #[serde(rename = "type")]
    form: Form,
    value: Value,
    probabilities: Vec<Share>,
    answer_confidence: f64,
    confidence: f64,
    #[serde(flatten)]
    facts: Facts,
}

/// How far the sum of probabilities may be from 1: services round to two decimals.
const LOOSE: f64 = 0.05;

impl Answer {
    /// The answer to `question` with these probabilities, in the declared order of its labels.
    /// They are divided by their sum, which is about 1.
    pub fn new(question: &Question, p: &[f64], facts: Facts) -> Result<Answer, Unavailable> {
        let or_nothing =
            matches!(question.ask, crate::question::Ask::Choose { or_nothing: true, .. });
        Answer::of(question.form(), question.labels(), or_nothing, p, facts)
    }

    fn of(
        form: Form,
        labels: Vec<String>,
        or_nothing: bool,
        p: &[f64],
        facts: Facts,
    ) -> Result<Answer, Unavailable> {
        let sum: f64 = p.iter().sum();
        let sound = p.len() == labels.len()
            && p.iter().all(|p| (0.0..=1.0).contains(p))
            && (sum - 1.0).abs() <= LOOSE;
        let mass = facts.option_mass.is_none_or(|mass| (0.0..=1.0).contains(&mass));
        if !sound || !mass {
            return Err(Unavailable::NotANumber);
        }
        // A sum that is 1 but for rounding stays, so that an answer reads back to the same bits.
        let sum = if (sum - 1.0).abs() <= 1e-12 { 1.0 } else { sum };
        let p: Vec<f64> = p.iter().map(|p| p / sum).collect();
        let best = readout::first_largest(&p).ok_or(Unavailable::NotANumber)?;
        let value = match form {
            Form::Whether => Value::Whether { yes: *p.get(1).ok_or(Unavailable::NotANumber)? },
            Form::Choose if or_nothing && best + 1 == p.len() => Value::Nothing,
            Form::Choose => Value::Option { index: best },
            Form::Rate => {
                let expected = p.iter().enumerate().map(|(i, p)| i as f64 * p).sum();
                Value::Level { expected, likeliest: best }
            }
        };
        let (answer_confidence, hosted) = (p[best], confidence::hosted(form, &p));
        if !answer_confidence.is_finite() || !hosted.is_finite() {
            return Err(Unavailable::NotANumber);
        }
        let shares = labels.into_iter().zip(&p).map(|(label, p)| Share { label, p: *p });
        Ok(Answer {
            form,
            value,
            probabilities: shares.collect(),
            answer_confidence,
            confidence: hosted,
            facts,
        })
    }

    /// The form of the question.
    pub fn form(&self) -> Form {
        self.form
    }

    /// What was answered.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Labels and probabilities in the declared order.
    pub fn probabilities(&self) -> &[Share] {
        &self.probabilities
    }

    /// The label of the likeliest option; the first of equals. `None` for nothing.
    pub fn label(&self) -> Option<&str> {
        let at = match self.value {
            Value::Whether { yes } => usize::from(yes > 0.5),
            Value::Option { index } => index,
            Value::Nothing => return None,
            Value::Level { likeliest, .. } => likeliest,
        };
        self.probabilities.get(at).map(|share| share.label.as_str())
    }

    /// The largest probability, on every form: the number that temperature fits and gates use.
    pub fn answer_confidence(&self) -> f64 {
        self.answer_confidence
    }

    /// Confidence by the hosted API's formula; see [`confidence::hosted`].
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// How it came about.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether two options share the first place.
    pub fn is_tied(&self) -> bool {
        self.probabilities.iter().filter(|share| share.p >= self.answer_confidence).count() > 1
    }

    /// Its bucket.
    pub fn bucket(&self) -> Bucket {
        Bucket::of(self.form, self.probabilities.len())
    }

    /// SHA-256 of its canonical bytes.
    pub fn digest(&self) -> Digest {
        sha256(&canonical_bytes(self))
    }

    /// Reads an answer, and compares every number with what follows from its probabilities.
    pub fn from_json(text: &str) -> Result<Answer, Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            #[serde(rename = "type")]
            form: Form,
            value: Value,
            probabilities: Vec<Share>,
            answer_confidence: f64,
            confidence: f64,
            identity: Digest,
            reading: String,
            model: Option<String>,
            question: Digest,
            state: Digest,
            calibrated: Option<Digest>,
            temperature: Option<f64>,
            prior_inputs: Option<u64>,
            option_mass: Option<f64>,
            order: Option<Sensitivity>,
            truncation: Truncation,
        }
        let json = crate::json::parse(text, "an answer")?;
        let w: Written = serde_json::from_value(json).map_err(|e| Error::json("an answer", &e))?;
        let facts = Facts {
            identity: w.identity,
            reading: w.reading,
            model: w.model,
            question: w.question,
            state: w.state,
            calibrated: w.calibrated,
            temperature: w.temperature,
            prior_inputs: w.prior_inputs,
            option_mass: w.option_mass,
            order: w.order,
            truncation: w.truncation,
        };
        let labels: Vec<String> = w.probabilities.iter().map(|s| s.label.clone()).collect();
        let p: Vec<f64> = w.probabilities.iter().map(|s| s.p).collect();
        let nothing = labels.last().is_some_and(|label| label == NOTHING);
        let or_nothing = nothing && w.value == Value::Nothing;
        let made = Answer::of(w.form, labels, or_nothing, &p, facts)
            .map_err(|_| Error::new(Kind::Number, "an answer whose probabilities are none"))?;
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9;
        let same_value = match (&made.value, &w.value) {
            (Value::Whether { yes: a }, Value::Whether { yes: b }) => near(*a, *b),
            (
                Value::Level { expected: a, likeliest: i },
                Value::Level { expected: b, likeliest: j },
            ) => near(*a, *b) && i == j,
            (a, b) => a == b,
        };
        let same = near(made.answer_confidence, w.answer_confidence)
            && near(made.confidence, w.confidence);
        if !same_value || !same {
            return Err(Error::new(Kind::Number, "an answer whose numbers contradict each other")
                .with_hint("it was edited; value and confidence follow from the probabilities"));
        }
        Ok(made)
    }

    /// The answer as the hosted API writes it, numbers rounded to `decimals`. `legend` needs the
    /// question. The value of nothing is its label, as for any option.
    pub fn to_hosted(&self, question: &Question, decimals: usize) -> Json {
        let rounded = |x: f64| -> Json {
            // Rust rounds the exact value, halves to even, and reads the shortest text back.
            format!("{x:.decimals$}").parse::<f64>().map_or(Json::Null, Json::from)
        };
        let mut out = Map::new();
        out.insert("type".into(), self.form.name().into());
        let shares = || -> Map<String, Json> {
            self.probabilities.iter().map(|s| (s.label.clone(), rounded(s.p))).collect()
        };
        match &self.value {
            Value::Whether { yes } => {
                out.insert("noul".into(), rounded(*yes));
                return Json::Object(out);
            }
            Value::Level { expected, .. } => {
                out.insert("score".into(), rounded(*expected));
                out.insert("probabilities".into(), Json::Object(shares()));
                let legend: Map<String, Json> = question
                    .labels()
                    .into_iter()
                    .zip(question.descriptions())
                    .map(|(label, text)| (label, text.unwrap_or(Json::Null)))
                    .collect();
                out.insert("legend".into(), Json::Object(legend));
            }
            Value::Option { .. } | Value::Nothing => {
                out.insert("choice".into(), self.label().unwrap_or(NOTHING).into());
                out.insert("probabilities".into(), Json::Object(shares()));
            }
        }
        out.insert("confidence".into(), rounded(self.confidence));
        Json::Object(out)
    }
}
