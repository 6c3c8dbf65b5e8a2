//! Sixteen rows against many positions (AVX-512 without VNNI).
//!
//! As in `avx2_gemm`, products of four bytes are pairs of 16-bit sums, and as many steps of them
//! are added in 16 bits as cannot overflow. Signed weights go in as magnitudes, their signs with
//! the activations: |w| ≤ 128 and |q| ≤ 127, so a pair is at most 32512.

use std::arch::x86_64::*;

use recinto_quant::DType;

use super::avx2_panel::*;
use super::avx2_panel_more::{MINIMA16, SIGNED32};
use super::avx512_lanes::*;
use super::panel_gemm::{panel_gemms, panel_products};
use super::wide::{at, each};
use super::{avx2_panel_codebook, avx2_panel_more, avx2_sixteen, avx2_words};
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::{Gemm, TILE};

/// Signed numbers stay as they are.
const RAISED: i32 = 0;

/// What the integers of a block start with: the offset of its numbers, taken off.
#[inline]
#[target_feature(enable = "avx512f")]
fn offset<const OFFSET: i32, const SIGNED: bool>(s: i32) -> Int {
    match OFFSET {
        3 => taken_off::<3>(s),
        4 => taken_off::<4>(s),
        _ => zero(),
    }
}

/// Pairs of 16-bit sums of `STEPS` lines with the activations from step `from` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn halves<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    lines: &[Line; STEPS],
    q: [&[[i8; 4]; N]; P],
    from: usize,
) -> [Int; P] {
    let mut sum = [zero(); P];
    for k in 0..STEPS {
        let w = line(&lines[k]);
        let (negative, magnitude) = (_mm512_movepi8_mask(w), _mm512_abs_epi8(w));
        for p in 0..P {
            let q = everywhere(q[p][from + k]);
            let product = if SIGNED {
                _mm512_maddubs_epi16(magnitude, _mm512_mask_sub_epi8(q, negative, zero(), q))
            } else {
                _mm512_maddubs_epi16(w, q)
            };
            sum[p] = if k == 0 { product } else { _mm512_add_epi16(sum[p], product) };
        }
    }
    sum
}

/// Adds the products of some lines with the activations from step `from` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn products<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    total: &mut [Int; P],
    lines: &[Line],
    q: [&[[i8; 4]; N]; P],
    from: usize,
) {
    let ones = _mm512_set1_epi16(1);
    let parts = lines.as_chunks::<STEPS>().0;
    for i in 0..parts.len() {
        let sum = halves::<P, STEPS, SIGNED, N>(&parts[i], q, from + i * STEPS);
        for p in 0..P {
            total[p] = _mm512_add_epi32(total[p], _mm512_madd_epi16(sum[p], ones));
        }
    }
}

/// Adds the products of a group, times its scale.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn scaled_products<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    total: &mut [Int; P],
    lines: &[Line],
    q: [&[[i8; 4]; N]; P],
    from: usize,
    scale: &Line,
) {
    let scale = line(scale);
    let parts = lines.as_chunks::<STEPS>().0;
    for i in 0..parts.len() {
        let sum = halves::<P, STEPS, SIGNED, N>(&parts[i], q, from + i * STEPS);
        for p in 0..P {
            total[p] = _mm512_add_epi32(total[p], _mm512_madd_epi16(sum[p], scale));
        }
    }
}

/// Adds the products of two 16-bit numbers with `weights`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pairs(sum: Int, weights: Int, low: i16, high: i16) -> Int {
    _mm512_add_epi32(sum, _mm512_madd_epi16(weights, two_everywhere(low, high)))
}

panel_gemms!("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c", 8);

/// `P` positions of NVFP4, blocks of 32 with `PARTS` sums of their own: a line of scales and the
/// next of the four accumulators for each.
/// Numbers are at most 12, so four steps of pairs are at most 4 · 2 · 12 · 127 = 12192.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn parts<const P: usize, const PARTS: usize>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let q: [&[[[i8; 4]; 8]]; P] = each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let mut acc = [[zero_real(); 4]; P];
    for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
        for g in 0..PARTS {
            let (mut isum, from, steps) = ([zero(); P], 8 / PARTS * g, 8 / PARTS);
            products::<P, 4, true, 8>(&mut isum, &lines[from..from + steps], at(&q, b), from);
            let scales = floats(&lines[8 + g]);
            for p in 0..P {
                let acc = &mut acc[p][(b * PARTS + g) % 4];
                *acc = add_scaled(*acc, isum[p], scales, d[p][b]);
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

panel_products! { "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c", 8, parts:
    gemm_nvfp4 = avx2_panel_more::panel_nvfp4, LINES32, <2>;
}
