//! Quantiles of the normal distribution.
//!
//! The distribution function is the error function (DLMF 7.6.1 for small, 7.9.1 for large
//! arguments); the quantile inverts it by halving.

/// P(Z ≤ x) for x ≤ 0.
fn lower_tail(x: f64) -> f64 {
    let t = -x;
    let density = (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    if t < 3.0 {
        // Φ(t) − 1/2 = φ(t) · Σ t^(2n+1) / (1·3·…·(2n+1)), all terms positive.
        let (mut term, mut sum, mut n) = (t, t, 1.0);
        while term > sum * 1e-17 && n < 400.0 {
            term *= t * t / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        return 0.5 - density * sum;
    }
    // Mills' ratio as a continued fraction from the far end: 1/(t + 1/(t + 2/(t + …))).
    let below = (1..=200).rev().fold(t, |value, n| t + f64::from(n) / value);
    density / below
}

/// The x with P(Z ≤ x) = `p` for a standard normal Z; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p == 0.5 {
        return 0.0;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if lower_tail(middle) < p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}
