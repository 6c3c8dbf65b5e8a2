//! IQ1, IQ2 and IQ3, whose numbers come in groups from a codebook (AVX2): the numbers, signs and
//! scales, and rows against one position.

use std::arch::x86_64::*;

use recinto_quant::codebook::{IQ1, IQ2_S, IQ2_XS, IQ2_XXS, IQ3_S, IQ3_XXS};

use super::avx2_dot256::{group, spread};
use super::avx2_indices::*;
use super::avx2_lanes::*;
use super::avx2_twos::{apart, scaled, weighed};
use super::row_dots::{AHEAD, row_dots};
use crate::acts::{Acts, SUMS};

/// Four groups of eight numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn fours(words: [u64; 4]) -> __m256i {
    let [a, b, c, d] = words.map(|word| word as i64);
    _mm256_setr_epi64x(a, b, c, d)
}

/// Eight groups of four numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn eights(words: [u32; 8]) -> __m256i {
    let [a, b, c, d, e, f, g, h] = words.map(|word| word as i32);
    _mm256_setr_epi32(a, b, c, d, e, f, g, h)
}

/// Magnitudes of group `j` of IQ2_XXS.
#[inline]
#[target_feature(enable = "avx2")]
fn group_2_xxs(indices: &&[u8; 64], j: usize) -> __m256i {
    let at = |l: usize| IQ2_XXS[usize::from(indices[8 * j + l])];
    fours([at(0), at(1), at(2), at(3)])
}

/// Magnitudes of group `j` of IQ2_XS.
#[inline]
#[target_feature(enable = "avx2")]
fn group_2_xs(indices: &Indices<2, 512>, j: usize) -> __m256i {
    let at = |l: usize| indices.entry(&IQ2_XS, 4 * j + l);
    fours([at(0), at(1), at(2), at(3)])
}

/// Magnitudes of group `j` of IQ2_S.
#[inline]
#[target_feature(enable = "avx2")]
fn group_2_s(indices: &Indices<2, 1024>, j: usize) -> __m256i {
    let at = |l: usize| indices.entry(&IQ2_S, 4 * j + l);
    fours([at(0), at(1), at(2), at(3)])
}

/// Magnitudes of group `j` of IQ3_XXS.
#[inline]
#[target_feature(enable = "avx2")]
fn group_3_xxs(indices: &&[u8; 64], j: usize) -> __m256i {
    let at = |l: usize| IQ3_XXS[usize::from(indices[8 * j + l])];
    eights([at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)])
}

/// Magnitudes of group `j` of IQ3_S.
#[inline]
#[target_feature(enable = "avx2")]
fn group_3_s(indices: &Indices<4, 512>, j: usize) -> __m256i {
    let at = |l: usize| indices.entry(&IQ3_S, 8 * j + l);
    eights([at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)])
}

/// Eight words of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn words(x: __m256i) -> [u32; 8] {
    array8(_mm256_castsi256_ps(x)).map(f32::to_bits)
}

/// 32 times seven bits with the eighth: set where an odd number of the others is.
#[inline]
#[target_feature(enable = "avx2")]
fn with_eighth(x: __m256i) -> __m256i {
    let odd = _mm_set_epi64x(0x0080_8000_8000_0080, 0x8000_0080_0080_8000u64 as i64);
    let (odd, nibble) = (_mm256_broadcastsi128_si256(odd), _mm256_set1_epi8(15));
    let low = _mm256_shuffle_epi8(odd, _mm256_and_si256(x, nibble));
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble);
    _mm256_xor_si256(x, _mm256_xor_si256(low, _mm256_shuffle_epi8(odd, high)))
}

/// Signs of 32 values each from words with four times seven bits.
#[inline]
#[target_feature(enable = "avx2")]
fn signs_of_words(x: __m256i) -> [u32; 8] {
    let byte = |x, place: i32| _mm256_and_si256(x, _mm256_set1_epi32(0x7f << place));
    let low = _mm256_or_si256(byte(x, 0), byte(_mm256_slli_epi32::<1>(x), 8));
    let (c, d) = (_mm256_slli_epi32::<2>(x), _mm256_slli_epi32::<3>(x));
    words(with_eighth(_mm256_or_si256(low, _mm256_or_si256(byte(c, 16), byte(d, 24)))))
}

