//! Attention over a whole text, all of it in plain floats (`docs/determinism.md`, "Attention over a
//! whole text").

// Lanes and queries are counted side by side: indices say which is which.
#![allow(clippy::needless_range_loop)]

use crate::table::{Gather, Meet};

/// Queries that share what is loaded.
const MOST: usize = 4;

/// `N` queries from `first`; sixteen keys side by side.
#[inline(always)]
fn meet_of<const N: usize>(a: &Meet<'_>, first: usize, s: &mut [f32]) {
    for j in (a.from..a.to).step_by(16) {
        let mut acc = [[0f32; 16]; N];
        for d in 0..a.dim {
            let keys: &[f32; 16] = a.k[d * a.stride + j..].first_chunk().expect("sixteen keys");
            for i in 0..N {
                let q = a.q[(first + i) * a.dim + d];
                for lane in 0..16 {
                    acc[i][lane] = q.mul_add(keys[lane], acc[i][lane]);
                }
            }
        }
        for (i, acc) in acc.iter().enumerate() {
            for (s, sum) in s[(first + i) * a.stride + j..].iter_mut().zip(acc) {
                *s = a.scale * sum;
            }
        }
    }
}

/// Scores of every query against keys `from..to`: each a sum over the head in ascending order.
#[inline(always)]
pub(crate) fn meet(a: &Meet<'_>, s: &mut [f32]) {
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

/// Columns `at..at + W` of `N` queries from `first`.
#[inline(always)]
fn gather_of<const N: usize, const W: usize>(
    a: &Gather<'_>,
    first: usize,
    at: usize,
    o: &mut [f32],
) {
    let mut acc = [[0f32; W]; N];
    for j in a.from..a.to {
        let values = &a.v[j * a.dim + at..][..W];
        for i in 0..N {
            let e = a.e[(first + i) * a.stride + j];
            for lane in 0..W {
                acc[i][lane] = e.mul_add(values[lane], acc[i][lane]);
            }
        }
    }
    for (i, acc) in acc.iter().enumerate() {
        o[(first + i) * a.dim + at..][..W].copy_from_slice(acc);
    }
}

#[inline(always)]
fn gather_columns<const N: usize>(a: &Gather<'_>, first: usize, o: &mut [f32]) {
    let mut at = 0;
    while at + 16 <= a.dim {
        gather_of::<N, 16>(a, first, at, o);
        at += 16;
    }
    while at < a.dim {
        gather_of::<N, 1>(a, first, at, o);
        at += 1;
    }
}

/// Sums of weighed values of positions `from..to`, in ascending order, from 0.
#[inline(always)]
pub(crate) fn gather(a: &Gather<'_>, o: &mut [f32]) {
    let queries = a.e.len() / a.stride;
    for first in (0..queries).step_by(MOST) {
        match queries - first {
            1 => gather_columns::<1>(a, first, o),
            2 => gather_columns::<2>(a, first, o),
            3 => gather_columns::<3>(a, first, o),
            _ => gather_columns::<MOST>(a, first, o),
        }
    }
}
