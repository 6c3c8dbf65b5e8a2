//! Who reads, and how: what calibration and gates are bound to.

use recinto_receipt::{Digest, canonical_bytes, sha256};
use serde::{Deserialize, Serialize};

use crate::{Correction, Error, Kind};

/// The model that reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Model {
    /// Weights on this machine.
    Local {
        /// SHA-256 of the weights.
        digest: Digest,
        /// How they are stored or computed with, such as `q8_0` or `f32`: that alone moves
        /// probabilities by several hundredths.
        dtype: String,
    },
    /// A service, by the name with its version that came back with an answer, such as
    /// `jev-1.13.0`. An alias such as `jev-latest` may mean another model tomorrow.
    Hosted {
        /// The name.
        name: String,
    },
}

/// In which orders options are shown to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Orders {
    /// Once, as declared: one reading a question.
    #[default]
    Declared,
    /// Twice, as declared and reversed; averaged.
    Two,
    /// In all rotations, options sorted by their text first; averaged. Any preference for a place
    /// that adds to the logits cancels.
    Cyclic,
}

/// How a model is read. A change of any of it changes what a confidence means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The model.
    pub model: Model,
    /// The word for prompt and readout with its version, such as `letters/1` or `markers/1`.
    pub reading: String,
    /// The orders that options are shown in.
    pub orders: Orders,
    /// The prior that is divided out.
    pub prior: Correction,
}

impl Identity {
    /// SHA-256 of the canonical bytes.
    pub fn digest(&self) -> Digest {
        sha256(&canonical_bytes(self))
    }

    /// An error that says which part differs, unless `self` (who answers) is `wanted`.
    pub fn must_be(&self, wanted: &Identity, made: &str) -> Result<(), Error> {
        let differs = match (&self.model, &wanted.model) {
            (Model::Local { digest: a, .. }, Model::Local { digest: b, .. }) if a != b => "weights",
            (Model::Local { dtype: a, .. }, Model::Local { dtype: b, .. }) if a != b => "dtype",
            (a, b) if a != b => "model",
            _ if self.reading != wanted.reading => "prompt or readout",
            _ if self.orders != wanted.orders => "orders of options",
            _ if self.prior != wanted.prior => "prior correction",
            _ => return Ok(()),
        };
        let what = format!("{made} was made for another model: its {differs} differ");
        Err(Error::new(Kind::OtherModel, what)
            .with_hint("confidence does not carry over; fit it again with labelled rows"))
    }
}
