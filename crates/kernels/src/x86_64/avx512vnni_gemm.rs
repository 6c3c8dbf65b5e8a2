//! Sixteen rows against many positions (AVX-512 VNNI).
//!
//! `vpdpbusd` adds four products of unsigned weights and signed activations to a row's integer,
//! exactly. Signed weights get 128 added by turning their top bit; 128 times the activations'
//! sum is taken off.

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

/// Signed numbers get 128 added.
const RAISED: i32 = 7;

/// What the integers of a block start with: the offset of its numbers, taken off.
#[inline]
#[target_feature(enable = "avx512f")]
fn offset<const OFFSET: i32, const SIGNED: bool>(s: i32) -> Int {
    match (OFFSET, SIGNED) {
        (_, true) => taken_off::<7>(s),
        (3, _) => taken_off::<3>(s),
        (4, _) => taken_off::<4>(s),
        _ => zero(),
    }
}

/// Adds the products of some lines with the activations from step `from` on.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn products<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    sum: &mut [Int; P],
    lines: &[Line],
    q: [&[[i8; 4]; N]; P],
    from: usize,
) {
    for k in 0..lines.len() {
        let mut w = line(&lines[k]);
        if SIGNED {
            w = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
        }
        for p in 0..P {
            sum[p] = _mm512_dpbusd_epi32(sum[p], w, everywhere(q[p][from + k]));
        }
    }
}

/// Adds the products of a group, times its scale.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn scaled_products<const P: usize, const STEPS: usize, const SIGNED: bool, const N: usize>(
    isum: &mut [Int; P],
    lines: &[Line],
    q: [&[[i8; 4]; N]; P],
    from: usize,
    scale: &Line,
) {
    let mut sum = [zero(); P];
    products::<P, STEPS, SIGNED, N>(&mut sum, lines, q, from);
    // The scale stands twice; the upper one widens by a shift that keeps the sign.
    let scale = _mm512_srai_epi32::<16>(line(scale));
    for p in 0..P {
        isum[p] = _mm512_add_epi32(isum[p], _mm512_mullo_epi32(sum[p], scale));
    }
}

/// Adds the products of two 16-bit numbers with `weights`.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn pairs(sum: Int, weights: Int, low: i16, high: i16) -> Int {
    _mm512_dpwssd_epi32(sum, weights, two_everywhere(low, high))
}

panel_gemms!("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c", 8);
