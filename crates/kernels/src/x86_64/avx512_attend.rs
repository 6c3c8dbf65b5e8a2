//! Attention over one page (AVX-512): sixteen positions or columns are one vector; up to six
//! queries share what is loaded. Few queries take several vectors at a time, so that their fused
//! steps do not wait for one another.

use std::arch::x86_64::*;
use std::ops::Range;

use super::avx2_attend::{AHEAD, BF16, F16, MOST, Q8, Source, Weights, ahead, column_of};
use crate::all::attend::runs;
use crate::page::{GROUP, LANES, PAGE, Stored, key_at};
use crate::table::{Scores, Weigh};

/// Sixteen stored numbers from `at`.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn wide<const KIND: u8>(from: &Source<'_>, at: usize) -> __m512 {
    if KIND == Q8 {
        let x: &[i8; 16] = from.codes[at..].first_chunk().expect("whole lanes");
        // SAFETY: 16 readable bytes; the load asks for no alignment.
        let x = unsafe { _mm_loadu_si128(x.as_ptr().cast()) };
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(x));
    }
    let x = halves(from.words, at);
    if KIND == F16 {
        return _mm512_cvtph_ps(x);
    }
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x)))
}

/// Sixteen words from `at`.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(x: &[u16], at: usize) -> __m256i {
    let x: &[u16; 16] = x[at..].first_chunk().expect("whole lanes");
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
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

/// Sums of a register tile: `N` queries, `P` times sixteen positions or columns.
type Sums<const N: usize, const P: usize> = [[__m512; P]; N];

#[inline]
#[target_feature(enable = "avx512f")]
fn nothing<const N: usize, const P: usize>() -> Sums<N, P> {
    [[_mm512_setzero_ps(); P]; N]
}

/// Sums of `N` queries from `first` over the rows of `q`, a row of sixteen stored numbers each
/// from `at` on; the next sixteen positions are `apart` from there.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn sums<const N: usize, const P: usize, const KIND: u8>(
    q: &[f32],
    queries: usize,
    k: &Source<'_>,
    first: usize,
    (mut at, apart): (usize, usize),
) -> Sums<N, P> {
    let mut acc = nothing::<N, P>();
    for q in q.chunks_exact(queries) {
        let q: &[f32; N] = q[first..].first_chunk().expect("queries of a run");
        for p in 0..P {
            if N < 4 {
                // A few queries wait for memory: the keys after these are asked for now.
                ahead::<KIND>(k, at + (P + p) * apart);
            }
            let keys = wide::<KIND>(k, at + p * apart);
            for i in 0..N {
                acc[i][p] = _mm512_fmadd_ps(_mm512_set1_ps(q[i]), keys, acc[i][p]);
            }
        }
        at += LANES;
    }
    acc
}

/// `N` queries from `first` against `16 · P` positions from `j` on.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn scores_at<const N: usize, const P: usize, const KIND: u8>(
    a: &Scores<'_>,
    k: &Source<'_>,
    scales: &[u16],
    (first, j): (usize, usize),
    s: &mut [f32],
) {
    let mut all = nothing::<N, P>();
    let apart = a.key_dim * LANES;
    if KIND == Q8 {
        for (g, q) in a.q.chunks(GROUP * a.queries).enumerate() {
            let at = key_at(a.key_dim, g * GROUP, j);
            let part = sums::<N, P, KIND>(q, a.queries, k, first, (at, apart));
            for p in 0..P {
                let scale = _mm512_cvtph_ps(halves(scales, g * PAGE + j + 16 * p));
                for i in 0..N {
                    all[i][p] = _mm512_fmadd_ps(part[i][p], scale, all[i][p]);
                }
            }
        }
    } else {
        let at = key_at(a.key_dim, 0, j);
        all = sums::<N, P, KIND>(a.q, a.queries, k, first, (at, apart));
    }
    let scale = _mm512_set1_ps(a.scale);
    for i in 0..N {
        for p in 0..P {
            let at = (first + i) * a.stride + j + 16 * p;
            put(s, at, _mm512_mul_ps(scale, all[i][p]));
        }
    }
}

