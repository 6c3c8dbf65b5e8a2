//! Rows against one position (AVX-VNNI).

use std::arch::x86_64::*;

use super::avx2_dot256::{fifth, group, sixes, spread, two_groups, widen};
use super::vnni_dot::vnni_dots;

vnni_dots!("avx2,fma,f16c,avxvnni", _mm256_dpbusd_avx_epi32, fives);

/// Adds group `J`: pairs that fit 16 bits, times its scale.
#[inline]
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
fn add_group<const J: i16>(
    total: __m256i,
    numbers: __m256i,
    scales: __m256i,
    q: &[i8; 256],
) -> __m256i {
    let pairs = _mm256_maddubs_epi16(numbers, group(q, J as usize));
    _mm256_dpwssd_avx_epi32(total, pairs, spread::<J>(scales))
}

/// Partial sums of a Q4_K or Q5_K block (`FIVE`).
#[inline]
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
fn groups<const FIVE: bool>(block: &[u8], q: &[i8; 256]) -> __m256i {
    let (scales, _) = scale_min(part(block, 4));
    let scales = _mm256_broadcastsi128_si256(widen(scales));
    let quants = &block[if FIVE { 48 } else { 16 }..];
    let mut n = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        (n[2 * i], n[2 * i + 1]) = two_groups(quants, i);
    }
    if FIVE {
        let high = load(part(block, 16));
        n[0] = _mm256_or_si256(n[0], fifth::<0>(high));
        n[1] = _mm256_or_si256(n[1], fifth::<1>(high));
        n[2] = _mm256_or_si256(n[2], fifth::<2>(high));
        n[3] = _mm256_or_si256(n[3], fifth::<3>(high));
        n[4] = _mm256_or_si256(n[4], fifth::<4>(high));
        n[5] = _mm256_or_si256(n[5], fifth::<5>(high));
        n[6] = _mm256_or_si256(n[6], fifth::<6>(high));
        n[7] = _mm256_or_si256(n[7], fifth::<7>(high));
    }
    eight_groups(_mm256_setzero_si256(), n, scales, q)
}

/// Adds eight groups to two sums, so that they wait less for each other.
#[inline]
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
fn eight_groups(total: __m256i, n: [__m256i; 8], scales: __m256i, q: &[i8; 256]) -> __m256i {
    let (mut a, mut b) = (total, _mm256_setzero_si256());
    a = add_group::<0>(a, n[0], scales, q);
    b = add_group::<1>(b, n[1], scales, q);
    a = add_group::<2>(a, n[2], scales, q);
    b = add_group::<3>(b, n[3], scales, q);
    a = add_group::<4>(a, n[4], scales, q);
    b = add_group::<5>(b, n[5], scales, q);
    a = add_group::<6>(a, n[6], scales, q);
    b = add_group::<7>(b, n[7], scales, q);
    _mm256_add_epi32(a, b)
}

/// Partial sums of a Q6_K block: with numbers 0 … 63, then 32 · Σ sc · Σ q taken off.
#[inline]
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
fn six(block: &[u8; 210], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
    let stored = load16(part(block, 192));
    let scales = _mm256_cvtepi8_epi16(stored);
    // Even scales in the lower half, odd ones in the upper: a group of 32 has both.
    let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    let split = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(stored, apart));
    let sums = load_i16(sums.first_chunk().expect("16 sums"));
    let offset = _mm256_slli_epi32::<5>(_mm256_madd_epi16(scales, sums));
    let total = _mm256_sub_epi32(_mm256_setzero_si256(), offset);
    let (x, y) = (sixes(block, 0), sixes(block, 1));
    let numbers = [x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]];
    eight_groups(total, numbers, split, q)
}