/// The words of IQ2_XXS with signs and scales: every second one.
#[inline]
#[target_feature(enable = "avx2")]
fn words_2_xxs(block: &[u8; 66]) -> __m256i {
    let half = |at: usize| _mm256_castsi256_ps(load(part(block, at)));
    let odd = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(half(2), half(34)));
    _mm256_permute4x64_epi64::<0b11_01_10_00>(odd)
}

#[inline]
#[target_feature(enable = "avx2")]
fn signs_2_xxs(block: &[u8; 66]) -> [u32; 8] {
    signs_of_words(words_2_xxs(block))
}

#[inline]
#[target_feature(enable = "avx2")]
fn signs_2_xs(block: &[u8; 74]) -> [u32; 8] {
    let seven = |at: usize| _mm256_srli_epi16::<9>(load(part(block, at)));
    let all = _mm256_packus_epi16(seven(2), seven(34));
    words(with_eighth(_mm256_permute4x64_epi64::<0b11_01_10_00>(all)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn signs_2_s(block: &[u8; 82]) -> [u32; 8] {
    words(load(part(block, 34)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn signs_3_xxs(block: &[u8; 98]) -> [u32; 8] {
    signs_of_words(load(part(block, 66)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn signs_3_s(block: &[u8; 110]) -> [u32; 8] {
    words(load(part(block, 74)))
}

/// Eight scales from the top bits of words.
#[inline]
#[target_feature(enable = "avx2")]
fn scales_of_words(x: __m256i) -> __m128i {
    let x = _mm256_srli_epi32::<28>(x);
    let x = _mm256_permute4x64_epi64::<0b10_00_10_00>(_mm256_packs_epi32(x, x));
    odd(_mm256_castsi256_si128(x))
}

/// `2x + 1` of 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn odd(x: __m128i) -> __m128i {
    _mm_add_epi16(_mm_add_epi16(x, x), _mm_set1_epi16(1))
}

/// Eight scales of IQ2_XXS.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_2_xxs(block: &[u8; 66]) -> __m128i {
    scales_of_words(words_2_xxs(block))
}

/// Eight scales of IQ3_XXS.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_3_xxs(block: &[u8; 98]) -> __m128i {
    scales_of_words(load(part(block, 66)))
}

/// Eight scales of IQ3_S.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_3_s(block: &[u8; 110]) -> __m128i {
    let both = u32::from_le_bytes(*part(block, 106));
    let word = |x: u32| _mm_cvtsi32_si128((x & 0x0f0f_0f0f) as i32);
    odd(_mm_cvtepu8_epi16(_mm_unpacklo_epi8(word(both), word(both >> 4))))
}

/// Sixteen scales from eight bytes of halves, as bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn sixteen(bytes: &[u8; 8]) -> __m128i {
    let both = u64::from_le_bytes(*bytes);
    let word = |x: u64| _mm_cvtsi64_si128((x & 0x0f0f_0f0f_0f0f_0f0f) as i64);
    let x = _mm_unpacklo_epi8(word(both), word(both >> 4));
    _mm_add_epi8(_mm_add_epi8(x, x), _mm_set1_epi8(1))
}

/// Sixteen scales of IQ2_XS, bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_2_xs(block: &[u8; 74]) -> __m128i {
    sixteen(part(block, 66))
}

/// Sixteen scales of IQ2_S, bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_2_s(block: &[u8; 82]) -> __m128i {
    sixteen(part(block, 74))
}

/// Eight scales in both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn twice(scales: __m128i) -> __m256i {
    _mm256_broadcastsi128_si256(scales)
}

/// Adds the products of group `J` of 32 values, times its scale. Magnitudes are at most 62, so a
/// pair is at most 2 · 62 · 127 = 15748, and all of a block times a scale of 31 stay below 2³¹.
#[inline]
#[target_feature(enable = "avx2")]
fn add<const J: i16>(
    total: __m256i,
    magnitudes: __m256i,
    signs: &[u32; 8],
    scales: __m256i,
    q: &[i8; 256],
) -> __m256i {
    let sign = _mm256_or_si256(bits(signs[J as usize]), _mm256_set1_epi8(1));
    let q = _mm256_sign_epi8(group(q, J as usize), sign);
    let pairs = _mm256_maddubs_epi16(magnitudes, q);
    _mm256_add_epi32(total, _mm256_madd_epi16(pairs, spread::<J>(scales)))
}

/// Declares, out of a type's indices, magnitudes, signs and scales, its signed numbers and the
/// partial sums of a block.
macro_rules! signed {
    ($($bytes:literal, $indices:expr, $group:ident, $signs:ident, $numbers:ident, $sums:ident,
        $wide:ident($scales:ident);)*) => {$(
        /// The signed numbers of a block.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn $numbers(block: &[u8; $bytes]) -> [__m256i; 8] {
            let (signs, mut all) = ($signs(block), [_mm256_setzero_si256(); 8]);
            let indices = $indices(block);
            for j in 0..8 {
                let sign = _mm256_or_si256(bits(signs[j]), _mm256_set1_epi8(1));
                all[j] = _mm256_sign_epi8($group(&indices, j), sign);
            }
            all
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn $sums(block: &[u8; $bytes], q: &[i8; 256]) -> __m256i {
            let (signs, scales) = ($signs(block), $wide($scales(block)));
            let indices = $indices(block);
            let mut total = _mm256_setzero_si256();
            total = add::<0>(total, $group(&indices, 0), &signs, scales, q);
            total = add::<1>(total, $group(&indices, 1), &signs, scales, q);
            total = add::<2>(total, $group(&indices, 2), &signs, scales, q);
            total = add::<3>(total, $group(&indices, 3), &signs, scales, q);
            total = add::<4>(total, $group(&indices, 4), &signs, scales, q);
            total = add::<5>(total, $group(&indices, 5), &signs, scales, q);
            total = add::<6>(total, $group(&indices, 6), &signs, scales, q);
            add::<7>(total, $group(&indices, 7), &signs, scales, q)
        }
    )*};
}

signed! {
    66, indices_2_xxs, group_2_xxs, signs_2_xxs, numbers_2_xxs, sums_2_xxs, twice(scales_2_xxs);
    74, indices_2_xs, group_2_xs, signs_2_xs, numbers_2_xs, sums_2_xs, apart(scales_2_xs);
    82, indices_2_s, group_2_s, signs_2_s, numbers_2_s, sums_2_s, apart(scales_2_s);
    98, indices_3_xxs, group_3_xxs, signs_3_xxs, numbers_3_xxs, sums_3_xxs, twice(scales_3_xxs);
    110, indices_3_s, group_3_s, signs_3_s, numbers_3_s, sums_3_s, twice(scales_3_s);
}

/// Group `j` of IQ1.
#[inline]
#[target_feature(enable = "avx2")]
fn group_1(indices: &Indices<2, 2048>, j: usize) -> __m256i {
    let at = |l: usize| indices.entry(&IQ1, 4 * j + l);
    fours([at(0), at(1), at(2), at(3)])
}

/// The numbers of IQ1_S, eight times the real ones: 7 … 25, 16 too large.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers_1_s(block: &[u8; 50]) -> [__m256i; 8] {
    let indices = indices_1::<3>(part(block, 2), part(block, 34));
    let mut all = [_mm256_setzero_si256(); 8];
    for j in 0..8 {
        let by = 1 - (word(block, 34 + 2 * j) >> 15 << 1) as i8;
        all[j] = _mm256_add_epi8(group_1(&indices, j), _mm256_set1_epi8(by));
    }
    all
}

