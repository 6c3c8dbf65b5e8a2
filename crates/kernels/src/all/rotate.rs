//! Rotary position embedding of one position (Su et al. 2021), by cosines and sines made before.

use crate::rope::Pairs;

/// `(a, b) → (a·c − b·s, a·s + b·c)`, with one fused step each.
#[inline(always)]
fn turn(a: f32, b: f32, c: f32, s: f32) -> (f32, f32) {
    (a.mul_add(c, -(b * s)), a.mul_add(s, b * c))
}

/// Rotates the first `2 · cos.len()` values of every head of `size` values.
#[inline(always)]
pub(crate) fn rope(x: &mut [f32], size: usize, pairs: Pairs, cos: &[f32], sin: &[f32]) {
    let n = cos.len();
    for head in x.chunks_exact_mut(size) {
        match pairs {
            Pairs::Adjacent => {
                let (twos, _) = head.as_chunks_mut::<2>();
                for ((two, c), s) in twos.iter_mut().zip(cos).zip(sin) {
                    (two[0], two[1]) = turn(two[0], two[1], *c, *s);
                }
            }
            Pairs::Half => {
                let (first, rest) = head.split_at_mut(n);
                for (((a, b), c), s) in first.iter_mut().zip(rest).zip(cos).zip(sin) {
                    (*a, *b) = turn(*a, *b, *c, *s);
                }
            }
        }
    }
}
