//! Panels of the types with codebooks and of those with three values (AVX2); what a panel is
//! stands in `avx2_panel`.

use std::arch::x86_64::*;

use super::avx2_codebook::*;
use super::avx2_lanes::*;
use super::avx2_panel::*;
use super::avx2_panel_more::{SIGNED32, bytes, put_scales};
use super::avx2_ternary::{numbers_tq1, numbers_tq2};
use crate::scratch::Line;

/// Eight 16-bit scales as bytes, then zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn eight(scales: __m128i) -> __m128i {
    _mm_packs_epi16(scales, _mm_setzero_si128())
}

/// Numbers raised by `by`.
#[inline]
#[target_feature(enable = "avx2")]
fn raised(mut numbers: [__m256i; 8], by: i8) -> [__m256i; 8] {
    for x in &mut numbers {
        *x = _mm256_add_epi8(*x, _mm256_set1_epi8(by));
    }
    numbers
}

/// Declares panels: bytes of a block, how many groups, lines, the numbers, the scales of groups as
/// bytes, the block's scale.
macro_rules! panels {
    ($($name:ident = $bytes:literal, $groups:literal, $lines:ident, $numbers:expr, $scales:expr,
        $scale:expr;)*) => {$(
        panel256!(
            $name,
            $bytes,
            $lines,
            |b: &[u8; $bytes]| $numbers(b),
            |b: &[u8; $bytes], lines: &mut [Line], r| {
                let scales = bytes($scales(b));
                let scales = &scales[..$groups];
                put_scales(scales, scales, lines, r);
                put_row(&mut lines[$groups + $groups / 2], r, f32::to_bits($scale(b)));
            }
        );
    )*};
}

panels! {
    panel_iq1_s = 50, 8, SIGNED32, numbers_1_s, |b| eight(scales_1_s(b)), |b| eighth(b, 0);
    panel_iq1_m = 56, 16, GROUPS16, numbers_1_m, scales_1_m, |b| eighth_1_m(b, 0);
    panel_iq2_xxs = 66, 8, SIGNED32, numbers_2_xxs, |b| eight(scales_2_xxs(b)), |b| eighth(b, 0);
    panel_iq2_xs = 74, 16, GROUPS16, numbers_2_xs, scales_2_xs, |b| eighth(b, 0);
    panel_iq2_s = 82, 16, GROUPS16, numbers_2_s, scales_2_s, |b| eighth(b, 0);
    panel_iq3_xxs = 98, 8, SIGNED32, numbers_3_xxs, |b| eight(scales_3_xxs(b)), |b| quarter(b, 0);
    // −15 … 15, raised to 1 … 31.
    panel_iq3_s = 110, 8, SIGNED32, |b| raised(numbers_3_s(b), 16), |b| eight(scales_3_s(b)),
        |b| half(b, 0);
    // 0 … 2 and 0 … 3, 1 too large, raised to be 4 too large.
    panel_tq1_0 = 54, 8, SIGNED32, |b| raised(numbers_tq1(b), 3), |_| _mm_set1_epi8(1),
        |b| half(b, 52);
    panel_tq2_0 = 66, 8, SIGNED32, |b| raised(numbers_tq2(b), 3), |_| _mm_set1_epi8(1),
        |b| half(b, 64);
}
