//! What can be promised, and what came of it for one cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Certificate, Demand, Demands, Draw, Refusal, Score, Sets, Test, draw, fixed_sequence,
    multistart, risk_control, selective,
};
use crate::{
    Error, Fraction, Kind,
    rows::{Scored, Trial},
};

/// What is promised about answers that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// Of those that pass, at most the risk is wrong; by binary search (SGR).
    Selective,
    /// The same, by a fixed sequence of exact tests (Learn then Test).
    FixedSequence,
    /// The same, by three such sequences, of which two begin at less sure answers.
    Multistart,
    /// Of all answers, at most the risk passes and is wrong, on average (conformal risk control).
    RiskControl,
    /// Of the sets of options that stay possible, at most the risk lacks the right one, on average
    /// (split conformal). An answer passes when its option alone is left.
    Sets,
}

impl Promise {
    /// Those that say the same: of answers that pass, at most the risk is wrong.
    const ALIKE: [Promise; 3] = [Promise::Selective, Promise::FixedSequence, Promise::Multistart];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Promise::Selective => "selective",
            Promise::FixedSequence => "fixed-sequence",
            Promise::Multistart => "multistart",
            Promise::RiskControl => "risk-control",
            Promise::Sets => "sets",
        }
    }

    fn certify(self, draws: &[&Draw], risk: f64, delta: f64) -> Finding {
        let trials: Vec<Trial> = draws.iter().map(|draw| draw.trial()).collect();
        let threshold = match self {
            Promise::Selective => selective(&trials, risk, delta),
            Promise::FixedSequence => fixed_sequence(&trials, risk, delta, Test::Binomial),
            Promise::Multistart => multistart(&trials, risk, delta),
            Promise::RiskControl => risk_control(&trials, risk),
            Promise::Sets => {
                let may_pass = draws.iter().filter(|draw| draw.unmet.is_none());
                let scored: Vec<Scored> = may_pass.map(|draw| draw.scored.clone()).collect();
                if scored.is_empty() && !draws.is_empty() {
                    return Finding::Refused(Refusal::KeptOut { rows: draws.len() as u64 });
                }
                let sets = Sets::fit(Score::LeastAmbiguous, &scored, risk);
                return sets.map_or_else(Finding::Refused, Finding::Sets);
            }
        };
        threshold.map_or_else(Finding::Refused, Finding::Certified)
    }

    /// Another promise that says the same and finds a threshold where this one finds none.
    fn instead(self, draws: &[&Draw], risk: f64, delta: f64) -> Option<Promise> {
        let others = Promise::ALIKE.into_iter().filter(|other| *other != self);
        let finds =
            |other: &Promise| matches!(other.certify(draws, risk, delta), Finding::Certified(_));
        if Promise::ALIKE.contains(&self) { others.into_iter().find(finds) } else { None }
    }
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
    /// between 0 and 1. [`Promise::RiskControl`] and [`Promise::Sets`] do not use it.
    pub delta: Fraction,
    /// Whether answers of yes and of no have thresholds of their own.
    pub sides: bool,
    /// Whether answers to questions of which no label was given may pass too.
    pub any_question: bool,
}

/// Refuses numbers that no gate is fitted with.
pub fn check(terms: &Terms, demands: &Demands) -> Result<(), Error> {
    let inside = |x: f64| x > 0.0 && x < 1.0;
    if !inside(terms.risk.0) || !inside(terms.delta.0) {
        return Err(Error::new(Kind::Number, "risk and delta of a gate")
            .with_hint("strictly between 0 and 1, such as 0.05"));
    }
    if !demands.are_sound() {
        return Err(Error::new(Kind::Number, "the least mass of a gate")
            .with_hint("between 0 and 1, such as 0.5"));
    }
    Ok(())
}

/// What is known about one cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// A threshold.
    Certified(Certificate),
    /// Sets of options that stay possible.
    Sets(Sets),
    /// Neither: nothing passes.
    Refused(Refusal),
}

/// What was fitted to the labelled answers of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Labelled answers.
    pub labels: u64,
    /// Those left out: another one of the same state or group is counted already.
    pub repeated: u64,
    /// Those of the rest that may not pass whatever their confidence, by the first demand that
    /// keeps each of them out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept_out: BTreeMap<Demand, u64>,
    /// Whether the calibration has a map for them.
    pub calibrated: bool,
    /// What came of it.
    pub finding: Finding,
    /// Where nothing did: another promise that says the same and finds a threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Promise>,
}

impl Fit {
    /// Fits a cell with so many labels to those draws of it that are independent.
    pub(super) fn of(
        promise: Promise,
        labels: usize,
        draws: &[&Draw],
        risk: f64,
        delta: f64,
    ) -> Fit {
        let finding = promise.certify(draws, risk, delta);
        let instead = match finding {
            Finding::Refused(_) => promise.instead(draws, risk, delta),
            _ => None,
        };
        Fit {
            labels: labels as u64,
            repeated: (labels - draws.len()) as u64,
            kept_out: draw::kept_out(draws),
            calibrated: draws.iter().any(|draw| draw.calibrated.is_some()),
            finding,
            instead,
        }
    }

    /// Whether anything of this cell can pass.
    pub fn is_certified(&self) -> bool {
        !matches!(self.finding, Finding::Refused(_))
    }

    /// What cannot be seen in the finding: labels that were left out, and those that may not pass.
    pub fn remarks(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.repeated > 0 {
            out.push(format!(
                "{} independent ones of {} labels are counted: one of each state and of each group",
                self.labels - self.repeated,
                self.labels
            ));
        }
        if !self.kept_out.is_empty() {
            let by = self.kept_out.iter().map(|(demand, count)| format!("{count} by {demand}"));
            let (by, all) =
                (by.collect::<Vec<_>>().join(", "), self.kept_out.values().sum::<u64>());
            out.push(format!("{all} may not pass whatever their confidence: {by}"));
        }
        if let Some(promise) = self.instead {
            out.push(format!("`{}` finds a threshold with these labels", promise.name()));
        }
        out
    }
}
