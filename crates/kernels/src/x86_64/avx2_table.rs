//! Types whose nibbles are places in a table of 16 numbers (AVX2): the numbers, and rows against
//! one position.

use std::arch::x86_64::*;

use recinto_quant::{IQ4_NUMBERS, MXFP4_NUMBERS, half_exponent_to_f32};

use super::avx2_dot256::{group, spread};
use super::avx2_lanes::*;
use crate::acts::Acts;

/// How far ahead of the block in hand memory is asked for.
const AHEAD: usize = 1024;

/// A table as bytes, its numbers raised by `by`.
const fn raised(numbers: &[i8; 16], by: i8) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        bytes[i] = (numbers[i] + by) as u8;
        i += 1;
    }
    bytes
}

/// The numbers of 16 bytes of nibbles: those of the low ones, then those of the high ones.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up(table: &[u8; 16], x: &[u8; 16]) -> __m256i {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(table)), nibbles(x))
}

/// The signed numbers of IQ4_NL and of a group of IQ4_XS.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn iq4(x: &[u8; 16]) -> __m256i {
    const TABLE: [u8; 16] = raised(&IQ4_NUMBERS, 0);
    look_up(&TABLE, x)
}

/// The numbers of MXFP4 plus 16: from 4 to 28.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn mx4(block: &[u8; 17]) -> __m256i {
    const TABLE: [u8; 16] = raised(&MXFP4_NUMBERS, 16);
    look_up(&TABLE, part(block, 1))
}

/// Sixteen sums of two products of signed `w` and `q`, as |w| · (q with the sign of w): |w| ≤ 127,
/// so a pair is at most 2 · 127 · 127 = 32258.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs(w: __m256i, q: __m256i) -> __m256i {
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
fn half_scales(blocks: &[[u8; 17]; 4]) -> __m128 {
    let bytes = [blocks[0][0], blocks[1][0], blocks[2][0], blocks[3][0]];
    let e = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(i32::from_le_bytes(bytes)));
    let normal = _mm_sub_epi32(_mm_slli_epi32::<23>(e), _mm_set1_epi32(1 << 23));
    let small = _mm_min_epi32(e, _mm_set1_epi32(2));
    let subnormal = _mm_sllv_epi32(_mm_set1_epi32(1 << 21), small);
    _mm_castsi128_ps(_mm_max_epi32(normal, subnormal))
}

/// One type of 32-blocks: bytes of a block, its sums, its scale, those of four blocks, and log2 of
/// what the numbers are raised by.
macro_rules! dot32 {
    ($name:ident, $bytes:literal, $sums:ident, $scale:expr, $scales:expr, $raised:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            const RAISED: Option<i32> = $raised;
            let (q4s, q_rest) = a.q.as_chunks::<32>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.s[..a.blocks].as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                // By index: the library's zip is not inlined here.
                for b in 0..fours.len() {
                    let (blocks, q) = (&fours[b], &q4s[b]);
                    ahead(&blocks[0], AHEAD);
                    let of = |i: usize| $sums(&blocks[i], &q[i]);
                    let mut isum = sums([of(0), of(1), of(2), of(3)]);
                    if let Some(raised) = RAISED {
                        let shift = _mm_cvtsi32_si128(raised);
                        isum = _mm_sub_epi32(isum, _mm_sll_epi32(load4_i32(&s4s[b]), shift));
                    }
                    let scale = _mm_mul_ps($scales(blocks), load4(&d4s[b]));
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(isum), scale, acc);
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let mut isum = sum($sums(block, &q_rest[i]));
                    if let Some(raised) = RAISED {
                        isum -= s_rest[i] << raised;
                    }
                    acc[i] = (isum as f32).mul_add($scale(block) * d_rest[i], acc[i]);
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    };
}

dot32!(
    dot_iq4_nl,
    18,
    sums_iq4,
    |block: &[u8; 18]| half(block, 0),
    |blocks: &[[u8; 18]; 4]| halves(blocks, 0),
    None
);
dot32!(
    dot_mxfp4,
    17,
    sums_mx4,
    |block: &[u8; 17]| half_exponent_to_f32(block[0]),
    |blocks: &[[u8; 17]; 4]| half_scales(blocks),
    Some(4)
);

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

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn dot_iq4_xs(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
    let (q4s, q_rest) = a.q.as_chunks::<256>().0.as_chunks::<4>();
    let (d4s, d_rest) = a.d.as_chunks::<4>();
    for r in 0..out.len() {
        let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
        let (fours, rest) = row.as_chunks::<136>().0.as_chunks::<4>();
        let mut acc = _mm_setzero_ps();
        for b in 0..fours.len() {
            let (blocks, q) = (&fours[b], &q4s[b]);
            let mut isum = [_mm256_setzero_si256(); 4];
            for i in 0..4 {
                ahead(&blocks[i], AHEAD);
                ahead(&blocks[i], AHEAD + 64);
                isum[i] = sums_xs(&blocks[i], &q[i]);
            }
            let scale = _mm_mul_ps(halves(blocks, 0), load4(&d4s[b]));
            acc = _mm_fmadd_ps(_mm_cvtepi32_ps(sums(isum)), scale, acc);
        }
        let mut acc = array4(acc);
        for (i, block) in rest.iter().enumerate() {
            let isum = sum(sums_xs(block, &q_rest[i])) as f32;
            acc[i] = isum.mul_add(half(block, 0) * d_rest[i], acc[i]);
        }
        *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    }
}
