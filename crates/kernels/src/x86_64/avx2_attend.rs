//! Attention over one page (AVX2): sixteen positions or columns are two vectors, up to six
//! queries share what is loaded.
//!
//! Stored bf16 are widened by a shift and a mask, which splits them by even and odd places. All
//! sums stay split so, and only results are put in order: a sum's own order does not change.

use std::arch::x86_64::*;

use super::avx2_lanes::{load8, put8};
use crate::all::attend::runs;
use crate::page::{GROUP, LANES, PAGE, Stored, key_at, value_at};
use crate::table::{Scores, Weigh};

/// Queries of one register tile: twelve sums, two vectors of what is stored, one query.
pub(super) const MOST: usize = 6;

pub(super) const BF16: u8 = 0;
pub(super) const F16: u8 = 1;
pub(super) const Q8: u8 = 2;

/// What is stored, by one of the constants above: words or codes, the other empty.
pub(super) struct Source<'a> {
    pub words: &'a [u16],
    pub codes: &'a [i8],
}

/// Sixteen stored numbers from `at` as two vectors: even and odd ones for [`BF16`], else the
/// first and the last eight.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn two<const KIND: u8>(from: &Source<'_>, at: usize) -> [__m256; 2] {
    if KIND == Q8 {
        let x: &[i8; 16] = from.codes[at..].first_chunk().expect("whole lanes");
        // SAFETY: 16 readable bytes; the load asks for no alignment.
        let x = unsafe { _mm_loadu_si128(x.as_ptr().cast()) };
        let high = _mm_unpackhi_epi64(x, x);
        return [
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(high)),
        ];
    }
    let x: &[u16; 16] = from.words[at..].first_chunk().expect("whole lanes");
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    let x = unsafe { _mm256_loadu_si256(x.as_ptr().cast()) };
    if KIND == F16 {
        let (low, high) = (_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
        return [_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)];
    }
    let odd = _mm256_and_si256(x, _mm256_set1_epi32(0xffff_0000u32 as i32));
    [_mm256_castsi256_ps(_mm256_slli_epi32::<16>(x)), _mm256_castsi256_ps(odd)]
}

/// Stored numbers between what is weighed and what is asked for.
pub(super) const AHEAD: usize = 64 * LANES;

/// Asks for what is stored at `at`; past the end this does nothing.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn ahead<const KIND: u8>(from: &Source<'_>, at: usize) {
    if KIND == Q8 {
        _mm_prefetch::<_MM_HINT_T0>(from.codes.as_ptr().wrapping_add(at));
    } else {
        _mm_prefetch::<_MM_HINT_T0>(from.words.as_ptr().wrapping_add(at).cast());
    }
}

/// Sixteen sums in the order of their places.
#[inline]
#[target_feature(enable = "avx2")]
fn ordered<const KIND: u8>([a, b]: [__m256; 2]) -> [__m256; 2] {
    if KIND != BF16 {
        return [a, b];
    }
    let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    [_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high)]
}

/// The reverse of [`ordered`].
#[inline]
#[target_feature(enable = "avx2")]
fn split<const KIND: u8>([a, b]: [__m256; 2]) -> [__m256; 2] {
    if KIND != BF16 {
        return [a, b];
    }
    let (low, high) = (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
    [_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xdd>(low, high)]
}

/// Eight scales from `at`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn scales8(scales: &[u16], at: usize) -> __m256 {
    let x: &[u16; 8] = scales[at..].first_chunk().expect("whole lanes");
    // SAFETY: 16 readable bytes; the load asks for no alignment.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(x.as_ptr().cast()) })
}

/// Sums of a register tile: `N` queries, `P` times sixteen positions.
type Sums<const N: usize, const P: usize> = [[[__m256; 2]; P]; N];

#[inline]
#[target_feature(enable = "avx2")]
fn nothing<const N: usize, const P: usize>() -> Sums<N, P> {
    [[[_mm256_setzero_ps(); 2]; P]; N]
}

/// Sums of `N` queries from `first` over the rows of `q`, a row of sixteen stored numbers each from
/// `at` on; the next sixteen positions are `apart` from there.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
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
            let keys = two::<KIND>(k, at + p * apart);
            for i in 0..N {
                let q = _mm256_set1_ps(q[i]);
                acc[i][p][0] = _mm256_fmadd_ps(q, keys[0], acc[i][p][0]);
                acc[i][p][1] = _mm256_fmadd_ps(q, keys[1], acc[i][p][1]);
            }
        }
        at += LANES;
    }
    acc
}

