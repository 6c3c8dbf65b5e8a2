//! Thresholds with a guarantee, from labelled trials.
//!
//! Each function gives a certificate, or says why there is none and how many labels are missing.
//! All of them suppose that the labelled rows and the rows to come are drawn alike.
//!
//! Sources: Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks",
//! NeurIPS 2017, algorithm 2 (selective guaranteed risk); A. Angelopoulos and others, "Learn then
//! Test", arXiv 2110.01052 (fixed sequence, and several of them with a part of delta each); A.
//! Angelopoulos and others, "Conformal risk control", ICLR 2024.

use serde::{Deserialize, Serialize};

use super::{
    curve::{Count, Curve, Rows},
    refusal::{Of, Refusal, refusal},
};
use crate::{Fraction, bounds, rows::Trial};

/// A threshold, and what is known about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Answers with this confidence or more may pass.
    pub threshold: Fraction,
    /// Labelled rows in all.
    pub rows: u64,
    /// Rows at or above the threshold.
    pub accepted: u64,
    /// Wrong ones among them.
    pub errors: u64,
    /// The bound on the risk that was shown.
    pub bound: Fraction,
}

/// How the risk of a fixed threshold is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The exact binomial tail, for right or wrong.
    Binomial,
    /// Hoeffding–Bentkus, for any loss within 0..=1.
    HoeffdingBentkus,
}

/// Rows at or above a threshold, and the wrong ones among them. A confidence that is not a number
/// is never at or above anything.
pub fn count(trials: &[Trial], threshold: f64) -> (u64, u64) {
    let accepted = trials.iter().filter(|t| t.confidence >= threshold);
    accepted.fold((0, 0), |(n, errors), t| (n + 1, errors + u64::from(!t.correct)))
}

fn in_range(risk: f64, delta: f64) -> bool {
    let inside = |x: f64| x > 0.0 && x < 1.0;
    inside(risk) && inside(delta)
}

/// What `search` finds among `trials`: a count with the bound that holds there.
fn certify(
    trials: &[Trial],
    search: impl Fn(&Curve<'_>) -> Option<(Count, f64)>,
    of: Of,
    (risk, delta): (f64, f64),
) -> Result<Certificate, Refusal> {
    let rows = Rows::new(trials);
    match search(&rows.curve()) {
        Some((count, bound)) => Ok(Certificate {
            threshold: Fraction(count.threshold),
            rows: rows.all(),
            accepted: count.accepted,
            errors: count.errors,
            bound: Fraction(bound),
        }),
        None => Err(refusal(&rows, &search, of, risk, delta)),
    }
}

/// Shows that one threshold, chosen without looking at the labels, has a risk of at most `risk`,
/// with probability 1 − `delta`: the Clopper–Pearson bound alone.
pub fn fixed(
    trials: &[Trial],
    threshold: f64,
    risk: f64,
    delta: f64,
) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) || threshold.is_nan() {
        return Err(Refusal::OutOfRange);
    }
    let search = |curve: &Curve<'_>| {
        let count = curve.above(threshold);
        let bound = bounds::upper_bound(count.errors, count.accepted, delta);
        (count.accepted > 0 && bound <= risk).then_some((count, bound))
    };
    // What is below the threshold is in nobody's way.
    let above = |t: &Trial| Trial {
        confidence: if t.confidence >= threshold { t.confidence } else { f64::NAN },
        ..*t
    };
    let above: Vec<Trial> = trials.iter().map(above).collect();
    certify(&above, search, Of::Passed, (risk, delta))
}

/// Selective guaranteed risk: the lowest threshold that a binary search over the confidences finds
/// with a bound of at most `risk`, each look at a part of `delta`. With probability 1 − `delta`
/// over the labelled rows, the share of wrong answers among those that pass is at most `risk`.
pub fn selective(trials: &[Trial], risk: f64, delta: f64) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) {
        return Err(Refusal::OutOfRange);
    }
    certify(trials, |curve| binary_search(curve, risk, delta), Of::Passed, (risk, delta))
}

fn binary_search(curve: &Curve<'_>, risk: f64, delta: f64) -> Option<(Count, f64)> {
    let known = curve.known();
    let steps = looks(known);
    let each = delta / f64::from(steps);
    let (mut low, mut high) = (0, known.saturating_sub(1));
    let mut best = None;
    for _ in 0..steps {
        let middle = (low + high).div_ceil(2);
        let Some(count) = curve.at(known.saturating_sub(middle)) else { break };
        let bound = bounds::upper_bound(count.errors, count.accepted, each);
        if bound <= risk {
            (high, best) = (middle, Some((count, bound)));
        } else {
            low = middle;
        }
    }
    best
}

/// Looks of the binary search: ⌈log₂ rows⌉, at least one.
fn looks(rows: u64) -> u32 {
    rows.max(2).next_power_of_two().trailing_zeros()
}

/// Learn then Test with a fixed sequence of the thresholds that a ladder gives: strict to loose,
/// while the hypothesis "the risk is above `risk`" can be rejected at `delta`; the last threshold
/// that was is the answer. The first one accepts five times the fewest rows that can certify
/// anything, so that one error by chance does not end the walk; in small sets a fifth of the rows,
/// and twice the fewest at least. Each further one accepts a tenth more. All that depends on the
/// confidences alone, never on the labels.
pub fn fixed_sequence(
    trials: &[Trial],
    risk: f64,
    delta: f64,
    test: Test,
) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) {
        return Err(Refusal::OutOfRange);
    }
    let search = |curve: &Curve<'_>| {
        let first = first_rank(curve.known(), risk, delta);
        walk(ladder(curve, first), risk, delta, test)
    };
    certify(trials, search, Of::Passed, (risk, delta))
}

