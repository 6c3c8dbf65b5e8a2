//! A weight matrix as the kernels see it: whole rows of whole blocks.

use recinto_quant::{DType, Mismatch};

use crate::interleave::{GROUP, interleaves, take_row};

/// Borrowed weights of one matrix; every row is known to hold whole blocks.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    dtype: DType,
    rows: usize,
    cols: usize,
    stride: usize,
    interleaved: bool,
}

impl<'a> Rows<'a> {
    /// Looks at `bytes` as `rows` rows of `cols` values of `dtype`; lengths must agree exactly.
    pub fn new(
        bytes: &'a [u8],
        dtype: DType,
        rows: usize,
        cols: usize,
    ) -> Result<Rows<'a>, Mismatch> {
        let stride = dtype.bytes_for(cols as u64).and_then(|n| usize::try_from(n).ok());
        match stride {
            Some(stride) if stride > 0 && stride.checked_mul(rows) == Some(bytes.len()) => {
                Ok(Rows { bytes, dtype, rows, cols, stride, interleaved: false })
            }
            _ => Err(Mismatch),
        }
    }

    /// The same over bytes that [`interleave`](crate::interleave()) has put in its order.
    pub fn interleaved(
        bytes: &'a [u8],
        dtype: DType,
        rows: usize,
        cols: usize,
    ) -> Result<Rows<'a>, Mismatch> {
        if !interleaves(dtype) {
            return Err(Mismatch);
        }
        Ok(Rows { interleaved: true, ..Rows::new(bytes, dtype, rows, cols)? })
    }

    /// Row `index` as it is in the file, whole blocks of the storage type: where it lies, or, out
    /// of an interleaved group, in `buffer`.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row<'b>(&self, index: usize, buffer: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        assert!(index < self.rows, "a row of weights");
        if !self.is_interleaved(index) {
            return self.span(index, index + 1);
        }
        let group = index / GROUP * GROUP;
        buffer.resize(self.stride, 0);
        take_row(self.dtype, self.span(group, group + GROUP), index % GROUP, buffer);
        buffer
    }

    /// Whether row `index` lies in an interleaved group.
    pub(crate) fn is_interleaved(&self, index: usize) -> bool {
        self.interleaved && index < self.rows / GROUP * GROUP
    }

    /// Number of rows: output values for one position.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Values in a row: input values for one position.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The storage type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Bytes of one row.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// The bytes of rows `first..last`, which must exist; of whole groups where rows interleave.
    pub(crate) fn span(&self, first: usize, last: usize) -> &'a [u8] {
        &self.bytes[first * self.stride..last * self.stride]
    }
}
