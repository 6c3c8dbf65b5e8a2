//! One number for how sure a distribution is. Three formulas are in use, and a threshold for one
//! means nothing for another, so each has its own name here.

use crate::Form;

/// The hosted API's confidence: 0 for a distribution that says nothing, 1 for one option alone.
///
/// Options: (max p − 1/n) / (1 − 1/n). Levels: 1 − spread / D, where the spread is the mean
/// distance to the likeliest level and D the one of equal levels to their middle, not below 0.
/// Source: the vendor's published adapter. The hosted API gives none for [`Form::Whether`]; the
/// formula for options stands in, so that |2p − 1|.
pub fn hosted(form: Form, p: &[f64]) -> f64 {
    let n = p.len();
    if n == 1 {
        return 1.0;
    }
    let Some(best) = crate::readout::first_largest(p) else { return f64::NAN };
    let sum: f64 = p.iter().sum();
    let n = n as f64;
    match form {
        Form::Whether | Form::Choose => {
            ((p[best] / sum - 1.0 / n) / (1.0 - 1.0 / n)).clamp(0.0, 1.0)
        }
        Form::Rate => {
            let distance = |i: usize| (i as f64 - best as f64).abs();
            let spread: f64 = p.iter().enumerate().map(|(i, p)| p / sum * distance(i)).sum();
            let middle = (n - 1.0) / 2.0;
            let equal: f64 = (0..p.len()).map(|i| (i as f64 - middle).abs()).sum::<f64>() / n;
            (1.0 - spread / equal).max(0.0)
        }
    }
}

/// 1 − H(p) / ln n, as Laya's runtime gives for options and levels. 1 for a single option.
pub fn entropy(p: &[f64]) -> f64 {
    if p.len() < 2 {
        return 1.0;
    }
    let sum: f64 = p.iter().sum();
    let part = |p: f64| if p > 0.0 { -(p / sum) * (p / sum).ln() } else { p * 0.0 };
    let total: f64 = p.iter().map(|p| part(*p)).sum();
    let value = 1.0 - total / (p.len() as f64).ln();
    if value.is_nan() { value } else { value.clamp(0.0, 1.0) }
}

/// The largest probability: the only one of the three that temperature scaling fits, and the one
/// that gates use. Not a number where one is none, or where there are none.
pub fn largest(p: &[f64]) -> f64 {
    crate::readout::first_largest(p).map_or(f64::NAN, |best| p[best])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the vendor's adapter and of Laya's runtime (package `laya` 0.4.15).
    #[test]
    fn published_values() {
        use Form::{Choose, Rate, Whether};
        let cases: [(Form, &[f64], f64, f64); 9] = [
            (Choose, &[0.78, 0.22, 0.0], 0.67, 0.520387704683177),
            (Choose, &[0.25; 4], 0.0, 0.0),
            (Choose, &[0.9641, 0.0174, 0.0185], 0.94615, 0.8365621626648168),
            (Rate, &[0.0, 0.01, 0.99], 0.985, 0.9490252066789275),
            (Rate, &[0.3, 0.4, 0.3], 0.1, 0.00884052856778128),
            (Rate, &[0.5, 0.0, 0.5], 0.0, 0.3690702464285426),
            (Rate, &[0.1, 0.6, 0.2, 0.1], 0.5, 0.21452470277266567),
            (Rate, &[0.5, 0.5], 0.0, 0.0),
            (Whether, &[0.02, 0.98], 0.96, 0.8585594574654298),
        ];
        for (form, p, want, want_entropy) in cases {
            assert!((hosted(form, p) - want).abs() < 1e-12, "{form:?} {p:?}: {}", hosted(form, p));
            assert!((entropy(p) - want_entropy).abs() < 1e-6, "{p:?}: {}", entropy(p));
        }
        assert_eq!(hosted(Choose, &[1.0]), 1.0);
        assert_eq!(entropy(&[1.0]), 1.0);
        for form in Form::ALL {
            assert!(hosted(form, &[0.5, f64::NAN]).is_nan(), "{form:?}");
            assert!(hosted(form, &[]).is_nan(), "{form:?}");
        }
        assert!(entropy(&[0.5, f64::NAN]).is_nan() && largest(&[f64::NAN]).is_nan());
    }
}
