//! A weight matrix as the kernels see it: whole rows of whole blocks.

use recinto_quant::{DType, Mismatch};

/// Borrowed weights of one matrix; every row is known to hold whole blocks.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    dtype: DType,
    rows: usize,
    cols: usize,
    stride: usize,
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
                Ok(Rows { bytes, dtype, rows, cols, stride })
            }
            _ => Err(Mismatch),
        }
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

    /// The bytes of rows `first..last`, which must exist.
    pub(crate) fn span(&self, first: usize, last: usize) -> &'a [u8] {
        &self.bytes[first * self.stride..last * self.stride]
    }
}
