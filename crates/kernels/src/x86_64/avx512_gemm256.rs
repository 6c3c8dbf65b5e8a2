//! Sixteen rows of 256-blocks against many positions (AVX-512 VNNI): a group's exact integers
//! times its scale, added up until the block ends.

use std::arch::x86_64::*;

use super::avx2_panel::*;
use super::avx512_gemm::{everywhere, floats, line, put_values};
use super::wide::{at, each};
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// `P` positions. `SIX`: Q6_K, else Q4_K or Q5_K; `ALL`: lines of a block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn positions<const P: usize, const SIX: bool, const ALL: usize>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let layout = if SIX { GROUPS16 } else { GROUPS32 };
    let q: [&[[[i8; 4]; 64]]; P] = each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let sums: [&[[i16; SUMS]]; P] = each(a.sums.as_chunks().0, first, a.blocks);
    let mut acc = [[_mm512_setzero_ps(); 4]; P];
    for (b, lines) in lines.as_chunks::<ALL>().0.iter().enumerate() {
        let q = at(&q, b);
        let mut isum = [_mm512_setzero_si512(); P];
        let steps = 64 / layout.groups;
        for j in 0..layout.groups {
            let mut sum = [_mm512_setzero_si512(); P];
            for k in j * steps..(j + 1) * steps {
                let w = line(&lines[k]);
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
        let from = if SIX { 0 } else { 16 };
        for i in 0..layout.pairs {
            let weights = line(&lines[64 + layout.groups + i]);
            for p in 0..P {
                let (low, high) = (sums[p][b][from + 2 * i], sums[p][b][from + 2 * i + 1]);
                let two = u32::from(low as u16) | u32::from(high as u16) << 16;
                let two = _mm512_set1_epi32(two as i32);
                msum[p] = _mm512_dpwssd_epi32(msum[p], weights, two);
            }
        }
        let scales = &lines[64 + layout.groups + layout.pairs..];
        for p in 0..P {
            let d = _mm512_set1_ps(d[p][b]);
            let mut isum = isum[p];
            if SIX {
                isum = _mm512_sub_epi32(isum, _mm512_slli_epi32::<5>(msum[p]));
            }
            let acc = &mut acc[p][b % 4];
            let scale = _mm512_mul_ps(floats(&scales[0]), d);
            *acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum), scale, *acc);
            if !SIX {
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
    ($name:ident, $panel:ident, $layout:ident, $six:literal) => {
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
            let lines = work.panel.take(a.blocks * $layout.all);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
            while p + 8 <= a.n {
                positions::<8, $six, { $layout.all }>(lines, a, p, &mut out[p..]);
                p += 8;
            }
            while p + 4 <= a.n {
                positions::<4, $six, { $layout.all }>(lines, a, p, &mut out[p..]);
                p += 4;
            }
            while p < a.n {
                positions::<1, $six, { $layout.all }>(lines, a, p, &mut out[p..]);
                p += 1;
            }
        }
    };
}

gemm!(gemm_q4_k, panel_q4_k, GROUPS32, false);
gemm!(gemm_q5_k, panel_q5_k, GROUPS32, false);
gemm!(gemm_q6_k, panel_q6_k, GROUPS16, true);
