//! Attention over whole texts (AVX2): sixteen keys or columns are two vectors, four queries share
//! what is loaded. Each lane is a sum of its own, in the order of the portable level; of the same
//! loops in plain Rust the compiler makes one multiplication at a time.

use std::arch::x86_64::*;

use super::avx2_lanes::{load8, put8};
use crate::table::{Gather, Meet};

/// Queries that share what is loaded.
const MOST: usize = 4;

/// Half `h` of sixteen neighbouring floats.
#[inline]
#[target_feature(enable = "avx2")]
fn half(x: &[f32; 16], h: usize) -> __m256 {
    load8(x[h * 8..].first_chunk().expect("half of sixteen"))
}

/// `N` queries from `first`; sixteen keys side by side.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn meet_of<const N: usize>(a: &Meet<'_>, first: usize, s: &mut [f32]) {
    let scale = _mm256_set1_ps(a.scale);
    let mut q: [&[f32]; N] = [&[]; N];
    for (i, q) in q.iter_mut().enumerate() {
        *q = &a.q[(first + i) * a.dim..][..a.dim];
    }
    for j in (a.from..a.to).step_by(16) {
        let mut acc = [[_mm256_setzero_ps(); 2]; N];
        for (d, keys) in a.k.chunks(a.stride).take(a.dim).enumerate() {
            let keys: &[f32; 16] = keys[j..].first_chunk().expect("sixteen keys");
            let keys = [half(keys, 0), half(keys, 1)];
            for i in 0..N {
                let q = _mm256_set1_ps(q[i][d]);
                for h in 0..2 {
                    acc[i][h] = _mm256_fmadd_ps(q, keys[h], acc[i][h]);
                }
            }
        }
        for (i, acc) in acc.into_iter().enumerate() {
            let s = &mut s[(first + i) * a.stride + j..][..16];
            put8(s, 0, _mm256_mul_ps(scale, acc[0]));
            put8(s, 8, _mm256_mul_ps(scale, acc[1]));
        }
    }
}

/// As the portable `meet`.
#[target_feature(enable = "avx2,fma")]
pub(super) fn meet(a: &Meet<'_>, s: &mut [f32]) {
    let queries = a.q.len() / a.dim;
    for first in (0..queries).step_by(MOST) {
        match queries - first {
            1 => meet_of::<1>(a, first, s),
            2 => meet_of::<2>(a, first, s),
            3 => meet_of::<3>(a, first, s),
            _ => meet_of::<MOST>(a, first, s),
        }
    }
}

/// Sixteen columns from `at` of `N` queries from `first`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn gather_of<const N: usize>(a: &Gather<'_>, first: usize, at: usize, o: &mut [f32]) {
    let mut e: [&[f32]; N] = [&[]; N];
    for (i, e) in e.iter_mut().enumerate() {
        *e = &a.e[(first + i) * a.stride..][a.from..a.to];
    }
    let mut acc = [[_mm256_setzero_ps(); 2]; N];
    for (j, row) in a.v[a.from * a.dim..a.to * a.dim].chunks_exact(a.dim).enumerate() {
        let values: &[f32; 16] = row[at..].first_chunk().expect("sixteen columns");
        let values = [half(values, 0), half(values, 1)];
        for i in 0..N {
            let e = _mm256_set1_ps(e[i][j]);
            for h in 0..2 {
                acc[i][h] = _mm256_fmadd_ps(e, values[h], acc[i][h]);
            }
        }
    }
    for (i, acc) in acc.into_iter().enumerate() {
        let o = &mut o[(first + i) * a.dim + at..][..16];
        put8(o, 0, acc[0]);
        put8(o, 8, acc[1]);
    }
}

/// The columns past the last sixteen, one by one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn gather_rest(a: &Gather<'_>, query: usize, o: &mut [f32]) {
    for at in a.dim / 16 * 16..a.dim {
        let mut sum = 0f32;
        for j in a.from..a.to {
            sum = a.e[query * a.stride + j].mul_add(a.v[j * a.dim + at], sum);
        }
        o[query * a.dim + at] = sum;
    }
}

/// As the portable `gather`.
#[target_feature(enable = "avx2,fma")]
pub(super) fn gather(a: &Gather<'_>, o: &mut [f32]) {
    let queries = a.e.len() / a.stride;
    for first in (0..queries).step_by(MOST) {
        for at in (0..a.dim / 16 * 16).step_by(16) {
            match queries - first {
                1 => gather_of::<1>(a, first, at, o),
                2 => gather_of::<2>(a, first, at, o),
                3 => gather_of::<3>(a, first, at, o),
                _ => gather_of::<MOST>(a, first, at, o),
            }
        }
        for query in first..queries.min(first + MOST) {
            gather_rest(a, query, o);
        }
    }
}
