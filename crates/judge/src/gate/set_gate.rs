//! A gate by prediction sets: an answer passes when its option alone stays possible.

use std::collections::BTreeMap;

use recinto_receipt::Digest;
use serde::{Deserialize, Serialize};

use super::{Demands, Refusal, Score, Sets, bound};
use crate::{
    Answer, Bucket, Error, Identity, Kind, Outcome, Reason, Scored, Unavailable,
    artefact::{Artefact, SCHEMA},
};

/// Fitted sets for each bucket. Bound to who reads and to the calibration that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetGate {
    schema: u32,
    identity: Identity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Digest>,
    /// Seconds since 1970, as the caller said.
    made: u64,
    demands: Demands,
    buckets: BTreeMap<Bucket, Sets>,
}

impl SetGate {
    /// Fits sets for each bucket on labelled distributions of it; `miss` is the wanted share of
    /// sets without the right option. Says which buckets have too few rows: nothing of these
    /// passes. `calibration` is the digest of what was applied to the distributions.
    pub fn fit(
        identity: Identity,
        calibration: Option<Digest>,
        made: u64,
        rows: &[(Bucket, Scored)],
        (score, miss): (Score, f64),
        demands: Demands,
    ) -> (SetGate, BTreeMap<Bucket, Refusal>) {
        let mut by_bucket: BTreeMap<Bucket, Vec<Scored>> = BTreeMap::new();
        for (bucket, row) in rows {
            by_bucket.entry(*bucket).or_default().push(row.clone());
        }
        let (mut buckets, mut refused) = (BTreeMap::new(), BTreeMap::new());
        for (bucket, rows) in by_bucket {
            match Sets::fit(score, &rows, miss) {
                Ok(sets) => drop(buckets.insert(bucket, sets)),
                Err(why) => drop(refused.insert(bucket, why)),
            }
        }
        (SetGate { schema: SCHEMA, identity, calibration, made, demands, buckets }, refused)
    }

    /// The sets of each bucket.
    pub fn buckets(&self) -> &BTreeMap<Bucket, Sets> {
        &self.buckets
    }

    /// What to do with an answer, or with its absence.
    pub fn decide(&self, answer: Result<&Answer, &Unavailable>) -> Outcome {
        self.try_decide(answer).unwrap_or_else(|reason| Outcome::Unavailable { reason })
    }

    fn try_decide(&self, answer: Result<&Answer, &Unavailable>) -> Result<Outcome, Unavailable> {
        let answer = answer.map_err(Unavailable::clone)?;
        bound(answer, &self.identity, self.calibration)?;
        let mut reasons = self.demands.reasons(answer)?;
        let (bucket, confidence) = (answer.bucket(), answer.answer_confidence());
        let Some(sets) = self.buckets.get(&bucket) else {
            reasons.push(Reason::NoThreshold { bucket });
            return Ok(Outcome::Review { reasons });
        };
        let p: Vec<f64> = answer.probabilities().iter().map(|share| share.p).collect();
        let set = sets.set(&p);
        // The option that is left must be the one that was answered.
        let alone = matches!(set[..], [only] if p[only] >= confidence);
        if !alone {
            reasons.push(Reason::Set { options: set.len() as u64 });
        }
        if alone && reasons.is_empty() {
            let threshold = (1.0 - sets.quantile.0).clamp(0.0, 1.0);
            return Ok(Outcome::Pass { confidence, threshold });
        }
        Ok(Outcome::Review { reasons })
    }
}

impl Artefact for SetGate {
    const NAME: &'static str = "a gate by sets";

    fn check(&self) -> Result<(), Error> {
        // Sums of probabilities may end a little above 1.
        let sound = |sets: &Sets| {
            (0.0..=1.0 + 1e-9).contains(&sets.quantile.0) && sets.miss.0 > 0.0 && sets.miss.0 < 1.0
        };
        if !self.demands.are_sound() || !self.buckets.values().all(sound) {
            return Err(Error::new(Kind::Number, "a gate by sets whose numbers no fit gives"));
        }
        Ok(())
    }
}
