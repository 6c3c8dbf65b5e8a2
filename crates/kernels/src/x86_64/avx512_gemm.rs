//! Sixteen rows of 32-blocks against many positions (AVX-512 VNNI).
//!
//! A line of a panel is one vector: four values of sixteen rows. `vpdpbusd` adds four products
//! of unsigned weights and signed activations to a row's integer, exactly. Signed weights get
//! 128 added by turning their top bit; 128 times the activations' sum is taken off.

use std::arch::x86_64::*;

use super::avx2_panel::*;
use super::avx2_panel_more::{panel_iq4_nl, panel_mxfp4};
use super::wide::{at, each};
use crate::acts::Acts;
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// A line: sixteen rows.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn line(line: &Line) -> __m512i {
    // SAFETY: 64 readable bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_epi32(line.0.as_ptr().cast()) }
}

/// A line of floats.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn floats(x: &Line) -> __m512 {
    _mm512_castsi512_ps(line(x))
}

/// Four bytes of activations everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn everywhere(x: [i8; 4]) -> __m512i {
    let bytes = [x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8];
    _mm512_set1_epi32(i32::from_ne_bytes(bytes))
}

/// Writes the values of sixteen rows of one position.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn put_values(acc: [__m512; 4], out: &mut [f32; TILE]) {
    let sum = _mm512_add_ps(_mm512_add_ps(acc[0], acc[1]), _mm512_add_ps(acc[2], acc[3]));
    // SAFETY: 64 writable bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), sum) }
}

/// `P` positions. `OFFSET` is log2 of what the numbers are offset by, or −1; `SIGNED`: they are
/// signed bytes, turned here (then `OFFSET` is 7); `MINIMUM`: there is one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn positions<const P: usize, const OFFSET: i32, const SIGNED: bool, const MINIMUM: bool>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let q: [&[[[i8; 4]; 8]]; P] = each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let s: [&[i32]; P] = each(a.s, first, 2 * a.blocks);
    let mut acc = [[_mm512_setzero_ps(); 4]; P];
    for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
        let q = at(&q, b);
        let mut isum = [_mm512_setzero_si512(); P];
        if OFFSET >= 0 {
            for p in 0..P {
                isum[p] = _mm512_set1_epi32(-(s[p][b] << OFFSET));
            }
        }
        for k in 0..8 {
            let mut w = line(&lines[k]);
            if SIGNED {
                w = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
            }
            for p in 0..P {
                isum[p] = _mm512_dpbusd_epi32(isum[p], w, everywhere(q[p][k]));
            }
        }
        let scales = floats(&lines[8]);
        for p in 0..P {
            let d = _mm512_set1_ps(d[p][b]);
            let acc = &mut acc[p][b % 4];
            let scale = _mm512_mul_ps(scales, d);
            *acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum[p]), scale, *acc);
            if MINIMUM {
                let sum = _mm512_set1_ps(f32::from_bits(s[p][a.blocks + b] as u32));
                *acc = _mm512_fmadd_ps(floats(&lines[9]), sum, *acc);
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

macro_rules! gemm {
    ($name:ident, $panel:ident, $offset:literal, $signed:literal, $minimum:literal) => {
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
            let lines = work.panel.take(a.blocks * LINES32);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
            while p + 8 <= a.n {
                positions::<8, $offset, $signed, $minimum>(lines, a, p, &mut out[p..]);
                p += 8;
            }
            while p + 4 <= a.n {
                positions::<4, $offset, $signed, $minimum>(lines, a, p, &mut out[p..]);
                p += 4;
            }
            while p < a.n {
                positions::<1, $offset, $signed, $minimum>(lines, a, p, &mut out[p..]);
                p += 1;
            }
        }
    };
}

gemm!(gemm_q4_0, panel_q4_0, 3, false, false);
gemm!(gemm_q4_1, panel_q4_1, -1, false, true);
gemm!(gemm_q5_0, panel_q5_0, 4, false, false);
gemm!(gemm_q5_1, panel_q5_1, -1, false, true);
gemm!(gemm_q8_0, panel_q8_0, 7, true, false);
gemm!(gemm_iq4_nl, panel_iq4_nl, 7, true, false);
gemm!(gemm_mxfp4, panel_mxfp4, 4, false, false);
