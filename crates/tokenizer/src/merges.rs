//! The merge table of byte-pair encoding: a pair of ids gives a rank and the merged id.

use recinto_weights::Array;

use crate::{
    Error,
    error::{Kind, shown},
    hash::{Hash, Text},
    pieces::Pieces,
    slots::Slots,
};

struct Merge {
    left: u32,
    right: u32,
    id: u32,
}

/// Merges by rank, found by their pair.
pub(crate) struct Merges {
    rows: Vec<Merge>,
    /// Ranks by the hashes of their pairs.
    slots: Slots,
    hash: Hash,
}

impl Merges {
    /// From lines `left right` in the order of their ranks; of equal pairs the first one counts.
    /// A merge whose result `barred` refuses is left out: no text may become that piece.
    pub(crate) fn new(
        lines: Array<'_>,
        pieces: &Pieces,
        barred: impl Fn(u32) -> bool,
    ) -> Result<Merges, Error> {
        let mut out = Merges {
            rows: Vec::with_capacity(lines.len()),
            slots: Slots::new(lines.len())?,
            hash: Hash::new(),
        };
        let mut last = 0;
        for (rank, stored) in (0u32..).zip(lines.stored_strings().into_iter().flatten()) {
            let bad = |why| {
                let line = String::from_utf8_lossy(&stored[8..]);
                Error::new(Kind::Invalid, format!("merge {rank} `{}` {why}", shown(&line)))
            };
            let absent = || {
                bad("names a piece that is not there").hint(
                    "`tokenizer.ggml.merges` and `tokenizer.ggml.tokens` do not belong together",
                )
            };
            let space = space(stored).ok_or_else(|| bad("is not two pieces"))?;
            let left = Text::within(&stored[..space], 8);
            if space + 1 == stored.len() {
                return Err(absent());
            }
            let right = Text::within(stored, space + 1);
            // Most vocabularies number merged pieces in the order of their merges, of which there
            // may be several for one piece.
            let guess = [last + 1, last].into_iter().find(|id| pieces.joins(*id, left, right));
            let id = guess.or_else(|| pieces.find(&[left.bytes(), right.bytes()].concat()));
            let ids = (pieces.find_text(left), pieces.find_text(right), id);
            let (Some(left), Some(right), Some(id)) = ids else {
                return Err(absent());
            };
            last = id;
            out.rows.push(Merge { left, right, id });
            let hash = out.hash.pair(left, right);
            let (slot, found) = out.probe(hash, left, right);
            if found.is_none() && !barred(id) {
                out.slots.set(slot, hash, rank);
            }
        }
        Ok(out)
    }

    #[inline]
    fn probe(&self, hash: u64, left: u32, right: u32) -> (usize, Option<u32>) {
        self.slots.probe(hash, |rank| {
            let row = &self.rows[rank as usize];
            row.left == left && row.right == right
        })
    }

    /// Rank and merged id of a pair.
    #[inline]
    pub(crate) fn get(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let rank = self.probe(self.hash.pair(left, right), left, right).1?;
        Some((rank, self.rows[rank as usize].id))
    }

    /// Number of merges in the file.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

/// Where the space is that divides the line after the eight bytes of its length. The left part
/// has at least one byte, which may itself be a space.
#[inline]
fn space(stored: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // The eight bytes after the first one, or those that are there and zeros.
    let from = (stored.len() - 8).min(9);
    let word = u64::from_le_bytes(*stored[from..].first_chunk()?);
    let word = word.checked_shr(8 * (9 - from as u32))? ^ ONES * u64::from(b' ');
    let spaces = word.wrapping_sub(ONES) & !word & ONES << 7;
    if spaces != 0 {
        return Some(9 + spaces.trailing_zeros() as usize / 8);
    }
    let rest = stored.get(17..)?;
    rest.iter().position(|byte| *byte == b' ').map(|at| 17 + at)
}
