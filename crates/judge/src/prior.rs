//! Kept priors: what a model answers on average, from states without labels, in a file.
//!
//! A prior that runs along changes with every input, so the same state may get another answer
//! tomorrow, and no calibration or gate can hold for it. One that is kept is part of who reads.

use std::collections::{BTreeMap, BTreeSet};

use recinto_receipt::Digest;
use serde::{Deserialize, Serialize};

use crate::{
    Artefact, Error, Fraction, Identity, Kind, Question, SCHEMA,
    debias::{LEAST_INPUTS, Prior, divided},
    readout,
};

/// The most questions that a prior is kept of; one beyond gets none.
pub(crate) const MOST: usize = 4096;

/// Mean distributions of questions, made by one [`Identity`]. Holds numbers and digests only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priors {
    schema: u32,
    identity: Identity,
    /// Seconds since 1970, as the caller said.
    made: u64,
    /// The power that is divided by.
    alpha: Fraction,
    questions: BTreeMap<Digest, Kept>,
}

/// The prior of one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Inputs that it is the mean of.
    pub inputs: u64,
    /// The mean distribution, in the declared order.
    pub mean: Vec<Fraction>,
}

/// Gathers what a judge without a prior answers.
#[derive(Debug, Default)]
pub struct Gathered {
    questions: BTreeMap<Digest, Prior>,
    seen: BTreeSet<(Digest, Digest)>,
}

impl Gathered {
    /// One more answer, by the raw logits in the declared order. A state that a question was asked
    /// about before adds nothing to it; neither does a question beyond the first 4,096.
    pub fn observe(&mut self, question: &Question, state: Digest, logits: &[f64]) {
        let digest = question.digest();
        let room = self.questions.len() < MOST || self.questions.contains_key(&digest);
        if room && self.seen.insert((digest, state)) {
            self.questions.entry(digest).or_default().observe(&readout::softmax(logits, 1.0));
        }
    }

    /// Inputs of a question so far.
    pub fn inputs(&self, question: &Question) -> u64 {
        self.questions.get(&question.digest()).map_or(0, Prior::inputs)
    }

    /// The priors of all questions with at least [`LEAST_INPUTS`] inputs.
    ///
    /// # Errors
    ///
    /// No question has so many; `identity` has a prior of its own; `alpha` is not in 0..=1.
    pub fn keep(self, identity: Identity, made: u64, alpha: f64) -> Result<Priors, Error> {
        if identity.prior != Correction::None {
            return Err(Error::new(Kind::OtherModel, "answers that a prior was divided out of")
                .with_hint("gather them without one"));
        }
        let kept = |prior: Prior| {
            let mean = prior.mean()?.into_iter().map(Fraction).collect();
            (prior.inputs() >= LEAST_INPUTS).then_some(Kept { inputs: prior.inputs(), mean })
        };
        let all = self.questions.into_iter();
        let questions: BTreeMap<_, _> =
            all.filter_map(|(digest, prior)| Some((digest, kept(prior)?))).collect();
        if questions.is_empty() {
            let what = format!("no question was answered about {LEAST_INPUTS} different states");
            return Err(Error::new(Kind::NotDetermined, what)
                .with_hint("more states, such as those that will come; none needs a label"));
        }
        let priors = Priors { schema: SCHEMA, identity, made, alpha: Fraction(alpha), questions };
        priors.check()?;
        Ok(priors)
    }
}

impl Priors {
    /// Who answered.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Each question's digest and its prior.
    pub fn questions(&self) -> &BTreeMap<Digest, Kept> {
        &self.questions
    }

    /// Logits with the prior of question `question` divided out, and its number of inputs; `None`
    /// for a question that has none.
    pub fn correct(&self, question: &Digest, logits: &[f64]) -> Option<(Vec<f64>, u64)> {
        let kept = self.questions.get(question)?;
        if kept.mean.len() != logits.len() {
            return None;
        }
        let mean = kept.mean.iter().map(|fraction| fraction.0);
        Some((divided(logits, mean, self.alpha.0), kept.inputs))
    }
}

