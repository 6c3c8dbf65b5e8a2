//! Attention of texts that are read as a whole: each token sees those on both sides of it.

use std::ops::Range;

use super::{Ended, Machine};
use crate::grid::{self, Grid, Part};
use crate::scratch::{Scratch, Seen};
use crate::stop::{Stop, Stopped};
use crate::table::{Gather, Meet};

/// Most queries of one tile; they share what is read of keys and values.
const QUERIES: usize = 16;

/// Tokens whose keys are put side by side at a time.
const EIGHT: usize = 8;

/// One text of a batch: its keys and values are `n` rows.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// Tokens.
    pub n: usize,
    /// The tokens that ask, ascending, one a row of queries; `None`: all of them.
    pub queries: Option<&'a [u32]>,
    /// Where tokens stand and which do not see each other; `None`: in a row, and all do.
    pub places: Option<Places<'a>>,
}

/// Places of tokens that do not simply stand in a row.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Position of each token: what reach is measured in.
    pub positions: &'a [u32],
    /// The part each token belongs to. Tokens of two parts see each other only where one of the
    /// parts is 0.
    pub parts: &'a [u32],
}

impl Text<'_> {
    /// Rows of queries.
    fn rows(&self) -> usize {
        self.queries.map_or(self.n, <[u32]>::len)
    }

    /// The token that asks in row `row`.
    fn token(&self, row: usize) -> usize {
        self.queries.map_or(row, |queries| queries[row] as usize)
    }

    /// The tokens that `token` can see at the most, and must be looked at.
    fn sees(&self, token: usize, reach: Option<usize>) -> Range<usize> {
        match (reach, self.places) {
            (Some(reach), None) => {
                token.saturating_sub(reach)..self.n.min(token.saturating_add(reach + 1))
            }
            _ => 0..self.n,
        }
    }
}

impl Places<'_> {
    fn see(&self, a: usize, b: usize, reach: Option<usize>) -> bool {
        let (a_part, b_part) = (self.parts[a], self.parts[b]);
        let apart = a_part != b_part && a_part != 0 && b_part != 0;
        let far = self.positions[a].abs_diff(self.positions[b]) as usize;
        !apart && reach.is_none_or(|reach| far <= reach)
    }
}

/// How a layer attends.
#[derive(Clone, Copy)]
struct How {
    heads: usize,
    kv_heads: usize,
    key_dim: usize,
    value_dim: usize,
    reach: Option<usize>,
    scale: f32,
}

