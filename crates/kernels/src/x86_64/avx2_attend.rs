//! Attention over one page (AVX2): sixteen positions or columns are two vectors, up to four
//! queries share what is loaded.

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use super::wide::{each, each_to};
use crate::kv::PAGE;
use crate::table::{Scores, Weigh};

/// Eight stored bf16 as floats.
#[inline]
#[target_feature(enable = "avx2")]
fn wide(x: &[u16], at: usize) -> __m256 {
    let x: &[u16; 8] = x[at..].first_chunk().expect("whole lanes");
    // SAFETY: 16 readable bytes; the load asks for no alignment.
    let x = unsafe { _mm_loadu_si128(x.as_ptr().cast()) };
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x)))
}

/// `N` queries from `first` against positions `from..to`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn scores_of<const N: usize>(a: &Scores<'_>, first: usize, s: &mut [f32]) {
    let q: [&[f32]; N] = each(a.q, first, a.key_dim);
    let scale = _mm256_set1_ps(a.scale);
    for j in (a.from..a.to).step_by(16) {
        let mut acc = [[_mm256_setzero_ps(); 2]; N];
        for (d, keys) in a.k.as_chunks::<PAGE>().0.iter().enumerate().take(a.key_dim) {
            let keys = [wide(keys, j), wide(keys, j + 8)];
            for i in 0..N {
                let q = _mm256_set1_ps(q[i][d]);
                acc[i][0] = _mm256_fmadd_ps(q, keys[0], acc[i][0]);
                acc[i][1] = _mm256_fmadd_ps(q, keys[1], acc[i][1]);
            }
        }
        for i in 0..N {
            let at = (first + i) * a.stride + j;
            put8(s, at, _mm256_mul_ps(scale, acc[i][0]));
            put8(s, at + 8, _mm256_mul_ps(scale, acc[i][1]));
        }
    }
}

/// Scores of every query against positions `from..to` of the page.
#[target_feature(enable = "avx2,fma")]
pub(super) fn scores(a: &Scores<'_>, s: &mut [f32]) {
    let mut first = 0;
    while first + 4 <= a.queries {
        scores_of::<4>(a, first, s);
        first += 4;
    }
    match a.queries - first {
        3 => scores_of::<3>(a, first, s),
        2 => scores_of::<2>(a, first, s),
        1 => scores_of::<1>(a, first, s),
        _ => {}
    }
}

/// Sixteen columns from `at` for `N` queries from `first`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn weigh_of<const N: usize>(a: &Weigh<'_>, first: usize, at: usize, o: &mut [f32]) {
    let e: [&[f32]; N] = each_to(a.e, first, a.stride, a.to);
    let mut acc = [[_mm256_setzero_ps(); 2]; N];
    for i in 0..N {
        let o = &o[(first + i) * a.value_dim + at..];
        acc[i] = [
            load8(o.first_chunk().expect("whole query")),
            load8(o[8..].first_chunk().expect("whole query")),
        ];
    }
    let rows = a.v.chunks_exact(a.value_dim).enumerate().take(a.to).skip(a.from);
    for (j, v) in rows {
        let v = [wide(v, at), wide(v, at + 8)];
        for i in 0..N {
            let e = _mm256_set1_ps(e[i][j]);
            acc[i][0] = _mm256_fmadd_ps(e, v[0], acc[i][0]);
            acc[i][1] = _mm256_fmadd_ps(e, v[1], acc[i][1]);
        }
    }
    for i in 0..N {
        let at = (first + i) * a.value_dim + at;
        put8(o, at, acc[i][0]);
        put8(o, at + 8, acc[i][1]);
    }
}

/// All columns for `N` queries; those that fill no lanes one by one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn columns<const N: usize>(a: &Weigh<'_>, first: usize, o: &mut [f32]) {
    let whole = a.value_dim / 16 * 16;
    for at in (0..whole).step_by(16) {
        weigh_of::<N>(a, first, at, o);
    }
    for i in first..first + N {
        for at in whole..a.value_dim {
            let o = &mut o[i * a.value_dim + at];
            for j in a.from..a.to {
                let v = f32::from_bits(u32::from(a.v[j * a.value_dim + at]) << 16);
                *o = a.e[i * a.stride + j].mul_add(v, *o);
            }
        }
    }
}

/// Adds the weighed values of positions `from..to` to every query's output.
#[target_feature(enable = "avx2,fma")]
pub(super) fn weigh(a: &Weigh<'_>, o: &mut [f32]) {
    let mut first = 0;
    while first + 4 <= a.queries {
        columns::<4>(a, first, o);
        first += 4;
    }
    match a.queries - first {
        3 => columns::<3>(a, first, o),
        2 => columns::<2>(a, first, o),
        1 => columns::<1>(a, first, o),
        _ => {}
    }
}
