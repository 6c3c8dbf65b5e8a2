//! Thresholds with a guarantee, from labelled trials.
//!
//! Each function gives a certificate, or says why there is none and how many labels are missing.
//! All of them suppose that the labelled rows and the rows to come are drawn alike.
//!
//! Sources: Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks",
//! NeurIPS 2017, algorithm 2 (selective guaranteed risk); A. Angelopoulos and others, "Learn then
//! Test", arXiv 2110.01052 (fixed sequence); A. Angelopoulos and others, "Conformal risk control",
//! ICLR 2024.

use serde::{Deserialize, Serialize};

use crate::{Fraction, bounds, metrics, rows::Trial};

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

/// Why there is no threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", deny_unknown_fields)]
pub enum Refusal {
    /// Too few labels. At least `missing` more rows would do, if they are like these: an estimate.
    TooFew {
        /// Labelled rows there are.
        rows: u64,
        /// Labelled rows that are missing, about.
        missing: u64,
    },
    /// At no threshold is the risk of these rows below the wanted one: more labels do not help.
    TooManyErrors {
        /// Labelled rows there are.
        rows: u64,
        /// The least risk at any threshold with rows enough to tell.
        least_risk: Fraction,
    },
    /// Risk or probability are no numbers strictly between 0 and 1.
    OutOfRange,
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

/// Confidences that are numbers, upwards.
fn sorted(trials: &[Trial]) -> Vec<f64> {
    let mut out: Vec<f64> = trials.iter().map(|t| t.confidence).filter(|c| !c.is_nan()).collect();
    out.sort_by(f64::total_cmp);
    out
}

fn certificate(trials: &[Trial], threshold: f64, bound: f64) -> Certificate {
    let (accepted, errors) = count(trials, threshold);
    Certificate {
        threshold: Fraction(threshold),
        rows: trials.len() as u64,
        accepted,
        errors,
        bound: Fraction(bound),
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
    let (accepted, errors) = count(trials, threshold);
    let bound = bounds::upper_bound(errors, accepted, delta);
    if accepted > 0 && bound <= risk {
        return Ok(certificate(trials, threshold, bound));
    }
    let only: Vec<Trial> = trials.iter().filter(|t| t.confidence >= threshold).copied().collect();
    Err(refusal(trials.len(), &only, risk, delta))
}

/// Selective guaranteed risk: the lowest threshold that a binary search over the confidences finds
/// with a bound of at most `risk`, each look at a part of `delta`. With probability 1 − `delta`
/// over the labelled rows, the share of wrong answers among those that pass is at most `risk`.
pub fn selective(trials: &[Trial], risk: f64, delta: f64) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) {
        return Err(Refusal::OutOfRange);
    }
    let confidences = sorted(trials);
    let steps = looks(confidences.len());
    let each = delta / f64::from(steps);
    let (mut low, mut high) = (0, confidences.len().saturating_sub(1));
    let mut best = None;
    for _ in 0..steps {
        let middle = (low + high).div_ceil(2);
        let Some(threshold) = confidences.get(middle).copied() else { break };
        let (accepted, errors) = count(trials, threshold);
        let bound = bounds::upper_bound(errors, accepted, each);
        if bound <= risk {
            (high, best) = (middle, Some((threshold, bound)));
        } else {
            low = middle;
        }
    }
    match best {
        Some((threshold, bound)) => Ok(certificate(trials, threshold, bound)),
        None => Err(refusal(trials.len(), trials, risk, each)),
    }
}

/// Looks of the binary search: ⌈log₂ rows⌉, at least one.
fn looks(rows: usize) -> u32 {
    rows.max(2).next_power_of_two().trailing_zeros()
}

/// Learn then Test with a fixed sequence: `grid` is walked from strict to loose while the
/// hypothesis "the risk is above `risk`" can be rejected at `delta`; the last threshold that was
/// is the answer. Thresholds with too few rows to reject anything are passed over: that depends on
/// the confidences alone, never on the labels.
pub fn fixed_sequence(
    trials: &[Trial],
    risk: f64,
    delta: f64,
    test: Test,
    grid: &[f64],
) -> Result<Certificate, Refusal> {
    if !in_range(risk, delta) || grid.iter().any(|t| t.is_nan()) {
        return Err(Refusal::OutOfRange);
    }
    let least = ((1.0 / delta).ln() / risk).ceil() as u64;
    let mut best = None;
    for threshold in grid.iter().copied() {
        let (accepted, errors) = count(trials, threshold);
        if accepted < least {
            continue;
        }
        let p_value = match test {
            Test::Binomial => bounds::binomial_cdf(errors, accepted, risk),
            Test::HoeffdingBentkus => bounds::hoeffding_bentkus(errors, accepted, risk),
        };
        // Written so that a p-value that is not a number stops the walk.
        if p_value <= delta {
            best = Some(threshold);
        } else {
            break;
        }
    }
    // What was shown is the risk itself: a tighter bound would be a second look.
    match best {
        Some(threshold) => Ok(certificate(trials, threshold, risk)),
        None => Err(refusal(trials.len(), trials, risk, delta)),
    }
}

