//! Exponential, logarithm and power in plain f64 arithmetic: the same bits on every machine.
//!
//! The standard library calls the platform's functions, whose last bits differ.

const LN2_HI: f64 = 6.931_471_803_691_238e-1; // low 21 bits are zero: n * LN2_HI is exact
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Natural logarithm of a positive, finite, normal `x`; NaN otherwise.
pub(crate) fn ln(x: f64) -> f64 {
    if !(x.is_normal() && x > 0.0) {
        return f64::NAN;
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh(s), |s| < 0.1716: the term s^29 is below 1e-22.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut sum = 0.0;
    for k in (1..=14).rev() {
        sum = (sum + 1.0 / f64::from(2 * k + 1)) * z;
    }
    let e = exponent as f64;
    e * LN2_HI + (2.0 * s + (2.0 * s * sum + e * LN2_LO))
}

/// `e` to the power `x`, for `|x| < 700`; infinity, zero or NaN outside.
pub(crate) fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 700.0 {
        return f64::INFINITY;
    }
    if x < -700.0 {
        return 0.0;
    }
    let n = (x / std::f64::consts::LN_2).round();
    let r = (x - n * LN2_HI) - n * LN2_LO;
    // Taylor by Horner; |r| < 0.35, so the 18th term is below 1e-24.
    let mut sum = 1.0;
    for k in (1..=17).rev() {
        sum = 1.0 + sum * r / f64::from(k);
    }
    sum * f64::from_bits(((n as i64 + 1023) as u64) << 52)
}

/// `x` to the power `y`, for positive `x`.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    exp(y * ln(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, std: f64) -> bool {
        (ours - std).abs() <= 1e-14 * std.abs()
    }

    #[test]
    fn agrees_with_std() {
        let mut x = 1.3e-9;
        while x < 1e12 {
            let far = (ln(x) - x.ln()).abs();
            assert!(far <= 1e-14 * x.ln().abs().max(1.0), "ln {x}");
            x *= 1.037;
        }
        let mut x = -60.0;
        while x < 60.0 {
            assert!(close(exp(x), x.exp()), "exp {x}");
            x += 0.0137;
        }
        for base in [2.0, 10_000.0, 100_000.0, 500_000.0, 1e6, 1e7] {
            for size in [2, 32, 64, 80, 96, 128, 256] {
                for i in 0..size / 2 {
                    let y = -2.0 * f64::from(i) / f64::from(size);
                    assert!(close(pow(base, y), base.powf(y)), "{base}^{y}");
                }
            }
        }
    }

    #[test]
    fn edges() {
        assert_eq!(pow(10_000.0, 0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
        assert!(ln(0.0).is_nan() && ln(-1.0).is_nan() && ln(f64::INFINITY).is_nan());
        assert!(exp(f64::NAN).is_nan());
        assert_eq!(exp(1e9), f64::INFINITY);
        assert_eq!(exp(-1e9), 0.0);
    }
}
