//! The logarithm of the gamma function, the incomplete beta function, and its inverse.
//!
//! Source: NIST Digital Library of Mathematical Functions, 5.11.1 (Stirling's series), 5.5.1
//! (recurrence), 8.17.4 (symmetry) and 8.17.22 (continued fraction), evaluated by Lentz's method.

/// Terms of Stirling's series: B(2k) / (2k (2k − 1)) for k = 1…
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];

/// From here on the series is exact to double precision.
const LARGE: f64 = 12.0;

/// ln Γ(x) for x > 0; not a number for any other.
pub fn ln_gamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let (mut x, mut product) = (x, 1.0);
    while x < LARGE {
        product *= x;
        x += 1.0;
    }
    let half_ln_tau = 0.5 * std::f64::consts::TAU.ln();
    (x - 0.5) * x.ln() - x + half_ln_tau + tail(x) - product.ln()
}

/// What Stirling's series adds to the leading terms; `x` is large.
fn tail(x: f64) -> f64 {
    let square = 1.0 / (x * x);
    STIRLING.iter().rev().fold(0.0, |sum, term| sum * square + term) / x
}

/// I_x(a, b), the share of the beta distribution below `x`; a, b > 0. Not a number for anything
/// that is none.
pub fn regularized_beta(x: f64, a: f64, b: f64) -> f64 {
    let sound = a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite();
    if x.is_nan() || !sound {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - lower_part(1.0 - x, b, a);
    }
    lower_part(x, a, b)
}

fn lower_part(x: f64, a: f64, b: f64) -> f64 {
    (ln_front(x, a, b).exp() / a / fraction(x, a, b)).clamp(0.0, 1.0)
}

/// The logarithm of x^a (1 − x)^b / B(a, b). The large terms of the three gamma functions cancel on
/// paper, so that their rounding does not stay.
fn ln_front(x: f64, a: f64, b: f64) -> f64 {
    if a >= LARGE && b >= LARGE {
        // How far x is from the mean, in rows.
        let off = b * x - a * (1.0 - x);
        let half = 0.5 * (a / (a + b) * b / std::f64::consts::TAU).ln();
        let small = tail(a + b) - tail(a) - tail(b);
        return a * (off / a).ln_1p() + b * (-off / b).ln_1p() + half + small;
    }
    let rest = a * x.ln() + b * (-x).ln_1p();
    if b >= LARGE {
        return ln_rise(a, b) - ln_gamma(a) + rest;
    }
    if a >= LARGE {
        return ln_rise(b, a) - ln_gamma(b) + rest;
    }
    ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + rest
}

/// ln Γ(base + step) − ln Γ(base) for a large base.
fn ln_rise(step: f64, base: f64) -> f64 {
    let sum = base + step;
    (base - 0.5) * (step / base).ln_1p() + step * sum.ln() - step + tail(sum) - tail(base)
}

/// The continued fraction 1 + d₁/(1 + d₂/(1 + …)). It takes some √max(a, b) steps; the cap is far
/// above what any number of labelled rows needs.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const STEPS: u32 = 200_000;
    let away = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for step in 1..STEPS {
        let m = f64::from(step / 2);
        let top = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / away(1.0 + top * d);
        c = away(1.0 + top / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The x with I_x(a, b) = `p`, by halving: slower than Newton's steps, and it cannot go astray.
pub fn inverse_beta(p: f64, a: f64, b: f64) -> f64 {
    if p.is_nan() || regularized_beta(0.5, a, b).is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high || high - low < 1e-16 * high {
            // The upper end errs on the careful side of an upper bound.
            return high;
        }
        if regularized_beta(middle, a, b) < p { low = middle } else { high = middle }
    }
}
