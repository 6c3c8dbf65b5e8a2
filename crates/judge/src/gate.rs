//! The gate: fitted once on labelled answers, then a pure function to pass, review or unavailable.
//!
//! Comparisons are written so that a missing value, a tie or something that is no number lands on
//! the careful side.

mod cell;
mod certify;
mod curve;
mod draw;
mod fit;
mod refusal;
mod sets;

use std::collections::BTreeMap;

use recinto_receipt::Digest;
use serde::{Deserialize, Serialize};

pub use cell::Cell;
pub use certify::{
    Certificate, Test, count, fixed, fixed_sequence, fixed_sequence_on, multistart, risk_control,
    risk_control_on, selective,
};
pub use draw::{Demand, Demands, Draw};
pub use fit::{Finding, Fit, Promise, Terms, check};
pub use refusal::Refusal;
pub use sets::{Score, Sets};

use crate::{Answer, Error, Identity, Kind, Outcome, Reason, Unavailable, artefact::Artefact};

/// The schema of gates that this version writes and reads. 2: bound to questions, independent
/// draws, prediction sets.
const SCHEMA: u32 = 2;

/// A fitted gate. Bound to who reads, to the calibration that was applied, and to the questions
/// that were labelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    schema: u32,
    identity: Identity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Digest>,
    /// Seconds since 1970, as the caller said.
    made: u64,
    terms: Terms,
    demands: Demands,
    /// Draws of each question.
    questions: BTreeMap<Digest, u64>,
    cells: BTreeMap<Cell, Fit>,
}

/// Refuses draws that are none, or that were calibrated by something else.
fn check_draws(draws: &[Draw], calibration: Option<Digest>) -> Result<(), Error> {
    let sound = |draw: &Draw| {
        let p = &draw.scored.p;
        draw.scored.label < p.len() && p.iter().all(|p| p.is_nan() || (0.0..=1.0).contains(p))
    };
    if !draws.iter().all(sound) {
        return Err(Error::new(Kind::Rows, "a confidence below 0 or above 1, or no right option")
            .with_hint("use the probabilities of each answer"));
    }
    if draws.iter().any(|draw| draw.calibrated.is_some() && draw.calibrated != calibration) {
        return Err(Error::new(Kind::Rows, "an answer that another calibration was applied to"));
    }
    Ok(())
}

impl Gate {
    /// Fits each cell on labelled answers of it, made by [`Demands::draw`] with the same `demands`:
    /// only then is the bound about what passes. Of each state and of each group one is counted.
    /// `calibration` is the digest of what was applied to their confidences where it has a map.
    /// `delta` is shared out between the cells, so that all promises hold together.
    pub fn fit(
        identity: Identity,
        calibration: Option<Digest>,
        made: u64,
        draws: &[Draw],
        terms: Terms,
        demands: Demands,
    ) -> Result<Gate, Error> {
        identity.prior.must_stay("a gate")?;
        check(&terms, &demands)?;
        check_draws(draws, calibration)?;
        let mut by_cell: BTreeMap<Cell, Vec<&Draw>> = BTreeMap::new();
        for draw in draws {
            by_cell.entry(draw.cell.kept(terms.sides)).or_default().push(draw);
        }
        let (risk, delta) = (terms.risk.0, terms.delta.0 / by_cell.len().max(1) as f64);
        let (mut cells, mut questions) = (BTreeMap::new(), BTreeMap::new());
        for (cell, all) in by_cell {
            let calibrated = all.iter().any(|draw| draw.calibrated.is_some());
            if all.iter().any(|draw| draw.calibrated.is_some() != calibrated) {
                let what = format!("answers of {cell}, some of them calibrated and some not");
                return Err(Error::new(Kind::Rows, what));
            }
            let draws = draw::independent(&all);
            for draw in &draws {
                *questions.entry(draw.question).or_default() += 1;
            }
            let fit = Fit::of(terms.promise, all.len(), &draws, risk, delta);
            cells.insert(cell, fit);
        }
        Ok(Gate { schema: SCHEMA, identity, calibration, made, terms, demands, questions, cells })
    }

    /// What was asked for.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Who reads.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The digest of the calibration that was applied to what it was fitted on.
    pub fn calibration(&self) -> Option<Digest> {
        self.calibration
    }

    /// What an answer must have besides confidence.
    pub fn demands(&self) -> &Demands {
        &self.demands
    }

    /// The questions that it was fitted on, and the draws of each.
    pub fn questions(&self) -> &BTreeMap<Digest, u64> {
        &self.questions
    }

    /// What is known about each cell.
    pub fn cells(&self) -> &BTreeMap<Cell, Fit> {
        &self.cells
    }

