//! Matrix products: weights as stored against activations in the form they ask for.

use std::ops::Range;

use recinto_quant::Form;

use super::{Ended, Machine};
use crate::acts::{Acts, Prepared, Quantized, SUMS};
use crate::grid::{self, Grid, Part};
use crate::rows::Rows;
use crate::stop::{Stop, Stopped};
use crate::table::TILE;

/// Jobs of one region; more are done in several.
const JOBS: usize = 8;
/// Bytes of weights of one tile where each is read once: long streams, yet several for balance.
const STREAM: usize = 64 * 1024;

/// Values quantized in one tile.
const QUANTIZE: usize = 16 * 1024;

/// One matrix product of a region.
pub struct Job<'a> {
    /// The weights; their columns are the values of one position.
    pub weights: Rows<'a>,
    /// Added to every position's output, one value a row.
    pub bias: Option<&'a [f32]>,
    /// Output, `n × rows`, position-major.
    pub out: &'a mut [f32],
}

impl Machine {
    /// Makes the forms of `x` (`n` positions of `cols` values, position-major) that are not yet
    /// in `prepared`. Call [`Prepared::clear`] when `x` changes.
    pub fn prepare(
        &self,
        stop: &Stop,
        x: &[f32],
        cols: usize,
        forms: &[Form],
        prepared: &mut Prepared,
    ) -> Result<(), Stopped> {
        assert!(cols > 0 && x.len().is_multiple_of(cols), "positions of an activation");
        let n = x.len() / cols;
        if (prepared.n, prepared.cols) != (n, cols) {
            prepared.clear();
            (prepared.n, prepared.cols) = (n, cols);
        }
        for form in forms {
            if prepared.has(*form, n, cols) {
                continue;
            }
            match form {
                Form::F32 => {}
                Form::A32 => self.quantize(stop, x, cols, 32, &mut prepared.a32)?,
                Form::B256 => self.quantize(stop, x, cols, 256, &mut prepared.b256)?,
            }
        }
        Ok(())
    }

    fn quantize(
        &self,
        stop: &Stop,
        x: &[f32],
        cols: usize,
        each: usize,
        to: &mut Quantized,
    ) -> Result<(), Stopped> {
        let (n, blocks) = (x.len() / cols, cols.div_ceil(each));
        let q = to.q.take(n * blocks * each);
        let d = to.d.take(n * blocks);
        let s = if each == 32 { to.s.take(n * blocks) } else { &mut [] };
        let sums = if each == 256 { to.sums.take(n * blocks * SUMS) } else { &mut [] };
        // Some positions a tile, so that a region is worth it.
        let many = (QUANTIZE / cols).max(1);
        let ended = Ended::new(stop);
        let x = |p: usize| &x[p * cols..(p + 1) * cols];
        let (pool, table) = (&self.pool, self.table());
        if each == 32 {
            grid::positions(pool, n, many, (q, d, s), &|p, q, d, s| {
                if !ended.now() {
                    table.quantize_a32(x(p), q, d, s);
                }
            });
        } else {
            grid::positions(pool, n, many, (q, d, sums), &|p, q, d, sums| {
                if !ended.now() {
                    table.quantize_b256(x(p), q, d, sums);
                }
            });
        }
        ended.result()?;
        to.ready = true;
        Ok(())
    }