/// `N` queries from `first` against positions `part`, `16 · P` at a time where they fill it.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn scores_of<const N: usize, const P: usize, const KIND: u8>(
    a: &Scores<'_>,
    k: &Source<'_>,
    scales: &[u16],
    first: usize,
    part: Range<usize>,
    s: &mut [f32],
) {
    let mut j = part.start;
    while j + 16 * P <= part.end {
        scores_at::<N, P, KIND>(a, k, scales, (first, j), s);
        j += 16 * P;
    }
    while j < part.end {
        scores_at::<N, 1, KIND>(a, k, scales, (first, j), s);
        j += 16;
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn scores_as<const KIND: u8>(a: &Scores<'_>, k: &Source<'_>, scales: &[u16], s: &mut [f32]) {
    // Some positions for all queries, so that all find their keys in the nearest cache.
    for from in (a.from..a.to).step_by(64) {
        let part = from..a.to.min(from + 64);
        for (first, n) in runs(a.queries, MOST) {
            let part = part.clone();
            match n {
                6 => scores_of::<6, 2, KIND>(a, k, scales, first, part, s),
                5 => scores_of::<5, 2, KIND>(a, k, scales, first, part, s),
                4 => scores_of::<4, 2, KIND>(a, k, scales, first, part, s),
                3 => scores_of::<3, 2, KIND>(a, k, scales, first, part, s),
                2 => scores_of::<2, 4, KIND>(a, k, scales, first, part, s),
                _ => scores_of::<1, 4, KIND>(a, k, scales, first, part, s),
            }
        }
    }
}

/// Scores of every query against positions `from..to` of the page.
#[target_feature(enable = "avx512f,avx2,fma,f16c")]
pub(super) fn scores(a: &Scores<'_>, s: &mut [f32]) {
    match a.k {
        Stored::Bf16(words) => scores_as::<BF16>(a, &Source { words, codes: &[] }, &[], s),
        Stored::F16(words) => scores_as::<F16>(a, &Source { words, codes: &[] }, &[], s),
        Stored::Q8 { codes, scales } => {
            scores_as::<Q8>(a, &Source { words: &[], codes }, scales, s);
        }
    }
}

/// `16 · P` columns from `at` for `N` queries, whose weights and outputs begin at `e` and `o`.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn weigh_at<const N: usize, const P: usize, const KIND: u8>(
    w: Weights<'_>,
    v: &Source<'_>,
    value_dim: usize,
    at: usize,
    o: &mut [f32],
) {
    let mut e: [&[f32]; N] = [&[]; N];
    let mut acc = nothing::<N, P>();
    for i in 0..N {
        e[i] = &w.e[i * w.stride..][w.from..w.to];
        for p in 0..P {
            acc[i][p] = load(o, i * value_dim + at + 16 * p);
        }
    }
    for j in 0..w.to - w.from {
        for p in 0..P {
            let place = (at + 16 * p) * PAGE + (w.from + j) * LANES;
            if N < 4 {
                ahead::<KIND>(v, place + AHEAD);
            }
            let v = wide::<KIND>(v, place);
            for i in 0..N {
                acc[i][p] = _mm512_fmadd_ps(_mm512_set1_ps(e[i][j]), v, acc[i][p]);
            }
        }
    }
    for i in 0..N {
        for p in 0..P {
            put(o, i * value_dim + at + 16 * p, acc[i][p]);
        }
    }
}

/// Columns `columns` for `N` queries; those that fill no lanes one by one.
#[inline]
#[target_feature(enable = "avx512f,avx2,fma,f16c")]
fn columns<const N: usize, const P: usize, const KIND: u8>(
    w: Weights<'_>,
    v: &Source<'_>,
    value_dim: usize,
    columns: Range<usize>,
    o: &mut [f32],
) {
    let mut at = columns.start;
    while at + 16 * P <= columns.end {
        weigh_at::<N, P, KIND>(w, v, value_dim, at, o);
        at += 16 * P;
    }
    while at + 16 <= columns.end {
        weigh_at::<N, 1, KIND>(w, v, value_dim, at, o);
        at += 16;
    }
    for at in at..columns.end {
        for i in 0..N {
            let w = Weights { e: &w.e[i * w.stride..], ..w };
            column_of::<KIND>(w, v, value_dim, at, &mut o[i * value_dim + at]);
        }
    }
}

/// Columns of one group for `N` queries from `first`. Bytes have their scales put into the
/// weights.
#[inline]
#[target_feature(enable = "avx512f,avx2,fma,f16c")]
fn weigh_run<const N: usize, const P: usize, const KIND: u8>(
    a: &Weigh<'_>,
    v: &Source<'_>,
    scales: &[u16],
    first: usize,
    group: Range<usize>,
    o: &mut [f32],
) {
    let (e, o) = (&a.e[first * a.stride..], &mut o[first * a.value_dim..]);
    let w = Weights { e, stride: a.stride, from: a.from, to: a.to };
    if KIND != Q8 {
        return columns::<N, P, KIND>(w, v, a.value_dim, group, o);
    }
    let mut scaled = [[0f32; PAGE]; MOST];
    let scales = &scales[group.start / GROUP * PAGE..][..PAGE];
    // In whole lanes: what is computed beyond `from..to` is not used.
    for (i, scaled) in scaled.iter_mut().enumerate().take(N) {
        let e = &e[i * a.stride..][..PAGE];
        for j in (a.from / 16 * 16..a.to).step_by(16) {
            let scale = _mm512_cvtph_ps(halves(scales, j));
            put(scaled, j, _mm512_mul_ps(load(e, j), scale));
        }
    }
    let w = Weights { e: scaled.as_flattened(), stride: PAGE, ..w };
    columns::<N, P, KIND>(w, v, a.value_dim, group, o);
}

#[inline]
#[target_feature(enable = "avx512f,avx2,fma,f16c")]
fn weigh_as<const KIND: u8>(a: &Weigh<'_>, v: &Source<'_>, scales: &[u16], o: &mut [f32]) {
    // Some columns for all queries, so that all find them in the nearest cache; as many as one or
    // two queries take at a time.
    let many = if a.queries < 3 && KIND != Q8 { 2 * GROUP } else { GROUP };
    for from in (0..a.value_dim).step_by(many) {
        let to = a.value_dim.min(from + many);
        for (first, n) in runs(a.queries, MOST) {
            match n {
                6 => weigh_run::<6, 2, KIND>(a, v, scales, first, from..to, o),
                5 => weigh_run::<5, 2, KIND>(a, v, scales, first, from..to, o),
                4 => weigh_run::<4, 2, KIND>(a, v, scales, first, from..to, o),
                3 => weigh_run::<3, 2, KIND>(a, v, scales, first, from..to, o),
                2 if KIND != Q8 => weigh_run::<2, 4, KIND>(a, v, scales, first, from..to, o),
                2 => weigh_run::<2, 2, KIND>(a, v, scales, first, from..to, o),
                _ if KIND != Q8 => weigh_run::<1, 4, KIND>(a, v, scales, first, from..to, o),
                _ => weigh_run::<1, 2, KIND>(a, v, scales, first, from..to, o),
            }
        }
    }
}

/// Adds the weighed values of positions `from..to` to every query's output.
#[target_feature(enable = "avx512f,avx2,fma,f16c")]
pub(super) fn weigh(a: &Weigh<'_>, o: &mut [f32]) {
    match a.v {
        Stored::Bf16(words) => weigh_as::<BF16>(a, &Source { words, codes: &[] }, &[], o),
        Stored::F16(words) => weigh_as::<F16>(a, &Source { words, codes: &[] }, &[], o),
        Stored::Q8 { codes, scales } => weigh_as::<Q8>(a, &Source { words: &[], codes }, scales, o),
    }
}
