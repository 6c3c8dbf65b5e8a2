//! A private copy of a whole file in large pages, its tensors stored as the kernels like them.

use std::{
    io,
    num::NonZeroUsize,
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
};

use crate::{
    Error, File, Kind, TensorInfo,
    checkpoint::{self, Paper},
    gguf::{self, Header},
    safetensors,
    shards::{self, Part, Shard},
};

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

impl File {
    /// The same model as a private copy in 2 MiB pages, read-only; the mappings end, one after the
    /// other, so that never more than one file is there twice.
    ///
    /// `see` is shown the files' own bytes with the index of the shard they are of, every one of
    /// them once and in order, as they lie in the copy and before `rewrite` (on up to `threads`
    /// threads) stores tensors otherwise: a digest made of them is the digest of what was copied.
    /// It may break off, which is an error.
    ///
    /// # Errors
    ///
    /// No memory, a file that changes or ends while it is read, a header that is not the one that
    /// was opened.
    pub fn pin(
        self,
        threads: usize,
        rewrite: &dyn Rewrite,
        see: &mut dyn FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Result<File, Error> {
        let count = self.shards.len();
        let plan = self.checkpoint.map(|(plan, _)| plan);
        // A checkpoint's small files come after those with tensors.
        let weights = plan.as_ref().map_or(count, |plan| plan.weights);
        let mut copies = self.shards.into_iter().enumerate().map(|(index, shard)| {
            let Shard { map, path, .. } = shard;
            let mut pages = map.copy(&mut |bytes| see(index, bytes)).map_err(|e| refused(&e))?;
            if !map.unchanged().unwrap_or(false) {
                return Err(Error::new(Kind::Io, "the file changed while it was copied")
                    .hint("start again; replace model files by renaming, never in place"));
            }
            // Once more from the copy: nothing that was read through the mapping counts any more.
            let header = match &plan {
                None => gguf::parse(&pages)?,
                Some(_) if index < weights => safetensors::parse(&pages)?,
                Some(_) => Header::default(),
            };
            store(&mut pages, &header.tensors, rewrite, threads);
            let map = map.pinned(pages).map_err(|e| refused(&e))?;
            Ok(Part { map, path, header })
        });
        let Some(plan) = &plan else { return shards::together(count, copies) };
        let parts = copies.by_ref().take(weights).collect::<Result<Vec<Part>, Error>>()?;
        let papers = copies.zip(&plan.documents).map(|(part, document)| {
            let Part { map, path, .. } = part?;
            Ok(Paper { map, path, document: *document })
        });
        checkpoint::assemble(plan.layout, parts, papers.collect::<Result<_, Error>>()?)
    }

    /// Whether the bytes are a private copy ([`File::pin`]).
    pub fn is_pinned(&self) -> bool {
        self.shards.iter().all(|shard| shard.map.is_pinned())
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

/// Rewrites the tensors that `rewrite` wants otherwise. Threads take pieces as they get on; where
/// the system gives none, this one does it all.
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
    let others = threads.min(pieces.len()).saturating_sub(1);
    let pieces = Mutex::new(pieces.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..others {
            let thread = std::thread::Builder::new().name("recinto-order".into());
            if thread.spawn_scoped(scope, || take_turns(&pieces, rewrite)).is_err() {
                break;
            }
        }
        take_turns(&pieces, rewrite);
    });
}

/// Rewrites one piece after another until none is left.
fn take_turns<'a>(pieces: &Mutex<impl Iterator<Item = Piece<'a>>>, rewrite: &dyn Rewrite) {
    let mut stored = Vec::new();
    loop {
        // The lock ends with the line.
        let next = pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(Piece { tensor, at, out }) = next else { return };
        stored.clear();
        stored.extend_from_slice(out);
        rewrite.rewrite(tensor, at, &stored, out);
    }
}
