//! Rows against one position (AVX-512 VNNI): of a block of 256, 64 numbers at a time.

use std::arch::x86_64::*;

use super::avx2_dot256::widen;
use super::avx512_lanes::load64;
use super::vnni_dot::vnni_dots;

vnni_dots!(
    "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c",
    _mm256_dpbusd_epi32,
    masked_fives
);

/// Q5_0 and Q5_1 from the block's high bits at `AT`, which are a mask as they stand, and the
/// nibbles after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn masked_fives<const AT: usize>(block: &[u8]) -> __m256i {
    let (low, high) = (nibbles(part(block, AT + 4)), u32::from_le_bytes(*part(block, AT)));
    _mm256_mask_add_epi8(low, high, low, _mm256_set1_epi8(16))
}

/// The same 32 bytes in both halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn twice(x: __m256i) -> __m512i {
    _mm512_broadcast_i64x4(x)
}

/// `a` in the lower half, `b` in the upper.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves_of(a: __m256i, b: __m256i) -> __m512i {
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b)
}

/// Adds 64 numbers times the activations from `64 · i` on, times `scales`: pairs fit 16 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn add(total: __m512i, numbers: __m512i, q: &[i8; 256], i: usize, scales: __m512i) -> __m512i {
    let q: &[i8; 64] = q[64 * i..].first_chunk().expect("four times 64");
    // SAFETY: 64 readable bytes; the load asks for no alignment.
    let q = unsafe { _mm512_loadu_si512(q.as_ptr().cast()) };
    _mm512_dpwssd_epi32(total, _mm512_maddubs_epi16(numbers, q), scales)
}

/// Eight partial sums of sixteen.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn eight(x: __m512i) -> __m256i {
    _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x))
}

/// Partial sums of a Q4_K or Q5_K block (`FIVE`): two groups at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn groups<const FIVE: bool>(block: &[u8], q: &[i8; 256]) -> __m256i {
    let (scales, _) = scale_min(part(block, 4));
    let quants = &block[if FIVE { 48 } else { 16 }..];
    let scales = _mm512_castsi128_si512(widen(scales));
    let (nibble, two) = (_mm512_set1_epi8(15), _mm512_set1_epi16(2));
    // Which scale each 16-bit number gets: that of group 2i, then that of group 2i + 1.
    let mut choice = halves_of(_mm256_setzero_si256(), _mm256_set1_epi16(1));
    // The bits of those groups among the fifth ones.
    let mut bit = halves_of(_mm256_set1_epi8(1), _mm256_set1_epi8(2));
    let high = if FIVE { twice(load(part(block, 16))) } else { _mm512_setzero_si512() };
    let mut total = [_mm512_setzero_si512(); 2];
    for i in 0..4 {
        let both = load(part(quants, i * 32));
        let both = halves_of(both, _mm256_srli_epi16::<4>(both));
        let mut numbers = _mm512_and_si512(both, nibble);
        if FIVE {
            let there = _mm512_test_epi8_mask(high, bit);
            numbers = _mm512_mask_add_epi8(numbers, there, numbers, _mm512_set1_epi8(16));
            bit = _mm512_slli_epi16::<2>(bit);
        }
        let scales = _mm512_permutexvar_epi16(choice, scales);
        total[i % 2] = add(total[i % 2], numbers, q, i, scales);
        choice = _mm512_add_epi16(choice, two);
    }
    eight(_mm512_add_epi32(total[0], total[1]))
}

/// Partial sums of a Q6_K block: with numbers 0 … 63, then 32 · Σ sc · Σ q taken off.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn six(block: &[u8; 210], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let scales = _mm256_cvtepi8_epi16(load16(part(block, 192)));
    let sums = load_i16(sums.first_chunk().expect("16 sums"));
    let offset = _mm256_slli_epi32::<5>(_mm256_madd_epi16(scales, sums));
    let scales = _mm512_castsi256_si512(scales);
    // Which scale each 16-bit number gets: four in turn, eight numbers each.
    let one = halves_of(
        _mm256_set_m128i(_mm_set1_epi16(1), _mm_setzero_si128()),
        _mm256_set_m128i(_mm_set1_epi16(3), _mm_set1_epi16(2)),
    );
    let four = _mm512_set1_epi16(4);
    let (nibble, pair) = (_mm512_set1_epi8(15), _mm512_set1_epi8(48));
    let left = halves_of(_mm256_set1_epi16(4), _mm256_set1_epi16(2));
    let right = halves_of(_mm256_setzero_si256(), _mm256_set1_epi16(2));
    let (mut total, mut choice) = ([_mm512_setzero_si512(); 2], one);
    for h in 0..2 {
        let low = load64(part(block, h * 64));
        let high = twice(load(part(block, 128 + h * 32)));
        let two = _mm512_and_si512(_mm512_sllv_epi16(high, left), pair);
        let numbers = _mm512_or_si512(_mm512_and_si512(low, nibble), two);
        let chosen = _mm512_permutexvar_epi16(choice, scales);
        total[0] = add(total[0], numbers, q, 2 * h, chosen);
        choice = _mm512_add_epi16(choice, four);

        let two = _mm512_and_si512(_mm512_srlv_epi16(high, right), pair);
        let low = _mm512_srli_epi16::<4>(low);
        let numbers = _mm512_or_si512(_mm512_and_si512(low, nibble), two);
        let chosen = _mm512_permutexvar_epi16(choice, scales);
        total[1] = add(total[1], numbers, q, 2 * h + 1, chosen);
        choice = _mm512_add_epi16(choice, four);
    }
    _mm256_sub_epi32(eight(_mm512_add_epi32(total[0], total[1])), offset)
}
