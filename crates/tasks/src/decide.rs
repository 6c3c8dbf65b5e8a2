//! One of some labels, or nothing.

use recinto_engine::{Digest, Stop, Usage};
use recinto_provider::{Lack, Provider, Reply, Shape};

use crate::{
    cascade,
    error::{Error, Kind},
    input::Input,
    labels::Labels,
    outcome::{self, Outcome},
    wording,
};

/// How a label is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The model writes one of the labels and can write nothing else.
    #[default]
    Generate,
    /// Every label is read as the whole answer, and the likeliest is taken.
    Score,
}

impl Method {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Method::Generate => "generate",
            Method::Score => "score",
        }
    }
}

/// How likely one of the answers is.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The label; `None` is nothing.
    pub label: Option<String>,
    /// Among all that can be answered: they add up to 1.
    pub probability: f64,
    /// Natural logarithm of the probability of its tokens and an end after them.
    pub logprob: f64,
}

/// What a cascade made of the first answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg {
    /// The cascade.
    pub cascade: String,
    /// The profile whose answer stands: of an undecided one, the first.
    pub profile: String,
    /// The margin of the first answer: the likeliest one's probability less the second's.
    pub margin: Option<f64>,
    /// The least margin that decides.
    pub below: f64,
    /// The option mass of the first answer: what all labels hold of what its model would say.
    pub option_mass: Option<f64>,
    /// The least option mass that decides.
    pub least_mass: f64,
    /// Which of both was too small; empty where the first answer stands.
    pub lacks: Vec<Lack>,
    /// Whether the second profile was asked.
    pub escalated: bool,
}

impl Leg {
    /// What the first answer lacks, in words, with both numbers.
    pub fn told(&self, lack: Lack) -> String {
        let (name, found, least) = match lack {
            Lack::Margin => ("margin", self.margin, self.below),
            Lack::OptionMass => ("option mass", self.option_mass, self.least_mass),
        };
        match found {
            // A mass can be far smaller than six digits show.
            Some(found) if found.abs() < 1e-4 => format!("{name} {found:.1e} of {least}"),
            Some(found) => format!("{name} {found:.6} of {least}"),
            None => format!("no {name}, of {least}"),
        }
    }
}

/// What was decided.
pub struct Decision {
    /// The label; `None` where none fits.
    pub label: Option<String>,
    /// How it was found.
    pub method: Method,
    /// The labels, sorted, and nothing last; empty for [`Method::Generate`].
    pub scores: Vec<Scored>,
    /// The probability that the model answers with any of them, by [`Method::Score`].
    pub mass: Option<f64>,
    /// Digest of the prompt's token ids, by [`Method::Score`] of a model of this process.
    pub input: Option<Digest>,
    /// Tokens.
    pub usage: Usage,
    /// The reply, by [`Method::Generate`].
    pub reply: Option<Reply>,
    /// Which profile answered and by which margin, where a cascade was asked.
    pub leg: Option<Leg>,
}

impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Decision");
        shown.field("label", &self.label).field("method", &self.method);
        shown.field("scores", &self.scores).field("mass", &self.mass).field("leg", &self.leg);
        shown.finish_non_exhaustive()
    }
}

/// Decides which of `labels` fits `input`. Labels are shown and read in one order, whatever the
/// order in which they were given. A scored label is never cut; of two that are equally likely the
/// first of that order is taken.
///
/// A provider that is the operator's cascade is asked as that says: the first profile by
/// [`Method::Score`]; where its margin or its option mass is too small, the second by the same where
/// it can and by [`Method::Generate`] elsewhere, if policy lets the input's labels go there; else
/// the outcome is [`Outcome::Undecided`]. `method` has no say then.
///
/// # Errors
///
/// [`Kind::Unable`] where the provider cannot; whatever it meets otherwise.
pub fn decide(
    provider: &dyn Provider,
    input: &Input,
    labels: &Labels,
    method: Method,
    stop: &Stop,
) -> Result<Outcome<Decision>, Error> {
    match provider.cascaded() {
        Some(cascaded) => cascade::decide(cascaded, input, labels, stop),
        None => one(provider, input, labels, method, stop),
    }
}

/// Asks one provider.
pub(crate) fn one(
    provider: &dyn Provider,
    input: &Input,
    labels: &Labels,
    method: Method,
    stop: &Stop,
) -> Result<Outcome<Decision>, Error> {
    let system = wording::decide(input, labels);
    let able = provider.abilities();
    match method {
        Method::Generate => {
            outcome::needs(provider, able.schemas, "keep an answer to labels")?;
            let turn = input.turn(system, Some(Shape::Labels(labels.names())));
            outcome::ask(provider, &turn, stop)?.then(|reply| {
                let decided = labels.decided(&reply.text);
                let label = decided.ok_or_else(|| outcome::unkept(provider))?;
                let usage = reply.usage;
                let (scores, mass) = (Vec::new(), None);
                let (reply, leg, input) = (Some(reply), None, None);
                Ok(Decision { label, method, scores, mass, input, usage, reply, leg })
            })
        }
        Method::Score => {
            outcome::needs(provider, able.scores, "tell the probabilities of labels")?;
            let names = labels.names();
            let scores = provider.score(&input.turn(system, None), &names, stop)?;
            if scores.labels.len() != names.len() {
                return Err(outcome::unkept(provider));
            }
            let (mass, usage, digest) = (Some(scores.mass), scores.usage, scores.input);
            let scores: Vec<Scored> = names
                .iter()
                .zip(&scores.labels)
                .map(|(name, score)| Scored {
                    label: labels.decided(name).flatten(),
                    probability: score.probability,
                    logprob: score.logprob,
                })
                .collect();
            let best = scores.iter().reduce(|best, next| match next.logprob > best.logprob {
                true => next,
                false => best,
            });
            let best = best.filter(|best| best.logprob.is_finite()).ok_or_else(|| {
                let what = "the model gives none of the labels a probability";
                Error::new(Kind::Unkept, what)
            })?;
            let label = best.label.clone();
            let (reply, leg, input) = (None, None, digest);
            Ok(Outcome::Done(Decision { label, method, scores, mass, input, usage, reply, leg }))
        }
    }
}