impl Machine {
    /// Attention of several texts, each over itself alone. `k` and `v` hold all their tokens, text
    /// after text, `kv_heads · dim` values each; `q` and `out` a row for each token that asks,
    /// `heads · dim`. A token sees those at most `reach` positions away, on both sides, or all.
    ///
    /// Memory grows with the tokens of the longest text, not with their square.
    ///
    /// # Panics
    /// When sizes do not fit each other.
    #[allow(clippy::too_many_arguments)]
    pub fn attend_whole(
        &self,
        stop: &Stop,
        [q, k, v]: [&[f32]; 3],
        texts: &[Text<'_>],
        [heads, kv_heads]: [usize; 2],
        reach: Option<usize>,
        scale: f32,
        out: &mut [f32],
    ) -> Result<(), Stopped> {
        let n: usize = texts.iter().map(|text| text.n).sum();
        let rows: usize = texts.iter().map(Text::rows).sum();
        assert!(kv_heads > 0 && heads.is_multiple_of(kv_heads), "heads of an attention");
        if rows == 0 {
            return stop.check();
        }
        let (key_dim, value_dim) = (k.len() / (n * kv_heads), v.len() / (n * kv_heads));
        assert!(key_dim > 0 && k.len() == n * kv_heads * key_dim, "keys of an attention");
        assert!(value_dim > 0 && v.len() == n * kv_heads * value_dim, "values of an attention");
        assert!(q.len() == rows * heads * key_dim && out.len() == rows * heads * value_dim);
        let how = How { heads, kv_heads, key_dim, value_dim, reach, scale };
        let ended = Ended::new(stop);
        let taken =
            |seen: &mut Seen| (std::mem::take(&mut seen.keys), std::mem::take(&mut seen.values));
        let (mut keys, mut values) = taken(&mut self.scratch(0).seen);
        let (mut token, mut row, mut rest) = (0, 0, out);
        for text in texts {
            let now;
            (now, rest) = rest.split_at_mut(text.rows() * heads * value_dim);
            let q = &q[row * heads * key_dim..][..text.rows() * heads * key_dim];
            let k = &k[token * kv_heads * key_dim..][..text.n * kv_heads * key_dim];
            let v = &v[token * kv_heads * value_dim..][..text.n * kv_heads * value_dim];
            if let Some(places) = text.places {
                assert!(places.positions.len() == text.n && places.parts.len() == text.n);
            }
            (token, row) = (token + text.n, row + text.rows());
            if now.is_empty() {
                continue;
            }
            let stride = text.n.next_multiple_of(16);
            let keys = keys.take(kv_heads * key_dim * stride);
            let values = values.take(kv_heads * value_dim * text.n);
            self.by_head(&ended, [k, v], kv_heads, stride, [keys, values]);
            let (keys, values) = (&*keys, &*values);
            let grid = Grid::new(now, heads * value_dim, value_dim, QUERIES);
            grid::run(&self.pool, &[grid], &|thread, _, part| {
                let scratch = &mut *self.scratch(thread);
                self.whole_tile(&ended, [q, keys, values], text, &how, scratch, part);
            });
        }
        let scratch = &mut *self.scratch(0);
        (scratch.seen.keys, scratch.seen.values) = (keys, values);
        ended.result()
    }

    /// Keys of a text, `[n][heads][dim]`, as `[heads][dim][stride]`, zeros behind the last; values
    /// as `[heads][n][dim]`. Tokens of one head lie far apart before, often by a power of two, so
    /// that a cache would keep few of them for the next queries.
    fn by_head(
        &self,
        ended: &Ended<'_>,
        [k, v]: [&[f32]; 2],
        heads: usize,
        stride: usize,
        [keys, values]: [&mut [f32]; 2],
    ) {
        let key_dim = keys.len() / (stride * heads);
        let n = k.len() / (key_dim * heads);
        let value_dim = values.len() / (n * heads);
        let none: &mut [f32] = &mut [];
        grid::positions(&self.pool, heads, 1, (keys, values, none), &|head, keys, values, _| {
            if ended.now() {
                return;
            }
            for first in (0..stride).step_by(EIGHT) {
                let mut rows: [&[f32]; EIGHT] = [&[]; EIGHT];
                for (token, row) in (first..n).zip(&mut rows) {
                    *row = &k[(token * heads + head) * key_dim..][..key_dim];
                }
                for (d, to) in keys.chunks_exact_mut(stride).enumerate() {
                    for (to, row) in to[first..first + EIGHT].iter_mut().zip(rows) {
                        *to = row.get(d).copied().unwrap_or(0.0);
                    }
                }
            }
            for (token, to) in values.chunks_exact_mut(value_dim).enumerate() {
                to.copy_from_slice(&v[(token * heads + head) * value_dim..][..value_dim]);
            }
        });
    }

    /// One head of some queries.
    fn whole_tile(
        &self,
        ended: &Ended<'_>,
        [q, keys, values]: [&[f32]; 3],
        text: &Text<'_>,
        how: &How,
        scratch: &mut Scratch,
        mut part: Part<'_>,
    ) {
        if ended.now() {
            return;
        }
        let &How { heads, kv_heads, key_dim, value_dim, reach, scale } = how;
        let (table, seen) = (self.table(), &mut scratch.seen);
        let head = part.columns.start / value_dim;
        let kv_head = head / (heads / kv_heads);
        let (positions, stride) = (part.positions.clone(), text.n.next_multiple_of(16));
        let queries = positions.len();
        let gathered = seen.q.take(queries * key_dim);
        for (to, row) in gathered.chunks_exact_mut(key_dim).zip(positions.clone()) {
            to.copy_from_slice(&q[(row * heads + head) * key_dim..][..key_dim]);
        }
        // Tokens ascend, so the first query begins and the last one ends what the tile sees.
        let sees = |row: usize| text.sees(text.token(row), reach);
        let from = sees(positions.start).start / 16 * 16;
        let to = sees(positions.end - 1).end.next_multiple_of(16);
        let k = &keys[kv_head * key_dim * stride..][..key_dim * stride];
        let s = seen.s.take(queries * stride);
        table.meet(&Meet { q: gathered, dim: key_dim, k, stride, from, to, scale }, s);
        let mut sums = [0f32; QUERIES];
        for ((s, row), sum) in s.chunks_exact_mut(stride).zip(positions.clone()).zip(&mut sums) {
            let (token, own) = (text.token(row), sees(row));
            if let Some(places) = text.places {
                let hidden = own.clone().filter(|other| !places.see(token, *other, reach));
                hidden.for_each(|other| s[other] = f32::NEG_INFINITY);
            }
            let largest = table.largest(&s[own.clone()]);
            *sum = table.soften(s, largest, own.start, own.end);
            // Others of the tile see more: what this query does not see weighs nothing.
            s[from..own.start / 16 * 16].fill(0.0);
            s[own.end.next_multiple_of(16)..to].fill(0.0);
        }
        let o = seen.o.take(queries * value_dim);
        let v = &values[kv_head * text.n * value_dim..][..text.n * value_dim];
        let to = to.min(text.n);
        table.gather(&Gather { e: s, stride, v, dim: value_dim, from, to }, o);
        for ((o, row), sum) in o.chunks_exact(value_dim).zip(positions).zip(sums) {
            part.at(row).iter_mut().zip(o).for_each(|(out, o)| *out = o / sum);
        }
    }
}
