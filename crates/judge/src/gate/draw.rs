//! Labelled answers as draws: what a gate demands of them besides confidence, and which of them are
//! independent of each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use recinto_receipt::{Digest, sha256};
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::{
    Answer, Fraction, Reason, Unavailable,
    rows::{Scored, Trial},
};

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

/// A demand that an answer does not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Demand {
    /// Its confidence is a number.
    Number,
    /// The labels hold probability enough.
    OptionMass,
    /// One option is before all others.
    NoTie,
    /// All of the input was read.
    Whole,
    /// Other orders of the options give the same answer.
    Orders,
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Demand::Number => "no number",
            Demand::OptionMass => "option mass",
            Demand::NoTie => "a tie",
            Demand::Whole => "cut input",
            Demand::Orders => "orders of options",
        })
    }
}

impl Demands {
    pub(super) fn are_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.least_mass.0)
    }

    /// What else than its confidence keeps an answer from passing.
    pub(super) fn reasons(&self, answer: &Answer) -> Result<Vec<Reason>, Unavailable> {
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

    /// The first demand that keeps an answer from passing.
    fn unmet(&self, answer: &Answer) -> Option<Demand> {
        match self.reasons(answer) {
            Err(Unavailable::LowMass { .. }) => Some(Demand::OptionMass),
            Err(_) => Some(Demand::Number),
            Ok(reasons) => reasons.first().map(|reason| match reason {
                Reason::Tie => Demand::NoTie,
                Reason::Truncated => Demand::Whole,
                _ => Demand::Orders,
            }),
        }
    }

    /// A labelled answer as a draw for [`super::Gate::fit`]: `label` is the index of the right
    /// option, `group` as [`crate::Row::in_group`] has it, 0 for none. One that these demands would
    /// keep from passing is never among those whose risk is bounded.
    pub fn draw(&self, answer: &Answer, label: usize, group: u64) -> Draw {
        let p = answer.probabilities().iter().map(|share| share.p).collect();
        Draw {
            cell: Cell::of(answer),
            question: answer.facts().question,
            state: answer.facts().state,
            group,
            calibrated: answer.facts().calibrated,
            scored: Scored { p, label },
            unmet: self.unmet(answer),
        }
    }
}

/// A labelled answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Its cell, the side told.
    pub cell: Cell,
    /// Digest of its question.
    pub question: Digest,
    /// Digest of its state.
    pub state: Digest,
    /// What it belongs to, such as a customer; 0 for nothing.
    pub group: u64,
    /// Digest of the calibration that was applied.
    pub calibrated: Option<Digest>,
    /// Its distribution, and what was right.
    pub scored: Scored,
    /// What keeps it from passing, whatever its confidence.
    pub unmet: Option<Demand>,
}

impl Draw {
    /// Its confidence, no number where it may not pass, and whether it is right.
    pub fn trial(&self) -> Trial {
        let trial = self.scored.trial();
        let confidence = if self.unmet.is_some() { f64::NAN } else { trial.confidence };
        Trial { confidence, ..trial }
    }

    /// By what draws are chosen: nothing in it depends on a label or an answer.
    fn lot(&self) -> Digest {
        let group = self.group.to_le_bytes();
        let parts = [&group[..], self.state.as_bytes(), self.question.as_bytes()];
        sha256(&parts.concat())
    }
}

/// Draws of which no two share a state or a group: what a binomial bound takes them for. Of each
/// state and of each group the one whose digest is smallest, so that the labels have no part in the
/// choice; of equal ones the first.
pub(super) fn independent<'a>(draws: &[&'a Draw]) -> Vec<&'a Draw> {
    let mut order: Vec<(Digest, usize)> =
        draws.iter().enumerate().map(|(at, draw)| (draw.lot(), at)).collect();
    order.sort_unstable();
    let (mut states, mut groups) = (BTreeSet::new(), BTreeSet::new());
    let mut taken: Vec<usize> = Vec::new();
    for (_, at) in order {
        let draw = draws[at];
        let known = draw.group != 0 && groups.contains(&draw.group);
        if known || states.contains(&draw.state) {
            continue;
        }
        states.insert(draw.state);
        groups.insert(draw.group);
        taken.push(at);
    }
    taken.sort_unstable();
    taken.into_iter().map(|at| draws[at]).collect()
}

/// How many draws each demand keeps out.
pub(super) fn kept_out(draws: &[&Draw]) -> BTreeMap<Demand, u64> {
    let mut out = BTreeMap::new();
    for demand in draws.iter().filter_map(|draw| draw.unmet) {
        *out.entry(demand).or_default() += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(question: u8, state: u8, group: u64) -> Draw {
        Draw {
            cell: "choice:2".parse().unwrap(),
            question: sha256(&[question]),
            state: sha256(&[state]),
            group,
            calibrated: None,
            scored: Scored { p: vec![0.9, 0.1], label: 0 },
            unmet: None,
        }
    }

    #[test]
    fn one_of_each_state_and_group() {
        let many = |n: u8, of: fn(u8) -> Draw| (0..n).map(of).collect::<Vec<Draw>>();
        let cases = [
            ("all apart", many(20, |at| draw(0, at, 0)), 20),
            ("groups of their own", many(20, |at| draw(0, at, 1 + u64::from(at))), 20),
            ("six states, ten times", many(60, |at| draw(0, at % 6, 0)), 6),
            ("six states, other questions", many(60, |at| draw(at, at % 6, 0)), 6),
            ("one group", many(80, |at| draw(0, at, 7)), 1),
            ("a state in two groups", many(20, |at| draw(0, 3, 1 + u64::from(at))), 1),
            ("none", Vec::new(), 0),
        ];
        for (name, draws, want) in cases {
            let all: Vec<&Draw> = draws.iter().collect();
            let found = independent(&all);
            assert_eq!(found.len(), want, "{name}");
            // Whatever the labels say.
            let mut other = draws.clone();
            other.iter_mut().for_each(|draw| draw.scored.label = 1);
            let other: Vec<&Draw> = other.iter().collect();
            let key = |draws: Vec<&Draw>| -> Vec<Digest> {
                draws.iter().map(|draw| draw.lot()).collect()
            };
            assert_eq!(key(independent(&other)), key(found), "{name}");
        }
        // Both questions about a state have their chance.
        let two: Vec<Draw> = (0..100).flat_map(|s| [draw(0, s, 0), draw(1, s, 0)]).collect();
        let two: Vec<&Draw> = two.iter().collect();
        let first = independent(&two).iter().filter(|d| d.question == sha256(&[0])).count();
        assert!((25..75).contains(&first), "{first}");
    }
}
