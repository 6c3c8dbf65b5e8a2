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
use super::avx2_panel::*;
use super::avx2_panel_more::{panel_iq4_nl, panel_mxfp4};
use super::avx2_sixteen;
use super::wide::each;
use crate::acts::Acts;
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Where the blocks of `P` positions stand. Pointers, because a loop whose end the compiler knows
/// from an array's length is unrolled in full, its sums regrouped, and everything spilled.
pub(super) struct Places<const P: usize> {
    /// Bytes of each position.
    q: [*const i8; P],
    /// Lines of the panel.
    lines: *const Line,
}

impl<const P: usize> Places<P> {
    /// Positions `first..first + P`; panel and activations hold `blocks` blocks of `4 · STEPS`
    /// values and `ALL` lines.
    pub(super) fn new<const STEPS: usize, const ALL: usize>(
        lines: &[Line],
        a: &Acts<'_>,
        first: usize,
    ) -> Places<P> {
        assert!(lines.len() == a.blocks * ALL && a.cols == a.blocks * STEPS * 4);
        assert!(a.q.len() >= (first + P) * a.cols);
        let mut q = [a.q.as_ptr(); P];
        for (p, q) in q.iter_mut().enumerate() {
            *q = q.wrapping_add((first + p) * a.cols);
        }
        Places { q, lines: lines.as_ptr() }
    }

    /// Adds `steps` steps of products, from step `k` and line `at` on, in 16 bits.
    ///
    /// # Safety
    /// All of these steps and lines lie in what [`Places::new`] was given.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn pairs(&self, k: usize, at: usize, steps: usize) -> [[__m256i; 2]; P] {
        let mut sum = [[_mm256_setzero_si256(); 2]; P];
        for i in 0..steps {
            // SAFETY: the caller keeps to the panel and to the positions.
            let (w, x) = unsafe { (self.weights(at + i), self.activations(k + i)) };
            for p in 0..P {
                for h in 0..2 {
                    sum[p][h] = _mm256_add_epi16(sum[p][h], _mm256_maddubs_epi16(w[h], x[p]));
                }
            }
        }
        sum
    }

    /// Adds `steps` steps of products of signed weights, widened at once.
    ///
    /// # Safety
    /// As [`Places::pairs`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn signed(&self, k: usize, at: usize, steps: usize) -> [[__m256i; 2]; P] {
        let ones = _mm256_set1_epi16(1);
        let mut sum = [[_mm256_setzero_si256(); 2]; P];
        for i in 0..steps {
            // SAFETY: the caller keeps to the panel and to the positions.
            let (w, x) = unsafe { (self.weights(at + i), self.activations(k + i)) };
            let size = [_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])];
            for p in 0..P {
                for h in 0..2 {
                    let pairs = _mm256_maddubs_epi16(size[h], _mm256_sign_epi8(x[p], w[h]));
                    sum[p][h] = _mm256_add_epi32(sum[p][h], _mm256_madd_epi16(pairs, ones));
                }
            }
        }
        sum
    }

    /// A line of weights: two times eight rows.
    ///
    /// # Safety
    /// The line lies in the panel.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn weights(&self, at: usize) -> [__m256i; 2] {
        // SAFETY: the caller keeps to the panel; a line is 64 bytes at a multiple of 64.
        unsafe {
            let line = self.lines.add(at).cast::<__m256i>();
            [_mm256_load_si256(line), _mm256_load_si256(line.add(1))]
        }
    }

    /// Four bytes of every position, everywhere in a vector.
    ///
    /// # Safety
    /// The step lies in every position.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn activations(&self, k: usize) -> [__m256i; P] {
        let mut x = [_mm256_setzero_si256(); P];
        for p in 0..P {
            // SAFETY: the caller keeps to the positions.
            let four = unsafe { self.q[p].add(k * 4).cast::<i32>().read_unaligned() };
            x[p] = _mm256_set1_epi32(four);
        }
        x
    }
}

/// Writes the values of sixteen rows of position `p`.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn put_values(acc: [[__m256; 2]; 4], out: &mut [f32; TILE]) {
    for h in 0..2 {
        let low = _mm256_add_ps(acc[0][h], acc[1][h]);
        let high = _mm256_add_ps(acc[2][h], acc[3][h]);
        put8(out, h * 8, _mm256_add_ps(low, high));
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
    let places = Places::<P>::new::<8, LINES32>(lines, a, first);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let s: [&[i32]; P] = each(a.s, first, 2 * a.blocks);
    let ones = _mm256_set1_epi16(1);
    // Unknown to the compiler, see `Places`.
    let steps = std::hint::black_box(if STEPS == 1 { 8 } else { STEPS });
    let mut acc = [[[_mm256_setzero_ps(); 2]; 4]; P];
    for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
        let mut isum = [[_mm256_setzero_si256(); 2]; P];
        if STEPS == 1 {
            // SAFETY: eight steps and lines of block `b`.
            isum = unsafe { places.signed(b * 8, b * LINES32, steps) };
        } else {
            for from in (0..8).step_by(STEPS) {
                // SAFETY: `STEPS` of the eight steps and lines of block `b`.
                let sum = unsafe { places.pairs(b * 8 + from, b * LINES32 + from, steps) };
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
                    let sum = _mm256_set1_ps(f32::from_bits(s[p][a.blocks + b] as u32));
                    *acc = _mm256_fmadd_ps(half_floats(&lines[9], h), sum, *acc);
                }
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

macro_rules! gemm {
    ($name:ident, $panel:path, $steps:literal, $offset:literal, $minimum:literal) => {
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
gemm!(sixteen_q4_0, avx2_sixteen::panel_q4_0, 8, 3, false);
gemm!(gemm_q4_1, panel_q4_1, 8, -1, true);
gemm!(sixteen_q4_1, avx2_sixteen::panel_q4_1, 8, -1, true);
gemm!(gemm_q5_0, panel_q5_0, 4, 4, false);
gemm!(sixteen_q5_0, avx2_sixteen::panel_q5_0, 4, 4, false);
gemm!(gemm_q5_1, panel_q5_1, 4, -1, true);
gemm!(sixteen_q5_1, avx2_sixteen::panel_q5_1, 4, -1, true);
gemm!(gemm_q8_0, panel_q8_0, 1, -1, false);
gemm!(gemm_iq4_nl, panel_iq4_nl, 1, -1, false);
gemm!(gemm_mxfp4, panel_mxfp4, 4, 4, false);
gemm!(sixteen_q8_0, avx2_sixteen::panel_q8_0, 1, -1, false);
