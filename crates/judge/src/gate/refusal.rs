//! Why there is no threshold, and what would help: the search that failed, tried on more rows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::curve::{Count, Curve, Rows};
use crate::{Fraction, bounds, rows::Trial};

/// Why there is no threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", deny_unknown_fields)]
pub enum Refusal {
    /// Too few labels. With `missing` more that are like these, the same search finds a threshold.
    TooFew {
        /// Labelled rows there are.
        rows: u64,
        /// Labelled rows that are missing, about.
        missing: u64,
    },
    /// At every threshold the risk is above the wanted one, and the rows are enough to show that:
    /// more labels do not help.
    TooManyErrors {
        /// Labelled rows there are.
        rows: u64,
        /// The least share of errors at any threshold that lets a twentieth pass.
        least_risk: Fraction,
    },
    /// However many rows like these there were, the share of errors stands in the way; but these
    /// are too few to show that it is so in general.
    Unclear {
        /// Labelled rows there are.
        rows: u64,
        /// As above.
        least_risk: Fraction,
    },
    /// The share of errors is small enough at some threshold, but larger among surer answers, with
    /// which the search begins.
    SurestWrong {
        /// Labelled rows there are.
        rows: u64,
        /// As above.
        least_risk: Fraction,
    },
    /// None of the rows may pass, whatever its confidence: what a gate demands besides keeps out
    /// all of them.
    KeptOut {
        /// Labelled rows there are.
        rows: u64,
    },
    /// Risk or probability are no numbers strictly between 0 and 1.
    OutOfRange,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFew { rows, missing } => {
                write!(f, "{rows} labels, and about {missing} more like them are needed")
            }
            Refusal::TooManyErrors { rows, least_risk } => write!(
                f,
                "in {rows} labels the share of wrong answers is nowhere below {:.4}, and more labels \
                 will not help",
                least_risk.0
            ),
            Refusal::Unclear { rows, least_risk } => write!(
                f,
                "in {rows} labels the share of wrong answers is nowhere below {:.4}, which stands in \
                 the way; so few do not show that it stays there with more",
                least_risk.0
            ),
            Refusal::SurestWrong { rows, least_risk } => write!(
                f,
                "in {rows} labels the surest answers are wrong too often, though the share of wrong \
                 ones falls to {:.4} further on",
                least_risk.0
            ),
            Refusal::KeptOut { rows } => {
                write!(f, "none of {rows} labels may pass")
            }
            Refusal::OutOfRange => f.write_str("risk and delta must be strictly between 0 and 1"),
        }
    }
}

/// Of which rows the errors are a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Of those that pass.
    Passed,
    /// Of all.
    All,
}

/// More rows than anybody labels.
const MOST_ROWS: u64 = 1 << 20;
/// A gate that lets less pass is of no use, and so few rows tell nothing about it.
const USEFUL: u64 = 20;
/// Thresholds at which a lower bound is looked at.
const LOOKS: usize = 48;

/// Why `search` found nothing among `rows`.
pub(super) fn refusal(
    rows: &Rows,
    search: &dyn Fn(&Curve<'_>) -> Option<(Count, f64)>,
    of: Of,
    risk: f64,
    delta: f64,
) -> Refusal {
    let total = rows.all();
    if total == 0 {
        let one = Rows::new(&[Trial { confidence: 1.0, correct: true }]);
        let missing = fewest(&one, search).unwrap_or(MOST_ROWS);
        return Refusal::TooFew { rows: 0, missing };
    }
    if rows.known() == 0 {
        return Refusal::KeptOut { rows: total };
    }
    let among = |count: &Count| match of {
        Of::Passed => count.accepted,
        Of::All => total,
    };
    let curve = rows.curve();
    let useful = |count: &Count| is_useful(*count, rows.known());
    let points: Vec<Count> = curve.points().filter(useful).collect();
    let share = |count: &Count| count.errors as f64 / among(count) as f64;
    let least = points.iter().map(share).fold(1.0, f64::min);
    let least_risk = Fraction(least);
    // All of them must be above, so that each bound alone may be wrong as often as `delta` says.
    let above = |count: &Count| bounds::lower_bound(count.errors, among(count), delta) > risk;
    let mut looks = points.iter().rev().step_by(points.len().div_ceil(LOOKS).max(1));
    if looks.all(above) && points.first().is_none_or(above) {
        return Refusal::TooManyErrors { rows: total, least_risk };
    }
    if let Some(needed) = fewest(rows, search) {
        return Refusal::TooFew { rows: total, missing: needed - total };
    }
    match least < risk {
        true => Refusal::SurestWrong { rows: total, least_risk },
        false => Refusal::Unclear { rows: total, least_risk },
    }
}

/// Whether enough of the rows with a confidence pass.
fn is_useful(count: Count, known: u64) -> bool {
    count.accepted.saturating_mul(USEFUL) >= known
}

/// The fewest rows, more than there are, that are drawn like these and among which `search` finds
/// a threshold; `None` where that is more than anybody labels.
fn fewest(rows: &Rows, search: &dyn Fn(&Curve<'_>) -> Option<(Count, f64)>) -> Option<u64> {
    let found = |n: u64| {
        let curve = rows.curve_of(n);
        search(&curve).is_some_and(|(count, _)| is_useful(count, curve.known()))
    };
    // Steps are small: a search may find something, and with a few more rows nothing again.
    let mut low = rows.all();
    let mut high = low;
    while high == low || !found(high) {
        low = high;
        high = low + low / 10 + 1;
        if high > MOST_ROWS {
            return None;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if found(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
