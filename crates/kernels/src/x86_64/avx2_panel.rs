//! Panels (AVX2): sixteen rows of weights unpacked once, for all positions of a block.
//!
//! A panel is a stream of lines of 64 bytes. A line of weights is four neighbouring values of
//! sixteen rows (`[row][4]`), so that a vector of a product has one row a lane. After a block's
//! weights stand what scales them, one number a row and line. Rows past the last repeat it; what
//! they give is not used.

use std::arch::x86_64::*;

use super::avx2_dot256::{fifth, scale_min, sixes, two_groups};
use super::avx2_lanes::*;
use crate::scratch::Line;
use crate::table::TILE;

/// Half `h` of a line: eight rows.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_line(line: &Line, h: usize) -> __m256i {
    load(part(&line.0, h * 32))
}

/// Half `h` of a line as floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_floats(line: &Line, h: usize) -> __m256 {
    _mm256_castsi256_ps(half_line(line, h))
}

/// Writes half `h` of a line.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put(line: &mut Line, h: usize, x: __m256i) {
    let to: &mut [u8; 32] = line.0[h * 32..].first_chunk_mut().expect("half a line");
    // SAFETY: 32 writable bytes; the store asks for no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), x) }
}

/// Writes the number of row `r`.
#[inline]
pub(super) fn put_row(line: &mut Line, r: usize, x: u32) {
    line.0[r * 4..r * 4 + 4].copy_from_slice(&x.to_ne_bytes());
}

/// Eight rows of eight times four bytes, turned: result `k` has bytes `4k..4k + 4` of every row.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn turn(r: [__m256i; 8]) -> [__m256i; 8] {
    let low = |a: usize, b: usize| _mm256_unpacklo_epi32(r[a], r[b]);
    let high = |a: usize, b: usize| _mm256_unpackhi_epi32(r[a], r[b]);
    let two = |a, b| (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (a0, a1) = two(low(0, 1), low(2, 3));
    let (a2, a3) = two(high(0, 1), high(2, 3));
    let (b0, b1) = two(low(4, 5), low(6, 7));
    let (b2, b3) = two(high(4, 5), high(6, 7));
    [
        _mm256_permute2x128_si256::<0x20>(a0, b0),
        _mm256_permute2x128_si256::<0x20>(a1, b1),
        _mm256_permute2x128_si256::<0x20>(a2, b2),
        _mm256_permute2x128_si256::<0x20>(a3, b3),
        _mm256_permute2x128_si256::<0x31>(a0, b0),
        _mm256_permute2x128_si256::<0x31>(a1, b1),
        _mm256_permute2x128_si256::<0x31>(a2, b2),
        _mm256_permute2x128_si256::<0x31>(a3, b3),
    ]
}

/// Lines of one block of 32: eight of weights, scales, minima.
pub(super) const LINES32: usize = 10;

/// A panel of 32-blocks: lines 0–7 weights, 8 scales, 9 minima where there are any.
macro_rules! panel32 {
    ($name:ident, $bytes:literal, $numbers:expr, $minimum:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, lines: &mut [Line]) {
            const MINIMUM: Option<usize> = $minimum;
            let last = rows.len() / stride - 1;
            for h in 0..2 {
                let rows: [&[[u8; $bytes]]; 8] = std::array::from_fn(|i| {
                    let r = last.min(h * 8 + i);
                    rows[r * stride..(r + 1) * stride].as_chunks().0
                });
                for (b, lines) in lines.as_chunks_mut::<LINES32>().0.iter_mut().enumerate() {
                    let mut numbers = [_mm256_setzero_si256(); 8];
                    for i in 0..8 {
                        let block = &rows[i][b];
                        numbers[i] = $numbers(block);
                        put_row(&mut lines[8], h * 8 + i, half(block, 0).to_bits());
                        if let Some(at) = MINIMUM {
                            put_row(&mut lines[9], h * 8 + i, half(block, at).to_bits());
                        }
                    }
                    for (line, x) in lines.iter_mut().zip(turn(numbers)) {
                        put(line, h, x);
                    }
                }
            }
        }
    };
}

panel32!(panel_q4_0, 18, |b: &[u8; 18]| fours::<2>(b), None);
panel32!(panel_q4_1, 20, |b: &[u8; 20]| fours::<4>(b), Some(2));
panel32!(panel_q5_0, 22, |b: &[u8; 22]| fives::<2>(b), None);
panel32!(panel_q5_1, 24, |b: &[u8; 24]| fives::<4>(b), Some(2));
panel32!(panel_q8_0, 34, |b: &[u8; 34]| eights(b), None);

/// Lines of one block of 256: 64 of weights; then scales of groups, as pairs of equal 16-bit
/// numbers; then what the activations' sums are weighed with, as pairs of neighbours; then the
/// block's scale, then its minimum.
pub(super) struct Lines256 {
    pub groups: usize,
    pub pairs: usize,
    pub all: usize,
}

