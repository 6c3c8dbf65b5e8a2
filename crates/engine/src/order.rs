//! How matrices lie: as in the file, or, in a pinned copy, sixteen rows side by side.

use std::num::NonZeroUsize;

use recinto_kernels::{GROUP, Mismatch, Rows, interleave, interleaves};
use recinto_quant::expand;
use recinto_weights::{File, Rewrite, TensorInfo};

/// Bytes that are put in order together, about, in whole groups: a few rounds of a cache.
const PIECE: usize = 1 << 20;

/// The order of a pinned copy.
pub(crate) struct Interleaved;

impl Rewrite for Interleaved {
    fn piece(&self, tensor: &TensorInfo) -> Option<NonZeroUsize> {
        let (_, _, stride) = matrix(tensor)?;
        let group = stride.checked_mul(GROUP)?;
        NonZeroUsize::new((PIECE / group).max(1) * group)
    }

    fn rewrite(&self, tensor: &TensorInfo, _: usize, stored: &[u8], out: &mut [u8]) {
        if let Some((_, cols, stride)) = matrix(tensor) {
            // A matrix of whole rows, and pieces of whole groups: nothing here can fail.
            let _ = interleave(tensor.dtype, stored.len() / stride, cols, stored, out);
        }
    }
}

/// Rows, columns and bytes of a row of a tensor that a pinned copy keeps in its own order.
fn matrix(tensor: &TensorInfo) -> Option<(usize, usize, usize)> {
    let &[cols, rows] = &tensor.dims[..] else { return None };
    if !interleaves(tensor.dtype) {
        return None;
    }
    let stride = usize::try_from(tensor.dtype.bytes_for(cols)?).ok()?;
    let (rows, cols) = (usize::try_from(rows).ok()?, usize::try_from(cols).ok()?);
    (stride > 0).then_some((rows, cols, stride))
}

/// The matrix of tensor `id`, in whatever order it lies.
pub(crate) fn rows(file: &File, id: usize, rows: usize, cols: usize) -> Result<Rows<'_>, Mismatch> {
    let tensor = file.tensor(id);
    match file.is_pinned() && matrix(tensor.info).is_some() {
        true => Rows::interleaved(tensor.bytes, tensor.info.dtype, rows, cols),
        false => Rows::new(tensor.bytes, tensor.info.dtype, rows, cols),
    }
}

/// Rows of a table of `width` columns as floats, by their numbers; `Err` has the first that the
/// table does not have, or that is not of this width.
pub(crate) fn pick(
    file: &File,
    id: usize,
    width: usize,
    numbers: impl Iterator<Item = u32>,
    out: &mut [f32],
) -> Result<(), u32> {
    let tensor = file.tensor(id);
    let mut numbers = numbers.peekable();
    let (dtype, first) = (tensor.info.dtype, numbers.peek().copied().unwrap_or(0));
    let height = tensor.info.dims.get(1).map_or(0, |rows| *rows as usize);
    let table = rows(file, id, height, width).map_err(|_| first)?;
    let mut buffer = Vec::new();
    for (number, out) in numbers.zip(out.chunks_exact_mut(width)) {
        let at = number as usize;
        if at >= height {
            return Err(number);
        }
        expand(dtype, table.row(at, &mut buffer), out).map_err(|_| number)?;
    }
    Ok(())
}
