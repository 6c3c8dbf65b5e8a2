//! Activations in the forms weights are multiplied with (`docs/determinism.md`, "Activations").

use recinto_quant::Form;

use crate::scratch::Wiped;

/// Sums stored with each block of 256: sixteen over 16 values, then eight over 32 (all fit i16:
/// 32 · 127 = 4064).
pub(crate) const SUMS: usize = 24;

/// Activations of `n` positions in one form; slices of other forms are empty.
#[derive(Clone, Copy)]
pub(crate) struct Acts<'a> {
    /// Positions.
    pub n: usize,
    /// Values of one position, padding included.
    pub cols: usize,
    /// Blocks of one position.
    pub blocks: usize,
    /// F32: the values, `n × cols`.
    pub x: &'a [f32],
    /// A32, B256: signed bytes, `n × cols`.
    pub q: &'a [i8],
    /// A32, B256: scales, `n × blocks`.
    pub d: &'a [f32],
    /// A32: sums of a block's bytes, `n × blocks`.
    pub s: &'a [i32],
    /// B256: sums within a block, `n × blocks × SUMS`.
    pub sums: &'a [i16],
}

impl<'a> Acts<'a> {
    /// Positions `first..first + n` only.
    pub fn range(&self, first: usize, n: usize) -> Acts<'a> {
        fn cut<T>(all: &[T], first: usize, n: usize, each: usize) -> &[T] {
            if all.is_empty() { all } else { &all[first * each..(first + n) * each] }
        }
        Acts {
            n,
            x: cut(self.x, first, n, self.cols),
            q: cut(self.q, first, n, self.cols),
            d: cut(self.d, first, n, self.blocks),
            s: cut(self.s, first, n, self.blocks),
            sums: cut(self.sums, first, n, self.blocks * SUMS),
            ..*self
        }
    }

    /// Plain values.
    pub fn plain(n: usize, cols: usize, x: &'a [f32]) -> Acts<'a> {
        Acts { n, cols, blocks: 0, x, q: &[], d: &[], s: &[], sums: &[] }
    }
}

/// One quantized form of one slot.
#[derive(Default)]
pub(crate) struct Quantized {
    pub ready: bool,
    pub q: Wiped<i8>,
    pub d: Wiped<f32>,
    pub s: Wiped<i32>,
    pub sums: Wiped<i16>,
}

/// Quantized forms of the activations of one slot. Made by [`crate::Machine::prepare`], read by
/// [`crate::Machine::linear`]; buffers are reused, and wiped when dropped.
#[derive(Default)]
pub struct Prepared {
    pub(crate) n: usize,
    pub(crate) cols: usize,
    pub(crate) a32: Quantized,
    pub(crate) b256: Quantized,
}

impl Prepared {
    /// Nothing prepared, nothing allocated.
    pub fn new() -> Prepared {
        Prepared::default()
    }

    /// Forgets the forms (the slot has new values); keeps the buffers.
    pub fn clear(&mut self) {
        self.a32.ready = false;
        self.b256.ready = false;
    }

    /// Whether `form` is there for `n` positions of `cols` values.
    pub fn has(&self, form: Form, n: usize, cols: usize) -> bool {
        let ready = match form {
            Form::F32 => return true,
            Form::A32 => self.a32.ready,
            Form::B256 => self.b256.ready,
        };
        ready && self.n == n && self.cols == cols
    }

    /// The stored activations in `form`; `x` serves plain floats.
    pub(crate) fn acts<'a>(&'a self, form: Form, n: usize, cols: usize, x: &'a [f32]) -> Acts<'a> {
        assert!(self.has(form, n, cols), "the form of these activations was not prepared");
        let (each, from) = match form {
            Form::F32 => return Acts::plain(n, cols, x),
            Form::A32 => (32, &self.a32),
            Form::B256 => (256, &self.b256),
        };
        let blocks = cols.div_ceil(each);
        let (s, sums) = match form {
            Form::A32 => (from.s.get(n * blocks), &[][..]),
            _ => (&[][..], from.sums.get(n * blocks * SUMS)),
        };
        let (q, d) = (from.q.get(n * blocks * each), from.d.get(n * blocks));
        Acts { n, cols: blocks * each, blocks, x: &[], q, d, s, sums }
    }
}
