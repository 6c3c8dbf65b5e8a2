//! Panels of the types whose numbers come from a table or from pairs of bits (AVX2); what a panel
//! is stands in `avx2_panel`.

use std::arch::x86_64::*;

use recinto_quant::half_exponent_to_f32;

use super::avx2_lanes::*;
use super::avx2_panel::*;
use super::avx2_quarters::{nv4, ones, scale};
use super::avx2_signed::put_block;
use super::avx2_table::{iq4, mx4, scales_xs};
use super::avx2_twos::{numbers_2, numbers_3, scale_min_2, scales_3};
use crate::scratch::Line;

/// A panel of 32-blocks: lines 0–7 numbers, 8 scales, 9 second scales where there are any. A block
/// has `$parts` times 32 values; closures take it and which part is asked for.
macro_rules! panel32 {
    ($name:ident, $bytes:literal, $parts:literal, $numbers:expr, [$($scale:expr),*]) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, lines: &mut [Line]) {
            let last = rows.len() / stride - 1;
            for h in 0..2 {
                let rows: [&[[u8; $bytes]]; 8] = std::array::from_fn(|i| {
                    let r = last.min(h * 8 + i);
                    rows[r * stride..(r + 1) * stride].as_chunks().0
                });
                let blocks = lines.as_chunks_mut::<LINES32>().0.as_chunks_mut::<$parts>().0;
                for (b, parts) in blocks.iter_mut().enumerate() {
                    for (part, lines) in parts.iter_mut().enumerate() {
                        let mut numbers = [_mm256_setzero_si256(); 8];
                        for i in 0..8 {
                            numbers[i] = $numbers(&rows[i][b], part);
                            let scales = [$($scale(&rows[i][b], part)),*];
                            for (line, scale) in lines[8..].iter_mut().zip(scales) {
                                put_row(line, h * 8 + i, scale.to_bits());
                            }
                        }
                        for (line, x) in lines.iter_mut().zip(turn(numbers)) {
                            put(line, h, x);
                        }
                    }
                }
            }
        }
    };
}

panel32!(
    panel_iq4_nl,
    18,
    1,
    |b: &[u8; 18], _: usize| iq4(part(b, 2)),
    [|b: &[u8; 18], _: usize| half(b, 0)]
);
/// The panel of magnitudes and signs of IQ4_NL; see `avx2_signed`.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn signed_iq4_nl(rows: &[u8], stride: usize, lines: &mut [Line]) {
    let last = rows.len() / stride - 1;
    for h in 0..2 {
        let rows: [&[[u8; 18]]; 8] = std::array::from_fn(|i| {
            let r = last.min(h * 8 + i);
            rows[r * stride..(r + 1) * stride].as_chunks().0
        });
        for (b, lines) in lines.as_chunks_mut().0.iter_mut().enumerate() {
            let (mut numbers, mut scales) = ([_mm256_setzero_si256(); 8], [0f32; 8]);
            for i in 0..8 {
                (numbers[i], scales[i]) = (iq4(part(&rows[i][b], 2)), half(&rows[i][b], 0));
            }
            put_block(lines, h, turn(numbers), _mm256_castps_si256(load8(&scales)));
        }
    }
}

// 16 is taken off with the activations' sum, as for Q5_0.
panel32!(
    panel_mxfp4,
    17,
    1,
    |b: &[u8; 17], _: usize| mx4(b),
    [|b: &[u8; 17], _: usize| half_exponent_to_f32(b[0])]
);
panel32!(
    panel_nvfp4,
    36,
    2,
    |b: &[u8; 36], i: usize| nv4(b, i),
    [|b: &[u8; 36], i: usize| scale(b, 2 * i), |b: &[u8; 36], i: usize| scale(b, 2 * i + 1)]
);
// 7 and 9; 8 is taken off as for Q4_0.
panel32!(
    panel_q1_0,
    18,
    4,
    |b: &[u8; 18], i: usize| _mm256_add_epi8(ones(b, i), _mm256_set1_epi8(8)),
    [|b: &[u8; 18], _: usize| half(b, 0)]
);

/// Lines of Q2_K: sixteen groups, sixteen minima.
pub(super) const MINIMA16: usize = 64 + 16 + 8 + 2;
/// Lines of IQ4_XS: eight groups of signed numbers; a level that turns them into unsigned ones by
/// adding 128 weighs that with the same scales. Numbers with another offset stand so too.
pub(super) const SIGNED32: usize = 64 + 8 + 4 + 1;

/// Sixteen bytes as signed numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bytes(x: __m128i) -> [i8; 16] {
    let halves = [_mm_cvtsi128_si64(x), _mm_extract_epi64::<1>(x)];
    let mut all = [0; 16];
    for (all, half) in all.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
        *all = half.to_le_bytes().map(|byte| byte as i8);
    }
    all
}

/// Row `r` of the lines of scales, each twice, and of the lines of what sums are weighed with.
#[inline]
pub(super) fn put_scales(scales: &[i8], weights: &[i8], lines: &mut [Line], r: usize) {
    for (line, s) in lines.iter_mut().zip(scales) {
        put_row(line, r, pair(i16::from(*s), i16::from(*s)));
    }
    for (line, w) in lines[scales.len()..].iter_mut().zip(weights.as_chunks::<2>().0) {
        put_row(line, r, pair(i16::from(w[0]), i16::from(w[1])));
    }
}

/// Scales and minima of Q2_K for row `r`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn put_scales_2(block: &[u8; 84], lines: &mut [Line], r: usize) {
    let (scales, minima) = scale_min_2(block);
    put_scales(&bytes(scales), &bytes(minima), lines, r);
    put_row(&mut lines[24], r, half(block, 80).to_bits());
    put_row(&mut lines[25], r, half(block, 82).to_bits());
}

/// Scales of Q3_K for row `r`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn put_scales_3(block: &[u8; 110], lines: &mut [Line], r: usize) {
    let scales = bytes(scales_3(block));
    put_scales(&scales, &scales, lines, r);
    put_row(&mut lines[24], r, half(block, 108).to_bits());
}

/// Scales of IQ4_XS for row `r`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn put_scales_xs(block: &[u8; 136], lines: &mut [Line], r: usize) {
    let scales = scales_xs(block);
    let scales = &bytes(_mm_packs_epi16(scales, scales))[..8];
    put_scales(scales, scales, lines, r);
    put_row(&mut lines[12], r, half(block, 0).to_bits());
}

/// The numbers of IQ4_XS, group by group.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_xs(block: &[u8; 136]) -> [__m256i; 8] {
    let mut all = [_mm256_setzero_si256(); 8];
    for (j, numbers) in all.iter_mut().enumerate() {
        *numbers = iq4(part(block, 8 + 16 * j));
    }
    all
}

panel256!(
    panel_q2_k,
    84,
    MINIMA16,
    |b: &[u8; 84]| numbers_2(b),
    |b: &[u8; 84], lines: &mut [Line], r| put_scales_2(b, lines, r)
);
panel256!(
    panel_q3_k,
    110,
    GROUPS16,
    |b: &[u8; 110]| numbers_3(b),
    |b: &[u8; 110], lines: &mut [Line], r| put_scales_3(b, lines, r)
);
panel256!(
    panel_iq4_xs,
    136,
    SIGNED32,
    |b: &[u8; 136]| numbers_xs(b),
    |b: &[u8; 136], lines: &mut [Line], r| put_scales_xs(b, lines, r)
);
