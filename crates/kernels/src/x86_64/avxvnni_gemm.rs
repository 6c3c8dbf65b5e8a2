//! Sixteen rows against many positions (AVX-VNNI): as AVX-512 VNNI, with two vectors a line.

use std::arch::x86_64::*;

use recinto_quant::DType;

use super::avx2_lanes::put8;
use super::avx2_panel::*;
use super::avx2_panel_more::{MINIMA16, SIGNED32};
use super::panel_gemm::{panel_gemms, panel_products};
use super::wide::{at, each};
use super::{avx2_panel_codebook, avx2_panel_more, avx2_sixteen, avx2_words};
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::{Gemm, TILE};

/// Integers of sixteen rows.
type Int = [__m256i; 2];
/// Floats of sixteen rows.
type Real = [__m256; 2];

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> Int {
    [_mm256_setzero_si256(); 2]
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero_real() -> Real {
    [_mm256_setzero_ps(); 2]
}

/// A line: sixteen rows.
#[inline]
#[target_feature(enable = "avx2")]
fn line(line: &Line) -> Int {
    [half_line(line, 0), half_line(line, 1)]
}

/// A line of floats.
#[inline]
#[target_feature(enable = "avx2")]
fn floats(x: &Line) -> Real {
    [half_floats(x, 0), half_floats(x, 1)]
}

/// Four bytes of activations everywhere.
#[inline]
#[target_feature(enable = "avx2")]
fn everywhere(x: [i8; 4]) -> __m256i {
    let bytes = [x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8];
    _mm256_set1_epi32(i32::from_ne_bytes(bytes))
}

/// Signed numbers get 128 added.
const RAISED: i32 = 7;

/// What the integers of a block start with: the offset of its numbers, taken off.
#[inline]
#[target_feature(enable = "avx2")]
fn offset<const OFFSET: i32, const SIGNED: bool>(s: i32) -> Int {
    let by = if SIGNED { 7 } else { OFFSET };
    if by < 0 { zero() } else { [_mm256_set1_epi32(-(s << by)); 2] }
}

/// Adds the products of some lines with the activations from step `from` on.
#[inline]
#[target_feature(enable = "avx2,avxvnni")]
fn products<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    sum: &mut [Int; P],
    lines: &[Line],
    q: [&[[i8; 4]; N]; P],
    from: usize,
) {
    for k in 0..lines.len() {
        let mut w = line(&lines[k]);
        if SIGNED {
            let top = _mm256_set1_epi8(-128);
            w = [_mm256_xor_si256(w[0], top), _mm256_xor_si256(w[1], top)];
        }
        for p in 0..P {
            let x = everywhere(q[p][from + k]);
            for h in 0..2 {
                sum[p][h] = _mm256_dpbusd_avx_epi32(sum[p][h], w[h], x);
            }
        }
    }
}

/// Adds the products of a group, times its scale.
#[inline]
#[target_feature(enable = "avx2,avxvnni")]
fn scaled_products<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    isum: &mut [Int; P],
    lines: &[Line],
    q: [&[[i8; 4]; N]; P],
    from: usize,
    scale: &Line,
) {
    let mut sum = [zero(); P];
    products::<P, STEPS, SIGNED, N>(&mut sum, lines, q, from);
    for h in 0..2 {
        // The scale stands twice; the upper one widens by a shift that keeps the sign.
        let scale = _mm256_srai_epi32::<16>(half_line(scale, h));
        for p in 0..P {
            let scaled = _mm256_mullo_epi32(sum[p][h], scale);
            isum[p][h] = _mm256_add_epi32(isum[p][h], scaled);
        }
    }
}

/// Adds the products of two 16-bit numbers with `weights`.
#[inline]
#[target_feature(enable = "avx2,avxvnni")]
fn pairs(sum: Int, weights: Int, low: i16, high: i16) -> Int {
    let two = u32::from(low as u16) | u32::from(high as u16) << 16;
    let two = _mm256_set1_epi32(two as i32);
    [
        _mm256_dpwssd_avx_epi32(sum[0], weights[0], two),
        _mm256_dpwssd_avx_epi32(sum[1], weights[1], two),
    ]
}

/// `isum − 2^by · msum`; `isum` where `by` is 0.
#[inline]
#[target_feature(enable = "avx2")]
fn less_shifted(mut isum: Int, msum: Int, by: i32) -> Int {
    if by > 0 {
        for h in 0..2 {
            let shifted = _mm256_sll_epi32(msum[h], _mm_cvtsi32_si128(by));
            isum[h] = _mm256_sub_epi32(isum[h], shifted);
        }
    }
    isum
}

/// `acc + isum · (scales · d)`, fused.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_scaled(mut acc: Real, isum: Int, scales: Real, d: f32) -> Real {
    let d = _mm256_set1_ps(d);
    for h in 0..2 {
        let scale = _mm256_mul_ps(scales[h], d);
        acc[h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[h]), scale, acc[h]);
    }
    acc
}

/// `acc − isum · (scales · d)`, fused.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn take_scaled(mut acc: Real, isum: Int, scales: Real, d: f32) -> Real {
    let d = _mm256_set1_ps(d);
    for h in 0..2 {
        let scale = _mm256_mul_ps(scales[h], d);
        acc[h] = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(isum[h]), scale, acc[h]);
    }
    acc
}

/// `s`, everywhere.
#[inline]
#[target_feature(enable = "avx2")]
fn all(s: i32) -> Int {
    [_mm256_set1_epi32(s); 2]
}

/// Writes the values of sixteen rows of one position.
#[inline]
#[target_feature(enable = "avx2")]
fn put_values(acc: [Real; 4], out: &mut [f32; TILE]) {
    for h in 0..2 {
        let first = _mm256_add_ps(acc[0][h], acc[1][h]);
        put8(out, h * 8, _mm256_add_ps(first, _mm256_add_ps(acc[2][h], acc[3][h])));
    }
}

panel_gemms!("avx2,fma,f16c,avxvnni", 4);
