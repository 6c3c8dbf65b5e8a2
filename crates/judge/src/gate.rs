//! The gate: fitted once on labelled answers, then a pure function to pass, review or unavailable.
//!
//! Comparisons are written so that a missing value, a tie or something that is no number lands on
//! the careful side.

mod cell;
mod certify;
mod set_gate;
mod sets;

use std::collections::BTreeMap;

use recinto_receipt::Digest;
use serde::{Deserialize, Serialize};

pub use cell::Cell;
pub use certify::{
    Certificate, Refusal, Test, count, fixed, fixed_sequence, risk_control, risk_control_on,
    selective, sequence,
};
pub use set_gate::SetGate;
pub use sets::{Score, Sets};

use crate::{
    Answer, Error, Fraction, Identity, Kind, Outcome, Reason, Unavailable,
    artefact::{Artefact, SCHEMA},
    rows::Trial,
};

/// What is promised about answers that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// Of those that pass, at most the risk is wrong; by binary search (SGR).
    Selective,
    /// The same, by a fixed sequence of exact tests (Learn then Test).
    FixedSequence,
    /// Of all answers, at most the risk passes and is wrong, on average (conformal risk control).
    RiskControl,
}

/// How a gate is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// What is promised.
    pub promise: Promise,
    /// The largest share of errors, strictly between 0 and 1.
    pub risk: Fraction,
    /// The probability, over the labelled rows, that the promise fails in any cell; strictly
    /// between 0 and 1. [`Promise::RiskControl`] does not use it.
    pub delta: Fraction,
    /// Whether answers of yes and of no have thresholds of their own.
    pub sides: bool,
}

/// What an answer must have besides confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demands {
    /// The least share of probability on the labels, where it is known.
    pub least_mass: Fraction,
    /// The most orders of the options that may give another answer.
    pub most_flips: u64,
    /// Whether an answer may pass although part of its input was not read.
    pub cut: bool,
}

impl Default for Demands {
    fn default() -> Demands {
        Demands { least_mass: Fraction(0.5), most_flips: 0, cut: false }
    }
}

impl Demands {
    fn are_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.least_mass.0)
    }

    /// What else than its confidence keeps an answer from passing.
    fn reasons(&self, answer: &Answer) -> Result<Vec<Reason>, Unavailable> {
        let (facts, least) = (answer.facts(), self.least_mass.0);
        if !(0.0..=1.0).contains(&answer.answer_confidence()) {
            return Err(Unavailable::NotANumber);
        }
        if let Some(mass) = facts.option_mass
            && (mass.is_nan() || mass < least)
        {
            return Err(Unavailable::LowMass { mass, least });
        }
        let mut reasons = Vec::new();
        if answer.is_tied() {
            reasons.push(Reason::Tie);
        }
        if facts.truncation.is_cut() && !self.cut {
            reasons.push(Reason::Truncated);
        }
        if let Some(order) = facts.order
            && order.flips > self.most_flips
        {
            reasons.push(Reason::OrderSensitive { flips: order.flips, readings: order.readings });
        }
        Ok(reasons)
    }

    /// A labelled answer as a row for [`Gate::fit`]. One that these demands would keep from passing
    /// counts as one without a confidence: it is never among those whose risk is bounded.
    pub fn trial(&self, answer: &Answer, correct: bool) -> (Cell, Trial) {
        let may_pass = self.reasons(answer).is_ok_and(|reasons| reasons.is_empty());
        let confidence = if may_pass { answer.answer_confidence() } else { f64::NAN };
        (Cell::of(answer), Trial { confidence, correct })
    }
}

/// Whether an answer is by the model, and with the calibration, that a gate was fitted for.
fn bound(
    answer: &Answer,
    identity: &Identity,
    calibration: Option<Digest>,
) -> Result<(), Unavailable> {
    if answer.facts().identity != identity.digest() {
        return Err(Unavailable::OtherModel);
    }
    if answer.facts().calibrated != calibration {
        return Err(Unavailable::OtherCalibration);
    }
    Ok(())
}

/// What is known about one cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// A threshold.
    Certified(Certificate),
    /// No threshold: nothing passes.
    Refused(Refusal),
}

/// A fitted gate. Bound to who reads and to the calibration that was applied.
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
    cells: BTreeMap<Cell, Finding>,
}

