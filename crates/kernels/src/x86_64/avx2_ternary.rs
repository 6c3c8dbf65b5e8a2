//! TQ1_0 and TQ2_0, three values with one scale a block (AVX2): the numbers, and rows against one
//! position.

use std::arch::x86_64::*;

use super::avx2_dot256::group;
use super::avx2_lanes::*;
use super::avx2_twos::twos;
use super::row_dots::{AHEAD, row_dots};
use crate::acts::{Acts, SUMS};

/// Three times each byte, cut to a byte.
#[inline]
#[target_feature(enable = "avx2")]
fn three(x: __m256i) -> __m256i {
    _mm256_add_epi8(_mm256_add_epi8(x, x), x)
}

/// The first digit of base three of 32 bytes: three times a byte passes 256 from 86 on, and twice
/// from 171 on.
#[inline]
#[target_feature(enable = "avx2")]
fn digit(x: __m256i) -> __m256i {
    let x = _mm256_xor_si256(x, _mm256_set1_epi8(-128));
    let one = _mm256_cmpgt_epi8(x, _mm256_set1_epi8((85u8 ^ 0x80) as i8));
    let two = _mm256_cmpgt_epi8(x, _mm256_set1_epi8((170u8 ^ 0x80) as i8));
    _mm256_sub_epi8(_mm256_sub_epi8(_mm256_setzero_si256(), one), two)
}

/// The numbers 0 … 2 of a TQ1_0 block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers_tq1(block: &[u8; 54]) -> [__m256i; 8] {
    // 32 bytes of five digits.
    let a0 = load(part(block, 0));
    let a1 = three(a0);
    let a2 = three(a1);
    let a3 = three(a2);
    let a4 = three(a3);
    // 16 bytes of five digits, two digits a vector.
    let low = _mm256_broadcastsi128_si256(load16(part(block, 32)));
    let b01 = _mm256_blend_epi32::<0xf0>(low, three(low));
    let b23 = three(three(b01));
    let b4 = three(three(b23));
    // Four bytes of four digits, all in one half.
    let c0 = _mm256_set1_epi32(i32::from_le_bytes(*part(block, 48)));
    let c1 = three(c0);
    let c2 = three(c1);
    let c = _mm256_blend_epi32::<0x22>(c0, c1);
    let c = _mm256_blend_epi32::<0x44>(c, c2);
    let c = _mm256_blend_epi32::<0x88>(c, three(c2));
    let last = _mm256_blend_epi32::<0xf0>(b4, c);
    [digit(a0), digit(a1), digit(a2), digit(a3), digit(a4), digit(b01), digit(b23), digit(last)]
}

/// The numbers 0 … 3 of a TQ2_0 block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers_tq2(block: &[u8; 66]) -> [__m256i; 8] {
    twos(part(block, 0))
}

/// Partial sums of numbers that are 1 too large. A pair is at most 2 · 3 · 127, so eight of them
/// fit 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn less_one(numbers: [__m256i; 8], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let mut pairs = _mm256_setzero_si256();
    for j in 0..8 {
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(numbers[j], group(q, j)));
    }
    // The sums over 16 values are at most 2032: what is left fits 16 bits too.
    let sums = load_i16(sums.first_chunk().expect("16 sums"));
    _mm256_madd_epi16(_mm256_sub_epi16(pairs, sums), _mm256_set1_epi16(1))
}

row_dots! { "avx2,fma,f16c", 256:
    dot_tq1_0 = 54, 1, |b, q, s| less_one(numbers_tq1(b), q, s), [halves, half], 52;
    dot_tq2_0 = 66, 1, |b, q, s| less_one(numbers_tq2(b), q, s), [halves, half], 64;
}
