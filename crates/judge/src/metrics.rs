//! How good probabilities are: calibration error, proper scores, and risk against coverage.
//!
//! Sources: M. Pakdaman Naeini, G. Cooper, M. Hauskrecht, AAAI 2015 (ECE, MCE); K. Nguyen,
//! B. O'Connor, EMNLP 2015 (bins of equal counts); G. Brier, 1950; Y. Geifman, G. Uziel,
//! R. El-Yaniv, ICLR 2019 (AURC and its excess); E. Epstein, 1969 (ranked probability score).
//! Every function gives not a number for no rows, never a good value.

use crate::rows::{Scored, Trial};

/// One bin of a reliability diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Its lower edge, outside (but 0 is inside).
    pub low: f64,
    /// Its upper edge, inside.
    pub high: f64,
    /// Rows in it.
    pub rows: u64,
    /// How many of them were right.
    pub hits: u64,
    /// Their mean confidence; 0 without rows.
    pub confidence: f64,
}

impl Bin {
    fn over(trials: &[Trial], low: f64, high: f64) -> Bin {
        let rows = trials.len() as u64;
        let hits = trials.iter().filter(|t| t.correct).count() as u64;
        let sum: f64 = trials.iter().map(|t| t.confidence).sum();
        let confidence = if rows == 0 { 0.0 } else { sum / rows as f64 };
        Bin { low, high, rows, hits, confidence }
    }

    /// The share that was right; 0 without rows.
    pub fn accuracy(&self) -> f64 {
        if self.rows == 0 { 0.0 } else { self.hits as f64 / self.rows as f64 }
    }

    /// |confidence − accuracy|.
    pub fn gap(&self) -> f64 {
        (self.confidence - self.accuracy()).abs()
    }
}

/// Where a trial ranks: one without a number behind all others.
fn rank(trial: &Trial) -> f64 {
    if trial.confidence.is_nan() { f64::NEG_INFINITY } else { trial.confidence }
}

/// Trials by confidence, upwards; of equals, the wrong ones first, so that the order in which rows
/// were given changes nothing.
fn upwards(trials: &[Trial]) -> Vec<Trial> {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| rank(a).total_cmp(&rank(b)).then(a.correct.cmp(&b.correct)));
    sorted
}

/// The runs of equal confidence of sorted trials, downwards.
fn ties(sorted: &[Trial]) -> impl Iterator<Item = &[Trial]> {
    let runs: Vec<_> = sorted.chunk_by(|a, b| rank(a) == rank(b)).collect();
    runs.into_iter().rev()
}

/// `bins` bins of equal width on 0..=1, closed on the right; the first one includes 0.
pub fn equal_width(trials: &[Trial], bins: usize) -> Vec<Bin> {
    let sorted = upwards(trials);
    let edge = |i: usize| if i == bins { 1.0 } else { i as f64 * (1.0 / bins as f64) };
    let mut from = 0;
    (0..bins)
        .map(|i| {
            let high = edge(i + 1);
            let inside = |t: &Trial| i + 1 == bins || rank(t) <= high;
            let to = sorted.partition_point(inside);
            let bin = Bin::over(&sorted[from..to], edge(i), high);
            from = to;
            bin
        })
        .collect()
}

/// At most `bins` bins of as equal counts as possible, the larger ones first. Nothing tells rows of
/// one confidence apart, so they stay in one bin: an edge that would part them moves behind them,
/// and a bin that has nothing left is none.
pub fn equal_count(trials: &[Trial], bins: usize) -> Vec<Bin> {
    let sorted = upwards(trials);
    let bins = bins.min(sorted.len());
    let (mut from, mut wanted, mut out) = (0, 0, Vec::with_capacity(bins));
    for i in 0..bins {
        wanted += sorted.len() / bins + usize::from(i < sorted.len() % bins);
        if wanted <= from {
            continue;
        }
        let last = rank(&sorted[wanted - 1]);
        let to = wanted + sorted[wanted..].iter().take_while(|t| rank(t) == last).count();
        let part = &sorted[from..to];
        from = to;
        out.push(Bin::over(part, part[0].confidence, part[part.len() - 1].confidence));
    }
    out
}

/// Expected calibration error: the gap of each bin, weighted by its rows.
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let rows: u64 = bins.iter().map(|b| b.rows).sum();
    let sum: f64 = bins.iter().map(|b| b.rows as f64 * b.gap()).sum();
    sum / rows as f64
}

