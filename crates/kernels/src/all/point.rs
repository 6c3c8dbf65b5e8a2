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
