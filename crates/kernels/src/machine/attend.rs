//! Attention of a block of queries over stored keys and values, by heads and positions.

use std::ops::Range;

use super::{Ended, Machine};
use crate::grid::{self, Grid, Part};
use crate::kv::Kv;
use crate::page::PAGE;
use crate::scratch::Scratch;
use crate::stop::{Stop, Stopped};
use crate::table::{Scores, Weigh};

/// Most queries of one tile; they share what is read of keys and values.
const QUERIES: usize = 24;
/// Sequences of one parallel region; more are done in several.
const SEQUENCES: usize = 16;

/// Positions seen from which the pages of a single query are split over threads: there are seldom
/// as many key-value heads as would keep all threads busy.
const SPLIT: usize = 4 * PAGE;

/// Queries of one sequence in a batch: `n` positions from `start` on, over that sequence's keys
/// and values.
#[derive(Clone, Copy)]
pub struct Sequence<'a> {
    /// Keys and values of every position up to the last query's must have been stored.
    pub kv: &'a Kv,
    /// Position of the first query.
    pub start: usize,
    /// Queries.
    pub n: usize,
}

/// How a layer attends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attend {
    /// Query heads; a multiple of the cache's key-value heads.
    pub heads: usize,
    /// Positions a query sees, itself included; `None`: all up to itself.
    pub window: Option<usize>,
    /// Factor of every score.
    pub scale: f32,
    /// Soft cap of the scores, where the model has one.
    pub softcap: Option<f32>,
}

impl Machine {
    /// Attention: `q` is `n` positions of `heads · key_dim`, the first at position `start`; `out`
    /// gets `n` positions of `heads · value_dim`. Keys and values of every position up to the
    /// last query's must have been stored.
    ///
    /// # Panics
    /// When sizes do not fit each other or `kv` has no room for the last position.
    pub fn attend(
        &self,
        stop: &Stop,
        q: &[f32],
        kv: &Kv,
        start: usize,
        a: &Attend,
        out: &mut [f32],
    ) -> Result<(), Stopped> {
        let n = q.len().checked_div(a.heads * kv.key_dim()).unwrap_or(0);
        self.attend_all(stop, q, &[Sequence { kv, start, n }], a, out)
    }

