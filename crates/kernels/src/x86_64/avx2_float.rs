//! Rows of float weights (AVX2): sixteen lanes are two vectors.

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use super::wide::each;
use crate::acts::Acts;
use crate::scratch::Work;
use crate::table::TILE;

/// Sixteen stored values as two vectors.
#[inline]
#[target_feature(enable = "avx2")]
fn two_f32(x: &[u8; 64]) -> [__m256; 2] {
    [_mm256_castsi256_ps(load(part(x, 0))), _mm256_castsi256_ps(load(part(x, 32)))]
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn two_f16(x: &[u8; 32]) -> [__m256; 2] {
    [_mm256_cvtph_ps(load16(part(x, 0))), _mm256_cvtph_ps(load16(part(x, 16)))]
}

#[inline]
#[target_feature(enable = "avx2")]
fn two_bf16(x: &[u8; 32]) -> [__m256; 2] {
    let wide = |x| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x)));
    [wide(load16(part(x, 0))), wide(load16(part(x, 16)))]
}

/// Sixteen lanes as an array.
#[inline]
#[target_feature(enable = "avx2")]
fn array(x: [__m256; 2]) -> [f32; 16] {
    let mut all = [0f32; 16];
    all[..8].copy_from_slice(&array8(x[0]));
    all[8..].copy_from_slice(&array8(x[1]));
    all
}

/// Eight lanes from an array.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes(x: &[f32], at: usize) -> __m256 {
    load8(x[at..].first_chunk().expect("whole lanes"))
}

/// The rest that does not fill the lanes, then the fold.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn finish(acc: [__m256; 2], w: &[f32], x: &[f32]) -> f32 {
    if w.is_empty() {
        return fold(acc[0], acc[1]);
    }
    let mut lanes = array(acc);
    for ((lane, w), x) in lanes.iter_mut().zip(w).zip(x) {
        *lane = w.mul_add(*x, *lane);
    }
    crate::all::fold(lanes)
}

/// One row, as floats, against `P` positions.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn rows_by<const R: usize, const P: usize>(
    w: &[f32],
    a: &Acts<'_>,
    first: usize,
    row: usize,
    out: &mut [[f32; TILE]],
) {
    let w: [&[f32]; R] = each(w, 0, a.cols);
    let x: [&[f32]; P] = each(a.x, first, a.cols);
    let mut acc = [[[_mm256_setzero_ps(); 2]; P]; R];
    let whole = a.cols / 16 * 16;
    for i in (0..whole).step_by(16) {
        for h in 0..2 {
            let mut v = [_mm256_setzero_ps(); R];
            for r in 0..R {
                v[r] = lanes(w[r], i + h * 8);
            }
            for p in 0..P {
                let x = lanes(x[p], i + h * 8);
                for r in 0..R {
                    acc[r][p][h] = _mm256_fmadd_ps(v[r], x, acc[r][p][h]);
                }
            }
        }
    }
    for r in 0..R {
        for p in 0..P {
            out[p][row + r] = finish(acc[r][p], &w[r][whole..], &x[p][whole..]);
        }
    }
}

macro_rules! float {
    ($dot:ident, $gemm:ident, $bytes:literal, $two:ident, $one:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $dot(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let (xs, x_rest) = a.x.as_chunks::<16>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (ws, w_rest) = row.as_chunks::<{ 16 * $bytes }>();
                let mut acc = [_mm256_setzero_ps(); 2];
                // By index: the library's zip is not inlined here.
                for i in 0..ws.len().min(xs.len()) {
                    ahead(&ws[i], 1024);
                    let (w, x) = ($two(&ws[i]), &xs[i]);
                    acc[0] = _mm256_fmadd_ps(w[0], lanes(x, 0), acc[0]);
                    acc[1] = _mm256_fmadd_ps(w[1], lanes(x, 8), acc[1]);
                }
                let mut rest = [0f32; 16];
                for (to, w) in rest.iter_mut().zip(w_rest.as_chunks::<$bytes>().0) {
                    *to = $one(*w);
                }
                *out = finish(acc, &rest[..w_rest.len() / $bytes], x_rest);
            }
        }

        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $gemm(
            rows: &[u8],
            stride: usize,
            a: &Acts<'_>,
            work: &mut Work,
            out: &mut [f32],
        ) {
            let (count, out) = (rows.len() / stride, out.as_chunks_mut::<TILE>().0);
            let plain = work.plain.take(2 * a.cols);
            for row in (0..count).step_by(2) {
                let pair = &rows[row * stride..rows.len().min((row + 2) * stride)];
                for (to, row) in plain.chunks_exact_mut(a.cols).zip(pair.chunks_exact(stride)) {
                    let (ws, w_rest) = row.as_chunks::<{ 16 * $bytes }>();
                    let (to, to_rest) = to.as_chunks_mut::<16>();
                    for i in 0..ws.len().min(to.len()) {
                        to[i] = array($two(&ws[i]));
                    }
                    for (to, w) in to_rest.iter_mut().zip(w_rest.as_chunks::<$bytes>().0) {
                        *to = $one(*w);
                    }
                }
                let (two, mut p) = (row + 2 <= count, 0);
                while p < a.n {
                    let out = &mut out[p..];
                    let left = a.n - p;
                    p += match (two, left >= 3) {
                        (true, true) => (rows_by::<2, 3>(plain, a, p, row, out), 3).1,
                        (true, false) => (rows_by::<2, 1>(plain, a, p, row, out), 1).1,
                        (false, true) => (rows_by::<1, 3>(plain, a, p, row, out), 3).1,
                        (false, false) => (rows_by::<1, 1>(plain, a, p, row, out), 1).1,
                    };
                }
            }
        }
    };
}

float!(dot_f32, gemm_f32, 4, two_f32, f32::from_le_bytes);
float!(dot_f16, gemm_f16, 2, two_f16, recinto_quant::f16_to_f32);
float!(dot_bf16, gemm_bf16, 2, two_bf16, recinto_quant::bf16_to_f32);
