//! What the engine calls: whole operations on slots, split over threads.
//!
//! Work is split over rows, heads, groups and positions, never over a sum. Every tile first asks
//! whether to stop; a stopped operation leaves its output half written.

mod attend;
mod linear;
mod whole;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use attend::{Attend, Sequence};
pub use linear::Job;
pub use whole::{Places, Text};

use crate::grid;
use crate::level::Kernels;
use crate::pool::Pool;
use crate::rope::{Angles, Pairs};
use crate::scratch::Scratch;
use crate::stop::{Stop, Stopped};
use crate::table::Table;

/// Values of one tile of an operation on single values.
const CHUNK: usize = 8192;

/// What the gate's branch of a feed-forward goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `silu(g) · u`.
    Silu,
    /// `gelu(g) · u`, tanh form.
    Gelu,
    /// `gelu(g) · u`, exact form.
    GeluErf,
}

/// A level's kernels and the threads to run them on, with each thread's scratch. May be used by
/// several callers at once; their regions take turns. Scratch is wiped when it is dropped.
pub struct Machine {
    kernels: Kernels,
    pool: Pool,
    scratch: Vec<Mutex<Scratch>>,
}

impl Machine {
    /// A machine of `threads` threads, the caller's among them.
    pub fn new(kernels: Kernels, threads: usize) -> Machine {
        let pool = Pool::new(threads);
        let scratch = (0..pool.threads()).map(|_| Mutex::default()).collect();
        Machine { kernels, pool, scratch }
    }

