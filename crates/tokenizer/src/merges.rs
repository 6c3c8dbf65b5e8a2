//! The merge table of byte-pair encoding: a pair of ids gives a rank and the merged id.

use crate::{
    Error,
    error::{Kind, shown},
    hash::Hash,
    pieces::Pieces,
};

struct Merge {
    left: u32,
    right: u32,
    id: u32,
}

/// Merges by rank, found by their pair.
pub(crate) struct Merges {
    rows: Vec<Merge>,
    /// Rank + 1; 0 is free. A power of two long.
    slots: Vec<u32>,
    hash: Hash,
}

impl Merges {
    /// From lines `left right` in the order of their ranks; of equal pairs the first one counts.
    /// A merge whose result `barred` refuses is left out: no text may become that piece.
    pub(crate) fn new<'m>(
        lines: impl ExactSizeIterator<Item = &'m str>,
        pieces: &Pieces,
        barred: impl Fn(u32) -> bool,
    ) -> Result<Merges, Error> {
        let count = lines.len();
        if count >= u32::MAX as usize / 4 {
            return Err(Error::new(Kind::Invalid, format!("{count} merges are too many")));
        }
        let mut out = Merges {
            rows: Vec::with_capacity(count),
            slots: vec![0; (count * 3 / 2 + 2).next_power_of_two()],
            hash: Hash::new(),
        };
        let mut whole = Vec::new();
        for (rank, line) in lines.enumerate() {
            let bytes = line.as_bytes();
            // The left part has at least one byte, which may itself be a space.
            let space = bytes.iter().skip(1).position(|b| *b == b' ').map(|at| at + 1);
            let Some(space) = space else {
                let what = format!("merge {rank} `{}` is not two pieces", shown(line));
                return Err(Error::new(Kind::Invalid, what));
            };
            let (left, right) = (&bytes[..space], &bytes[space + 1..]);
            whole.clear();
            whole.extend_from_slice(left);
            whole.extend_from_slice(right);
            // Most vocabularies number merged pieces in the order of their merges.
            let next = out.rows.last().map_or(0, |row| row.id.saturating_add(1));
            let guess = pieces.get(next).filter(|piece| piece.as_bytes() == whole);
            let id = match guess {
                Some(_) if pieces.repeated == 0 => Some(next),
                _ => pieces.find(&whole),
            };
            let ids = (pieces.find(left), pieces.find(right), id);
            let (Some(left), Some(right), Some(id)) = ids else {
                let what =
                    format!("merge {rank} `{}` names a piece that is not there", shown(line));
                return Err(Error::new(Kind::Invalid, what).hint(
                    "`tokenizer.ggml.merges` and `tokenizer.ggml.tokens` do not belong together",
                ));
            };
            out.rows.push(Merge { left, right, id });
            let slot = out.probe(left, right);
            if out.slots[slot] == 0 && !barred(id) {
                out.slots[slot] = rank as u32 + 1;
            }
        }
        Ok(out)
    }

    #[inline]
    fn probe(&self, left: u32, right: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hash.pair(left, right) as usize & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                None => return slot,
                Some(rank) => {
                    let row = &self.rows[rank as usize];
                    if row.left == left && row.right == right {
                        return slot;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Rank and merged id of a pair.
    #[inline]
    pub(crate) fn get(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let rank = self.slots[self.probe(left, right)].checked_sub(1)?;
        Some((rank, self.rows[rank as usize].id))
    }

    /// Number of merges in the file.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}
