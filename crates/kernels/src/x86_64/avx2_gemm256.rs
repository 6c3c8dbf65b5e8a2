//! Sixteen rows of 256-blocks against many positions (AVX2).
//!
//! As `avx2_gemm`, but a group's 16-bit sums are widened by multiplying with the group's scale,
//! and stay integers until the block ends:
//!
//! | numbers | one step | steps | at most | times scale, whole block |
//! |---|---|---|---|---|
//! | 0 … 15 (Q4_K) | 3810 | 8 | 30480 | 15 · 127 · 63 · 256 < 2³¹ |
//! | 0 … 31 (Q5_K) | 7874 | 4 | 31496 | 31 · 127 · 63 · 256 < 2³¹ |
//! | 0 … 63 (Q6_K) | 16002 | 2 | 32004 | 63 · 127 · 128 · 256 < 2³¹ |

use std::arch::x86_64::*;

use super::avx2_gemm::{Places, put_values};
use super::avx2_panel::*;
use super::wide::each;
use super::{avx2_sixteen, avx2_words};
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Two neighbouring 16-bit numbers everywhere.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn two_everywhere(x: &[i16], at: usize) -> __m256i {
    let word = u32::from(x[at] as u16) | u32::from(x[at + 1] as u16) << 16;
    _mm256_set1_epi32(word as i32)
}

/// `P` positions. `STEPS` as in the table above; `SIX`: Q6_K, else Q4_K or Q5_K; `ALL`: lines
/// of a block.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn positions<const P: usize, const STEPS: usize, const SIX: bool, const ALL: usize>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let layout = if SIX { GROUPS16 } else { GROUPS32 };
    let places = Places::<P>::new::<64, ALL>(lines, a, first);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let sums: [&[[i16; SUMS]]; P] = each(a.sums.as_chunks().0, first, a.blocks);
    let mut acc = [[[_mm256_setzero_ps(); 2]; 4]; P];
    for (b, lines) in lines.as_chunks::<ALL>().0.iter().enumerate() {
        let mut isum = [[_mm256_setzero_si256(); 2]; P];
        let each = 64 / layout.groups;
        // Unknown to the compiler, which would write out all groups and leave the instruction cache.
        for j in 0..std::hint::black_box(layout.groups) {
            for from in (j * each..(j + 1) * each).step_by(STEPS) {
                // SAFETY: `STEPS` of the 64 steps and lines of block `b`, and the line of group `j`.
                unsafe {
                    let (at, scale) = (b * ALL + from, b * ALL + 64 + j);
                    places.scaled::<STEPS>(b * 64 + from, at, scale, &mut isum);
                }
            }
        }
        let mut msum = [[_mm256_setzero_si256(); 2]; P];
        let from = if SIX { 0 } else { 16 };
        for i in 0..layout.pairs {
            let line = &lines[64 + layout.groups + i];
            for p in 0..P {
                let x = two_everywhere(&sums[p][b], from + 2 * i);
                for h in 0..2 {
                    let weighed = _mm256_madd_epi16(half_line(line, h), x);
                    msum[p][h] = _mm256_add_epi32(msum[p][h], weighed);
                }
            }
        }
        let scales = &lines[64 + layout.groups + layout.pairs..];
        for p in 0..P {
            let d = _mm256_set1_ps(d[p][b]);
            for h in 0..2 {
                let (mut isum, msum) = (isum[p][h], msum[p][h]);
                if SIX {
                    isum = _mm256_sub_epi32(isum, _mm256_slli_epi32::<5>(msum));
                }
                let acc = &mut acc[p][b % 4][h];
                let scale = _mm256_mul_ps(half_floats(&scales[0], h), d);
                *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, *acc);
                if !SIX {
                    let scale = _mm256_mul_ps(half_floats(&scales[1], h), d);
                    *acc = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(msum), scale, *acc);
                }
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

macro_rules! gemm {
    ($name:ident, $panel:path, $layout:ident, $steps:literal, $six:literal) => {
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
            let lines = work.panel.take(a.blocks * $layout.all);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
            while p + 4 <= a.n {
                positions::<4, $steps, $six, { $layout.all }>(lines, a, p, &mut out[p..]);
                p += 4;
            }
            while p < a.n {
                positions::<1, $steps, $six, { $layout.all }>(lines, a, p, &mut out[p..]);
                p += 1;
            }
        }
    };
}

gemm!(gemm_q4_k, avx2_words::panel_q4_k, GROUPS32, 8, false);
gemm!(sixteen_q4_k, avx2_sixteen::panel_q4_k, GROUPS32, 8, false);
gemm!(gemm_q5_k, avx2_words::panel_q5_k, GROUPS32, 4, false);
gemm!(sixteen_q5_k, avx2_sixteen::panel_q5_k, GROUPS32, 4, false);
gemm!(gemm_q6_k, avx2_words::panel_q6_k, GROUPS16, 2, true);
gemm!(sixteen_q6_k, avx2_sixteen::panel_q6_k, GROUPS16, 2, true);