    /// Whether answers to a question may pass.
    pub fn is_for(&self, question: Digest) -> bool {
        self.terms.any_question || self.questions.contains_key(&question)
    }

    /// What to do with an answer, or with its absence.
    pub fn decide(&self, answer: Result<&Answer, &Unavailable>) -> Outcome {
        self.try_decide(answer).unwrap_or_else(|reason| Outcome::Unavailable { reason })
    }

    /// The options that stay possible, by their indexes in the declared order; `None` where the
    /// gate knows none for such answers.
    pub fn set(&self, answer: &Answer) -> Option<Vec<usize>> {
        let fit = self.bound(answer).ok()?;
        match fit.map(|fit| fit.finding) {
            Some(Finding::Sets(sets)) if self.is_for(answer.facts().question) => {
                let p: Vec<f64> = answer.probabilities().iter().map(|share| share.p).collect();
                Some(sets.set(&p))
            }
            _ => None,
        }
    }

    /// What is known about answers like this one, when it is by the model, and with the
    /// calibration, that the gate was fitted for. A calibration need not have a map for every
    /// question: where it had none at the fit, an answer without one is what it was fitted on.
    fn bound(&self, answer: &Answer) -> Result<Option<&Fit>, Unavailable> {
        let facts = answer.facts();
        if facts.identity != self.identity.digest() {
            return Err(Unavailable::OtherModel);
        }
        let fit = self.cells.get(&Cell::of(answer).kept(self.terms.sides));
        let same = match facts.calibrated {
            Some(_) => facts.calibrated == self.calibration && fit.is_none_or(|fit| fit.calibrated),
            None => fit.is_none_or(|fit| !fit.calibrated),
        };
        if same { Ok(fit) } else { Err(Unavailable::OtherCalibration) }
    }

    fn try_decide(&self, answer: Result<&Answer, &Unavailable>) -> Result<Outcome, Unavailable> {
        let answer = answer.map_err(Unavailable::clone)?;
        let confidence = answer.answer_confidence();
        let fit = self.bound(answer)?;
        let mut reasons = self.demands.reasons(answer)?;
        if !self.is_for(answer.facts().question) {
            reasons.push(Reason::OtherQuestion);
        }
        let threshold = match fit.map(|fit| fit.finding) {
            Some(Finding::Certified(certificate)) => {
                let threshold = certificate.threshold.0;
                // Written so that what is no number reaches nothing.
                let reached = confidence >= threshold;
                if !reached {
                    reasons.push(Reason::BelowThreshold { confidence, threshold });
                }
                threshold
            }
            Some(Finding::Sets(sets)) => {
                let p: Vec<f64> = answer.probabilities().iter().map(|share| share.p).collect();
                let set = sets.set(&p);
                // The option that is left must be the one that was answered.
                if !matches!(set[..], [only] if p[only] >= confidence) {
                    reasons.push(Reason::Set { options: set.len() as u64 });
                }
                (1.0 - sets.quantile.0).clamp(0.0, 1.0)
            }
            _ => {
                reasons.push(Reason::NoThreshold { bucket: answer.bucket() });
                f64::INFINITY
            }
        };
        match reasons.is_empty() {
            true => Ok(Outcome::Pass { confidence, threshold }),
            false => Ok(Outcome::Review { reasons }),
        }
    }
}

impl Artefact for Gate {
    const NAME: &'static str = "a gate";
    const SCHEMA: u32 = SCHEMA;

    fn check(&self) -> Result<(), Error> {
        let terms = &self.terms;
        let sound = |finding: &Finding| match finding {
            Finding::Certified(c) => {
                terms.promise != Promise::Sets
                    && (0.0..=1.0).contains(&c.threshold.0)
                    && c.errors <= c.accepted
                    && c.accepted <= c.rows
                    && c.bound.0 <= terms.risk.0
            }
            Finding::Sets(sets) => {
                // Sums of probabilities may end a little above 1.
                terms.promise == Promise::Sets
                    && (0.0..=1.0 + 1e-9).contains(&sets.quantile.0)
                    && sets.miss.0 == terms.risk.0
            }
            Finding::Refused(_) => true,
        };
        let sound = |fit: &Fit| {
            let kept = fit.kept_out.values().try_fold(fit.repeated, |sum, n| sum.checked_add(*n));
            kept.is_some_and(|kept| kept <= fit.labels)
                && !(fit.calibrated && self.calibration.is_none())
                && sound(&fit.finding)
        };
        let wrong = || Error::new(Kind::Number, "a gate whose numbers no fit gives");
        check(terms, &self.demands).map_err(|_| wrong())?;
        if self.cells.values().all(sound) { Ok(()) } else { Err(wrong()) }
    }
}
