//! All pieces of a vocabulary in one arena, found by their bytes.

use crate::{error::Kind, hash::Hash};

/// What a piece is, by GGUF's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PieceKind {
    /// Text.
    Normal = 1,
    /// Stands for text the vocabulary cannot express.
    Unknown = 2,
    /// Not text: begins, ends or divides.
    Control = 3,
    /// Added by the model's authors; matched before anything else.
    UserDefined = 4,
    /// Reserved.
    Unused = 5,
    /// One byte, for text that has no piece.
    Byte = 6,
}

impl PieceKind {
    /// The kind with GGUF's number `id`.
    pub(crate) fn from_id(id: i64) -> Option<PieceKind> {
        Some(match id {
            // 0 is "undefined"; nothing may be made of it.
            0 | 5 => PieceKind::Unused,
            1 => PieceKind::Normal,
            2 => PieceKind::Unknown,
            3 => PieceKind::Control,
            4 => PieceKind::UserDefined,
            6 => PieceKind::Byte,
            _ => return None,
        })
    }

    /// One lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            PieceKind::Normal => "normal",
            PieceKind::Unknown => "unknown",
            PieceKind::Control => "control",
            PieceKind::UserDefined => "user-defined",
            PieceKind::Unused => "unused",
            PieceKind::Byte => "byte",
        }
    }
}

/// Pieces by id and ids by piece.
pub(crate) struct Pieces {
    text: String,
    /// Piece `i` is `text[at[i]..at[i + 1]]`.
    at: Vec<u32>,
    /// High bits: part of the hash; low bits: id + 1; 0 is free. A power of two long.
    slots: Vec<u32>,
    hash: Hash,
    /// Pieces that appeared again under a later id.
    pub repeated: usize,
    /// Bytes of the longest piece.
    pub longest: usize,
}

impl Pieces {
    /// From pieces in the order of their ids; of equal pieces the last id is the one found.
    pub(crate) fn new<'p>(
        pieces: impl ExactSizeIterator<Item = &'p str>,
    ) -> Result<Pieces, crate::Error> {
        let count = pieces.len();
        if count >= ID as usize {
            let what = format!("a vocabulary of {count} pieces is too large");
            return Err(crate::Error::new(Kind::Invalid, what));
        }
        let mut out = Pieces {
            text: String::with_capacity(count * 8),
            at: Vec::with_capacity(count + 1),
            slots: vec![0; (count * 3 / 2 + 2).next_power_of_two()],
            hash: Hash::new(),
            repeated: 0,
            longest: 0,
        };
        out.at.push(0);
        for (id, piece) in pieces.enumerate() {
            out.text.push_str(piece);
            let Ok(end) = u32::try_from(out.text.len()) else {
                return Err(crate::Error::new(Kind::Invalid, "the pieces exceed 4 GiB"));
            };
            out.at.push(end);
            out.longest = out.longest.max(piece.len());
            if !piece.is_empty() {
                let hash = out.hash.bytes(piece.as_bytes());
                let (slot, found) = out.probe(piece.as_bytes(), hash);
                out.repeated += usize::from(found);
                out.slots[slot] = tag(hash) | (id as u32 + 1);
            }
        }
        Ok(out)
    }

    /// The slot of `piece`, and whether it is taken by it.
    #[inline]
    fn probe(&self, piece: &[u8], hash: u64) -> (usize, bool) {
        let (tag, mask) = (tag(hash), self.slots.len() - 1);
        let mut slot = hash as usize & mask;
        loop {
            let word = self.slots[slot];
            if word == 0 {
                return (slot, false);
            }
            if (word ^ tag) & !ID == 0 && same(self.bytes((word & ID) - 1), piece) {
                return (slot, true);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline]
    fn bytes(&self, id: u32) -> &[u8] {
        let id = id as usize;
        &self.text.as_bytes()[self.at[id] as usize..self.at[id + 1] as usize]
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.at.len() - 1
    }

    /// The piece with this id, as it stands in the file.
    pub(crate) fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let (start, end) = (*self.at.get(id)?, *self.at.get(id + 1)?);
        Some(&self.text[start as usize..end as usize])
    }

    /// The id of a piece.
    #[inline]
    pub(crate) fn find(&self, piece: &[u8]) -> Option<u32> {
        if piece.is_empty() || piece.len() > self.longest {
            return None;
        }
        let (slot, found) = self.probe(piece, self.hash.bytes(piece));
        found.then(|| (self.slots[slot] & ID) - 1)
    }
}

/// The bits of a slot that hold an id; the others hold a part of the hash.
const ID: u32 = (1 << 23) - 1;

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !ID
}

/// Whether two pieces are the same; they are short, so that a call would cost more than it does.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    a.len() == b.len()
        && a_words.iter().zip(b_words).all(|(a, b)| a == b)
        && a_rest.iter().zip(b_rest).all(|(a, b)| a == b)
}
