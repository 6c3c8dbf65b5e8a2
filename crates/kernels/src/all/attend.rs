//! Attention over one page of keys and values (`docs/determinism.md`, "KV cache and attention").

// Lanes and queries are counted side by side: indices say which is which.
#![allow(clippy::needless_range_loop)]

use super::{fold, math};
use crate::kv::PAGE;
use crate::table::{Scores, Weigh};

/// A stored bf16 as f32.
#[inline(always)]
fn wide(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// `N` queries from `first` against the page; sixteen positions side by side.
#[inline(always)]
fn scores_of<const N: usize>(a: &Scores<'_>, first: usize, s: &mut [f32]) {
    let q: [&[f32]; N] = std::array::from_fn(|i| &a.q[(first + i) * a.key_dim..][..a.key_dim]);
    for j in (a.from..a.to).step_by(16) {
        let mut acc = [[0f32; 16]; N];
        for d in 0..a.key_dim {
            let stored: &[u16; 16] = a.k[d * PAGE + j..].first_chunk().expect("whole page");
            let mut keys = [0f32; 16];
            for (key, bits) in keys.iter_mut().zip(stored) {
                *key = wide(*bits);
            }
            for i in 0..N {
                for lane in 0..16 {
                    acc[i][lane] = q[i][d].mul_add(keys[lane], acc[i][lane]);
                }
            }
        }
        for (i, acc) in acc.iter().enumerate() {
            for (s, acc) in s[(first + i) * a.stride + j..].iter_mut().zip(acc) {
                *s = a.scale * acc;
            }
        }
    }
}

/// Scores of every query against positions `from..to` of the page.
#[inline(always)]
pub(crate) fn scores(a: &Scores<'_>, s: &mut [f32]) {
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
            s[i] = math::exp(s[i] - m);
            lanes[i] += s[i];
        }
    }
    fold(lanes)
}

/// Adds the weighed values of positions `from..to` for queries `first..first + N`, columns
/// `at..at + W`.
#[inline(always)]
fn weigh_of<const N: usize, const W: usize>(a: &Weigh<'_>, first: usize, at: usize, o: &mut [f32]) {
    let e: [&[f32]; N] = std::array::from_fn(|i| &a.e[(first + i) * a.stride..][..a.to]);
    let mut acc: [[f32; W]; N] = std::array::from_fn(|i| {
        *o[(first + i) * a.value_dim + at..].first_chunk().expect("whole query")
    });
    for j in a.from..a.to {
        let stored: &[u16; W] = a.v[j * a.value_dim + at..].first_chunk().expect("whole page");
        let mut values = [0f32; W];
        for (value, bits) in values.iter_mut().zip(stored) {
            *value = wide(*bits);
        }
        for i in 0..N {
            for lane in 0..W {
                acc[i][lane] = e[i][j].mul_add(values[lane], acc[i][lane]);
            }
        }
    }
    for (i, acc) in acc.iter().enumerate() {
        o[(first + i) * a.value_dim + at..][..W].copy_from_slice(acc);
    }
}

/// All columns for `N` queries.
#[inline(always)]
fn weigh_columns<const N: usize>(a: &Weigh<'_>, first: usize, o: &mut [f32]) {
    let mut at = 0;
    while at + 16 <= a.value_dim {
        weigh_of::<N, 16>(a, first, at, o);
        at += 16;
    }
    while at < a.value_dim {
        weigh_of::<N, 1>(a, first, at, o);
        at += 1;
    }
}

/// Adds the weighed values of positions `from..to` to every query's output.
#[inline(always)]
pub(crate) fn weigh(a: &Weigh<'_>, o: &mut [f32]) {
    let mut first = 0;
    while first + 4 <= a.queries {
        weigh_columns::<4>(a, first, o);
        first += 4;
    }
    match a.queries - first {
        3 => weigh_columns::<3>(a, first, o),
        2 => weigh_columns::<2>(a, first, o),
        1 => weigh_columns::<1>(a, first, o),
        _ => {}
    }
}
