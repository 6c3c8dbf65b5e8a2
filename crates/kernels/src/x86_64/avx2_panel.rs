//! Panels (AVX2): sixteen rows of weights unpacked once, for all positions of a block.
//!
//! A panel is a stream of lines of 64 bytes. A line of weights is four neighbouring values of
//! sixteen rows (`[row][4]`), so that a vector of a product has one row a lane. After a block's
//! weights stand what scales them, one number a row and line. Rows past the last repeat it; what
//! they give is not used.

use std::arch::x86_64::*;

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

// Lines of one block of 256: 64 of weights; then scales of groups, as pairs of equal 16-bit
// numbers; then what the activations' sums are weighed with, as pairs of neighbours; then the
// block's scale, then its minimum.

/// Lines of Q4_K and Q5_K: eight groups, eight minima.
pub(super) const GROUPS32: usize = 64 + 8 + 4 + 2;
/// Lines of Q6_K and Q3_K: sixteen groups; the offset of 32 or 4 is weighed with the same scales.
pub(super) const GROUPS16: usize = 64 + 16 + 8 + 1;

/// Two 16-bit numbers in one word.
#[inline]
pub(super) fn pair(low: i16, high: i16) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
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
                let blocks = lines.as_chunks_mut::<{ $lines }>().0;
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

const _: () = assert!(TILE == 16);