/// A sequence of thresholds, strict to loose, for [`fixed_sequence`]. The first accepts five times
/// the fewest rows that can certify anything, so that one error by chance does not end the walk;
/// in small sets a fifth of the rows, and twice the fewest at least. Each further one accepts a
/// tenth more. Made of the confidences alone.
pub fn sequence(trials: &[Trial], risk: f64, delta: f64) -> Vec<f64> {
    let confidences = sorted(trials);
    if !in_range(risk, delta) || confidences.is_empty() {
        return Vec::new();
    }
    let (least, rows) = ((1.0 / delta).ln() / risk, confidences.len() as f64);
    let start = (5.0 * least).min((rows / 5.0).max(2.0 * least)).ceil().min(rows) as usize;
    let mut out = Vec::new();
    let mut rank = start.max(1);
    loop {
        out.push(confidences[confidences.len() - rank]);
        if rank == confidences.len() {
            break;
        }
        rank = (rank + (rank / 10).max(1)).min(confidences.len());
    }
    out.dedup();
    out
}

/// Conformal risk control: the lowest confidence that occurs and at which the expected share of
/// rows that pass *and* are wrong, among all rows, is at most `risk`. Holds on average over the
/// labelled rows; there is no `delta`.
pub fn risk_control(trials: &[Trial], risk: f64) -> Result<Certificate, Refusal> {
    let mut grid = sorted(trials);
    grid.dedup();
    risk_control_on(trials, risk, &grid)
}

/// As [`risk_control`], over thresholds of your own, loose to strict.
pub fn risk_control_on(trials: &[Trial], risk: f64, grid: &[f64]) -> Result<Certificate, Refusal> {
    if !in_range(risk, 0.5) || grid.iter().any(|t| t.is_nan()) {
        return Err(Refusal::OutOfRange);
    }
    let n = trials.len() as f64;
    let corrected = |threshold: f64| (count(trials, threshold).1 as f64 + 1.0) / (n + 1.0);
    // The loss never rises with the threshold, so the first that fits can be halved for.
    let at = grid.partition_point(|threshold| corrected(*threshold) > risk);
    let found = grid.get(at).map(|t| certificate(trials, *t, corrected(*t)));
    if let Some(found) = found.filter(|c| c.accepted > 0) {
        return Ok(found);
    }
    let rows = trials.len() as u64;
    let least = (1.0 / risk - 1.0).ceil() as u64;
    if rows < least {
        return Err(Refusal::TooFew { rows, missing: least - rows });
    }
    let least_risk = Fraction(metrics::risk_coverage(trials).first().map_or(1.0, |p| p.risk));
    Err(Refusal::TooManyErrors { rows, least_risk })
}

/// Why nothing was certified among `trials`, out of `rows` labelled rows. Looks at some thresholds
/// that let at least a twentieth of the rows pass.
fn refusal(rows: usize, trials: &[Trial], risk: f64, delta: f64) -> Refusal {
    /// A gate that lets less pass is of no use, and so few rows tell nothing about it.
    const USEFUL: f64 = 0.05;
    const LOOKS: usize = 48;
    let known: Vec<Trial> = trials.iter().filter(|t| !t.confidence.is_nan()).copied().collect();
    let accepted = |point: &metrics::Point| (point.coverage * known.len() as f64).round();
    let share = |point: &metrics::Point| accepted(point) / rows.max(1) as f64;
    let mut curve = metrics::risk_coverage(&known);
    curve.retain(|point| share(point) >= USEFUL);
    let total = rows as u64;
    if curve.is_empty() {
        let needed = bounds::rows_needed(0.0, risk, delta).unwrap_or(u64::MAX);
        return Refusal::TooFew { rows: total, missing: needed };
    }
    let missing = |point: &metrics::Point| -> Option<u64> {
        let needed = bounds::rows_needed(point.risk, risk, delta)? as f64;
        Some(((needed - accepted(point)).max(1.0) / share(point)).ceil() as u64)
    };
    let looks = || curve.iter().rev().step_by(curve.len().div_ceil(LOOKS)).chain(curve.first());
    match looks().filter_map(missing).min() {
        Some(missing) => Refusal::TooFew { rows: total, missing },
        None => {
            let least = looks().map(|point| point.risk).fold(1.0, f64::min);
            Refusal::TooManyErrors { rows: total, least_risk: Fraction(least) }
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::TooFew { rows, missing } => {
                write!(
                    f,
                    "{rows} labelled rows are too few; at least some {missing} more are missing"
                )
            }
            Refusal::TooManyErrors { rows, least_risk } => write!(
                f,
                "among {rows} labelled rows the least risk is {:.3}; more labels do not help",
                least_risk.0
            ),
            Refusal::OutOfRange => f.write_str("risk and delta must be strictly between 0 and 1"),
        }
    }
}
