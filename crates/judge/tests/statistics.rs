//! Tails, bounds and quantiles against scipy; laws that they keep everywhere.

use crate::common;

use common::{golden, near};
use proptest::prelude::*;
use recinto_judge::bounds::{
    binomial_cdf, clopper_pearson, fewest_rows, hoeffding_bentkus, inverse_beta, ln_gamma,
    lower_bound, normal_quantile, regularized_beta, rows_needed, upper_bound, wilson,
};

#[test]
fn as_scipy_has_them() {
    let file = golden("statistics.json");
    let rows = |name: &str| -> Vec<Vec<f64>> {
        let rows = file[name].as_array().unwrap().iter();
        let rows: Vec<Vec<f64>> = rows
            .map(|row| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect())
            .collect();
        assert!(rows.len() >= 5, "{name}");
        rows
    };
    for r in rows("beta") {
        near(&format!("beta {r:?}"), regularized_beta(r[0], r[1], r[2]), r[3], 2e-12);
    }
    for r in rows("binomial_cdf") {
        near(&format!("cdf {r:?}"), binomial_cdf(r[0] as u64, r[1] as u64, r[2]), r[3], 1e-11);
    }
    for r in rows("upper_bound") {
        near(&format!("upper {r:?}"), upper_bound(r[0] as u64, r[1] as u64, r[2]), r[3], 1e-11);
    }
    for r in rows("lower_bound") {
        near(&format!("lower {r:?}"), lower_bound(r[0] as u64, r[1] as u64, r[2]), r[3], 1e-11);
    }
    for r in rows("wilson_95") {
        let both = wilson(r[0] as u64, r[1] as u64, 0.95);
        near(&format!("wilson {r:?}"), both.low, r[2], 1e-12);
        near(&format!("wilson {r:?}"), both.high, r[3], 1e-12);
    }
    for r in rows("normal_quantile") {
        near(&format!("normal {r:?}"), normal_quantile(r[0]), r[1], 1e-12);
    }
    for r in rows("ln_gamma") {
        near(&format!("ln_gamma {r:?}"), ln_gamma(r[0]), r[1], 1e-13);
    }
}

#[test]
fn known_sample_sizes() {
    // Zero errors in n rows certify 1 − delta^(1/n).
    assert_eq!(rows_needed(0.0, 0.05, 0.05), Some(59));
    assert_eq!(rows_needed(0.0, 0.01, 0.05), Some(299));
    near("59 rows", upper_bound(0, 59, 0.05), 1.0 - 0.05f64.powf(1.0 / 59.0), 1e-14);
    assert!(rows_needed(0.02, 0.05, 0.05).unwrap() > 59);
    for (risk, delta, want) in [
        (0.05, 0.05, 59),
        (0.01, 0.05, 299),
        (0.1, 0.05, 29),
        (0.5, 0.25, 2),
        (0.5, 0.5, 1),
        (0.9, 0.5, 1),
        (0.02, 0.05, 149),
    ] {
        assert_eq!(fewest_rows(risk, delta), want, "{risk} {delta}");
        assert!(upper_bound(0, want, delta) <= risk + 1e-12, "{risk} {delta}");
        assert!(want == 1 || upper_bound(0, want - 1, delta) > risk, "{risk} {delta}");
    }
    assert_eq!(fewest_rows(f64::NAN, 0.05), u64::MAX);
    for (rate, risk, delta) in
        [(0.05, 0.05, 0.05), (0.2, 0.1, 0.05), (0.0, 0.0, 0.05), (0.0, 0.05, 0.0), (0.0, 1.0, 0.5)]
    {
        assert_eq!(rows_needed(rate, risk, delta), None, "{rate} {risk} {delta}");
    }
    assert_eq!(rows_needed(f64::NAN, 0.05, 0.05), None);
    let start = std::time::Instant::now();
    assert_eq!(rows_needed(0.05 - 1e-9, 0.05, 0.05), None, "more than anybody labels");
    upper_bound(u64::MAX / 20, u64::MAX, 0.05);
    assert!(start.elapsed().as_secs() < 20, "whatever the counts, it ends");
}

#[test]
fn nothing_seen_is_nothing_known() {
    assert_eq!(upper_bound(0, 0, 0.05), 1.0);
    assert_eq!(lower_bound(0, 0, 0.05), 0.0);
    assert_eq!(hoeffding_bentkus(0, 0, 0.1), 1.0);
    let (both, short) = (clopper_pearson(0, 0, 0.95), wilson(0, 0, 0.95));
    assert_eq!((both.low, both.high, short.low, short.high), (0.0, 1.0, 0.0, 1.0));
    for bad in [
        regularized_beta(f64::NAN, 1.0, 1.0),
        regularized_beta(0.5, 0.0, 1.0),
        regularized_beta(0.5, f64::INFINITY, 1.0),
        inverse_beta(f64::NAN, 1.0, 1.0),
        inverse_beta(0.5, -1.0, 1.0),
        ln_gamma(0.0),
        ln_gamma(f64::NAN),
        normal_quantile(1.5),
        normal_quantile(f64::NAN),
    ] {
        assert!(bad.is_nan());
    }
    assert_eq!(upper_bound(7, 5, 0.05), 1.0, "more errors than rows");
}

proptest! {
    #[test]
    fn bounds_enclose_and_invert(n in 1u64..3000, part in 0.0f64..=1.0, delta in 0.001f64..0.4) {
        let k = ((n as f64) * part) as u64;
        let (low, high) = (lower_bound(k, n, delta), upper_bound(k, n, delta));
        let share = k as f64 / n as f64;
        prop_assert!((0.0..=share).contains(&low) && (share..=1.0).contains(&high));
        // By its definition: under the bound, so few errors have probability delta.
        if k < n {
            prop_assert!((binomial_cdf(k, n, high) - delta).abs() < 1e-8);
            prop_assert!(upper_bound(k + 1, n, delta) >= high, "more errors, more risk");
            prop_assert!(upper_bound(k, n + 1, delta) <= high, "more rows, less risk");
        }
        let short = wilson(k, n, 1.0 - delta);
        prop_assert!(short.low <= share && share <= short.high);
        // Never below the exact tail, and never far above it either.
        let (p, exact) = (hoeffding_bentkus(k, n, 0.2), binomial_cdf(k, n, 0.2));
        prop_assert!(p >= exact * (1.0 - 1e-9) && p <= std::f64::consts::E * exact * (1.0 + 1e-9));
    }

    #[test]
    fn tails_are_sums(n in 1u64..60, p in 0.01f64..0.99) {
        let mut term = (1.0 - p).powi(n as i32);
        let mut sum = 0.0;
        for k in 0..=n {
            sum += term;
            prop_assert!((binomial_cdf(k, n, p) - sum).abs() < 1e-10, "{k}");
            term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        }
    }
}