impl Gate {
    /// Fits a threshold for each cell on labelled trials of it, made by [`Demands::trial`] with
    /// the same `demands`: only then is the bound about what passes. `calibration` is the digest of
    /// what was applied to their confidences. `delta` is shared out between the cells, so that
    /// all promises hold together.
    pub fn fit(
        identity: Identity,
        calibration: Option<Digest>,
        made: u64,
        rows: &[(Cell, Trial)],
        terms: Terms,
        demands: Demands,
    ) -> Result<Gate, Error> {
        let inside = |x: f64| x > 0.0 && x < 1.0;
        if !inside(terms.risk.0) || !inside(terms.delta.0) {
            return Err(Error::new(Kind::Number, "risk and delta of a gate")
                .with_hint("strictly between 0 and 1, such as 0.05"));
        }
        if !demands.are_sound() {
            return Err(Error::new(Kind::Number, "the least mass of a gate")
                .with_hint("between 0 and 1, such as 0.5"));
        }
        let outside = |t: &Trial| !t.confidence.is_nan() && !(0.0..=1.0).contains(&t.confidence);
        if rows.iter().any(|(_, trial)| outside(trial)) {
            return Err(Error::new(Kind::Rows, "a confidence below 0 or above 1")
                .with_hint("use the largest probability of each answer"));
        }
        let mut by_cell: BTreeMap<Cell, Vec<Trial>> = BTreeMap::new();
        for (cell, trial) in rows {
            by_cell.entry(cell.kept(terms.sides)).or_default().push(*trial);
        }
        let (risk, delta) = (terms.risk.0, terms.delta.0 / by_cell.len().max(1) as f64);
        let certify = |trials: &Vec<Trial>| match terms.promise {
            Promise::Selective => selective(trials, risk, delta),
            Promise::FixedSequence => {
                let grid = sequence(trials, risk, delta);
                fixed_sequence(trials, risk, delta, Test::Binomial, &grid)
            }
            Promise::RiskControl => risk_control(trials, risk),
        };
        let found = |trials| certify(trials).map_or_else(Finding::Refused, Finding::Certified);
        let cells = by_cell.iter().map(|(cell, trials)| (*cell, found(trials))).collect();
        Ok(Gate { schema: SCHEMA, identity, calibration, made, terms, demands, cells })
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

    /// What is known about each cell.
    pub fn cells(&self) -> &BTreeMap<Cell, Finding> {
        &self.cells
    }

    /// What to do with an answer, or with its absence.
    pub fn decide(&self, answer: Result<&Answer, &Unavailable>) -> Outcome {
        self.try_decide(answer).unwrap_or_else(|reason| Outcome::Unavailable { reason })
    }

    fn try_decide(&self, answer: Result<&Answer, &Unavailable>) -> Result<Outcome, Unavailable> {
        let answer = answer.map_err(Unavailable::clone)?;
        let confidence = answer.answer_confidence();
        bound(answer, &self.identity, self.calibration)?;
        let mut reasons = self.demands.reasons(answer)?;
        let cell = Cell::of(answer).kept(self.terms.sides);
        let threshold = match self.cells.get(&cell) {
            Some(Finding::Certified(certificate)) => certificate.threshold.0,
            _ => {
                reasons.push(Reason::NoThreshold { bucket: cell.bucket });
                f64::INFINITY
            }
        };
        let reached = confidence >= threshold;
        if !reached && threshold.is_finite() {
            reasons.push(Reason::BelowThreshold { confidence, threshold });
        }
        if reached && reasons.is_empty() {
            return Ok(Outcome::Pass { confidence, threshold });
        }
        Ok(Outcome::Review { reasons })
    }
}

impl Artefact for Gate {
    const NAME: &'static str = "a gate";

    fn check(&self) -> Result<(), Error> {
        let inside = |x: f64| x > 0.0 && x < 1.0;
        let sound = |finding: &Finding| match finding {
            Finding::Certified(c) => {
                (0.0..=1.0).contains(&c.threshold.0)
                    && c.errors <= c.accepted
                    && c.accepted <= c.rows
                    && c.bound.0 <= self.terms.risk.0
            }
            Finding::Refused(_) => true,
        };
        let terms = inside(self.terms.risk.0) && inside(self.terms.delta.0);
        if !terms || !self.demands.are_sound() || !self.cells.values().all(sound) {
            return Err(Error::new(Kind::Number, "a gate whose numbers no fit gives"));
        }
        Ok(())
    }
}
