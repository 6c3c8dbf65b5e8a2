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
//! | 0 … 3 (Q2_K) | 2 · 3 · 127 = 762 | 4 | 3048 | 3 · 127 · 15 · 256 < 2³¹ |
//! | 0 … 7 (Q3_K) | 2 · 7 · 127 = 1778 | 4 | 7112 | 7 · 127 · 32 · 256 < 2³¹ |
//! | −127 … 113 (IQ4_XS) | 2 · 127 · 127 = 32258 | 1 | 32258 | 127 · 127 · 32 · 256 < 2³¹ |
//! | −62 … 62 (IQ2, IQ3_XXS) | 2 · 62 · 127 = 15748 | 1 | 15748 | 62 · 127 · 31 · 256 < 2³¹ |
//! | 1 … 31 (IQ3_S), 7 … 25 (IQ1) | 7874 | 4 | 31496 | 31 · 127 · 31 · 256 < 2³¹ |
//! | 3 … 6 (TQ1_0, TQ2_0) | 2 · 6 · 127 = 1524 | 8 | 12192 | 6 · 127 · 256 < 2³¹ |

use std::arch::x86_64::*;

use super::avx2_gemm::{Places, put_values};
use super::avx2_panel::*;
use super::avx2_panel_codebook::*;
use super::avx2_panel_more::*;
use super::panel_gemm::panel_products;
use super::wide::each;
use super::{avx2_sixteen, avx2_words};
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Two neighbouring 16-bit numbers everywhere.
#[inline]
#[target_feature(enable = "avx2")]
fn two_everywhere(x: &[i16], at: usize) -> __m256i {
    let word = u32::from(x[at] as u16) | u32::from(x[at + 1] as u16) << 16;
    _mm256_set1_epi32(word as i32)
}

/// `P` positions. `STEPS` as in the table above, 1 for signed numbers; `GROUPS` of a block;
/// `SHIFT`: log2 of what the numbers are offset by, or 0; `MINIMA`: there are some; `ALL`: lines
/// of a block.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn positions<
    const P: usize,
    const STEPS: usize,
    const GROUPS: usize,
    const SHIFT: i32,
    const MINIMA: bool,
    const ALL: usize,
>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let places = Places::<P>::new::<64, ALL>(lines, a, first);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let sums: [&[[i16; SUMS]]; P] = each(a.sums.as_chunks().0, first, a.blocks);
    let mut acc = [[[_mm256_setzero_ps(); 2]; 4]; P];
    for (b, lines) in lines.as_chunks::<ALL>().0.iter().enumerate() {
        let mut isum = [[_mm256_setzero_si256(); 2]; P];
        let each = 64 / GROUPS;
        // Unknown to the compiler, which would write out all groups and leave the instruction
        // cache.
        for j in 0..std::hint::black_box(GROUPS) {
            if STEPS == 1 {
                let (at, by) = ((b * 64 + j * each, b * ALL + j * each), halves(&lines[64 + j]));
                // SAFETY: the steps and lines of group `j` of block `b`.
                unsafe { places.signed(at, each, by, &mut isum) };
                continue;
            }
            for from in (j * each..(j + 1) * each).step_by(STEPS) {
                // SAFETY: `STEPS` of the 64 steps and lines of block `b`, and the line of group `j`.
                unsafe {
                    let (at, scale) = (b * ALL + from, b * ALL + 64 + j);
                    places.scaled::<STEPS>(b * 64 + from, at, scale, &mut isum);
                }
            }
        }
        let mut msum = [[_mm256_setzero_si256(); 2]; P];
        if MINIMA || SHIFT > 0 {
            // Sums over 32 values stand after the sixteen over 16.
            let from = if GROUPS == 8 { 16 } else { 0 };
            for i in 0..GROUPS / 2 {
                let line = &lines[64 + GROUPS + i];
                for p in 0..P {
                    let x = two_everywhere(&sums[p][b], from + 2 * i);
                    for h in 0..2 {
                        let weighed = _mm256_madd_epi16(half_line(line, h), x);
                        msum[p][h] = _mm256_add_epi32(msum[p][h], weighed);
                    }
                }
            }
        }
        let scales = &lines[64 + GROUPS + GROUPS / 2..];
        for p in 0..P {
            let d = _mm256_set1_ps(d[p][b]);
            for h in 0..2 {
                let (mut isum, msum) = (isum[p][h], msum[p][h]);
                if SHIFT > 0 {
                    isum = _mm256_sub_epi32(isum, _mm256_slli_epi32::<SHIFT>(msum));
                }
                let acc = &mut acc[p][b % 4][h];
                let scale = _mm256_mul_ps(half_floats(&scales[0], h), d);
                *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, *acc);
                if MINIMA {
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

/// Both halves of a line.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(line: &Line) -> [__m256i; 2] {
    [half_line(line, 0), half_line(line, 1)]
}

panel_products! { "avx2,fma,f16c", 4, positions:
    gemm_q4_k = avx2_words::panel_q4_k, GROUPS32, <8, 8, 0, true, GROUPS32>;
    sixteen_q4_k = avx2_sixteen::panel_q4_k, GROUPS32, <8, 8, 0, true, GROUPS32>;
    gemm_q5_k = avx2_words::panel_q5_k, GROUPS32, <4, 8, 0, true, GROUPS32>;
    sixteen_q5_k = avx2_sixteen::panel_q5_k, GROUPS32, <4, 8, 0, true, GROUPS32>;
    gemm_q6_k = avx2_words::panel_q6_k, GROUPS16, <2, 16, 5, false, GROUPS16>;
    sixteen_q6_k = avx2_sixteen::panel_q6_k, GROUPS16, <2, 16, 5, false, GROUPS16>;
    gemm_q2_k = panel_q2_k, MINIMA16, <4, 16, 0, true, MINIMA16>;
    gemm_q3_k = panel_q3_k, GROUPS16, <4, 16, 2, false, GROUPS16>;
    gemm_iq4_xs = panel_iq4_xs, SIGNED32, <1, 8, 0, false, SIGNED32>;
    gemm_iq1_s = panel_iq1_s, SIGNED32, <4, 8, 4, false, SIGNED32>;
    gemm_iq1_m = panel_iq1_m, GROUPS16, <4, 16, 4, false, GROUPS16>;
    gemm_iq2_xxs = panel_iq2_xxs, SIGNED32, <1, 8, 0, false, SIGNED32>;
    gemm_iq2_xs = panel_iq2_xs, GROUPS16, <1, 16, 0, false, GROUPS16>;
    gemm_iq2_s = panel_iq2_s, GROUPS16, <1, 16, 0, false, GROUPS16>;
    gemm_iq3_xxs = panel_iq3_xxs, SIGNED32, <1, 8, 0, false, SIGNED32>;
    gemm_iq3_s = panel_iq3_s, SIGNED32, <4, 8, 4, false, SIGNED32>;
    gemm_tq1_0 = panel_tq1_0, SIGNED32, <8, 8, 2, false, SIGNED32>;
    gemm_tq2_0 = panel_tq2_0, SIGNED32, <8, 8, 2, false, SIGNED32>;
}
