//! Elementary functions: close to the library's, and exact where it matters.

use crate::common;

use common::Random;
use recinto_kernels::math;

#[test]
fn close_to_the_library() {
    let mut random = Random(31);
    let mut unit = || random.below(1 << 40) as f64 / (1u64 << 40) as f64 * 2.0 - 1.0;
    for _ in 0..200_000 {
        let t = unit();
        // Relative to what the result is; angles absolute.
        let x = (t * 87.0) as f32;
        let want = f64::from(x).exp();
        assert!((f64::from(math::exp(x)) / want - 1.0).abs() < 2.5e-7, "exp {x}");
        let x = (t * 10.0) as f32;
        assert!((f64::from(math::tanh(x)) - f64::from(x).tanh()).abs() < 3e-7, "tanh {x}");
        let x = t * 700.0;
        assert!((math::exp_f64(x) / x.exp() - 1.0).abs() < 1e-15, "exp_f64 {x}");
        let x = (t * 40.0).exp();
        assert!((math::ln(x) - x.ln()).abs() <= 8e-16 * x.ln().abs().max(0.1), "ln {x}");
        for reach in [1.0, 10.0, 1e3, 1e6] {
            let x = t * reach;
            assert!((math::sin(x) - x.sin()).abs() < 1e-15, "sin {x}");
            assert!((math::cos(x) - x.cos()).abs() < 1e-15, "cos {x}");
        }
    }
}

#[test]
fn ends_and_fixed_points() {
    let inf = f32::INFINITY;
    let cases = [
        ("zero", 0.0, 1.0),
        ("minus zero", -0.0, 1.0),
        ("largest", 88.38, inf),
        ("infinity", inf, inf),
        ("smallest", -87.34, 0.0),
        ("minus infinity", -inf, 0.0),
    ];
    for (name, x, want) in cases {
        assert_eq!(math::exp(x), want, "{name}");
    }
    assert!(math::exp(88.36).is_finite() && math::exp(-87.32) > 0.0);
    assert!(math::exp(f32::NAN).is_nan() && math::tanh(f32::NAN).is_nan());
    assert_eq!((math::tanh(100.0), math::tanh(-100.0), math::tanh(0.0)), (1.0, -1.0, 0.0));
    assert_eq!((math::sin(0.0), math::cos(0.0)), (0.0, 1.0));
    assert!(math::sin(f64::INFINITY).is_nan() && math::cos(f64::NAN).is_nan());
}

/// Bits that must never change while `NUMERICS` stays: a sum over many results.
#[test]
fn bits_are_those_of_revision_one() {
    let mut sum = 0u64;
    let mut mix = |bits: u64| sum = (sum.rotate_left(7) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for i in -2000..2000 {
        mix(u64::from(math::exp(i as f32 * 0.043).to_bits()));
        mix(u64::from(math::tanh(i as f32 * 0.007).to_bits()));
        let x = f64::from(i);
        mix(math::sin(x * 471.3).to_bits());
        mix(math::cos(x * 0.77).to_bits());
    }
    assert_eq!(sum, 0x00a0_39db_3a5a_92d0, "{sum:#x}");
}

#[test]
fn logarithms_and_powers_at_their_ends() {
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(math::ln(x).is_nan(), "{x}");
    }
    assert_eq!((math::ln(1.0), math::exp_f64(0.0)), (0.0, 1.0));
    for x in [f64::MIN_POSITIVE, f64::MIN_POSITIVE / 1024.0, f64::MAX, 1.0 + f64::EPSILON] {
        assert!((math::ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs(), "ln {x}");
    }
    assert!(math::exp_f64(f64::NAN).is_nan());
    assert_eq!(math::exp_f64(f64::INFINITY), f64::INFINITY);
    assert_eq!(math::exp_f64(f64::NEG_INFINITY), 0.0);
}