/// Eight scales of IQ1_S.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_1_s(block: &[u8; 50]) -> __m128i {
    let x = _mm_srli_epi16::<12>(load16(part(block, 34)));
    odd(_mm_and_si128(x, _mm_set1_epi16(7)))
}

/// The numbers of IQ1_M, as those of IQ1_S.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers_1_m(block: &[u8; 56]) -> [__m256i; 8] {
    // The fourth bit of a half of a byte, for eight values each.
    let less = _mm256_setr_epi64x(
        0x0008_0008_0008_0008,
        0x0080_0080_0080_0080,
        0x0800_0800_0800_0800,
        0x8000_8000_8000_8000u64 as i64,
    );
    let indices = indices_1::<4>(part(block, 0), part(block, 32));
    let mut all = [_mm256_setzero_si256(); 8];
    for j in 0..8 {
        let high = _mm256_set1_epi16(word(block, 32 + 2 * j) as i16);
        let chosen = _mm256_cmpeq_epi16(_mm256_and_si256(high, less), less);
        let by = _mm256_or_si256(chosen, _mm256_set1_epi8(1));
        all[j] = _mm256_add_epi8(group_1(&indices, j), by);
    }
    all
}

/// Sixteen scales of IQ1_M, bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scales_1_m(block: &[u8; 56]) -> __m128i {
    // A product moves the three bits of each to the top.
    let places = _mm256_set1_epi64x(1 << 13 | 1 << (10 + 16) | 1 << (7 + 32) | 1 << (4 + 48));
    let x = _mm256_mullo_epi16(four_times(part(block, 48)), places);
    let x = _mm256_srli_epi16::<13>(x);
    let x = _mm_packs_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
    _mm_add_epi8(_mm_add_epi8(x, x), _mm_set1_epi8(1))
}

