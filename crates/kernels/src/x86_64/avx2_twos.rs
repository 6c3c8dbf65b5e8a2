//! Q2_K and Q3_K, pairs of bits in groups of 16 (AVX2): the numbers and scales, and rows against
//! one position.

use std::arch::x86_64::*;

use super::avx2_dot256::{group, spread};
use super::avx2_lanes::*;
use super::row_dots::{AHEAD, row_dots};
use crate::acts::{Acts, SUMS};

/// 64 bytes of pairs as eight groups of 32 numbers 0 … 3.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn twos(bytes: &[u8; 64]) -> [__m256i; 8] {
    let (a, b) = (load(part(bytes, 0)), load(part(bytes, 32)));
    let low = |x| _mm256_and_si256(x, _mm256_set1_epi8(3));
    [
        low(a),
        low(_mm256_srli_epi16::<2>(a)),
        low(_mm256_srli_epi16::<4>(a)),
        low(_mm256_srli_epi16::<6>(a)),
        low(b),
        low(_mm256_srli_epi16::<2>(b)),
        low(_mm256_srli_epi16::<4>(b)),
        low(_mm256_srli_epi16::<6>(b)),
    ]
}

/// The numbers 0 … 3 of a Q2_K block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers_2(block: &[u8; 84]) -> [__m256i; 8] {
    twos(part(block, 16))
}

/// The numbers 0 … 7 of a Q3_K block: 4 too large.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers_3(block: &[u8; 110]) -> [__m256i; 8] {
    let (n, x) = (twos(part(block, 32)), load(part(block, 0)));
    let with = |n, x| _mm256_or_si256(n, _mm256_and_si256(x, _mm256_set1_epi8(4)));
    [
        with(n[0], _mm256_slli_epi16::<2>(x)),
        with(n[1], _mm256_slli_epi16::<1>(x)),
        with(n[2], x),
        with(n[3], _mm256_srli_epi16::<1>(x)),
        with(n[4], _mm256_srli_epi16::<2>(x)),
        with(n[5], _mm256_srli_epi16::<3>(x)),
        with(n[6], _mm256_srli_epi16::<4>(x)),
        with(n[7], _mm256_srli_epi16::<5>(x)),
    ]
}

/// Sixteen scales and sixteen minima of Q2_K, bytes 0 … 15.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scale_min_2(block: &[u8; 84]) -> (__m128i, __m128i) {
    let (both, mask) = (load16(part(block, 0)), _mm_set1_epi8(15));
    (_mm_and_si128(both, mask), _mm_and_si128(_mm_srli_epi16::<4>(both), mask))
}

/// Sixteen scales of Q3_K, bytes −32 … 31.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_3(block: &[u8; 110]) -> __m128i {
    let low = u64::from_le_bytes(*part(block, 96));
    let high = u32::from_le_bytes(*part(block, 104));
    // Upper pairs of four scales each, from bits `2i` of the four bytes.
    let pairs = |i: u32| u64::from(high >> (2 * i) & 0x0303_0303) << 4;
    let halves = |x: u64| x & 0x0f0f_0f0f_0f0f_0f0f;
    let first = halves(low) | pairs(0) | pairs(1) << 32;
    let last = halves(low >> 4) | pairs(2) | pairs(3) << 32;
    _mm_sub_epi8(_mm_set_epi64x(last as i64, first as i64), _mm_set1_epi8(32))
}

/// Sixteen bytes as 16-bit numbers, even ones in the lower half and odd ones in the upper: a group
/// of 32 has one of each.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn apart(scales: __m128i) -> __m256i {
    let order = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    _mm256_cvtepi8_epi16(_mm_shuffle_epi8(scales, order))
}

/// Partial sums of numbers times activations times scales, of which group `j` has those at place
/// `j` of each half. A pair is at most 2 · 25 · 127 = 6350, of IQ1.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scaled(numbers: [__m256i; 8], scales: __m256i, q: &[i8; 256]) -> __m256i {
    let mut total = _mm256_setzero_si256();
    macro_rules! groups {
        ($($j:literal)*) => {$(
            let pairs = _mm256_maddubs_epi16(numbers[$j], group(q, $j));
            total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, spread::<$j>(scales)));
        )*};
    }
    groups!(0 1 2 3 4 5 6 7);
    total
}

/// Partial sums of sixteen factors times the activations' sums over 16 values each.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn weighed(factors: __m128i, sums: &[i16; SUMS]) -> __m256i {
    let sums = load_i16(sums.first_chunk().expect("16 sums"));
    _mm256_madd_epi16(_mm256_cvtepi8_epi16(factors), sums)
}

/// Partial sums of a Q3_K block: of numbers 0 … 7, then 4 · Σ sc · Σ q taken off.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_3(block: &[u8; 110], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let scales = scales_3(block);
    let offset = _mm256_slli_epi32::<2>(weighed(scales, sums));
    _mm256_sub_epi32(scaled(numbers_3(block), apart(scales), q), offset)
}

/// Partial sums of a Q2_K block.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_2(block: &[u8; 84], q: &[i8; 256]) -> __m256i {
    scaled(numbers_2(block), apart(scale_min_2(block).0), q)
}

/// Four partial sums of the minima of a Q2_K block.
#[inline]
#[target_feature(enable = "avx2")]
fn minima_2(block: &[u8; 84], sums: &[i16; SUMS]) -> __m128i {
    four(weighed(scale_min_2(block).1, sums))
}

row_dots! { "avx2,fma,f16c", 256:
    dot_q2_k = 84, 2, |b, q, _: &[i16; SUMS]| sums_2(b, q), [halves, half], 80, less minima_2, 82;
    dot_q3_k = 110, 2, sums_3, [halves, half], 108;
}
