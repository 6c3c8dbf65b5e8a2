//! What a gate says: pass, review by a person, or unavailable. Unavailable is a state of its own,
//! never a number.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bucket;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", deny_unknown_fields)]
#[non_exhaustive]
pub enum Unavailable {
    /// The question was not answered.
    NoAnswer,
    /// A number was none, was infinite, or did not fit the others.
    NotANumber,
    /// The labels hold too little of all probability: the prompt did not land.
    LowMass {
        /// What they hold.
        mass: f64,
        /// What they must hold.
        least: f64,
    },
    /// State and question do not fit into what the model reads, and nothing is cut in silence.
    TooLong {
        /// Tokens they take.
        tokens: u64,
        /// Tokens there is room for.
        room: u64,
    },
    /// State and questions are more than a service takes; it does not say by how much.
    NoRoom,
    /// More options than the backend reads.
    TooManyOptions {
        /// Options of the question.
        options: u64,
        /// Options that can be read.
        most: u64,
    },
    /// The service refused to answer.
    Refused,
    /// Nothing could be reached, or it answered too late.
    Offline,
    /// The backend failed; its own message is for its own log.
    Failed,
    /// Another model answered than the one that calibration or gate were made for.
    OtherModel,
    /// The answer was calibrated otherwise than those that the gate was fitted on.
    OtherCalibration,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::NoAnswer => f.write_str("no answer"),
            Unavailable::NotANumber => f.write_str("a number of the answer is none"),
            Unavailable::LowMass { mass, least } => {
                write!(f, "the labels hold {mass:.3} of all probability, below {least}")
            }
            Unavailable::TooLong { tokens, room } => {
                write!(f, "{tokens} tokens, and room for {room}")
            }
            Unavailable::NoRoom => {
                f.write_str("state and questions are more than the service takes")
            }
            Unavailable::TooManyOptions { options, most } => {
                write!(f, "{options} options, and at most {most} can be read")
            }
            Unavailable::Refused => f.write_str("the service refused to answer"),
            Unavailable::Offline => f.write_str("nothing could be reached in time"),
            Unavailable::Failed => f.write_str("the backend failed"),
            Unavailable::OtherModel => f.write_str("another model answered"),
            Unavailable::OtherCalibration => {
                f.write_str("calibrated otherwise than the gate expects")
            }
        }
    }
}

impl std::error::Error for Unavailable {}

/// Why a person should look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", deny_unknown_fields)]
#[non_exhaustive]
pub enum Reason {
    /// Two options share the first place.
    Tie,
    /// The confidence is below the threshold.
    BelowThreshold {
        /// The confidence.
        confidence: f64,
        /// The threshold.
        threshold: f64,
    },
    /// The gate could certify no threshold for answers of this bucket.
    NoThreshold {
        /// The bucket.
        bucket: Bucket,
    },
    /// Part of the state, or what tells options apart, was not read.
    Truncated,
    /// Another order of the options gave another answer.
    OrderSensitive {
        /// Orders in which it did.
        flips: u64,
        /// Orders that were read.
        readings: u64,
    },
    /// The options met in rounds; a gate's promise is about those that are asked at once.
    Rounds {
        /// Options of the question.
        options: u64,
        /// Rounds.
        rounds: u64,
    },
    /// The gate was fitted without a label of this question.
    OtherQuestion,
    /// There is no gate that could let it pass.
    NoGate,
    /// More than one option, or none, stays possible.
    Set {
        /// How many stay possible.
        options: u64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Tie => f.write_str("two options share the first place"),
            Reason::BelowThreshold { confidence, threshold } => {
                write!(f, "confidence {confidence:.4} is below {threshold:.4}")
            }
            Reason::NoThreshold { bucket } => write!(f, "no threshold is certified for {bucket}"),
            Reason::Truncated => f.write_str("part of the input was not read"),
            Reason::OrderSensitive { flips, readings } => {
                write!(f, "{flips} of {readings} orders of the options gave another answer")
            }
            Reason::Rounds { options, rounds } => {
                write!(
                    f,
                    "{options} options met in {rounds} rounds, and no gate is fitted for that"
                )
            }
            Reason::OtherQuestion => f.write_str(
                "the gate was fitted without a label of this question; label some records of it and \
                 fit again, with --any-question for all questions of a form",
            ),
            Reason::NoGate => f.write_str("no gate was given"),
            Reason::Set { options } => write!(f, "{options} options stay possible"),
        }
    }
}

/// What a gate says about one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", deny_unknown_fields)]
pub enum Outcome {
    /// The answer may be acted on.
    Pass {
        /// Its confidence.
        confidence: f64,
        /// What it had to reach.
        threshold: f64,
    },
    /// A person should look; all reasons, not only the first.
    Review {
        /// The reasons.
        reasons: Vec<Reason>,
    },
    /// There is no answer to act on or to look at.
    Unavailable {
        /// Why.
        reason: Unavailable,
    },
}

impl Outcome {
    /// Whether the answer may be acted on.
    pub fn is_pass(&self) -> bool {
        matches!(self, Outcome::Pass { .. })
    }

    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Pass { .. } => "pass",
            Outcome::Review { .. } => "review",
            Outcome::Unavailable { .. } => "unavailable",
        }
    }
}
