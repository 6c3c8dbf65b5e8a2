//! Norms over groups of values: sums in sixteen lanes.

use super::dot::fold;

/// Sixteen lanes over `x`, each step by `f(value, lane)`.
#[inline(always)]
fn lanes(x: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0f32; 16];
    let (whole, rest) = x.as_chunks::<16>();
    for x in whole {
        for i in 0..16 {
            lanes[i] = f(x[i], lanes[i]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = f(*x, *lane);
    }
    fold(lanes)
}

/// `x / sqrt(mean(x²) + eps)`, times the weight where there is one.
#[inline(always)]
pub(crate) fn rms_norm(x: &mut [f32], size: usize, w: Option<&[f32]>, eps: f32) {
    for x in x.chunks_exact_mut(size) {
        let ss = lanes(x, |x, lane| x.mul_add(x, lane));
        let r = 1.0 / (ss / size as f32 + eps).sqrt();
        match w {
            Some(w) => x.iter_mut().zip(w).for_each(|(x, w)| *x = (*x * r) * w),
            None => x.iter_mut().for_each(|x| *x *= r),
        }
    }
}

/// `(x − mean) / sqrt(variance + eps)`, then weight and bias where there are any.
#[inline(always)]
pub(crate) fn layer_norm(
    x: &mut [f32],
    size: usize,
    w: Option<&[f32]>,
    b: Option<&[f32]>,
    eps: f32,
) {
    for x in x.chunks_exact_mut(size) {
        let mean = lanes(x, |x, lane| lane + x) / size as f32;
        x.iter_mut().for_each(|x| *x -= mean);
        let var = lanes(x, |c, lane| c.mul_add(c, lane)) / size as f32;
        let r = 1.0 / (var + eps).sqrt();
        match (w, b) {
            (Some(w), Some(b)) => {
                for ((x, w), b) in x.iter_mut().zip(w).zip(b) {
                    *x = (*x * r).mul_add(*w, *b);
                }
            }
            (Some(w), None) => x.iter_mut().zip(w).for_each(|(x, w)| *x = (*x * r) * w),
            (None, Some(b)) => x.iter_mut().zip(b).for_each(|(x, b)| *x = *x * r + b),
            (None, None) => x.iter_mut().for_each(|x| *x *= r),
        }
    }
}
