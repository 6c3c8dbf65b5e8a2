//! Attention over one page of keys and values (`docs/determinism.md`, "KV cache and attention").

// Lanes and queries are counted side by side: indices say which is which.
#![allow(clippy::needless_range_loop)]

use recinto_quant::{bf16_to_f32, f16_to_f32};

use super::{fold, math};
use crate::page::{GROUP, PAGE, Stored, key_at, value_at};
use crate::table::{Scores, Weigh};

/// Queries that share what is loaded.
const MOST: usize = 4;

/// `queries` in runs as even as can be, none longer than `most`: first query and length.
#[inline(always)]
pub(crate) fn runs(queries: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = queries.div_ceil(most).max(1);
    let (each, more) = (queries / count, queries % count);
    (0..count).map(move |i| (i * each + i.min(more), each + usize::from(i < more)))
}

/// A stored half as f32.
#[inline(always)]
fn wide<const F16: bool>(bits: u16) -> f32 {
    let bytes = bits.to_le_bytes();
    if F16 { f16_to_f32(bytes) } else { bf16_to_f32(bytes) }
}

/// `N` queries from `first` against the page; sixteen positions side by side.
#[inline(always)]
fn scores_of<const N: usize>(
    a: &Scores<'_>,
    k: impl Fn(usize, usize) -> f32,
    scale: Option<&[u16]>,
    first: usize,
    s: &mut [f32],
) {
    // Without scales all of a head is one group, and its sum the whole.
    let group = if scale.is_some() { GROUP } else { a.key_dim.max(1) };
    for j in (a.from..a.to).step_by(16) {
        let mut sums = [[0f32; 16]; N];
        for (g, q) in a.q.chunks(group * a.queries).enumerate() {
            let mut acc = [[0f32; 16]; N];
            for (d, q) in q.chunks_exact(a.queries).enumerate() {
                let mut keys = [0f32; 16];
                for (lane, key) in keys.iter_mut().enumerate() {
                    *key = k(g * group + d, j + lane);
                }
                for i in 0..N {
                    for lane in 0..16 {
                        acc[i][lane] = q[first + i].mul_add(keys[lane], acc[i][lane]);
                    }
                }
            }
            let Some(scales) = scale else {
                sums = acc;
                continue;
            };
            for lane in 0..16 {
                let scale = wide::<true>(scales[g * PAGE + j + lane]);
                for i in 0..N {
                    sums[i][lane] = acc[i][lane].mul_add(scale, sums[i][lane]);
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (s, sum) in s[(first + i) * a.stride + j..].iter_mut().zip(sums) {
                *s = a.scale * sum;
            }
        }
    }
}

/// Scores of every query against positions `from..to` of the page.
#[inline(always)]
pub(crate) fn scores(a: &Scores<'_>, s: &mut [f32]) {
    fn all(
        a: &Scores<'_>,
        k: impl Fn(usize, usize) -> f32 + Copy,
        scale: Option<&[u16]>,
        s: &mut [f32],
    ) {
        for (first, n) in runs(a.queries, MOST) {
            match n {
                4 => scores_of::<4>(a, k, scale, first, s),
                3 => scores_of::<3>(a, k, scale, first, s),
                2 => scores_of::<2>(a, k, scale, first, s),
                _ => scores_of::<1>(a, k, scale, first, s),
            }
        }
    }
    let dim = a.key_dim;
    match a.k {
        Stored::Bf16(k) => all(a, |d, j| wide::<false>(k[key_at(dim, d, j)]), None, s),
        Stored::F16(k) => all(a, |d, j| wide::<true>(k[key_at(dim, d, j)]), None, s),
        Stored::Q8 { codes, scales } => {
            all(a, |d, j| f32::from(codes[key_at(dim, d, j)]), Some(scales), s);
        }
    }
}

/// The largest value; −∞ of nothing. The order does not matter: a NaN anywhere makes the
/// result of the softmax NaN whichever maximum is taken.
#[inline(always)]
pub(crate) fn largest(x: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let mut lanes = [f32::NEG_INFINITY; 16];
    let (whole, rest) = x.as_chunks::<16>();
    for x in whole {
        for i in 0..16 {
            lanes[i] = larger(lanes[i], x[i]);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, b| larger(a, *b))
}

/// `exp(s − m)` in place for positions `from..to` of one page, and their sum in sixteen lanes.
///
/// Positions outside, up to multiples of 16, become 0: adding that to a lane changes no bit, for
/// a lane starts at 0 and never turns negative.
#[inline(always)]
pub(crate) fn soften(s: &mut [f32], m: f32, from: usize, to: usize) -> f32 {
    let (low, high) = (from / 16 * 16, to.next_multiple_of(16));
    s[low..from].fill(f32::NEG_INFINITY);
    s[to..high].fill(f32::NEG_INFINITY);
    let mut lanes = [0f32; 16];
    for s in s[low..high].as_chunks_mut::<16>().0 {
        for i in 0..16 {
            // Nothing is above the maximum, or a NaN is there and the whole result one.
            s[i] = math::exp_below(s[i] - m);
            lanes[i] += s[i];
        }
    }
    fold(lanes)
}

/// Adds the weighed values of positions `from..to` for queries `first..first + N`, columns
/// `at..at + W`.
#[inline(always)]
fn weigh_of<const N: usize, const W: usize>(
    a: &Weigh<'_>,
    v: impl Fn(usize, usize) -> f32,
    scale: Option<&[u16]>,
    first: usize,
    at: usize,
    o: &mut [f32],
) {
    let e: [&[f32]; N] = std::array::from_fn(|i| &a.e[(first + i) * a.stride..][..a.to]);
    let mut acc: [[f32; W]; N] = std::array::from_fn(|i| {
        *o[(first + i) * a.value_dim + at..].first_chunk().expect("whole query")
    });
    for j in a.from..a.to {
        let mut values = [0f32; W];
        for (lane, value) in values.iter_mut().enumerate() {
            *value = v(at + lane, j);
        }
        // Sixteen columns never straddle two groups.
        let scale = scale.map(|scales| wide::<true>(scales[at / GROUP * PAGE + j]));
        for i in 0..N {
            let e = scale.map_or(e[i][j], |scale| e[i][j] * scale);
            for lane in 0..W {
                acc[i][lane] = e.mul_add(values[lane], acc[i][lane]);
            }
        }
    }
    for (i, acc) in acc.iter().enumerate() {
        o[(first + i) * a.value_dim + at..][..W].copy_from_slice(acc);
    }
}

/// All columns for `N` queries.
#[inline(always)]
fn weigh_columns<const N: usize>(
    a: &Weigh<'_>,
    v: impl Fn(usize, usize) -> f32 + Copy,
    scale: Option<&[u16]>,
    first: usize,
    o: &mut [f32],
) {
    let mut at = 0;
    while at + 16 <= a.value_dim {
        weigh_of::<N, 16>(a, v, scale, first, at, o);
        at += 16;
    }
    while at < a.value_dim {
        weigh_of::<N, 1>(a, v, scale, first, at, o);
        at += 1;
    }
}

/// Adds the weighed values of positions `from..to` to every query's output.
#[inline(always)]
pub(crate) fn weigh(a: &Weigh<'_>, o: &mut [f32]) {
    fn all(
        a: &Weigh<'_>,
        v: impl Fn(usize, usize) -> f32 + Copy,
        scale: Option<&[u16]>,
        o: &mut [f32],
    ) {
        for (first, n) in runs(a.queries, MOST) {
            match n {
                4 => weigh_columns::<4>(a, v, scale, first, o),
                3 => weigh_columns::<3>(a, v, scale, first, o),
                2 => weigh_columns::<2>(a, v, scale, first, o),
                _ => weigh_columns::<1>(a, v, scale, first, o),
            }
        }
    }
    let dim = a.value_dim;
    match a.v {
        Stored::Bf16(v) => all(a, |c, j| wide::<false>(v[value_at(dim, c, j)]), None, o),
        Stored::F16(v) => all(a, |c, j| wide::<true>(v[value_at(dim, c, j)]), None, o),
        Stored::Q8 { codes, scales } => {
            all(a, |c, j| f32::from(codes[value_at(dim, c, j)]), Some(scales), o);
        }
    }
}
