//! Sixteen rows of 32-blocks against many positions (AVX2).
//!
//! Four positions share what is loaded of a panel. Products of four bytes are pairs of 16-bit
//! sums; several steps of them are added in 16 bits where that cannot overflow:
//!
//! | numbers | one step | steps | at most |
//! |---|---|---|---|
//! | 0 … 15 | 2 · 15 · 127 = 3810 | 8 | 30480 |
//! | 0 … 31 | 2 · 31 · 127 = 7874 | 4 | 31496 |
//!
//! Signed numbers go another way (`avx2_signed`).

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use super::avx2_panel::*;
use super::avx2_panel_more::{panel_mxfp4, panel_q1_0};
use super::panel_gemm::panel_products;
use super::wide::each;
use super::{avx2_sixteen, avx2_words};
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

    /// Adds `STEPS` steps of products, from step `k` and line `at` on, in 16 bits.
    ///
    /// # Safety
    /// All of these steps and lines lie in what [`Places::new`] was given.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn pairs<const STEPS: usize>(&self, k: usize, at: usize) -> [[__m256i; 2]; P] {
        if P == 4 {
            let q = |p: usize| self.q[p].wrapping_add(4 * k);
            let lines = self.lines.wrapping_add(at);
            // SAFETY: the caller keeps to the panel and to the positions.
            let four = unsafe { four_positions::<STEPS>(lines, [q(0), q(1), q(2), q(3)]) };
            let mut sum = [[_mm256_setzero_si256(); 2]; P];
            sum.copy_from_slice(&four[..P]);
            return sum;
        }
        // SAFETY: as this function.
        unsafe { self.looped(k, at, std::hint::black_box(STEPS)) }
    }

    /// As [`Places::pairs`], as a loop; few steps it unrolls well.
    ///
    /// # Safety
    /// As [`Places::pairs`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn looped(&self, k: usize, at: usize, steps: usize) -> [[__m256i; 2]; P] {
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

    /// Adds `steps` steps of products of signed weights to `sums`, each widened at once with the
    /// pairs of `by`.
    ///
    /// # Safety
    /// As [`Places::pairs`].
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn signed(
        &self,
        (k, at): (usize, usize),
        steps: usize,
        by: [__m256i; 2],
        sums: &mut [[__m256i; 2]; P],
    ) {
        for i in 0..steps {
            // SAFETY: the caller keeps to the panel and to the positions.
            let (w, x) = unsafe { (self.weights(at + i), self.activations(k + i)) };
            let size = [_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])];
            for p in 0..P {
                for h in 0..2 {
                    let pairs = _mm256_maddubs_epi16(size[h], _mm256_sign_epi8(x[p], w[h]));
                    sums[p][h] = _mm256_add_epi32(sums[p][h], _mm256_madd_epi16(pairs, by[h]));
                }
            }
        }
    }

    /// Steps as [`Places::pairs`], widened with the pairs of the line at `scale` and added to `sums`.
    ///
    /// # Safety
    /// As [`Places::pairs`]; the line lies in the panel.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn scaled<const STEPS: usize>(
        &self,
        k: usize,
        at: usize,
        scale: usize,
        sums: &mut [[__m256i; 2]; P],
    ) {
        if let (4, 8, Some(sums)) = (P, STEPS, sums.first_chunk_mut::<4>()) {
            let q = |p: usize| self.q[p].wrapping_add(4 * k);
            let (lines, scale) = (self.lines.wrapping_add(at), self.lines.wrapping_add(scale));
            // SAFETY: the caller keeps to the panel and to the positions.
            unsafe { four_scaled(lines, [q(0), q(1), q(2), q(3)], scale, sums) };
            return;
        }
        // SAFETY: the caller keeps to the panel and to the positions.
        let (pairs, scale) = unsafe { (self.looped(k, at, STEPS), self.weights(scale)) };
        for p in 0..P {
            for h in 0..2 {
                let scaled = _mm256_madd_epi16(pairs[p][h], scale[h]);
                sums[p][h] = _mm256_add_epi32(sums[p][h], scaled);
            }
        }
    }

    /// A line of weights: two times eight rows.
    ///
    /// # Safety
    /// The line lies in the panel.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn weights(&self, at: usize) -> [__m256i; 2] {
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
    unsafe fn activations(&self, k: usize) -> [__m256i; P] {
        let mut x = [_mm256_setzero_si256(); P];
        for p in 0..P {
            // SAFETY: the caller keeps to the positions.
            let four = unsafe { self.q[p].add(k * 4).cast::<i32>().read_unaligned() };
            x[p] = _mm256_set1_epi32(four);
        }
        x
    }
}

