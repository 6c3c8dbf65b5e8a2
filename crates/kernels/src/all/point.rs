//! Operations on one value at a time.

use super::math;

#[inline(always)]
fn each(x: &mut [f32], f: impl Fn(f32) -> f32) {
    x.iter_mut().for_each(|x| *x = f(*x));
}

#[inline(always)]
fn with(x: &mut [f32], y: &[f32], f: impl Fn(f32, f32) -> f32) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
}

/// `x / (1 + exp(−x))`.
#[inline(always)]
fn silu_of(x: f32) -> f32 {
    x / (1.0 + math::exp(-x))
}

/// Gelu in its tanh form (Hendrycks and Gimpel 2016), written as `x / (1 + exp(−2u))`.
#[inline(always)]
fn gelu_of(x: f32) -> f32 {
    const C: f32 = 0.797_884_6; // sqrt(2/π)
    const K: f32 = C * 0.044_715;
    let u = x * (x * x).mul_add(K, C);
    x / (1.0 + math::exp(-2.0 * u))
}

/// Gelu in its exact form, `x · Φ(x)`, written as `max(x, 0) − |x| / 2 · erfc(|x| / √2)`.
///
/// `erfc(z) = exp(−z²) · t · P(t)` with `t = 1 / (1 + 0.33 z)`; P was fitted for the least relative
/// error, 8e-8, on 0 ≤ z ≤ 6.7. What the square loses in rounding goes into a factor.
#[inline(always)]
fn gelu_erf_of(x: f32) -> f32 {
    const C: [f32; 8] = [
        0.186_331_89,
        0.183_246_29,
        0.199_883_96,
        0.050_518_088,
        0.403_835_3,
        -0.347_368_75,
        0.458_620_8,
        -0.135_067_66,
    ];
    const P: f32 = 0.233_345_24; // 0.33 / √2
    let a = x.abs();
    let t = 1.0 / a.mul_add(P, 1.0);
    let mut p = C[7];
    p = p.mul_add(t, C[6]);
    p = p.mul_add(t, C[5]);
    p = p.mul_add(t, C[4]);
    p = p.mul_add(t, C[3]);
    p = p.mul_add(t, C[2]);
    p = p.mul_add(t, C[1]);
    p = p.mul_add(t, C[0]);
    let square = a * a;
    let lost = a.mul_add(a, -square);
    let tail = math::exp(-0.5 * square) * lost.mul_add(-0.5, 1.0);
    // Beyond the range of the square nothing is left of the tail.
    let tail = if a > 13.0 { 0.0 } else { 0.5 * a * (tail * (t * p)) };
    let most = if x < 0.0 { 0.0 } else { x };
    most - tail
}

macro_rules! points {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) = $f:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name($($arg: $type),*) {
            $f
        }
    )*};
}

points! {
    /// `x + y`.
    add(x: &mut [f32], y: &[f32]) = with(x, y, |x, y| x + y);
    /// `x · y`.
    mul(x: &mut [f32], y: &[f32]) = with(x, y, |x, y| x * y);
    /// `silu(x) · y`.
    swiglu(x: &mut [f32], y: &[f32]) = with(x, y, |x, y| silu_of(x) * y);
    /// `gelu(x) · y`.
    geglu(x: &mut [f32], y: &[f32]) = with(x, y, |x, y| gelu_of(x) * y);
    /// `x · by`.
    scale(x: &mut [f32], by: f32) = each(x, |x| x * by);
    /// `cap · tanh(x / cap)`.
    softcap(x: &mut [f32], cap: f32) = each(x, |x| cap * math::tanh(x / cap));
    /// `x / (1 + exp(−x))`.
    silu(x: &mut [f32]) = each(x, silu_of);
    /// Gelu, tanh form.
    gelu(x: &mut [f32]) = each(x, gelu_of);
    /// Gelu, exact form.
    gelu_erf(x: &mut [f32]) = each(x, gelu_erf_of);
    /// `gelu(x) · y`, exact form.
    geglu_erf(x: &mut [f32], y: &[f32]) = with(x, y, |x, y| gelu_erf_of(x) * y);
    /// `max(x, 0)`; NaN stays NaN.
    relu(x: &mut [f32]) = each(x, |x| if x < 0.0 { 0.0 } else { x });
    /// `1 / (1 + exp(−x))`.
    sigmoid(x: &mut [f32]) = each(x, |x| 1.0 / (1.0 + math::exp(-x)));
    /// Hyperbolic tangent.
    tanh(x: &mut [f32]) = each(x, math::tanh);
}

/// Index of the first value that is NaN or infinite.
pub fn first_non_finite(x: &[f32]) -> Option<usize> {
    // By blocks: the check of a block has no branch a value.
    let (blocks, _) = x.as_chunks::<64>();
    let bad = |x: &f32| !x.is_finite();
    let clean = blocks.iter().take_while(|b| b.iter().fold(true, |ok, x| ok & !bad(x))).count();
    x[clean * 64..].iter().position(bad).map(|i| clean * 64 + i)
}