/// `N` queries from `first` against `16 · P` positions from `j` on.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
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
                let at = g * PAGE + j + 16 * p;
                let scale = [scales8(scales, at), scales8(scales, at + 8)];
                for i in 0..N {
                    all[i][p][0] = _mm256_fmadd_ps(part[i][p][0], scale[0], all[i][p][0]);
                    all[i][p][1] = _mm256_fmadd_ps(part[i][p][1], scale[1], all[i][p][1]);
                }
            }
        }
    } else {
        let at = key_at(a.key_dim, 0, j);
        all = sums::<N, P, KIND>(a.q, a.queries, k, first, (at, apart));
    }
    let scale = _mm256_set1_ps(a.scale);
    for i in 0..N {
        for p in 0..P {
            let at = (first + i) * a.stride + j + 16 * p;
            let sums = ordered::<KIND>(all[i][p]);
            put8(s, at, _mm256_mul_ps(scale, sums[0]));
            put8(s, at + 8, _mm256_mul_ps(scale, sums[1]));
        }
    }
}

/// `N` queries from `first` against positions `from..to`, `16 · P` at a time where they fill it.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn scores_of<const N: usize, const P: usize, const KIND: u8>(
    a: &Scores<'_>,
    k: &Source<'_>,
    scales: &[u16],
    first: usize,
    (from, to): (usize, usize),
    s: &mut [f32],
) {
    let mut j = from;
    while j + 16 * P <= to {
        scores_at::<N, P, KIND>(a, k, scales, (first, j), s);
        j += 16 * P;
    }
    while j < to {
        scores_at::<N, 1, KIND>(a, k, scales, (first, j), s);
        j += 16;
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn scores_as<const KIND: u8>(a: &Scores<'_>, k: &Source<'_>, scales: &[u16], s: &mut [f32]) {
    // Some positions for all queries, so that all find their keys in the nearest cache.
    for from in (a.from..a.to).step_by(64) {
        let part = (from, a.to.min(from + 64));
        for (first, n) in runs(a.queries, MOST) {
            match n {
                6 => scores_of::<6, 1, KIND>(a, k, scales, first, part, s),
                5 => scores_of::<5, 1, KIND>(a, k, scales, first, part, s),
                4 => scores_of::<4, 1, KIND>(a, k, scales, first, part, s),
                3 => scores_of::<3, 1, KIND>(a, k, scales, first, part, s),
                2 => scores_of::<2, 2, KIND>(a, k, scales, first, part, s),
                _ => scores_of::<1, 4, KIND>(a, k, scales, first, part, s),
            }
        }
    }
}

/// Scores of every query against positions `from..to` of the page.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn scores(a: &Scores<'_>, s: &mut [f32]) {
    match a.k {
        Stored::Bf16(words) => scores_as::<BF16>(a, &Source { words, codes: &[] }, &[], s),
        Stored::F16(words) => scores_as::<F16>(a, &Source { words, codes: &[] }, &[], s),
        Stored::Q8 { codes, scales } => {
            scores_as::<Q8>(a, &Source { words: &[], codes }, scales, s);
        }
    }
}

/// Weights of some queries for the positions of a page.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub e: &'a [f32],
    pub stride: usize,
    pub from: usize,
    pub to: usize,
}

/// `16 · P` columns from `at` for `N` queries, whose weights and outputs begin at `e` and `o`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn weigh_of<const N: usize, const P: usize, const KIND: u8>(
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
            let o = &o[i * value_dim + at + 16 * p..];
            acc[i][p] = split::<KIND>([
                load8(o.first_chunk().expect("whole query")),
                load8(o[8..].first_chunk().expect("whole query")),
            ]);
        }
    }
    for j in 0..w.to - w.from {
        for p in 0..P {
            let place = (at + 16 * p) * PAGE + (w.from + j) * LANES;
            if N < 4 {
                ahead::<KIND>(v, place + AHEAD);
            }
            let v = two::<KIND>(v, place);
            for i in 0..N {
                let e = _mm256_set1_ps(e[i][j]);
                acc[i][p][0] = _mm256_fmadd_ps(e, v[0], acc[i][p][0]);
                acc[i][p][1] = _mm256_fmadd_ps(e, v[1], acc[i][p][1]);
            }
        }
    }
    for i in 0..N {
        for p in 0..P {
            let (at, acc) = (i * value_dim + at + 16 * p, ordered::<KIND>(acc[i][p]));
            put8(o, at, acc[0]);
            put8(o, at + 8, acc[1]);
        }
    }
}