/// As [`fixed_sequence`], over thresholds of your own, strict to loose. Those with too few rows to
/// reject anything are passed over.
pub fn fixed_sequence_on(
    trials: &[Trial],
    risk: f64,
    delta: f64,
    test: Test,
    grid: &[f64],
) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) || grid.iter().any(|t| t.is_nan()) {
        return Err(Refusal::OutOfRange);
    }
    let search = |curve: &Curve<'_>| {
        walk(grid.iter().map(|threshold| curve.above(*threshold)), risk, delta, test)
    };
    certify(trials, search, Of::Passed, (risk, delta))
}

/// Sequences of [`multistart`].
const STARTS: u32 = 3;

/// Learn then Test with three sequences on the ladder of [`fixed_sequence`], at a third of `delta`
/// each: from its own start, from the surest half of the rows, and from all rows. The loosest
/// threshold that any of them reaches is the answer. Wrong answers among the surest end the first
/// one only.
pub fn multistart(trials: &[Trial], risk: f64, delta: f64) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) {
        return Err(Refusal::OutOfRange);
    }
    let each = delta / f64::from(STARTS);
    let search = |curve: &Curve<'_>| {
        let known = curve.known();
        let starts = [first_rank(known, risk, each), known.div_ceil(2), known];
        let found = starts.map(|start| walk(ladder(curve, start), risk, each, Test::Binomial));
        found.into_iter().flatten().max_by_key(|(count, _)| count.accepted)
    };
    certify(trials, search, Of::Passed, (risk, delta))
}

/// The last count before the first that cannot be told from a risk above `risk`.
fn walk(
    counts: impl Iterator<Item = Count>,
    risk: f64,
    delta: f64,
    test: Test,
) -> Option<(Count, f64)> {
    let least = bounds::fewest_rows(risk, delta);
    let mut best = None;
    for count in counts.filter(|count| count.accepted >= least) {
        let p_value = match test {
            Test::Binomial => bounds::binomial_cdf(count.errors, count.accepted, risk),
            Test::HoeffdingBentkus => bounds::hoeffding_bentkus(count.errors, count.accepted, risk),
        };
        // Written so that a p-value that is not a number stops the walk.
        if p_value <= delta {
            best = Some(count);
        } else {
            break;
        }
    }
    // What was shown is the risk itself: a tighter bound would be a second look.
    best.map(|count| (count, risk))
}

/// The rank at which a ladder begins.
fn first_rank(known: u64, risk: f64, delta: f64) -> u64 {
    let least = bounds::fewest_rows(risk, delta);
    let start = least.saturating_mul(5).min((known / 5).max(least.saturating_mul(2)));
    start.min(known)
}

/// Counts from the row of rank `first` on, each at a tenth more rows than the one before.
fn ladder(curve: &Curve<'_>, first: u64) -> impl Iterator<Item = Count> {
    let known = curve.known();
    let next = move |rank: &u64| (*rank < known).then(|| (rank + (rank / 10).max(1)).min(known));
    std::iter::successors(Some(first.max(1)), next).filter_map(|rank| curve.at(rank))
}

/// Conformal risk control: the lowest confidence that occurs and at which the expected share of
/// rows that pass *and* are wrong, among all rows, is at most `risk`. Holds on average over the
/// labelled rows; there is no `delta`.
pub fn risk_control(trials: &[Trial], risk: f64) -> Result<Certificate, Refusal> {
    if !in_range(risk, 0.5) {
        return Err(Refusal::OutOfRange);
    }
    let search = |curve: &Curve<'_>| {
        let rank = loosest(curve.known(), |rank| {
            curve.at(rank).is_some_and(|count| corrected(count, curve) <= risk)
        });
        let count = curve.at(rank)?;
        Some((count, corrected(count, curve)))
    };
    certify(trials, search, Of::All, (risk, 0.05))
}

/// As [`risk_control`], over thresholds of your own, loose to strict.
pub fn risk_control_on(trials: &[Trial], risk: f64, grid: &[f64]) -> Result<Certificate, Refusal> {
    if !in_range(risk, 0.5) || grid.iter().any(|t| t.is_nan()) {
        return Err(Refusal::OutOfRange);
    }
    let search = |curve: &Curve<'_>| {
        // The loss never rises with the threshold, so the first that fits can be halved for.
        let fits = |threshold: &f64| corrected(curve.above(*threshold), curve) <= risk;
        let at = grid.partition_point(|threshold| !fits(threshold));
        let count = curve.above(*grid.get(at)?);
        (count.accepted > 0).then(|| (count, corrected(count, curve)))
    };
    certify(trials, search, Of::All, (risk, 0.05))
}

/// (errors + 1) / (rows + 1).
fn corrected(count: Count, curve: &Curve<'_>) -> f64 {
    (count.errors as f64 + 1.0) / (curve.rows() as f64 + 1.0)
}

/// The largest rank that fits, where all smaller ones do; 0 for none.
fn loosest(known: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, known);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}
