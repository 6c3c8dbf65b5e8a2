//! Sixteen rows of 32-blocks against many positions (AVX2).
//!
//! Four positions share what is loaded of a panel. Products of four bytes are pairs of 16-bit
//! sums; several steps of them are added in 16 bits where that cannot overflow:
//!
//! | numbers | one step | steps | at most |
//! |---|---|---|---|
//! | 0 … 15 | 2 · 15 · 127 = 3810 | 8 | 30480 |
//! | 0 … 31 | 2 · 31 · 127 = 7874 | 4 | 31496 |
//! | −128 … 127 | 2 · 128 · 127 = 32512 | 1 | 32512 |

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use super::wide::{at, each};
use super::avx2_panel::*;
use crate::acts::Acts;
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Four bytes of activations everywhere.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn everywhere(x: [i8; 4]) -> __m256i {
    // By hand: a closure of this function cannot be inlined into the library's `map`.
    let bytes = [x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8];
    _mm256_set1_epi32(i32::from_ne_bytes(bytes))
}

/// Writes the values of sixteen rows of position `p`.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn put_values(acc: [[__m256; 2]; 4], out: &mut [f32; TILE]) {
    for h in 0..2 {
        let low = _mm256_add_ps(acc[0][h], acc[1][h]);
        let high = _mm256_add_ps(acc[2][h], acc[3][h]);
        out[h * 8..h * 8 + 8].copy_from_slice(&array8(_mm256_add_ps(low, high)));
    }
}

/// `P` positions. `STEPS` as in the table above; `OFFSET` is log2 of what the numbers are offset
/// by, or −1; `MINIMUM`: there is one.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn positions<const P: usize, const STEPS: usize, const OFFSET: i32, const MINIMUM: bool>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let q: [&[[[i8; 4]; 8]]; P] = each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let s: [&[i32]; P] = each(a.s, first, a.blocks);
    let ones = _mm256_set1_epi16(1);
    let mut acc = [[[_mm256_setzero_ps(); 2]; 4]; P];
    for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
        let q = at(&q, b);
        let mut isum = [[_mm256_setzero_si256(); 2]; P];
        if STEPS == 1 {
            for k in 0..8 {
                let w = [half_line(&lines[k], 0), half_line(&lines[k], 1)];
                let size = [_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])];
                for p in 0..P {
                    let x = everywhere(q[p][k]);
                    for h in 0..2 {
                        let pairs = _mm256_maddubs_epi16(size[h], _mm256_sign_epi8(x, w[h]));
                        isum[p][h] =
                            _mm256_add_epi32(isum[p][h], _mm256_madd_epi16(pairs, ones));
                    }
                }
            }
        } else {
            for from in (0..8).step_by(STEPS) {
                let mut sum = [[_mm256_setzero_si256(); 2]; P];
                for k in from..from + STEPS {
                    let w = [half_line(&lines[k], 0), half_line(&lines[k], 1)];
                    for p in 0..P {
                        let x = everywhere(q[p][k]);
                        for h in 0..2 {
                            let pairs = _mm256_maddubs_epi16(w[h], x);
                            sum[p][h] = _mm256_add_epi16(sum[p][h], pairs);
                        }
                    }
                }
                for p in 0..P {
                    for h in 0..2 {
                        let sum = _mm256_madd_epi16(sum[p][h], ones);
                        isum[p][h] = _mm256_add_epi32(isum[p][h], sum);
                    }
                }
            }
        }
        for p in 0..P {
            let d = _mm256_set1_ps(d[p][b]);
            for h in 0..2 {
                let mut isum = isum[p][h];
                if OFFSET >= 0 {
                    isum = _mm256_sub_epi32(isum, _mm256_set1_epi32(s[p][b] << OFFSET));
                }
                let acc = &mut acc[p][b % 4][h];
                let scale = _mm256_mul_ps(half_floats(&lines[8], h), d);
                *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, *acc);
                if MINIMUM {
                    let scale = _mm256_mul_ps(half_floats(&lines[9], h), d);
                    *acc = _mm256_fmadd_ps(_mm256_set1_ps(s[p][b] as f32), scale, *acc);
                }
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

macro_rules! gemm {
    ($name:ident, $panel:ident, $steps:literal, $offset:literal, $minimum:literal) => {
        #[target_feature(enable = "avx2,fma,f16c")]
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
            while p + 4 <= a.n {
                positions::<4, $steps, $offset, $minimum>(lines, a, p, &mut out[p..]);
                p += 4;
            }
            while p < a.n {
                positions::<1, $steps, $offset, $minimum>(lines, a, p, &mut out[p..]);
                p += 1;
            }
        }
    };
}

gemm!(gemm_q4_0, panel_q4_0, 8, 3, false);
gemm!(gemm_q4_1, panel_q4_1, 8, -1, true);
gemm!(gemm_q5_0, panel_q5_0, 4, 4, false);
gemm!(gemm_q5_1, panel_q5_1, 4, -1, true);
gemm!(gemm_q8_0, panel_q8_0, 1, -1, false);
