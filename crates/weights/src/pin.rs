//! A private copy of a whole file in large pages, its tensors stored as the kernels like them.

use std::{io, num::NonZeroUsize, ops::ControlFlow};

use recinto_os::Map;

use crate::{Error, File, Kind, TensorInfo, gguf};

/// How tensors are stored in a pinned copy: in another order of bytes, never another number.
///
/// A tensor is rewritten piece by piece, so that no second copy of it is needed. Pieces of one
/// tensor may be asked for on several threads at once.
pub trait Rewrite: Sync {
    /// Bytes of `tensor` that are rewritten together; the last piece may be shorter. `None` leaves
    /// the tensor as it is.
    fn piece(&self, tensor: &TensorInfo) -> Option<NonZeroUsize>;

    /// Makes `out` of `stored`, the bytes of `tensor` from byte `at` on; both have one length. `out`
    /// holds the same bytes before.
    fn rewrite(&self, tensor: &TensorInfo, at: usize, stored: &[u8], out: &mut [u8]);
}

/// Every tensor stays as the file has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsStored;

impl Rewrite for AsStored {
    fn piece(&self, _: &TensorInfo) -> Option<NonZeroUsize> {
        None
    }

    fn rewrite(&self, _: &TensorInfo, _: usize, _: &[u8], _: &mut [u8]) {}
}

impl File {
    /// The same file as a private copy in 2 MiB pages, read-only; the mapping ends.
    ///
    /// `see` is shown the file's own bytes, every one of them once and in order, as they lie in
    /// the copy and before `rewrite` (on up to `threads` threads) stores tensors otherwise: a
    /// digest made of them is the digest of what was copied. It may break off, which is an error.
    ///
    /// # Errors
    ///
    /// No memory, a file that changes or ends while it is read, a header that is not the one that
    /// was opened.
    pub fn pin(
        self,
        threads: usize,
        rewrite: &dyn Rewrite,
        see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<File, Error> {
        let mut pages = self.map.copy(see).map_err(|e| refused(&e))?;
        if !self.map.unchanged().unwrap_or(false) {
            return Err(Error::new(Kind::Io, "the file changed while it was copied")
                .hint("start again; replace model files by renaming, never in place"));
        }
        // Once more from the copy: nothing that was read through the mapping counts any more.
        let header = gguf::parse(&pages)?;
        let File { map, .. } = self;
        store(&mut pages, &header.tensors, rewrite, threads);
        let map = map.pinned(pages).map_err(|e| refused(&e))?;
        Ok(File { map, header })
    }

    /// Whether the bytes are a private copy ([`File::pin`]).
    pub fn is_pinned(&self) -> bool {
        Map::is_pinned(&self.map)
    }
}

fn refused(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::new(Kind::Truncated, "the file was cut short while it was copied")
        }
        io::ErrorKind::Interrupted => Error::new(Kind::Io, "the copy of the file was broken off"),
        _ => Error::new(Kind::Io, format!("no copy of the file in memory: {error}"))
            .hint("without `--pin memory` the file is used where it lies"),
    }
}

/// Bytes of one tensor that are rewritten together, with their place in it.
struct Piece<'a> {
    tensor: &'a TensorInfo,
    at: usize,
    out: &'a mut [u8],
}

/// Rewrites the tensors that `rewrite` wants otherwise, pieces dealt out to threads.
fn store(bytes: &mut [u8], tensors: &[TensorInfo], rewrite: &dyn Rewrite, threads: usize) {
    // The door has seen to it that no two tensors overlap.
    let mut order: Vec<&TensorInfo> = tensors.iter().collect();
    order.sort_by_key(|tensor| tensor.range.start);
    let (mut pieces, mut rest, mut front) = (Vec::new(), bytes, 0);
    for tensor in order {
        let (_, tail) = rest.split_at_mut(tensor.range.start - front);
        let (out, tail) = tail.split_at_mut(tensor.range.len());
        (rest, front) = (tail, tensor.range.end);
        if let Some(size) = rewrite.piece(tensor) {
            let parts = out.chunks_mut(size.get()).enumerate();
            pieces.extend(parts.map(|(i, out)| Piece { tensor, at: i * size.get(), out }));
        }
    }
    let each = pieces.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let mut shares = pieces.chunks_mut(each);
        let own = shares.next();
        for share in shares {
            scope.spawn(move || share_of(share, rewrite));
        }
        if let Some(share) = own {
            share_of(share, rewrite);
        }
    });
}

fn share_of(pieces: &mut [Piece<'_>], rewrite: &dyn Rewrite) {
    let mut stored = Vec::new();
    for Piece { tensor, at, out } in pieces {
        stored.clear();
        stored.extend_from_slice(out);
        rewrite.rewrite(tensor, *at, &stored, out);
    }
}