/// One column of one query, for what fills no lanes.
#[inline]
fn column(w: Weights<'_>, v: impl Fn(usize) -> f32, o: &mut f32) {
    for j in w.from..w.to {
        *o = w.e[j].mul_add(v(j), *o);
    }
}

/// Column `at` of one query.
#[inline]
#[target_feature(enable = "fma")]
pub(super) fn column_of<const KIND: u8>(
    w: Weights<'_>,
    v: &Source<'_>,
    value_dim: usize,
    at: usize,
    o: &mut f32,
) {
    match KIND {
        BF16 => column(w, |j| wide_bf16(v.words[value_at(value_dim, at, j)]), o),
        F16 => column(w, |j| wide_f16(v.words[value_at(value_dim, at, j)]), o),
        _ => column(w, |j| f32::from(v.codes[value_at(value_dim, at, j)]), o),
    }
}

/// Columns `columns` for `N` queries; those that fill no lanes one by one.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn columns<const N: usize, const P: usize, const KIND: u8>(
    w: Weights<'_>,
    v: &Source<'_>,
    value_dim: usize,
    columns: std::ops::Range<usize>,
    o: &mut [f32],
) {
    let mut at = columns.start;
    while at + 16 * P <= columns.end {
        weigh_of::<N, P, KIND>(w, v, value_dim, at, o);
        at += 16 * P;
    }
    while at + 16 <= columns.end {
        weigh_of::<N, 1, KIND>(w, v, value_dim, at, o);
        at += 16;
    }
    for at in at..columns.end {
        for i in 0..N {
            let w = Weights { e: &w.e[i * w.stride..], ..w };
            column_of::<KIND>(w, v, value_dim, at, &mut o[i * value_dim + at]);
        }
    }
}

fn wide_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

fn wide_f16(bits: u16) -> f32 {
    recinto_quant::f16_to_f32(bits.to_le_bytes())
}

/// Columns of one group for `N` queries from `first`. Bytes have their scales put into the weights.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn weigh_run<const N: usize, const P: usize, const KIND: u8>(
    a: &Weigh<'_>,
    v: &Source<'_>,
    scales: &[u16],
    first: usize,
    group: std::ops::Range<usize>,
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
        for j in (a.from / 8 * 8..a.to).step_by(8) {
            let e = load8(e[j..].first_chunk().expect("whole lanes"));
            put8(scaled, j, _mm256_mul_ps(e, scales8(scales, j)));
        }
    }
    let w = Weights { e: scaled.as_flattened(), stride: PAGE, ..w };
    columns::<N, P, KIND>(w, v, a.value_dim, group, o);
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn weigh_as<const KIND: u8>(a: &Weigh<'_>, v: &Source<'_>, scales: &[u16], o: &mut [f32]) {
    // Some columns for all queries, so that all find them in the nearest cache; as many as one
    // query takes at a time.
    let many = if a.queries == 1 && KIND != Q8 { 2 * GROUP } else { GROUP };
    for from in (0..a.value_dim).step_by(many) {
        let to = a.value_dim.min(from + many);
        for (first, n) in runs(a.queries, MOST) {
            match n {
                6 => weigh_run::<6, 1, KIND>(a, v, scales, first, from..to, o),
                5 => weigh_run::<5, 1, KIND>(a, v, scales, first, from..to, o),
                4 => weigh_run::<4, 1, KIND>(a, v, scales, first, from..to, o),
                3 => weigh_run::<3, 1, KIND>(a, v, scales, first, from..to, o),
                2 => weigh_run::<2, 2, KIND>(a, v, scales, first, from..to, o),
                _ if KIND != Q8 => weigh_run::<1, 4, KIND>(a, v, scales, first, from..to, o),
                _ => weigh_run::<1, 2, KIND>(a, v, scales, first, from..to, o),
            }
        }
    }
}

/// Adds the weighed values of positions `from..to` to every query's output.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn weigh(a: &Weigh<'_>, o: &mut [f32]) {
    match a.v {
        Stored::Bf16(words) => weigh_as::<BF16>(a, &Source { words, codes: &[] }, &[], o),
        Stored::F16(words) => weigh_as::<F16>(a, &Source { words, codes: &[] }, &[], o),
        Stored::Q8 { codes, scales } => weigh_as::<Q8>(a, &Source { words: &[], codes }, scales, o),
    }
}
