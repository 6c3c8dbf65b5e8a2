//! Types whose nibbles are places in a table of 16 numbers (AVX2): the numbers, and rows against
//! one position.

use std::arch::x86_64::*;

use recinto_quant::{IQ4_NUMBERS, MXFP4_NUMBERS, half_exponent_to_f32};

use super::avx2_dot256::{group, spread};
use super::avx2_lanes::*;
use super::row_dots::{AHEAD, row_dots};
use crate::acts::{Acts, SUMS};

/// A table as bytes, its numbers raised by `by`.
pub(super) const fn raised(numbers: &[i8; 16], by: i8) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        bytes[i] = (numbers[i] + by) as u8;
        i += 1;
    }
    bytes
}

/// The numbers of nibbles.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn look_up(table: &[u8; 16], nibbles: __m256i) -> __m256i {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(table)), nibbles)
}

/// The signed numbers of IQ4_NL and of a group of IQ4_XS.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn iq4(x: &[u8; 16]) -> __m256i {
    const TABLE: [u8; 16] = raised(&IQ4_NUMBERS, 0);
    look_up(&TABLE, nibbles(x))
}

/// The numbers of MXFP4 plus 16: from 4 to 28.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn mx4(block: &[u8; 17]) -> __m256i {
    const TABLE: [u8; 16] = raised(&MXFP4_NUMBERS, 16);
    look_up(&TABLE, nibbles(part(block, 1)))
}

/// Sixteen sums of two products of signed `w` and `q`, as |w| · (q with the sign of w): |w| ≤ 127,
/// so a pair is at most 2 · 127 · 127 = 32258.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pairs(w: __m256i, q: __m256i) -> __m256i {
    _mm256_maddubs_epi16(_mm256_sign_epi8(w, w), _mm256_sign_epi8(q, w))
}

/// Eight sums of four products of IQ4_NL.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_iq4(block: &[u8; 18], q: &[i8; 32]) -> __m256i {
    _mm256_madd_epi16(pairs(iq4(part(block, 2)), load_i8(q)), _mm256_set1_epi16(1))
}

/// Eight sums of four products of MXFP4, 16 times the sum of `q` too large together.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_mx4(block: &[u8; 17], q: &[i8; 32]) -> __m256i {
    _mm256_madd_epi16(_mm256_maddubs_epi16(mx4(block), load_i8(q)), _mm256_set1_epi16(1))
}

/// Half the scales of four blocks of MXFP4, as [`half_exponent_to_f32`] without a choice: the bits
/// of the subnormal ones, 2²¹ · 2^e up to e = 2, are the larger ones up to there only.
#[inline]
#[target_feature(enable = "avx2")]
fn half_scales(blocks: &[[u8; 17]; 4], at: usize) -> __m128 {
    let bytes = [blocks[0][at], blocks[1][at], blocks[2][at], blocks[3][at]];
    let e = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(i32::from_le_bytes(bytes)));
    let normal = _mm_sub_epi32(_mm_slli_epi32::<23>(e), _mm_set1_epi32(1 << 23));
    let small = _mm_min_epi32(e, _mm_set1_epi32(2));
    let subnormal = _mm_sllv_epi32(_mm_set1_epi32(1 << 21), small);
    _mm_castsi128_ps(_mm_max_epi32(normal, subnormal))
}

/// Half the scale of a block of MXFP4.
#[inline]
#[target_feature(enable = "avx2")]
fn half_scale(block: &[u8; 17], at: usize) -> f32 {
    half_exponent_to_f32(block[at])
}

row_dots! { "avx2,fma,f16c", 32:
    dot_iq4_nl = 18, sums_iq4, sums, None, [halves, half], None;
    dot_mxfp4 = 17, sums_mx4, sums, Some(4), [half_scales, half_scale], None;
}

/// The eight scales of IQ4_XS, −32 … 31, as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_xs(block: &[u8; 136]) -> __m128i {
    let low = u32::from_le_bytes(*part(block, 4));
    let word = |x: u32| _mm_cvtsi32_si128((x & 0x0f0f_0f0f) as i32);
    let low = _mm_cvtepu8_epi16(_mm_unpacklo_epi8(word(low), word(low >> 4)));
    // A product moves pair j to the top of its number.
    let high = _mm_set1_epi16(i16::from_le_bytes(*part(block, 2)));
    let places = _mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1);
    let high = _mm_srli_epi16::<14>(_mm_mullo_epi16(high, places));
    let all = _mm_or_si128(low, _mm_slli_epi16::<4>(high));
    _mm_sub_epi16(all, _mm_set1_epi16(32))
}

/// Partial sums of an IQ4_XS block. Two pairs times a scale are at most 2 · 32258 · 32, so eight
/// groups stay far below 2³¹.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_xs(block: &[u8; 136], q: &[i8; 256]) -> __m256i {
    let scales = _mm256_broadcastsi128_si256(scales_xs(block));
    let mut total = _mm256_setzero_si256();
    macro_rules! groups {
        ($($j:literal)*) => {$(
            let two = pairs(iq4(part(block, 8 + 16 * $j)), group(q, $j));
            total = _mm256_add_epi32(total, _mm256_madd_epi16(two, spread::<$j>(scales)));
        )*};
    }
    groups!(0 1 2 3 4 5 6 7);
    total
}

row_dots! { "avx2,fma,f16c", 256:
    dot_iq4_xs = 136, 2, |b, q, _: &[i16; SUMS]| sums_xs(b, q), [halves, half], 0;
}
