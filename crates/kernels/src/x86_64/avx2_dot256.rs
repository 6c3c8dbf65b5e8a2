//! Rows of 256-blocks against one position (AVX2): sub-scales in integers, one integer a block.

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use super::row_dots::{AHEAD, row_dots};
use crate::acts::{Acts, SUMS};

/// Eight 6-bit scales and eight 6-bit minima of Q4_K and Q5_K, as bytes of two words.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scale_min(packed: &[u8; 12]) -> (u64, u64) {
    let word = |at: usize| u32::from_le_bytes(*part(packed, at));
    let (s, m, low) = (word(0), word(4), word(8));
    let high = |x: u32| (x >> 6 & 0x0303_0303) << 4;
    let join = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let scales = join(s & 0x3f3f_3f3f, low & 0x0f0f_0f0f | high(s));
    let minima = join(m & 0x3f3f_3f3f, low >> 4 & 0x0f0f_0f0f | high(m));
    (scales, minima)
}

/// Eight bytes of a word as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn widen(bytes: u64) -> __m128i {
    _mm_cvtepu8_epi16(_mm_cvtsi64_si128(bytes as i64))
}

/// 16-bit number `J` of each half, everywhere in that half.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn spread<const J: i16>(x: __m256i) -> __m256i {
    _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0100 + 0x0202 * J))
}

/// 32 activations of group `j`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn group(q: &[i8; 256], j: usize) -> __m256i {
    load_i8(q[j * 32..].first_chunk().expect("eight groups"))
}

/// The fifth bit of group `J` from the shared bytes, as 16.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fifth<const J: usize>(high: __m256i) -> __m256i {
    let bit = _mm256_set1_epi8(16);
    match J {
        0 => _mm256_and_si256(_mm256_slli_epi16::<4>(high), bit),
        1 => _mm256_and_si256(_mm256_slli_epi16::<3>(high), bit),
        2 => _mm256_and_si256(_mm256_slli_epi16::<2>(high), bit),
        3 => _mm256_and_si256(_mm256_slli_epi16::<1>(high), bit),
        4 => _mm256_and_si256(high, bit),
        5 => _mm256_and_si256(_mm256_srli_epi16::<1>(high), bit),
        6 => _mm256_and_si256(_mm256_srli_epi16::<2>(high), bit),
        _ => _mm256_and_si256(_mm256_srli_epi16::<3>(high), bit),
    }
}

/// The nibbles of groups `2i` and `2i + 1`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn two_groups(quants: &[u8], i: usize) -> (__m256i, __m256i) {
    let (both, mask) = (load(part(quants, i * 32)), _mm256_set1_epi8(15));
    (_mm256_and_si256(both, mask), _mm256_and_si256(_mm256_srli_epi16::<4>(both), mask))
}

/// Partial sums of a Q4_K or Q5_K block (`FIVE`). A pair is at most 2 · 31 · 127 = 7874, times
/// a scale of 63 and two to an integer: far below 2³¹ for all 256.
#[inline]
#[target_feature(enable = "avx2")]
fn groups<const FIVE: bool>(block: &[u8], q: &[i8; 256]) -> __m256i {
    let (scales, _) = scale_min(part(block, 4));
    let scales = _mm256_broadcastsi128_si256(widen(scales));
    let quants = &block[if FIVE { 48 } else { 16 }..];
    let high = if FIVE { load(part(block, 16)) } else { _mm256_setzero_si256() };
    let mut total = _mm256_setzero_si256();
    macro_rules! pair {
        ($i:literal, $low:literal, $high:literal) => {
            let (mut low, mut top) = two_groups(quants, $i);
            if FIVE {
                low = _mm256_or_si256(low, fifth::<$low>(high));
                top = _mm256_or_si256(top, fifth::<$high>(high));
            }
            let low = _mm256_maddubs_epi16(low, group(q, $low));
            let top = _mm256_maddubs_epi16(top, group(q, $high));
            let low = _mm256_madd_epi16(low, spread::<$low>(scales));
            let top = _mm256_madd_epi16(top, spread::<$high>(scales));
            total = _mm256_add_epi32(total, _mm256_add_epi32(low, top));
        };
    }
    pair!(0, 0, 1);
    pair!(1, 2, 3);
    pair!(2, 4, 5);
    pair!(3, 6, 7);
    total
}

/// The numbers 0 … 63 of half `h` of a Q6_K block: four groups of 32.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sixes(block: &[u8; 210], h: usize) -> [__m256i; 4] {
    let (l0, l1) = (load(part(block, h * 64)), load(part(block, h * 64 + 32)));
    let high = load(part(block, 128 + h * 32));
    let (nibble, pair) = (_mm256_set1_epi8(15), _mm256_set1_epi8(48));
    let low = |x| _mm256_and_si256(x, nibble);
    let top = |x| _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble);
    let two = |x| _mm256_and_si256(x, pair);
    [
        _mm256_or_si256(low(l0), two(_mm256_slli_epi16::<4>(high))),
        _mm256_or_si256(low(l1), two(_mm256_slli_epi16::<2>(high))),
        _mm256_or_si256(top(l0), two(high)),
        _mm256_or_si256(top(l1), two(_mm256_srli_epi16::<2>(high))),
    ]
}

/// Partial sums of a Q6_K block: with numbers 0 … 63, then 32 · Σ sc · Σ q taken off. A pair is
/// at most 2 · 63 · 127 = 16002.
#[inline]
#[target_feature(enable = "avx2")]
fn six(block: &[u8; 210], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let stored = load16(part(block, 192));
    let scales = _mm256_cvtepi8_epi16(stored);
    // Even scales in the lower half, odd ones in the upper: a group of 32 has one of each.
    let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    let split = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(stored, apart));
    let offset = _mm256_madd_epi16(scales, load_i16(sums.first_chunk().expect("16 sums")));
    let mut total = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32::<5>(offset));
    macro_rules! half {
        ($h:literal, $($j:literal)*) => {
            let numbers = sixes(block, $h);
            $({
                let pairs = _mm256_maddubs_epi16(numbers[$j - 4 * $h], group(q, $j));
                let scaled = _mm256_madd_epi16(pairs, spread::<$j>(split));
                total = _mm256_add_epi32(total, scaled);
            })*
        };
    }
    half!(0, 0 1 2 3);
    half!(1, 4 5 6 7);
    total
}

/// Four partial sums of the minima of a Q4_K or Q5_K block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn minima(block: &[u8], sums: &[i16; SUMS]) -> __m128i {
    let (_, minima) = scale_min(part(block, 4));
    _mm_madd_epi16(widen(minima), load8_i16(sums[16..].first_chunk().expect("eight sums")))
}

row_dots! { "avx2,fma,f16c", 256:
    dot_q4_k = 144, 2, |b: &[u8; 144], q, _| groups::<false>(b, q), [halves, half], 0,
        less minima, 2;
    dot_q5_k = 176, 2, |b: &[u8; 176], q, _| groups::<true>(b, q), [halves, half], 0,
        less minima, 2;
    dot_q6_k = 210, 3, six, [halves, half], 208;
}