/// Products of one step: a line of weights and four activations of each of four positions, added
/// to `ymm0` … `ymm7`; the first step fills them.
macro_rules! step {
    ($k:tt) => {
        concat!(
            "vmovdqa ymm8, [{lines} + 64*",
            $k,
            "]\n",
            "vmovdqa ymm9, [{lines} + 64*",
            $k,
            " + 32]\n",
            step!($k, "0", "ymm0", "ymm1"),
            step!($k, "1", "ymm2", "ymm3"),
            step!($k, "2", "ymm4", "ymm5"),
            step!($k, "3", "ymm6", "ymm7"),
        )
    };
    ("0", $p:literal, $low:literal, $high:literal) => {
        concat!(
            "vpbroadcastd ymm10, [{q",
            $p,
            "}]\n",
            "vpmaddubsw ",
            $low,
            ", ymm8, ymm10\n",
            "vpmaddubsw ",
            $high,
            ", ymm9, ymm10\n",
        )
    };
    ($k:literal, $p:literal, $low:literal, $high:literal) => {
        concat!(
            "vpbroadcastd ymm10, [{q",
            $p,
            "} + 4*",
            $k,
            "]\n",
            "vpmaddubsw ymm11, ymm8, ymm10\n",
            "vpmaddubsw ymm10, ymm9, ymm10\n",
            "vpaddw ",
            $low,
            ", ",
            $low,
            ", ymm11\n",
            "vpaddw ",
            $high,
            ", ",
            $high,
            ", ymm10\n",
        )
    };
}

/// Widens `ymm0` … `ymm7` with the pairs of numbers of a line, adds them to sums in memory.
macro_rules! widen {
    () => {
        concat!(
            "vmovdqa ymm8, [{scales}]\n",
            "vmovdqa ymm9, [{scales} + 32]\n",
            widen!("ymm0", "ymm1", "0"),
            widen!("ymm2", "ymm3", "64"),
            widen!("ymm4", "ymm5", "128"),
            widen!("ymm6", "ymm7", "192"),
        )
    };
    ($low:literal, $high:literal, $at:literal) => {
        concat!(
            "vpmaddwd ",
            $low,
            ", ",
            $low,
            ", ymm8\n",
            "vpmaddwd ",
            $high,
            ", ",
            $high,
            ", ymm9\n",
            "vpaddd ",
            $low,
            ", ",
            $low,
            ", [{sums} + ",
            $at,
            "]\n",
            "vpaddd ",
            $high,
            ", ",
            $high,
            ", [{sums} + ",
            $at,
            " + 32]\n",
            "vmovdqa [{sums} + ",
            $at,
            "], ",
            $low,
            "\n",
            "vmovdqa [{sums} + ",
            $at,
            " + 32], ",
            $high,
            "\n",
        )
    };
}

