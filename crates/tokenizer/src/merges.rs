//! The merge table of byte-pair encoding: a pair of ids gives a rank and the merged id.

use recinto_weights::Array;

use crate::{
    Error,
    error::{Kind, shown},
    hash::{Hash, Text},
    pieces::Pieces,
    slots::{MANY, Slots},
};

#[derive(Clone, Copy)]
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
        let mut strings = lines.stored_strings().into_iter().flatten();
        loop {
            // Not empty, so that a block that is not full can be looked up as well.
            let mut parts = [Text::new(b" "); 2 * MANY];
            let mut block = [&[][..]; MANY];
            let mut count = 0;
            let mut fault = None;
            for stored in strings.by_ref().take(MANY) {
                match parted(stored) {
                    Ok([left, right]) => {
                        (parts[2 * count], parts[2 * count + 1]) = (left, right);
                    }
                    Err(why) => {
                        fault = Some((stored, why));
                        break;
                    }
                }
                block[count] = stored;
                count += 1;
            }
            out.add(pieces, &block[..count], &parts, &barred)?;
            // Only now: lines before it may be at fault too.
            if let Some((stored, why)) = fault {
                return Err(refused(out.len(), stored, why));
            }
            if count < MANY {
                return Ok(out);
            }
        }
    }

    /// From pairs in the order of their ranks; of equal pairs the last one counts, as in the
    /// library that writes `tokenizer.json`. `joint` is dropped from the right part where both
    /// become one piece.
    pub(crate) fn from_pairs(
        pairs: &[(&str, &str)],
        joint: &str,
        pieces: &Pieces,
        barred: impl Fn(u32) -> bool,
    ) -> Result<Merges, Error> {
        let mut out = Merges {
            rows: Vec::with_capacity(pairs.len()),
            slots: Slots::new(pairs.len())?,
            hash: Hash::new(),
        };
        for (rank, (left, right)) in (0..).zip(pairs) {
            let end = right.strip_prefix(joint).unwrap_or(right);
            let find = |piece: &str| pieces.find(piece.as_bytes());
            let (Some(first), Some(second), Some(id)) =
                (find(left), find(right), find(&[*left, end].concat()))
            else {
                let line = format!("{left} {right}");
                let what = format!("merge {rank} `{}` {ABSENT}", shown(&line));
                return Err(Error::new(Kind::Invalid, what)
                    .hint("`merges` and `vocab` do not belong together"));
            };
            out.rows.push(Merge { left: first, right: second, id });
            let hash = out.hash.pair(first, second);
            let (slot, _) = out.probe(hash, first, second);
            if !barred(id) {
                out.slots.set(slot, hash, rank);
            }
        }
        Ok(out)
    }

    /// Adds the lines of a block, whose parts follow each other in `parts`.
    fn add(
        &mut self,
        pieces: &Pieces,
        block: &[&[u8]],
        parts: &[Text<'_>; 2 * MANY],
        barred: impl Fn(u32) -> bool,
    ) -> Result<(), Error> {
        let first = self.rows.len();
        let found = pieces.find_many(parts);
        let mut last = self.rows.last().map_or(0, |row| row.id);
        let mut hashes = [0; MANY];
        let parts = parts.as_chunks::<2>().0.iter().zip(found.as_chunks::<2>().0);
        for ((stored, (parts, found)), hash) in block.iter().zip(parts).zip(&mut hashes) {
            let [left, right] = *parts;
            // Most vocabularies number merged pieces in the order of their merges, of which there
            // may be several for one piece.
            let guess = [last + 1, last].into_iter().find(|id| pieces.joins(*id, left, right));
            let id = guess.or_else(|| pieces.find(&[left.bytes(), right.bytes()].concat()));
            let ([Some(left), Some(right)], Some(id)) = (*found, id) else {
                return Err(refused(self.len(), stored, ABSENT));
            };
            last = id;
            self.rows.push(Merge { left, right, id });
            *hash = self.hash.pair(left, right);
        }
        self.slots.touch(&hashes[..block.len()]);
        for (rank, hash) in (first..self.rows.len()).zip(hashes) {
            let Merge { left, right, id } = self.rows[rank];
            let (slot, found) = self.probe(hash, left, right);
            if found.is_none() && !barred(id) {
                self.slots.set(slot, hash, rank as u32);
            }
        }
        Ok(())
    }

    #[inline(always)]
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

const UNDIVIDED: &str = "is not two pieces";
const ABSENT: &str = "names a piece that is not there";

/// The two parts of a line as it lies in the file, neither of them empty, or what is wrong.
#[inline]
fn parted(stored: &[u8]) -> Result<[Text<'_>; 2], &'static str> {
    let space = space(stored).ok_or(UNDIVIDED)?;
    if space + 1 == stored.len() {
        return Err(ABSENT);
    }
    Ok([Text::within(&stored[..space], 8), Text::within(stored, space + 1)])
}

fn refused(rank: usize, stored: &[u8], why: &str) -> Error {
    let line = String::from_utf8_lossy(&stored[8..]);
    let error = Error::new(Kind::Invalid, format!("merge {rank} `{}` {why}", shown(&line)));
    if why != ABSENT {
        return error;
    }
    error.hint("`tokenizer.ggml.merges` and `tokenizer.ggml.tokens` do not belong together")
}

/// Where the space is that divides the line after the eight bytes of its length. The left part
/// has at least one byte, which may itself be a space.
#[inline]
fn space(stored: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // The eight bytes after the first one, or those that are there and zeros.
    let from = (stored.len() - 8).min(9);
    let word = u64::from_le_bytes(*stored[from..].first_chunk()?);
    let word = word.checked_shr(8 * (9 - from as u32))? ^ (ONES * u64::from(b' '));
    let spaces = word.wrapping_sub(ONES) & !word & ONES << 7;
    if spaces != 0 {
        return Some(9 + spaces.trailing_zeros() as usize / 8);
    }
    let rest = stored.get(17..)?;
    rest.iter().position(|byte| *byte == b' ').map(|at| 17 + at)
}
