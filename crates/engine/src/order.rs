//! How matrices lie: as in the file, or, in a pinned copy, sixteen rows side by side.

use std::num::NonZeroUsize;

use recinto_kernels::{Mismatch, Rows, interleave, interleaves};
use recinto_quant::expand;
use recinto_weights::{File, Rewrite, TensorInfo};

/// Bytes that are put in order together, about: a few rounds of a cache.
const PIECE: usize = 1 << 20;
/// Rows of a group; pieces are whole groups.
const GROUP: usize = 16;

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
    ids: &[u32],
    out: &mut [f32],
) -> Result<(), u32> {
    let tensor = file.tensor(id);
    let (dtype, first) = (tensor.info.dtype, ids.first().copied().unwrap_or(0));
    let height = tensor.info.dims.get(1).map_or(0, |rows| *rows as usize);
    let table = rows(file, id, height, width).map_err(|_| first)?;
    let mut row = vec![0; tensor.bytes.len() / height.max(1)];
    for (id, out) in ids.iter().zip(out.chunks_exact_mut(width)) {
        let at = *id as usize;
        if at >= height {
            return Err(*id);
        }
        table.copy_row(at, &mut row);
        expand(dtype, &row, out).map_err(|_| *id)?;
    }
    Ok(())
}

/// All values of tensor `id` as floats.
pub(crate) fn floats(file: &File, id: usize) -> Result<Box<[f32]>, Mismatch> {
    let tensor = file.tensor(id);
    let mut out = vec![0.0; tensor.info.values() as usize];
    match matrix(tensor.info) {
        Some((rows, cols, _)) if file.is_pinned() => {
            let ids: Vec<u32> = (0..rows as u32).collect();
            pick(file, id, cols, &ids, &mut out).map_err(|_| Mismatch)?;
        }
        _ => expand(tensor.info.dtype, tensor.bytes, &mut out)?,
    }
    Ok(out.into())
}