/// [`Places::pairs`] of four positions, written out: of the same loop the compiler makes either a
/// loop, whose counting costs a sixth, or a knot of spilled sums.
///
/// # Safety
/// `STEPS` lines at `lines` and `STEPS` steps at each of `q`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn four_positions<const STEPS: usize>(
    lines: *const Line,
    q: [*const i8; 4],
) -> [[__m256i; 2]; 4] {
    let (a, b, c, d, e, f, g, h): (
        __m256i,
        __m256i,
        __m256i,
        __m256i,
        __m256i,
        __m256i,
        __m256i,
        __m256i,
    );
    macro_rules! steps {
        ($($k:tt)*) => {
            // SAFETY: reads only what the caller says is there, writes only registers.
            unsafe {
                std::arch::asm!(
                    $(step!($k),)*
                    lines = in(reg) lines,
                    q0 = in(reg) q[0], q1 = in(reg) q[1], q2 = in(reg) q[2], q3 = in(reg) q[3],
                    out("ymm0") a, out("ymm1") b, out("ymm2") c, out("ymm3") d,
                    out("ymm4") e, out("ymm5") f, out("ymm6") g, out("ymm7") h,
                    out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                    options(pure, readonly, nostack, preserves_flags),
                )
            }
        };
    }
    match STEPS {
        4 => steps!("0" "1" "2" "3"),
        _ => steps!("0" "1" "2" "3" "4" "5" "6" "7"),
    }
    [[a, b], [c, d], [e, f], [g, h]]
}

/// Eight steps of four positions, widened with the pairs of a line of scales and added to `sums`.
///
/// # Safety
/// Eight lines at `lines`, eight steps at each of `q`, a line at `scales`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn four_scaled(
    lines: *const Line,
    q: [*const i8; 4],
    scales: *const Line,
    sums: &mut [[__m256i; 2]; 4],
) {
    // SAFETY: reads only what the caller says is there, writes only `sums`.
    unsafe {
        std::arch::asm!(
            step!("0"), step!("1"), step!("2"), step!("3"),
            step!("4"), step!("5"), step!("6"), step!("7"),
            widen!(),
            lines = in(reg) lines,
            q0 = in(reg) q[0], q1 = in(reg) q[1], q2 = in(reg) q[2], q3 = in(reg) q[3],
            scales = in(reg) scales, sums = in(reg) sums.as_mut_ptr(),
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            options(nostack, preserves_flags),
        )
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
    let s: [&[i32]; P] = each(a.s, first, a.blocks);
    let ones = _mm256_set1_epi16(1);
    let mut acc = [[[_mm256_setzero_ps(); 2]; 4]; P];
    for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
        let mut isum = [[_mm256_setzero_si256(); 2]; P];
        for from in (0..8).step_by(STEPS) {
            // SAFETY: `STEPS` of the eight steps and lines of block `b`.
            let sum = unsafe { places.pairs::<STEPS>(b * 8 + from, b * LINES32 + from) };
            for p in 0..P {
                for h in 0..2 {
                    let sum = _mm256_madd_epi16(sum[p][h], ones);
                    isum[p][h] = _mm256_add_epi32(isum[p][h], sum);
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

panel_products! { "avx2,fma,f16c", 4, positions:
    gemm_q4_0 = avx2_words::panel_q4_0, LINES32, <8, 3, false>;
    sixteen_q4_0 = avx2_sixteen::panel_q4_0, LINES32, <8, 3, false>;
    gemm_q4_1 = avx2_words::panel_q4_1, LINES32, <8, { -1 }, true>;
    sixteen_q4_1 = avx2_sixteen::panel_q4_1, LINES32, <8, { -1 }, true>;
    gemm_q5_0 = avx2_words::panel_q5_0, LINES32, <4, 4, false>;
    sixteen_q5_0 = avx2_sixteen::panel_q5_0, LINES32, <4, 4, false>;
    gemm_q5_1 = avx2_words::panel_q5_1, LINES32, <4, { -1 }, true>;
    sixteen_q5_1 = avx2_sixteen::panel_q5_1, LINES32, <4, { -1 }, true>;
    gemm_mxfp4 = panel_mxfp4, LINES32, <4, 4, false>;
    gemm_q1_0 = panel_q1_0, LINES32, <8, 3, false>;
}