    /// Matrix products of one input: `out[p][r] = Σ weights[r][c] · x[p][c]`, plus the bias. All
    /// jobs read the same `x` and share a parallel region.
    ///
    /// # Panics
    /// When sizes do not fit each other, or a form was not prepared for this `x`.
    pub fn linear(
        &self,
        stop: &Stop,
        x: &[f32],
        cols: usize,
        prepared: &Prepared,
        jobs: &mut [Job<'_>],
    ) -> Result<(), Stopped> {
        assert!(cols > 0 && x.len().is_multiple_of(cols), "positions of an activation");
        let n = x.len() / cols;
        let ended = Ended::new(stop);
        for jobs in jobs.chunks_mut(JOBS) {
            self.region(&ended, x, cols, n, prepared, jobs);
        }
        ended.result()
    }

    fn region(
        &self,
        ended: &Ended<'_>,
        x: &[f32],
        cols: usize,
        n: usize,
        prepared: &Prepared,
        jobs: &mut [Job<'_>],
    ) {
        let (gemm, most) = (n >= self.table().gemm_from, self.table().gemm_to);
        let mut grids: [Grid<'_>; JOBS] = std::array::from_fn(|_| Grid::new(&mut [], 0, 1, 1));
        let mut specs: [Option<Spec<'_>>; JOBS] = [None; JOBS];
        let count = jobs.len();
        for ((job, grid), spec) in jobs.iter_mut().zip(&mut grids).zip(&mut specs) {
            let (w, rows) = (job.weights, job.weights.rows());
            assert!(w.cols() == cols && job.out.len() == n * rows, "sizes of a matrix product");
            assert!(job.bias.is_none_or(|b| b.len() == rows), "bias of a matrix product");
            let acts = prepared.acts(w.dtype().layout().form, n, cols, x);
            let stream = (STREAM / w.stride()).next_multiple_of(TILE).clamp(TILE, 4096);
            // With few bytes a thread, shorter tiles rather than idle threads.
            let even = rows.div_ceil(2 * self.threads()).next_multiple_of(TILE).max(TILE);
            let mut tile = if gemm { TILE } else { stream.min(even) };
            if w.is_interleaved(0) {
                tile = tile.next_multiple_of(TILE);
            }
            *grid = Grid::new(job.out, rows, tile, if gemm { most } else { n.max(1) });
            *spec = Some(Spec { weights: w, bias: job.bias, acts });
        }
        grid::run(&self.pool, &grids[..count], &|thread, index, mut part| {
            let Some(spec) = &specs[index] else { return };
            if ended.now() {
                return;
            }
            match (gemm, spec.weights.is_interleaved(part.columns.start)) {
                (true, _) => self.gemm(thread, spec, part),
                (false, true) => self.interleaved_dots(thread, spec, part),
                (false, false) => self.dots(spec, part.columns.clone(), &mut part),
            }
        });
    }

    /// A tile of rows against a few positions, one after another.
    fn dots(&self, spec: &Spec<'_>, columns: Range<usize>, part: &mut Part<'_>) {
        let (w, start) = (spec.weights, part.columns.start);
        // Few rows at a time, so that the second position finds them in the cache.
        let few = if part.positions.len() == 1 { columns.len() } else { 4 };
        for first in columns.clone().step_by(few.max(1)) {
            let last = columns.end.min(first + few);
            for p in part.positions.clone() {
                let out = &mut part.at(p)[first - start..last - start];
                let bytes = w.span(first, last);
                self.table().dot(w.dtype(), bytes, w.stride(), &spec.acts.range(p, 1), out);
                if let Some(bias) = spec.bias {
                    self.table().add(out, &bias[first..last]);
                }
            }
        }
    }

    /// Interleaved groups against a few positions, one after another; rows left over as usual.
    fn interleaved_dots(&self, thread: usize, spec: &Spec<'_>, mut part: Part<'_>) {
        let (w, columns) = (spec.weights, part.columns.clone());
        let work = &mut self.scratch(thread).work;
        let whole = columns.clone().step_by(TILE).take_while(|first| w.is_interleaved(*first));
        let mut end = columns.start;
        for first in whole {
            end = first + TILE;
            let group = w.span(first, end);
            for p in part.positions.clone() {
                let out = &mut part.at(p)[first - columns.start..][..TILE];
                let out = out.first_chunk_mut().expect("a whole group");
                let acts = spec.acts.range(p, 1);
                self.table().dot_interleaved(w.dtype(), group, &acts, work, out);
                if let Some(bias) = spec.bias {
                    self.table().add(out, &bias[first..end]);
                }
            }
        }
        if end < columns.end {
            self.dots(spec, end..columns.end, &mut part);
        }
    }

    /// A tile of rows against many positions.
    fn gemm(&self, thread: usize, spec: &Spec<'_>, mut part: Part<'_>) {
        let (w, columns, positions) = (spec.weights, part.columns.clone(), part.positions.clone());
        let bytes = w.span(columns.start, columns.end);
        let acts = spec.acts.range(positions.start, positions.len());
        let scratch = &mut *self.scratch(thread);
        // Taken out for the call, which borrows the rest of the scratch.
        let mut values = std::mem::take(&mut scratch.work.out);
        let out = values.take(positions.len() * TILE);
        let work = &mut scratch.work;
        // Tiles go round the threads.
        work.ahead = bytes.len() * self.threads();
        if w.is_interleaved(columns.start) {
            self.table().gemm_interleaved(w.dtype(), bytes, &acts, work, out);
        } else {
            self.table().gemm(w.dtype(), bytes, w.stride(), &acts, work, out);
        }
        for (p, values) in positions.zip(out.chunks_exact(TILE)) {
            let out = part.at(p);
            match (out.first_chunk_mut::<TILE>(), values.first_chunk::<TILE>()) {
                // Two moves; a copy of unknown length would be a call for each position.
                (Some(out), Some(values)) => *out = *values,
                _ => out.copy_from_slice(&values[..columns.len()]),
            }
            if let Some(bias) = spec.bias {
                self.table().add(out, &bias[columns.clone()]);
            }
        }
        scratch.work.out = values;
    }
}

/// What a tile needs to know of its job.
#[derive(Clone, Copy)]
struct Spec<'a> {
    weights: Rows<'a>,
    bias: Option<&'a [f32]>,
    acts: Acts<'a>,
}