    /// Attention of several sequences, each over its own keys and values, in one parallel region.
    /// Positions of `q` and `out` are those of the sequences, one after the other.
    ///
    /// # Panics
    /// As [`Machine::attend`], and when sequences differ in heads or their sizes.
    pub fn attend_all(
        &self,
        stop: &Stop,
        mut q: &[f32],
        sequences: &[Sequence<'_>],
        a: &Attend,
        mut out: &mut [f32],
    ) -> Result<(), Stopped> {
        let Some(first) = sequences.first() else { return stop.check() };
        let shape = |kv: &Kv| (kv.kv_heads(), kv.key_dim(), kv.value_dim());
        let (kv_heads, key_dim, value_dim) = shape(first.kv);
        assert!(kv_heads > 0 && key_dim > 0 && value_dim > 0, "an empty cache");
        assert!(a.heads > 0 && a.heads.is_multiple_of(kv_heads), "heads of an attention");
        let n: usize = sequences.iter().map(|sequence| sequence.n).sum();
        assert!(q.len() == n * a.heads * key_dim && out.len() == n * a.heads * value_dim);
        for Sequence { kv, start, n } in sequences {
            assert!(shape(kv) == (kv_heads, key_dim, value_dim), "sequences of one model");
            assert!(start + n <= kv.capacity(), "positions of an attention");
        }
        if let [one @ Sequence { n: 1, .. }] = sequences
            && self.threads() > 1
            && seen_by(one.start, a).len() >= SPLIT
        {
            return self.attend_pages(stop, q, one, a, out);
        }
        let group = a.heads / kv_heads;
        // Heads of one tile divide the group, so that all read the same keys; fewer where there
        // would not be a tile for every thread.
        let fits = |h: &usize| {
            group.is_multiple_of(*h)
                && *h <= QUERIES
                && (*h == 1 || n * (a.heads / h) >= self.threads())
        };
        let heads = (1..=group).rev().find(fits).unwrap_or(1);
        let many = (QUERIES / heads).max(1).min(n.div_ceil(self.threads()).max(1));
        let ended = Ended::new(stop);
        for sequences in sequences.chunks(SEQUENCES) {
            let mut grids: [Grid<'_>; SEQUENCES] =
                std::array::from_fn(|_| Grid::new(&mut [], 0, 1, 1));
            let mut queries: [&[f32]; SEQUENCES] = [&[]; SEQUENCES];
            for ((grid, queries), sequence) in grids.iter_mut().zip(&mut queries).zip(sequences) {
                let (now, rest) = out.split_at_mut(sequence.n * a.heads * value_dim);
                *grid = Grid::new(now, a.heads * value_dim, heads * value_dim, many);
                out = rest;
                (*queries, q) = q.split_at(sequence.n * a.heads * key_dim);
            }
            grid::run(&self.pool, &grids[..sequences.len()], &|thread, index, part| {
                let scratch = &mut *self.scratch(thread);
                self.attend_tile(&ended, queries[index], &sequences[index], a, scratch, part);
            });
        }
        ended.result()
    }

    fn attend_tile(
        &self,
        ended: &Ended<'_>,
        q: &[f32],
        &Sequence { kv, start, .. }: &Sequence<'_>,
        a: &Attend,
        scratch: &mut Scratch,
        mut part: Part<'_>,
    ) {
        let (key_dim, value_dim, table) = (kv.key_dim(), kv.value_dim(), self.table());
        let seen = &mut scratch.seen;
        let heads = part.columns.start / value_dim..part.columns.end / value_dim;
        let kv_head = heads.start / (a.heads / kv.kv_heads());
        let (many, positions) = (heads.len(), part.positions.clone());
        let queries = many * positions.len();
        // Query i: position i / many, head i % many; and the positions it sees.
        let sees = |i: usize| {
            let seen = seen_by(start + positions.start + i / many, a);
            (seen.start, seen.end)
        };
        let (first_page, last) = (sees(0).0 / PAGE, sees(queries - 1).1);
        let pages = first_page..last.div_ceil(PAGE);
        let base = first_page * PAGE;
        let stride = pages.len() * PAGE;

        let gathered = seen.q.take(queries * key_dim);
        for i in 0..queries {
            let from = ((positions.start + i / many) * a.heads + heads.start + i % many) * key_dim;
            let to = gathered.iter_mut().skip(i).step_by(queries);
            to.zip(&q[from..from + key_dim]).for_each(|(to, q)| *to = *q);
        }
        let s = seen.s.take(queries * stride);
        for page in pages.clone() {
            if ended.now() {
                return;
            }
            let from = if page == first_page { (sees(0).0 % PAGE) / 16 * 16 } else { 0 };
            let to = (last - page * PAGE).min(PAGE).next_multiple_of(16);
            let k = kv.keys(page, kv_head);
            let q = &*gathered;
            let scores = Scores { q, queries, key_dim, k, from, to, scale: a.scale, stride };
            table.scores(&scores, &mut s[page * PAGE - base..]);
        }
        let o = seen.o.take(queries * value_dim);
        let page_o = seen.page.take(queries * value_dim);
        let (mut m, mut z) = ([0f32; QUERIES], [0f32; QUERIES]);
        let mut started = [false; QUERIES];
        for (i, s) in s.chunks_exact_mut(stride).enumerate() {
            let (first, last) = sees(i);
            let s = &mut s[first - base..last - base];
            if let Some(cap) = a.softcap {
                table.softcap(s, cap);
            }
            m[i] = table.largest(s);
        }
        for page in pages {
            if ended.now() {
                return;
            }
            // What query i sees of this page.
            let sees = |i: usize| {
                let (first, last) = sees(i);
                let clip = |p: usize| p.saturating_sub(page * PAGE).min(PAGE);
                (clip(first), clip(last))
            };
            page_o.fill(0.0);
            let mut page_z = [0f32; QUERIES];
            for i in 0..queries {
                let (first, last) = sees(i);
                if first < last {
                    let s = &mut s[i * stride + page * PAGE - base..][..PAGE];
                    page_z[i] = table.soften(s, m[i], first, last);
                }
            }
            // What all see is read once for all; before and after it, the heads of each position
            // alone and in order.
            let (from, to) = (sees(queries - 1).0, sees(0).1);
            let e = &s[page * PAGE - base..];
            let v = kv.values(page, kv_head);
            let mut each = |from: usize, to: usize, i: usize, queries: usize| {
                if from < to {
                    let (e, o) = (&e[i * stride..], &mut page_o[i * value_dim..]);
                    table.weigh(&Weigh { e, stride, queries, v, value_dim, from, to }, o);
                }
            };
            if from < to {
                (0..queries).step_by(many).for_each(|i| each(sees(i).0, from, i, many));
                each(from, to, 0, queries);
                for i in (0..queries).step_by(many) {
                    let (first, last) = sees(i);
                    each(to.max(first), last, i, many);
                }
            } else {
                (0..queries).step_by(many).for_each(|i| each(sees(i).0, sees(i).1, i, many));
            }
            for i in 0..queries {
                let (first, last) = sees(i);
                if first == last {
                    continue;
                }
                let (o, page_o) = (&mut o[i * value_dim..][..value_dim], &page_o[i * value_dim..]);
                // The first page a query sees starts its sums.
                if !std::mem::replace(&mut started[i], true) {
                    o.copy_from_slice(&page_o[..value_dim]);
                    z[i] = page_z[i];
                } else {
                    table.add(o, &page_o[..value_dim]);
                    z[i] += page_z[i];
                }
            }
        }
        for i in 0..queries {
            let p = positions.start + i / many;
            let at = i % many * value_dim;
            let out = &mut part.at(p)[at..at + value_dim];
            for (out, o) in out.iter_mut().zip(&o[i * value_dim..]) {
                *out = o / z[i];
            }
        }
    }

    /// Attention of one query, a tile a page and key-value head; sums are made page by page and
    /// added in page order in any case, so the bits are those of [`Machine::attend_tile`].
    fn attend_pages(
        &self,
        stop: &Stop,
        q: &[f32],
        &Sequence { kv, start, .. }: &Sequence<'_>,
        a: &Attend,
        out: &mut [f32],
    ) -> Result<(), Stopped> {
        let (key_dim, value_dim, table) = (kv.key_dim(), kv.value_dim(), self.table());
        let group = a.heads / kv.kv_heads();
        let fits = |h: &usize| group.is_multiple_of(*h) && *h <= QUERIES;
        let many = (1..=group).rev().find(fits).unwrap_or(1);
        let seen = seen_by(start, a);
        let (first, last) = (seen.start / PAGE, seen.end.div_ceil(PAGE));
        // What the query sees of a page.
        let sees = |page: usize| {
            let clip = |p: usize| p.saturating_sub(page * PAGE).min(PAGE);
            (clip(seen.start), clip(seen.end))
        };
        // A record: scores of a page and head, their weighed values, their largest, their sum.
        let (values, largest, sum) = (PAGE, PAGE + value_dim, PAGE + value_dim + 1);
        let width = sum + 1;
        let mut held = std::mem::take(&mut self.scratch(0).seen.records);
        let records = held.take((last - first) * a.heads * width);
        let ended = Ended::new(stop);
        // A row of the table is a page, a tile the heads of one key-value head.
        let (row, tile) = (a.heads * width, many * width);
        grid::run(&self.pool, &[Grid::new(&mut *records, row, tile, 1)], &|thread, _, mut part| {
            if ended.now() {
                return;
            }
            let (head, page) = (part.columns.start / width, first + part.positions.start);
            let scratch = &mut *self.scratch(thread);
            let gathered = scratch.seen.q.take(many * key_dim);
            for (i, q) in q[head * key_dim..].chunks_exact(key_dim).take(many).enumerate() {
                let to = gathered.iter_mut().skip(i).step_by(many);
                to.zip(q).for_each(|(to, q)| *to = *q);
            }
            let (from, to) = sees(page);
            let s = part.at(page - first);
            let scores = Scores {
                q: gathered,
                queries: many,
                key_dim,
                k: kv.keys(page, head / group),
                from: from / 16 * 16,
                to: to.next_multiple_of(16),
                scale: a.scale,
                stride: width,
            };
            table.scores(&scores, s);
            for record in s.chunks_exact_mut(width) {
                if let Some(cap) = a.softcap {
                    table.softcap(&mut record[from..to], cap);
                }
                record[largest] = table.largest(&record[from..to]);
            }
        });
        let pages = last - first;
        for head in 0..a.heads {
            let at = |page: usize| (page * a.heads + head) * width + largest;
            let m = (0..pages)
                .fold(f32::NEG_INFINITY, |m, page| table.largest(&[m, records[at(page)]]));
            (0..pages).for_each(|page| records[at(page)] = m);
        }
        grid::run(&self.pool, &[Grid::new(&mut *records, row, tile, 1)], &|thread, _, mut part| {
            if ended.now() {
                return;
            }
            let (head, page) = (part.columns.start / width, first + part.positions.start);
            let scratch = &mut *self.scratch(thread);
            let o = scratch.seen.page.take(many * value_dim);
            o.fill(0.0);
            let (from, to) = sees(page);
            let e = part.at(page - first);
            for record in e.chunks_exact_mut(width) {
                let m = record[largest];
                record[sum] = table.soften(&mut record[..PAGE], m, from, to);
            }
            let v = kv.values(page, head / group);
            table.weigh(&Weigh { e, stride: width, queries: many, v, value_dim, from, to }, o);
            for (record, o) in e.chunks_exact_mut(width).zip(o.chunks_exact(value_dim)) {
                record[values..largest].copy_from_slice(o);
            }
        });
        for (head, out) in out.chunks_exact_mut(value_dim).enumerate() {
            let record = |page: usize| &records[(page * a.heads + head) * width..][..width];
            out.copy_from_slice(&record(0)[values..largest]);
            let mut z = record(0)[sum];
            for page in 1..pages {
                table.add(out, &record(page)[values..largest]);
                z += record(page)[sum];
            }
            out.iter_mut().for_each(|out| *out /= z);
        }
        self.scratch(0).seen.records = held;
        ended.result()
    }
}

/// Positions that a query at `p` sees.
fn seen_by(p: usize, a: &Attend) -> Range<usize> {
    let first = a.window.map_or(0, |window| (p + 1).saturating_sub(window));
    first.min(p)..p + 1
}
