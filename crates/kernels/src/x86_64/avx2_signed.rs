//! Sixteen rows of signed 32-blocks against many positions (AVX2).
//!
//! A product of signed bytes is one of magnitudes: `w · x` is `|w| · x` or, where `w` is negative,
//! `|w| · !x + |w|`: turning the bits of `x` costs less here than its sign, and what is left, the
//! magnitudes of a row's negative numbers, is added up once a panel. So a panel has magnitudes and
//! signs side by side, which spares both for every few positions. A product of pairs is at most
//! 2 · 128 · 128 = 32768, downwards only, and widened at once.
//!
//! What four values of eight rows cost for one position is four vector operations: turning,
//! multiplying, widening, adding. All of them are written out, together with the float steps at
//! the end of a block: what bounds them is that nothing else is done.

use std::arch::x86_64::*;

use super::avx2_gemm::put_values;
use super::avx2_panel::put;
use super::{avx2_panel_more, avx2_sixteen, avx2_words};
use crate::acts::Acts;
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Lines of a block: for each of eight steps magnitudes, then signs (all ones where a number is
/// negative); scales; sums of the magnitudes of negative numbers.
pub(super) const LINES: usize = 18;

/// Writes half `h` of a block: its eight steps of signed numbers and its scales.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put_block(to: &mut [Line; LINES], h: usize, w: [__m256i; 8], scales: __m256i) {
    let zeros = _mm256_setzero_si256();
    // Pairs of at most 256 each: eight steps fit 16 bits.
    let mut negative = zeros;
    for k in 0..8 {
        let (size, sign) = (_mm256_abs_epi8(w[k]), _mm256_cmpgt_epi8(zeros, w[k]));
        put(&mut to[2 * k], h, size);
        put(&mut to[2 * k + 1], h, sign);
        let pairs = _mm256_maddubs_epi16(_mm256_and_si256(size, sign), _mm256_set1_epi8(1));
        negative = _mm256_add_epi16(negative, pairs);
    }
    put(&mut to[16], h, scales);
    put(&mut to[17], h, _mm256_madd_epi16(negative, _mm256_set1_epi16(1)));
}

/// What a group of positions is multiplied with.
struct Walk {
    lines: *const Line,
    /// Bytes of the first position; each next one's are `step` bytes further on.
    q: *const i8,
    /// Scales of the first position; each next one's are `step / 8` bytes further on.
    d: *const f32,
    step: usize,
    /// Ones of 16 bits.
    ones: __m256i,
}

/// One step of the positions `$p`, each with the registers of its sums.
macro_rules! step {
    ($k:literal: $(($($p:tt)*))*) => {
        concat!(
            "vmovdqa ymm10, [{lines} + 128*", $k, "]\n",
            "vmovdqa ymm11, [{lines} + 128*", $k, " + 32]\n",
            $(step!(@ $k, $($p)*),)*
        )
    };
    (@ $k:literal, $q:literal, $d:literal, $at:literal, $low:literal, $high:literal) => {
        concat!(
            "vpbroadcastd ymm12, [", $q, " + 4*", $k, "]\n",
            "vpxor ymm13, ymm12, [{lines} + 128*", $k, " + 64]\n",
            "vpxor ymm12, ymm12, [{lines} + 128*", $k, " + 96]\n",
            "vpmaddubsw ymm13, ymm10, ymm13\n",
            "vpmaddubsw ymm12, ymm11, ymm12\n",
            "vpmaddwd ymm13, ymm13, ymm15\n",
            "vpmaddwd ymm12, ymm12, ymm15\n",
            "vpaddd ymm", $low, ", ymm", $low, ", ymm13\n",
            "vpaddd ymm", $high, ", ymm", $high, ", ymm12\n",
        )
    };
}

/// The sums of a position begin with what turning bits leaves out.
macro_rules! begin {
    ($q:literal, $d:literal, $at:literal, $low:literal, $high:literal) => {
        concat!(
            "vmovdqa ymm",
            $low,
            ", [{lines} + 64*17]\n",
            "vmovdqa ymm",
            $high,
            ", [{lines} + 64*17 + 32]\n",
        )
    };
}

/// The float steps of a position at the end of a block.
macro_rules! end {
    ($q:literal, $d:literal, $at:literal, $low:literal, $high:literal) => {
        concat!(
            "vbroadcastss ymm12, [",
            $d,
            "]\n",
            "vcvtdq2ps ymm",
            $low,
            ", ymm",
            $low,
            "\n",
            "vcvtdq2ps ymm",
            $high,
            ", ymm",
            $high,
            "\n",
            "vmulps ymm13, ymm12, ymm10\n",
            "vmulps ymm14, ymm12, ymm11\n",
            "vfmadd213ps ymm",
            $low,
            ", ymm13, [{acc} + 64*",
            $at,
            "]\n",
            "vfmadd213ps ymm",
            $high,
            ", ymm14, [{acc} + 64*",
            $at,
            " + 32]\n",
            "vmovaps [{acc} + 64*",
            $at,
            "], ymm",
            $low,
            "\n",
            "vmovaps [{acc} + 64*",
            $at,
            " + 32], ymm",
            $high,
            "\n",
        )
    };
}