impl Artefact for Priors {
    const NAME: &'static str = "a prior";

    fn check(&self) -> Result<(), Error> {
        let sound = |kept: &Kept| {
            let sum: f64 = kept.mean.iter().map(|p| p.0).sum();
            kept.inputs >= LEAST_INPUTS
                && kept.mean.iter().all(|p| (0.0..=1.0).contains(&p.0))
                && (sum - 1.0).abs() < 1e-6
        };
        let sound = self.questions.values().all(sound) && (0.0..=1.0).contains(&self.alpha.0);
        match sound && self.identity.prior == Correction::None {
            true => Ok(()),
            false => Err(Error::new(Kind::Number, "a prior whose numbers no states give")),
        }
    }
}

/// Which prior is divided out of what a model answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Correction {
    /// None.
    #[default]
    None,
    /// One that runs along with the inputs of this process. Nothing can be fitted on its answers.
    Running,
    /// The one in a file.
    Kept {
        /// Digest of [`Priors`].
        digest: Digest,
    },
}

impl Correction {
    /// An error where answers depend on those before them: nothing that is fitted holds for them.
    ///
    /// # Errors
    ///
    /// A prior runs along.
    pub fn must_stay(self, made: &str) -> Result<(), Error> {
        match self {
            Correction::Running => {
                let what = format!("{made} cannot hold while a running prior changes the answers");
                Err(Error::new(Kind::OtherModel, what)
                    .with_hint("keep one in a file, from states without labels, and read with it"))
            }
            Correction::None | Correction::Kept { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use recinto_receipt::sha256;

    use super::*;
    use crate::{Model, Orders};

    fn identity(prior: Correction) -> Identity {
        let model = Model::Local { digest: sha256(b"modelo"), dtype: "q8_0".into() };
        Identity { model, reading: "letters/1".into(), orders: Orders::Two, prior }
    }

    fn gathered(states: u64) -> Gathered {
        let mut all = Gathered::default();
        for n in 0..states {
            // Each twice: the second adds nothing.
            for _ in 0..2 {
                let state = sha256(&n.to_le_bytes());
                all.observe(&Question::whether("¿Es urgente?"), state, &[0.0, 3.0]);
            }
        }
        all
    }

    #[test]
    fn what_is_always_said_is_taken_off() {
        let question = Question::whether("¿Es urgente?");
        let all = gathered(LEAST_INPUTS);
        assert_eq!(all.inputs(&question), LEAST_INPUTS);
        let priors = all.keep(identity(Correction::None), 7, 1.0).unwrap();
        let (even, inputs) = priors.correct(&question.digest(), &[0.0, 3.0]).unwrap();
        assert_eq!(inputs, LEAST_INPUTS);
        assert!((even[0] - even[1]).abs() < 1e-9, "{even:?}");
        let other = Question::whether("¿Es un año?").digest();
        assert_eq!(priors.correct(&other, &[0.0, 3.0]), None);
        assert_eq!(priors.correct(&question.digest(), &[0.0; 3]), None, "other options");
        let read = Priors::from_bytes(&priors.to_bytes()).unwrap();
        assert_eq!((&read, read.digest()), (&priors, priors.digest()));
    }

    #[test]
    fn what_cannot_be_kept() {
        let digest = sha256(b"x");
        let cases = [
            ("too few", gathered(LEAST_INPUTS - 1), Correction::None, 0.75, "8 different"),
            ("running", gathered(9), Correction::Running, 0.75, "was divided out"),
            ("twice", gathered(9), Correction::Kept { digest }, 0.75, "was divided out"),
            ("power", gathered(9), Correction::None, 1.5, "numbers"),
            ("no power", gathered(9), Correction::None, f64::NAN, "numbers"),
        ];
        for (name, all, correction, alpha, told) in cases {
            let error = all.keep(identity(correction), 7, alpha).expect_err(name).to_string();
            assert!(error.contains(told), "{name}: {error}");
        }
    }
}