/// Maximum calibration error: the largest gap of a bin that has rows.
pub fn largest_gap(bins: &[Bin]) -> f64 {
    let larger = |a: f64, b: f64| if b.is_nan() || b > a { b } else { a };
    bins.iter().filter(|b| b.rows > 0).map(Bin::gap).reduce(larger).unwrap_or(f64::NAN)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), v| (sum + v, count + 1));
    sum / count as f64
}

/// Share of the rows that are right.
pub fn accuracy(trials: &[Trial]) -> f64 {
    mean(trials.iter().map(|t| f64::from(u8::from(t.correct))))
}

/// Brier score over all options: mean of Σ (p − 1(right))², 0..=2.
pub fn brier(rows: &[Scored]) -> f64 {
    mean(rows.iter().map(|row| {
        let right = |k: usize| f64::from(u8::from(k == row.label));
        row.p.iter().enumerate().map(|(k, p)| (p - right(k)).powi(2)).sum()
    }))
}

/// Brier score of the confidence alone: mean of (confidence − 1(right))², 0..=1.
pub fn brier_of_confidence(trials: &[Trial]) -> f64 {
    mean(trials.iter().map(|t| (t.confidence - f64::from(u8::from(t.correct))).powi(2)))
}

/// Negative log-likelihood, mean of −ln p(right). Nothing is clipped: infinite when one row was
/// sure of the wrong thing.
pub fn log_loss(rows: &[Scored]) -> f64 {
    mean(rows.iter().map(|row| -row.p[row.label].ln()))
}

/// Ranked probability score of levels, mean of Σ (CDF(k) − 1(right ≤ k))² / (K − 1), 0..=1.
pub fn ranked_score(rows: &[Scored]) -> f64 {
    mean(rows.iter().map(|row| {
        let (mut below, mut sum) = (0.0, 0.0);
        for (k, p) in row.p.iter().enumerate() {
            below += p;
            sum += (below - f64::from(u8::from(row.label <= k))).powi(2);
        }
        sum / (row.p.len() as f64 - 1.0)
    }))
}

/// One point of the curve of risk against coverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Answers with at least this confidence are acted on.
    pub threshold: f64,
    /// Share of all rows that is acted on.
    pub coverage: f64,
    /// Share of these that is wrong.
    pub risk: f64,
}

/// Errors among the first 1, 2, … most confident rows. Within rows of equal confidence no order is
/// known, so their errors are spread evenly.
fn errors_by_rank(trials: &[Trial]) -> Vec<f64> {
    let sorted = upwards(trials);
    let (mut out, mut before) = (Vec::with_capacity(sorted.len()), 0.0);
    for tie in ties(&sorted) {
        let errors = tie.iter().filter(|t| !t.correct).count() as f64;
        let share = |j: usize| errors * (j as f64 / tie.len() as f64);
        out.extend((1..=tie.len()).map(|j| before + share(j)));
        before += errors;
    }
    out
}

/// The curve of risk against coverage: one point for each confidence that occurs, strictest first.
/// A threshold cannot part equals, so neither does the curve.
pub fn risk_coverage(trials: &[Trial]) -> Vec<Point> {
    let sorted = upwards(trials);
    let (mut rows, mut errors, mut out) = (0usize, 0usize, Vec::new());
    for tie in ties(&sorted) {
        rows += tie.len();
        errors += tie.iter().filter(|t| !t.correct).count();
        let coverage = rows as f64 / sorted.len() as f64;
        let risk = errors as f64 / rows as f64;
        out.push(Point { threshold: tie[0].confidence, coverage, risk });
    }
    out
}

/// Area under the curve of risk against coverage: the mean risk over all ranks. Lower is better.
pub fn risk_area(trials: &[Trial]) -> f64 {
    let errors = errors_by_rank(trials);
    mean(errors.iter().enumerate().map(|(i, e)| e / (i + 1) as f64))
}

/// The least area that these errors allow: all of them ranked last.
pub fn least_risk_area(trials: &[Trial]) -> f64 {
    let right = trials.iter().filter(|t| t.correct).count();
    mean((1..=trials.len()).map(|i| i.saturating_sub(right) as f64 / i as f64))
}

/// The most rows that could have been acted on at a risk of at most `risk`, as a share. What the
/// rows show, not a promise about others; for that, see the gate.
pub fn coverage_at_risk(trials: &[Trial], risk: f64) -> f64 {
    let fits = |p: &Point| p.risk <= risk && !p.threshold.is_nan();
    risk_coverage(trials).iter().filter(|p| fits(p)).map(|p| p.coverage).fold(0.0, f64::max)
}