/// Block `$b` of some positions; each is where its bytes and its scales are, its place among the
/// sums, and the registers it adds in.
macro_rules! block {
    ($walk:ident, $b:ident, $acc:ident: $(($($p:tt)*))*) => {
        // SAFETY: reads only what the caller says is there, and writes only `acc`.
        unsafe {
            std::arch::asm!(
                $(begin!($($p)*),)*
                step!("0": $(($($p)*))*), step!("1": $(($($p)*))*),
                step!("2": $(($($p)*))*), step!("3": $(($($p)*))*),
                step!("4": $(($($p)*))*), step!("5": $(($($p)*))*),
                step!("6": $(($($p)*))*), step!("7": $(($($p)*))*),
                "vmovaps ymm10, [{lines} + 64*16]",
                "vmovaps ymm11, [{lines} + 64*16 + 32]",
                $(end!($($p)*),)*
                // With few positions some have no other use.
                "/* {q3} {d3} {step} {dstep} */",
                lines = in(reg) $walk.lines.wrapping_add($b * LINES),
                q = in(reg) $walk.q.wrapping_add(32 * $b),
                q3 = in(reg) $walk.q.wrapping_add(32 * $b + 3 * $walk.step),
                d = in(reg) $walk.d.wrapping_add($b),
                d3 = in(reg) $walk.d.wrapping_add($b).wrapping_byte_add(3 * ($walk.step / 8)),
                step = in(reg) $walk.step,
                dstep = in(reg) $walk.step / 8,
                acc = in(reg) $acc.as_mut_ptr(),
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
                out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, in("ymm15") $walk.ones,
                options(nostack, preserves_flags),
            )
        }
    };
}

/// Block `b` of `P` positions, at most five.
///
/// # Safety
/// Panel and positions, of which there are `P`, have more than `b` blocks.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn block<const P: usize>(walk: &Walk, b: usize, acc: &mut [[__m256; 2]; P]) {
    macro_rules! first {
        ($($more:tt)*) => { block!(walk, b, acc: ("{q}", "{d}", "0", "0", "1") $($more)*) };
    }
    macro_rules! second {
        ($($more:tt)*) => {
            first!(("{q} + {step}", "{d} + {dstep}", "1", "2", "3") $($more)*)
        };
    }
    macro_rules! third {
        ($($more:tt)*) => {
            second!(("{q} + 2*{step}", "{d} + 2*{dstep}", "2", "4", "5") $($more)*)
        };
    }
    macro_rules! fourth {
        ($($more:tt)*) => { third!(("{q3}", "{d3}", "3", "6", "7") $($more)*) };
    }
    match P {
        1 => first!(),
        2 => second!(),
        3 => third!(),
        4 => fourth!(),
        5 => fourth!(("{q3} + {step}", "{d3} + {dstep}", "4", "8", "9")),
        _ => unreachable!("at most five positions"),
    }
}

/// `P` positions from `first` on; with each block, `ahead.1` lines from `ahead.0` on are asked for.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn positions<const P: usize>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    ahead: (*const u8, usize),
    out: &mut [[f32; TILE]],
) {
    assert!(lines.len() == a.blocks * LINES && a.cols == a.blocks * 32);
    let (q, d) = (&a.q[first * a.cols..][..P * a.cols], &a.d[first * a.blocks..][..P * a.blocks]);
    let (lines, q, d) = (lines.as_ptr(), q.as_ptr(), d.as_ptr());
    let walk = Walk { lines, q, d, step: a.cols, ones: _mm256_set1_epi16(1) };
    let mut acc = [[[_mm256_setzero_ps(); 2]; P]; 4];
    for b in 0..a.blocks {
        for line in b * ahead.1..(b + 1) * ahead.1 {
            _mm_prefetch::<_MM_HINT_T1>(ahead.0.wrapping_add(64 * line).cast());
        }
        // SAFETY: panel and positions have `a.blocks` blocks, as was asserted.
        unsafe { block(&walk, b, &mut acc[b % 4]) };
    }
    for (p, out) in out[..P].iter_mut().enumerate() {
        put_values([acc[0][p], acc[1][p], acc[2][p], acc[3][p]], out);
    }
}

/// Declares the matrix products of signed types: a panel is made of sixteen rows, then used for all
/// positions.
macro_rules! signed_products {
    ($($name:ident = $panel:path;)*) => {$(
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
            let ahead = rows.as_ptr().wrapping_add(work.ahead);
            let lines = work.panel.take(a.blocks * LINES);
            $panel(rows, stride, lines);
            all_positions(lines, a, (ahead, rows.len()), out.as_chunks_mut().0);
        }
    )*};
}

/// All positions, five at a time where that leaves fours, for what is done once a step is then
/// shared by most. The next rows, `ahead` and so long, come nearer meanwhile.
#[target_feature(enable = "avx2,fma")]
fn all_positions(lines: &[Line], a: &Acts<'_>, ahead: (*const u8, usize), out: &mut [[f32; TILE]]) {
    let fours = (a.n.next_multiple_of(5) - a.n).min(a.n / 4);
    let fives = (a.n - 4 * fours) / 5;
    // Cache lines a block, so that all are asked for before the last position is done.
    let (all, turns) = (ahead.1.div_ceil(64), a.blocks * (fours + fives).max(1));
    let (each, mut asked, mut p) = (all.div_ceil(turns.max(1)), 0, 0);
    while p < a.n {
        let near = (ahead.0.wrapping_add(64 * asked), if asked < all { each } else { 0 });
        asked += each * a.blocks;
        let out = &mut out[p..];
        let many = if p < 5 * fives { 5 } else { (a.n - p).min(4) };
        match many {
            5 => positions::<5>(lines, a, p, near, out),
            4 => positions::<4>(lines, a, p, near, out),
            3 => positions::<3>(lines, a, p, near, out),
            2 => positions::<2>(lines, a, p, near, out),
            _ => positions::<1>(lines, a, p, near, out),
        }
        p += many;
    }
}

signed_products! {
    gemm_q8_0 = avx2_words::signed_q8_0;
    sixteen_q8_0 = avx2_sixteen::signed_q8_0;
    gemm_iq4_nl = avx2_panel_more::signed_iq4_nl;
}
