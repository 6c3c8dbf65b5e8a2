//! Attention over one page (AVX-512): sixteen positions or columns are one vector; up to eight
//! queries share what is loaded. One or two queries take several vectors at a time, so that their
//! fused steps do not wait for one another.

use std::arch::x86_64::*;

use super::wide::{each, each_to};
use crate::kv::PAGE;
use crate::table::{Scores, Weigh};

/// Sixteen stored bf16 as floats.
#[inline]
#[target_feature(enable = "avx512f")]
fn wide(x: &[u16], at: usize) -> __m512 {
    let x: &[u16; 16] = x[at..].first_chunk().expect("whole lanes");
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    let x = unsafe { _mm256_loadu_si256(x.as_ptr().cast()) };
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x)))
}

/// Sixteen floats.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(x: &[f32], at: usize) -> __m512 {
    let x: &[f32; 16] = x[at..].first_chunk().expect("whole lanes");
    // SAFETY: 64 readable bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_ps(x.as_ptr()) }
}

/// Sixteen floats to memory.
#[inline]
#[target_feature(enable = "avx512f")]
fn put(to: &mut [f32], at: usize, x: __m512) {
    let to: &mut [f32; 16] = to[at..].first_chunk_mut().expect("whole lanes");
    // SAFETY: 64 writable bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), x) }
}

/// `N` queries from `first` against `16 · W` positions from `j`.
#[inline]
#[target_feature(enable = "avx512f")]
fn scores_at<const N: usize, const W: usize>(
    a: &Scores<'_>,
    first: usize,
    j: usize,
    s: &mut [f32],
) {
    let q: [&[f32]; N] = each(a.q, first, a.key_dim);
    let keys = &a.k.as_chunks::<PAGE>().0[..a.key_dim];
    let mut acc = [[_mm512_setzero_ps(); W]; N];
    for d in 0..a.key_dim {
        let mut k = [_mm512_setzero_ps(); W];
        for w in 0..W {
            k[w] = wide(&keys[d], j + 16 * w);
        }
        for i in 0..N {
            let q = _mm512_set1_ps(q[i][d]);
            for w in 0..W {
                acc[i][w] = _mm512_fmadd_ps(q, k[w], acc[i][w]);
            }
        }
    }
    let scale = _mm512_set1_ps(a.scale);
    for i in 0..N {
        for w in 0..W {
            let at = (first + i) * a.stride + j + 16 * w;
            put(s, at, _mm512_mul_ps(scale, acc[i][w]));
        }
    }
}

/// `N` queries against all positions, `16 · W` at a time.
#[inline]
#[target_feature(enable = "avx512f")]
fn scores_of<const N: usize, const W: usize>(a: &Scores<'_>, first: usize, s: &mut [f32]) {
    let mut j = a.from;
    while j + 16 * W <= a.to {
        scores_at::<N, W>(a, first, j, s);
        j += 16 * W;
    }
    while j < a.to {
        scores_at::<N, 1>(a, first, j, s);
        j += 16;
    }
}

/// Scores of every query against positions `from..to` of the page.
#[target_feature(enable = "avx512f")]
pub(super) fn scores(a: &Scores<'_>, s: &mut [f32]) {
    let mut first = 0;
    while first < a.queries {
        first += match a.queries - first {
            1 => (scores_of::<1, 4>(a, first, s), 1).1,
            2 => (scores_of::<2, 4>(a, first, s), 2).1,
            3 => (scores_of::<3, 1>(a, first, s), 3).1,
            4 => (scores_of::<4, 1>(a, first, s), 4).1,
            5 => (scores_of::<5, 1>(a, first, s), 5).1,
            6 => (scores_of::<6, 1>(a, first, s), 6).1,
            7 => (scores_of::<7, 1>(a, first, s), 7).1,
            _ => (scores_of::<8, 1>(a, first, s), 8).1,
        };
    }
}

/// `16 · W` columns from `at` for `N` queries from `first`.
#[inline]
#[target_feature(enable = "avx512f")]
fn weigh_at<const N: usize, const W: usize>(a: &Weigh<'_>, first: usize, at: usize, o: &mut [f32]) {
    let e: [&[f32]; N] = each_to(a.e, first, a.stride, a.to);
    let mut acc = [[_mm512_setzero_ps(); W]; N];
    for i in 0..N {
        for w in 0..W {
            acc[i][w] = load(o, (first + i) * a.value_dim + at + 16 * w);
        }
    }
    for j in a.from..a.to {
        let row = &a.v[j * a.value_dim..][..a.value_dim];
        let mut v = [_mm512_setzero_ps(); W];
        for w in 0..W {
            v[w] = wide(row, at + 16 * w);
        }
        for i in 0..N {
            let e = _mm512_set1_ps(e[i][j]);
            for w in 0..W {
                acc[i][w] = _mm512_fmadd_ps(e, v[w], acc[i][w]);
            }
        }
    }
    for i in 0..N {
        for w in 0..W {
            put(o, (first + i) * a.value_dim + at + 16 * w, acc[i][w]);
        }
    }
}

/// All columns for `N` queries, `16 · W` at a time; those that fill no lanes one by one.
#[inline]
#[target_feature(enable = "avx512f,fma")]
fn columns<const N: usize, const W: usize>(a: &Weigh<'_>, first: usize, o: &mut [f32]) {
    let mut at = 0;
    while at + 16 * W <= a.value_dim {
        weigh_at::<N, W>(a, first, at, o);
        at += 16 * W;
    }
    while at + 16 <= a.value_dim {
        weigh_at::<N, 1>(a, first, at, o);
        at += 16;
    }
    for i in first..first + N {
        for at in at..a.value_dim {
            let o = &mut o[i * a.value_dim + at];
            for j in a.from..a.to {
                let v = f32::from_bits(u32::from(a.v[j * a.value_dim + at]) << 16);
                *o = a.e[i * a.stride + j].mul_add(v, *o);
            }
        }
    }
}

/// Adds the weighed values of positions `from..to` to every query's output.
#[target_feature(enable = "avx512f,fma")]
pub(super) fn weigh(a: &Weigh<'_>, o: &mut [f32]) {
    let mut first = 0;
    while first < a.queries {
        first += match a.queries - first {
            1 => (columns::<1, 4>(a, first, o), 1).1,
            2 => (columns::<2, 4>(a, first, o), 2).1,
            3 => (columns::<3, 1>(a, first, o), 3).1,
            4 => (columns::<4, 1>(a, first, o), 4).1,
            5 => (columns::<5, 1>(a, first, o), 5).1,
            6 => (columns::<6, 1>(a, first, o), 6).1,
            7 => (columns::<7, 1>(a, first, o), 7).1,
            _ => (columns::<8, 1>(a, first, o), 8).1,
        };
    }
}