/// The half scale of IQ1_M, whose quarters stand in four words.
#[inline]
#[target_feature(enable = "avx2")]
fn quarters(block: &[u8; 56]) -> u16 {
    let all = u64::from_le_bytes(*part(block, 48)) & 0xf000_f000_f000_f000;
    // Quarter `i` from bit `16i + 12` to bit `4i`.
    (all >> 12 | all >> 24 | all >> 36 | all >> 48) as u16
}

/// Partial sums of an IQ1_S block: of numbers 7 … 25, then 16 · Σ sc · Σ q taken off.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_1_s(block: &[u8; 50], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let (numbers, eight) = (numbers_1_s(block), scales_1_s(block));
    let offset = _mm_madd_epi16(eight, load8_i16(sums[16..].first_chunk().expect("eight sums")));
    let offset = _mm256_zextsi128_si256(_mm_slli_epi32::<4>(offset));
    _mm256_sub_epi32(scaled(numbers, twice(eight), q), offset)
}

/// Partial sums of an IQ1_M block, as those of IQ1_S.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_1_m(block: &[u8; 56], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let scales = scales_1_m(block);
    let offset = _mm256_slli_epi32::<4>(weighed(scales, sums));
    _mm256_sub_epi32(scaled(numbers_1_m(block), apart(scales), q), offset)
}

/// An eighth of a stored half.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn eighth(block: &[u8], at: usize) -> f32 {
    half(block, at) * 0.125
}

/// A quarter of a stored half.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn quarter(block: &[u8], at: usize) -> f32 {
    half(block, at) * 0.25
}

/// An eighth of the scale of IQ1_M.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn eighth_1_m(block: &[u8; 56], _: usize) -> f32 {
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(quarters(block))))) * 0.125
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn four_eighths<const N: usize>(blocks: &[[u8; N]; 4], at: usize) -> __m128 {
    _mm_mul_ps(halves(blocks, at), _mm_set1_ps(0.125))
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn four_quarters<const N: usize>(blocks: &[[u8; N]; 4], at: usize) -> __m128 {
    _mm_mul_ps(halves(blocks, at), _mm_set1_ps(0.25))
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn four_eighths_1_m(blocks: &[[u8; 56]; 4], _: usize) -> __m128 {
    let bits = |i: usize| u64::from(quarters(&blocks[i])) << (16 * i);
    let all = bits(0) | bits(1) | bits(2) | bits(3);
    _mm_mul_ps(_mm_cvtph_ps(_mm_cvtsi64_si128(all as i64)), _mm_set1_ps(0.125))
}

row_dots! { "avx2,fma,f16c", 256:
    dot_iq1_s = 50, 1, sums_1_s, [four_eighths, eighth], 0;
    dot_iq1_m = 56, 1, sums_1_m, [four_eighths_1_m, eighth_1_m], 0;
    dot_iq2_xxs = 66, 1, |b, q, _: &[i16; SUMS]| sums_2_xxs(b, q), [four_eighths, eighth], 0;
    dot_iq2_xs = 74, 1, |b, q, _: &[i16; SUMS]| sums_2_xs(b, q), [four_eighths, eighth], 0;
    dot_iq2_s = 82, 2, |b, q, _: &[i16; SUMS]| sums_2_s(b, q), [four_eighths, eighth], 0;
    dot_iq3_xxs = 98, 2, |b, q, _: &[i16; SUMS]| sums_3_xxs(b, q), [four_quarters, quarter], 0;
    dot_iq3_s = 110, 2, |b, q, _: &[i16; SUMS]| sums_3_s(b, q), [halves, half], 0;
}
