//! Sixteen rows of Q2_K, Q3_K and IQ4_XS against many positions (AVX-512 VNNI): as
//! `panel_gemm`. The signed numbers of IQ4_XS get 128 added by turning their top bit; 128
//! times the scaled sums of the activations is taken off.

use std::arch::x86_64::*;

use super::avx2_gemm_more::{MINIMA, RAISED, SIGNED};
use super::avx2_panel::*;
use super::avx2_panel_more::*;
use super::avx512_lanes::{everywhere, floats, line, put_values};
use super::wide::{at, each};
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// `P` positions of a type of a kind; `GROUPS` groups and `ALL` lines a block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn positions<const P: usize, const KIND: u8, const GROUPS: usize, const ALL: usize>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let q: [&[[[i8; 4]; 64]]; P] = each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let sums: [&[[i16; SUMS]]; P] = each(a.sums.as_chunks().0, first, a.blocks);
    let mut acc = [[_mm512_setzero_ps(); 4]; P];
    for (b, lines) in lines.as_chunks::<ALL>().0.iter().enumerate() {
        let q = at(&q, b);
        let mut isum = [_mm512_setzero_si512(); P];
        let steps = 64 / GROUPS;
        for j in 0..GROUPS {
            let mut sum = [_mm512_setzero_si512(); P];
            for k in j * steps..(j + 1) * steps {
                let mut w = line(&lines[k]);
                if KIND == SIGNED {
                    w = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
                }
                for p in 0..P {
                    sum[p] = _mm512_dpbusd_epi32(sum[p], w, everywhere(q[p][k]));
                }
            }
            // The scale stands twice; the upper one widens by a shift that keeps the sign.
            let scale = _mm512_srai_epi32::<16>(line(&lines[64 + j]));
            for p in 0..P {
                isum[p] = _mm512_add_epi32(isum[p], _mm512_mullo_epi32(sum[p], scale));
            }
        }
        let mut msum = [_mm512_setzero_si512(); P];
        // Sums over 32 values stand after the sixteen over 16.
        let from = if GROUPS == 8 { 16 } else { 0 };
        for i in 0..GROUPS / 2 {
            let weights = line(&lines[64 + GROUPS + i]);
            for p in 0..P {
                let (low, high) = (sums[p][b][from + 2 * i], sums[p][b][from + 2 * i + 1]);
                let two = u32::from(low as u16) | u32::from(high as u16) << 16;
                msum[p] = _mm512_dpwssd_epi32(msum[p], weights, _mm512_set1_epi32(two as i32));
            }
        }
        let scales = &lines[64 + GROUPS + GROUPS / 2..];
        for p in 0..P {
            let d = _mm512_set1_ps(d[p][b]);
            let isum = match KIND {
                RAISED => _mm512_sub_epi32(isum[p], _mm512_slli_epi32::<2>(msum[p])),
                SIGNED => _mm512_sub_epi32(isum[p], _mm512_slli_epi32::<7>(msum[p])),
                _ => isum[p],
            };
            let acc = &mut acc[p][b % 4];
            let scale = _mm512_mul_ps(floats(&scales[0]), d);
            *acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum), scale, *acc);
            if KIND == MINIMA {
                let scale = _mm512_mul_ps(floats(&scales[1]), d);
                *acc = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(msum[p]), scale, *acc);
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

macro_rules! gemm {
    ($name:ident, $panel:ident, $layout:ident, $kind:ident) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
        pub(super) fn $name(
            rows: &[u8],
            stride: usize,
            a: &Acts<'_>,
            work: &mut Work,
            out: &mut [f32],
        ) {
            if rows.is_empty() {
                return;
            }
            const LAYOUT: Lines256 = $layout;
            let lines = work.panel.take(a.blocks * LAYOUT.all);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
            while p + 8 <= a.n {
                let out = &mut out[p..];
                positions::<8, $kind, { LAYOUT.groups }, { LAYOUT.all }>(lines, a, p, out);
                p += 8;
            }
            while p + 4 <= a.n {
                let out = &mut out[p..];
                positions::<4, $kind, { LAYOUT.groups }, { LAYOUT.all }>(lines, a, p, out);
                p += 4;
            }
            while p < a.n {
                let out = &mut out[p..];
                positions::<1, $kind, { LAYOUT.groups }, { LAYOUT.all }>(lines, a, p, out);
                p += 1;
            }
        }
    };
}

gemm!(gemm_q2_k, panel_q2_k, MINIMA16, MINIMA);
gemm!(gemm_q3_k, panel_q3_k, GROUPS16, RAISED);
gemm!(gemm_iq4_xs, panel_iq4_xs, SIGNED32, SIGNED);