/// Q4_K and Q5_K: eight groups, eight minima.
pub(super) const GROUPS32: Lines256 = Lines256 { groups: 8, pairs: 4, all: 64 + 8 + 4 + 2 };
/// Q6_K: sixteen groups; the offset of 32 is weighed with the same scales.
pub(super) const GROUPS16: Lines256 = Lines256 { groups: 16, pairs: 8, all: 64 + 16 + 8 + 1 };

/// Two 16-bit numbers in one word.
#[inline]
pub(super) fn pair(low: i16, high: i16) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
}

/// The 256 numbers of a Q4_K or Q5_K block, group by group.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_k<const FIVE: bool>(block: &[u8]) -> [__m256i; 8] {
    let quants = &block[if FIVE { 48 } else { 16 }..];
    let mut all = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        (all[2 * i], all[2 * i + 1]) = two_groups(quants, i);
    }
    if FIVE {
        let high = load(part(block, 16));
        all[0] = _mm256_or_si256(all[0], fifth::<0>(high));
        all[1] = _mm256_or_si256(all[1], fifth::<1>(high));
        all[2] = _mm256_or_si256(all[2], fifth::<2>(high));
        all[3] = _mm256_or_si256(all[3], fifth::<3>(high));
        all[4] = _mm256_or_si256(all[4], fifth::<4>(high));
        all[5] = _mm256_or_si256(all[5], fifth::<5>(high));
        all[6] = _mm256_or_si256(all[6], fifth::<6>(high));
        all[7] = _mm256_or_si256(all[7], fifth::<7>(high));
    }
    all
}

macro_rules! panel256 {
    ($name:ident, $bytes:literal, $lines:ident, $numbers:expr, $scales:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, lines: &mut [Line]) {
            let last = rows.len() / stride - 1;
            for h in 0..2 {
                let rows: [&[[u8; $bytes]]; 8] = std::array::from_fn(|i| {
                    let r = last.min(h * 8 + i);
                    rows[r * stride..(r + 1) * stride].as_chunks().0
                });
                let blocks = lines.as_chunks_mut::<{ $lines.all }>().0;
                for (b, lines) in blocks.iter_mut().enumerate() {
                    let mut numbers = [[_mm256_setzero_si256(); 8]; 8];
                    for i in 0..8 {
                        let block = &rows[i][b];
                        let all: [__m256i; 8] = $numbers(block);
                        for (numbers, x) in numbers.iter_mut().zip(all) {
                            numbers[i] = x;
                        }
                        $scales(block, &mut lines[64..], h * 8 + i);
                    }
                    for (lines, numbers) in lines.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
                        for (line, x) in lines.iter_mut().zip(turn(numbers)) {
                            put(line, h, x);
                        }
                    }
                }
            }
        }
    };
}

pub(super) use panel256;

/// Scales and minima of Q4_K and Q5_K for row `r`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn put_scales_k(block: &[u8], lines: &mut [Line], r: usize) {
    let (scales, minima) = scale_min(part(block, 4));
    let (scales, minima) = (scales.to_le_bytes(), minima.to_le_bytes());
    for (line, s) in lines.iter_mut().zip(scales) {
        put_row(line, r, pair(i16::from(s), i16::from(s)));
    }
    for (line, m) in lines[8..].iter_mut().zip(minima.as_chunks::<2>().0) {
        put_row(line, r, pair(i16::from(m[0]), i16::from(m[1])));
    }
    put_row(&mut lines[12], r, half(block, 0).to_bits());
    put_row(&mut lines[13], r, half(block, 2).to_bits());
}

/// Scales of Q6_K for row `r`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn put_scales_6(block: &[u8; 210], lines: &mut [Line], r: usize) {
    let scales: &[u8; 16] = part(block, 192);
    let scale = |j: usize| i16::from(scales[j] as i8);
    for j in 0..16 {
        put_row(&mut lines[j], r, pair(scale(j), scale(j)));
    }
    for i in 0..8 {
        put_row(&mut lines[16 + i], r, pair(scale(2 * i), scale(2 * i + 1)));
    }
    put_row(&mut lines[24], r, half(block, 208).to_bits());
}

/// The numbers of Q6_K, both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_6(block: &[u8; 210]) -> [__m256i; 8] {
    let (a, b) = (sixes(block, 0), sixes(block, 1));
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
}

panel256!(
    panel_q4_k,
    144,
    GROUPS32,
    |b: &[u8; 144]| numbers_k::<false>(b),
    |b: &[u8; 144], lines: &mut [Line], r| put_scales_k(b, lines, r)
);
panel256!(
    panel_q5_k,
    176,
    GROUPS32,
    |b: &[u8; 176]| numbers_k::<true>(b),
    |b: &[u8; 176], lines: &mut [Line], r| put_scales_k(b, lines, r)
);
panel256!(
    panel_q6_k,
    210,
    GROUPS16,
    |b: &[u8; 210]| numbers_6(b),
    |b: &[u8; 210], lines: &mut [Line], r| put_scales_6(b, lines, r)
);

const _: () = assert!(TILE == 16);
