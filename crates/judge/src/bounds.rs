//! How sure a count makes us: exact binomial tails, and intervals around a share.
//!
//! Sources: C. Clopper, E. Pearson, "The use of confidence or fiducial limits illustrated in the
//! case of the binomial", Biometrika 26 (1934); E. Wilson, "Probable inference, the law of
//! succession, and statistical inference", JASA 22 (1927); W. Hoeffding, JASA 58 (1963);
//! A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then Test", arXiv 2110.01052,
//! for the Hoeffding–Bentkus p-value.

mod beta;
mod normal;

pub use beta::{inverse_beta, ln_gamma, regularized_beta};
pub use normal::normal_quantile;

/// Both ends of an interval around a share, within 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// P(X ≤ `k`) for X of a binomial distribution with `n` trials of probability `p`.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    // The sum of the tail is an incomplete beta function (DLMF 8.17.5).
    regularized_beta(1.0 - p, (n - k) as f64, (k + 1) as f64)
}

/// The Clopper–Pearson upper bound: the largest error rate under which `errors` or fewer in `n`
/// has a probability of `delta` or more. 1 when nothing was seen or everything was wrong.
pub fn upper_bound(errors: u64, n: u64, delta: f64) -> f64 {
    if errors >= n {
        return 1.0;
    }
    inverse_beta(1.0 - delta, (errors + 1) as f64, (n - errors) as f64)
}

/// The Clopper–Pearson lower bound of a share of `hits` in `n`, missed with probability `delta`.
pub fn lower_bound(hits: u64, n: u64, delta: f64) -> f64 {
    if hits == 0 || n == 0 {
        return 0.0;
    }
    inverse_beta(delta, hits as f64, (n - hits.min(n) + 1) as f64)
}

/// The exact two-sided interval of a share; `confidence` such as 0.95. The whole range for n = 0.
pub fn clopper_pearson(hits: u64, n: u64, confidence: f64) -> Interval {
    let half = (1.0 - confidence) / 2.0;
    Interval { low: lower_bound(hits, n, half), high: upper_bound(hits, n, half) }
}

/// Wilson's score interval of a share: close to its confidence on average, and short; for
/// pictures. The whole range for n = 0.
pub fn wilson(hits: u64, n: u64, confidence: f64) -> Interval {
    if n == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, share) = (n as f64, hits as f64 / n as f64);
    let z = normal_quantile(0.5 + confidence / 2.0);
    let scale = 1.0 + z * z / n;
    let middle = (share + z * z / (2.0 * n)) / scale;
    let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    // At the ends the two terms cancel only up to rounding.
    let low = if share == 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if share == 1.0 { 1.0 } else { (middle + half).min(1.0) };
    Interval { low, high }
}

/// The Hoeffding–Bentkus p-value of "the risk is above `alpha`" after `errors` in `n`. It holds for
/// any loss within 0..=1 with mean `errors / n`. 1 when nothing was seen.
pub fn hoeffding_bentkus(errors: u64, n: u64, alpha: f64) -> f64 {
    if n == 0 {
        return 1.0;
    }
    let term = |a: f64, b: f64| if a > 0.0 { a * (a / b).ln() } else { 0.0 };
    let share = (errors as f64 / n as f64).min(alpha);
    let divergence = term(share, alpha) + term(1.0 - share, 1.0 - alpha);
    let hoeffding = (-(n as f64) * divergence).exp();
    let bentkus = std::f64::consts::E * binomial_cdf(errors, n, alpha);
    hoeffding.min(bentkus).min(1.0)
}

/// The fewest rows that certify `risk` with probability 1 − `delta` when none of them is wrong: the
/// first n with (1 − risk)ⁿ ≤ delta. Both strictly between 0 and 1.
pub fn fewest_rows(risk: f64, delta: f64) -> u64 {
    // The tolerance keeps a whole number from becoming the next one by rounding.
    let exact = delta.ln() / (-risk).ln_1p();
    if exact.is_nan() { u64::MAX } else { (exact - 1e-9).ceil().max(1.0) as u64 }
}

/// More rows than anybody labels. It also bounds the work: tails take some √rows steps.
const MOST_ROWS: u64 = 1 << 24;

/// About the fewest rows among which `rate` of errors still has an upper bound of `risk` or less,
/// with probability 1 − `delta`. `None` when no number of rows can, or none that anybody labels:
/// the rate is not below the risk, or hardly.
pub fn rows_needed(rate: f64, risk: f64, delta: f64) -> Option<u64> {
    let sound = (0.0..1.0).contains(&rate) && rate < risk && risk < 1.0 && delta > 0.0;
    if !sound || delta >= 1.0 {
        return None;
    }
    // Errors are rounded up, so the answer errs on the careful side.
    let enough = |n: u64| upper_bound((rate * n as f64).ceil() as u64, n, delta) <= risk;
    let mut high = 1u64;
    while !enough(high) {
        high = high.checked_mul(2).filter(|n| *n <= MOST_ROWS)?;
    }
    let (mut low, mut top) = (high / 2, high);
    while top - low > 1 {
        let middle = low + (top - low) / 2;
        if enough(middle) { top = middle } else { low = middle }
    }
    Some(top)
}
