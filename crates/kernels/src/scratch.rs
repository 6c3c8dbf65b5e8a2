//! Memory a thread works in: reused from call to call, wiped before it is given back.

use zeroize::{DefaultIsZeroes, Zeroize};

/// One cache line; panels are made of them so that wide loads never straddle two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [u8; 64]);

impl Default for Line {
    fn default() -> Line {
        Line([0; 64])
    }
}

impl DefaultIsZeroes for Line {}

/// A growing buffer whose old contents never stay behind in freed memory.
#[derive(Default)]
pub(crate) struct Wiped<T: DefaultIsZeroes>(Vec<T>);

impl<T: DefaultIsZeroes> Wiped<T> {
    /// The first `len` values, grown if need be; what they hold is not defined.
    pub fn take(&mut self, len: usize) -> &mut [T] {
        if self.0.len() < len {
            // Not `resize`: it would move the old values and free them unwiped.
            self.0.as_mut_slice().zeroize();
            self.0 = Vec::new();
            self.0 = vec![T::default(); len.next_multiple_of(64)];
        }
        &mut self.0[..len]
    }

    /// The first `len` values, which must have been taken before.
    pub fn get(&self, len: usize) -> &[T] {
        &self.0[..len]
    }
}

impl<T: DefaultIsZeroes> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

/// What one thread needs for a matrix product.
#[derive(Default)]
pub(crate) struct Work {
    /// How far behind the rows in hand those lie that this thread is likely to take next, in
    /// bytes: what a product may ask for while it computes.
    pub ahead: usize,
    /// Unpacked weights of a tile.
    pub panel: Wiped<Line>,
    /// Rows of an interleaved group, put back in order.
    pub rows: Wiped<u8>,
    /// Weights of two rows as plain floats.
    pub plain: Wiped<f32>,
    /// Results of a tile before they go to their places.
    pub out: Wiped<f32>,
}

/// What one thread needs for attention.
#[derive(Default)]
pub(crate) struct Seen {
    /// Queries of a tile, gathered.
    pub q: Wiped<f32>,
    /// Scores of every query against every position.
    pub s: Wiped<f32>,
    /// Weighted values of one page.
    pub page: Wiped<f32>,
    /// Weighted values so far.
    pub o: Wiped<f32>,
    /// Keys of a whole text, side by side by head.
    pub keys: Wiped<f32>,
    /// Values of a whole text, one head after another.
    pub values: Wiped<f32>,
    /// What each page of a long row of keys gave for one position, by page and head.
    pub records: Wiped<f32>,
}

/// All scratch of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    pub work: Work,
    pub seen: Seen,
}
