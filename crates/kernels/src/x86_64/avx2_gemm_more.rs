//! Sixteen rows of Q2_K, Q3_K and IQ4_XS against many positions (AVX2).
//!
//! As `avx2_gemm256`: a group's 16-bit sums are widened by multiplying with the group's scale, and
//! stay integers until the block ends:
//!
//! | numbers | one step | steps | at most | times scale, whole block |
//! |---|---|---|---|---|
//! | 0 … 3 (Q2_K) | 2 · 3 · 127 = 762 | 4 | 3048 | 3 · 127 · 15 · 256 < 2³¹ |
//! | 0 … 7 (Q3_K) | 2 · 7 · 127 = 1778 | 4 | 7112 | 7 · 127 · 32 · 256 < 2³¹ |
//! | −127 … 113 (IQ4_XS) | 2 · 127 · 127 = 32258 | 1 | 32258 | 127 · 127 · 32 · 256 < 2³¹ |

use std::arch::x86_64::*;

use super::avx2_gemm::{Places, put_values};
use super::avx2_gemm256::two_everywhere;
use super::avx2_panel::*;
use super::avx2_panel_more::*;
use super::wide::each;
use crate::acts::{Acts, SUMS};
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Unsigned numbers, and minima of sixteen groups: Q2_K.
pub(super) const MINIMA: u8 = 0;
/// Unsigned numbers that are 4 too large: Q3_K.
pub(super) const RAISED: u8 = 1;
/// Signed numbers: IQ4_XS.
pub(super) const SIGNED: u8 = 2;

/// Adds a group's products times its scale: unsigned numbers, all steps of a group in 16 bits.
///
/// # Safety
/// Steps and lines as [`Places::pairs`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_group<const P: usize>(
    places: &Places<P>,
    (k, at): (usize, usize),
    scale: &Line,
    isum: &mut [[__m256i; 2]; P],
) {
    // SAFETY: the caller's promise.
    let sum = unsafe { places.pairs::<4>(k, at) };
    for p in 0..P {
        for h in 0..2 {
            let scaled = _mm256_madd_epi16(sum[p][h], half_line(scale, h));
            isum[p][h] = _mm256_add_epi32(isum[p][h], scaled);
        }
    }
}

/// The same for signed numbers: |w| · (x with the sign of w), every step by itself.
///
/// # Safety
/// Steps and lines as [`Places::pairs`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_signed<const P: usize>(
    places: &Places<P>,
    (k, at): (usize, usize),
    scale: &Line,
    isum: &mut [[__m256i; 2]; P],
) {
    for i in 0..8 {
        // SAFETY: the caller's promise.
        let (w, x) = unsafe { (places.weights(at + i), places.activations(k + i)) };
        let size = [_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])];
        for p in 0..P {
            for h in 0..2 {
                let pairs = _mm256_maddubs_epi16(size[h], _mm256_sign_epi8(x[p], w[h]));
                let scaled = _mm256_madd_epi16(pairs, half_line(scale, h));
                isum[p][h] = _mm256_add_epi32(isum[p][h], scaled);
            }
        }
    }
}

/// `P` positions of a type of the kind above; `GROUPS` groups and `ALL` lines a block.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn positions<const P: usize, const KIND: u8, const GROUPS: usize, const ALL: usize>(
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
        for j in 0..GROUPS {
            let from = j * (64 / GROUPS);
            let (at, scale) = ((b * 64 + from, b * ALL + from), &lines[64 + j]);
            if KIND == SIGNED {
                // SAFETY: eight of the 64 steps and lines of block `b`.
                unsafe { add_signed(&places, at, scale, &mut isum) };
            } else {
                // SAFETY: four of the 64 steps and lines of block `b`.
                unsafe { add_group(&places, at, scale, &mut isum) };
            }
        }
        let mut msum = [[_mm256_setzero_si256(); 2]; P];
        if KIND != SIGNED {
            for i in 0..8 {
                let line = &lines[64 + GROUPS + i];
                for p in 0..P {
                    let x = two_everywhere(&sums[p][b], 2 * i);
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
                if KIND == RAISED {
                    isum = _mm256_sub_epi32(isum, _mm256_slli_epi32::<2>(msum));
                }
                let acc = &mut acc[p][b % 4][h];
                let scale = _mm256_mul_ps(half_floats(&scales[0], h), d);
                *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, *acc);
                if KIND == MINIMA {
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
    ($name:ident, $panel:ident, $layout:ident, $kind:ident) => {
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
            const LAYOUT: Lines256 = $layout;
            let lines = work.panel.take(a.blocks * LAYOUT.all);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
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
