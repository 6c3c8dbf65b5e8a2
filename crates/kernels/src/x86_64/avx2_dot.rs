//! Rows of 32-blocks against one position (AVX2): numbers times activations in pairs of 16 bits.

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use super::row_dots::{AHEAD, row_dots};
use crate::acts::Acts;

/// Eight partial sums of unsigned `w` (at most 31) times `q`: no pair passes 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn unsigned(w: __m256i, q: __m256i) -> __m256i {
    _mm256_madd_epi16(_mm256_maddubs_epi16(w, q), _mm256_set1_epi16(1))
}

/// Eight partial sums of signed `w` times `q`, as |w| · (q with the sign of w): |w| ≤ 128 and
/// |q| ≤ 127, so a pair is at most 2 · 128 · 127 = 32512.
#[inline]
#[target_feature(enable = "avx2")]
fn signed(w: __m256i, q: __m256i) -> __m256i {
    unsigned(_mm256_sign_epi8(w, w), _mm256_sign_epi8(q, w))
}

row_dots! { "avx2,fma,f16c", 32:
    dot_q4_0 = 18, |b: &[u8; 18], q| unsigned(fours::<2>(b), load_i8(q)), sums, Some(3),
        [halves, half], None;
    dot_q4_1 = 20, |b: &[u8; 20], q| unsigned(fours::<4>(b), load_i8(q)), sums, None,
        [halves, half], Some(2);
    dot_q5_0 = 22, |b: &[u8; 22], q| unsigned(fives::<2>(b), load_i8(q)), sums, Some(4),
        [halves, half], None;
    dot_q5_1 = 24, |b: &[u8; 24], q| unsigned(fives::<4>(b), load_i8(q)), sums, None,
        [halves, half], Some(2);
    dot_q8_0 = 34, |b: &[u8; 34], q| signed(eights(b), load_i8(q)), sums, None,
        [halves, half], None;
}