    /// The kernels in use.
    pub fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// Threads that take part, the caller's included.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    fn table(&self) -> &'static Table {
        self.kernels.table
    }

    /// The scratch of a thread; only callers that share a machine can ever meet here.
    fn scratch(&self, thread: usize) -> MutexGuard<'_, Scratch> {
        self.scratch[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `task` on chunks of `size` values of `data`, asking `stop` before each.
    fn chunks(
        &self,
        stop: &Stop,
        data: &mut [f32],
        size: usize,
        task: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<(), Stopped> {
        let ended = Ended::new(stop);
        grid::chunks(&self.pool, data, size, &|_, index, chunk| {
            if !ended.now() {
                task(index, chunk);
            }
        });
        ended.result()
    }

    /// Runs `task` on `x` with the matching part of `y`.
    fn with(
        &self,
        stop: &Stop,
        x: &mut [f32],
        y: &[f32],
        task: impl Fn(&mut [f32], &[f32]) + Sync,
    ) -> Result<(), Stopped> {
        assert_eq!(x.len(), y.len(), "two slots of one operation");
        self.chunks(stop, x, CHUNK, |i, x| task(x, &y[i * CHUNK..][..x.len()]))
    }

    /// Rms norm in place: groups of `size` values, each with the same `weight` if any.
    pub fn rms_norm(
        &self,
        stop: &Stop,
        x: &mut [f32],
        size: usize,
        weight: Option<&[f32]>,
        eps: f32,
    ) -> Result<(), Stopped> {
        let chunk = groups(x, size, weight);
        self.chunks(stop, x, chunk, |_, x| self.table().rms_norm(x, size, weight, eps))
    }

    /// Layer norm in place: groups of `size` values, each with the same `weight` and `bias`.
    pub fn layer_norm(
        &self,
        stop: &Stop,
        x: &mut [f32],
        size: usize,
        weight: Option<&[f32]>,
        bias: Option<&[f32]>,
        eps: f32,
    ) -> Result<(), Stopped> {
        let chunk = groups(x, size, weight);
        groups(x, size, bias);
        self.chunks(stop, x, chunk, |_, x| self.table().layer_norm(x, size, weight, bias, eps))
    }

    /// Rotary embedding in place. `x` is `angles.n` positions of `width` values in heads of
    /// `size`; the first `2 · angles.pairs` values of each head turn.
    pub fn rope(
        &self,
        stop: &Stop,
        x: &mut [f32],
        width: usize,
        size: usize,
        pairs: Pairs,
        angles: &Angles,
    ) -> Result<(), Stopped> {
        let n = angles.pairs;
        assert!(size > 0 && width.is_multiple_of(size) && 2 * n <= size, "heads of a rope");
        assert!(x.len() == angles.n * width, "positions of a rope");
        if x.is_empty() {
            return stop.check();
        }
        let many = (CHUNK / width).max(1);
        self.chunks(stop, x, many * width, |index, x| {
            for (i, x) in x.chunks_exact_mut(width).enumerate() {
                let at = (index * many + i) * n;
                let (cos, sin) = (&angles.cos[at..at + n], &angles.sin[at..at + n]);
                self.table().rope(x, size, pairs, cos, sin);
            }
        })
    }

    /// Values `from..from + width` of every position of `x`, which has `of` values each.
    pub fn slice(
        &self,
        stop: &Stop,
        x: &[f32],
        of: usize,
        from: usize,
        out: &mut [f32],
        width: usize,
    ) -> Result<(), Stopped> {
        assert!(width > 0 && from <= of && width <= of - from, "values of a slice");
        assert!(out.len() / width * of == x.len() && out.len().is_multiple_of(width));
        let many = (CHUNK / width).max(1);
        self.chunks(stop, out, many * width, |index, out| {
            let rows = x[index * many * of..].chunks_exact(of);
            for (to, row) in out.chunks_exact_mut(width).zip(rows) {
                to.copy_from_slice(&row[from..from + width]);
            }
        })
    }

    /// `x += y`.
    pub fn add(&self, stop: &Stop, x: &mut [f32], y: &[f32]) -> Result<(), Stopped> {
        self.with(stop, x, y, |x, y| self.table().add(x, y))
    }

    /// `x *= y`.
    pub fn mul(&self, stop: &Stop, x: &mut [f32], y: &[f32]) -> Result<(), Stopped> {
        self.with(stop, x, y, |x, y| self.table().mul(x, y))
    }

    /// `x *= by`.
    pub fn scale(&self, stop: &Stop, x: &mut [f32], by: f32) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().scale(x, by))
    }

    /// `x = cap · tanh(x / cap)`.
    pub fn softcap(&self, stop: &Stop, x: &mut [f32], cap: f32) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().softcap(x, cap))
    }

    /// `x = x / (1 + exp(−x))`.
    pub fn silu(&self, stop: &Stop, x: &mut [f32]) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().silu(x))
    }

    /// Gelu in its tanh form.
    pub fn gelu(&self, stop: &Stop, x: &mut [f32]) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().gelu(x))
    }

    /// Gelu in its exact form.
    pub fn gelu_erf(&self, stop: &Stop, x: &mut [f32]) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().gelu_erf(x))
    }

    /// `x = max(x, 0)`; NaN stays.
    pub fn relu(&self, stop: &Stop, x: &mut [f32]) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().relu(x))
    }

    /// `x = 1 / (1 + exp(−x))`.
    pub fn sigmoid(&self, stop: &Stop, x: &mut [f32]) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().sigmoid(x))
    }

    /// Hyperbolic tangent.
    pub fn tanh(&self, stop: &Stop, x: &mut [f32]) -> Result<(), Stopped> {
        self.chunks(stop, x, CHUNK, |_, x| self.table().tanh(x))
    }

    /// `g = gate(g) · u`.
    pub fn gated(&self, stop: &Stop, g: &mut [f32], u: &[f32], gate: Gate) -> Result<(), Stopped> {
        self.with(stop, g, u, |g, u| match gate {
            Gate::Silu => self.table().swiglu(g, u),
            Gate::Gelu => self.table().geglu(g, u),
            Gate::GeluErf => self.table().geglu_erf(g, u),
        })
    }
}

/// A machine is shared by the threads of its callers.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Machine>();
};

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Machine({}, {} threads)", self.kernels.level().name(), self.threads())
    }
}

/// Values of a tile of whole groups.
fn groups(x: &[f32], size: usize, w: Option<&[f32]>) -> usize {
    assert!(size > 0 && x.len().is_multiple_of(size), "groups of a norm");
    assert!(w.is_none_or(|w| w.len() == size), "weights of a norm");
    (CHUNK / size).max(1) * size
}

/// Whether the tiles of an operation are to end: asked once a tile, remembered for all.
struct Ended<'a> {
    stop: &'a Stop,
    ended: AtomicBool,
}

impl<'a> Ended<'a> {
    fn new(stop: &'a Stop) -> Ended<'a> {
        Ended { stop, ended: AtomicBool::new(false) }
    }

    fn now(&self) -> bool {
        if self.ended.load(Ordering::Relaxed) {
            return true;
        }
        let stopped = self.stop.stopped();
        if stopped {
            self.ended.store(true, Ordering::Relaxed);
        }
        stopped
    }

    fn result(&self) -> Result<(), Stopped> {
        if self.ended.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }
}
