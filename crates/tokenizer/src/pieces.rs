//! All pieces of a vocabulary in one arena, found by their bytes.

use recinto_weights::Array;

use crate::{
    error::Kind,
    hash::{Hash, Text},
    slots::{MANY, Slots},
};

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
    /// All pieces after [`Text::BEFORE`] zeros.
    text: Vec<u8>,
    /// Piece `i` is `text[at[i]..at[i + 1]]`.
    at: Vec<u32>,
    /// Ids of the pieces by their hashes.
    slots: Slots,
    hash: Hash,
    /// Pieces that appeared again under a later id.
    pub repeated: usize,
    /// Bytes of the longest piece.
    pub longest: usize,
}

impl Pieces {
    /// From pieces in the order of their ids; of equal pieces the last id is the one found.
    pub(crate) fn new(pieces: Array<'_>) -> Result<Pieces, crate::Error> {
        // `Text::write` may touch eight bytes more.
        let room = pieces.text_len().saturating_add(Text::BEFORE + 8);
        if u32::try_from(room).is_err() {
            return Err(crate::Error::new(Kind::Invalid, "the pieces exceed 4 GiB"));
        }
        let mut out = Pieces {
            text: vec![0; room],
            at: Vec::with_capacity(pieces.len() + 1),
            slots: Slots::new(pieces.len())?,
            hash: Hash::new(),
            repeated: 0,
            longest: 0,
        };
        let mut start = Text::BEFORE;
        out.at.push(start as u32);
        let mut strings = pieces.stored_strings().into_iter().flatten().peekable();
        while strings.peek().is_some() {
            let first = out.len() as u32;
            let mut hashes = [0; MANY];
            for (hash, stored) in hashes.iter_mut().zip(strings.by_ref()) {
                let len = stored.len() - 8;
                if len > 0 {
                    let piece = Text::within(stored, 8);
                    piece.write(&mut out.text, start);
                    *hash = out.hash.text(piece);
                }
                start += len;
                out.at.push(start as u32);
                out.longest = out.longest.max(len);
            }
            out.slots.touch(&hashes);
            for (id, hash) in (first..out.len() as u32).zip(hashes) {
                out.index(id, hash);
            }
        }
        out.text.truncate(start);
        Ok(out)
    }

    /// From a list in the order of the ids; a gap is an empty piece.
    pub(crate) fn from_list(pieces: &[&str]) -> Result<Pieces, crate::Error> {
        let len = pieces.iter().fold(0usize, |sum, piece| sum.saturating_add(piece.len()));
        if u32::try_from(len.saturating_add(Text::BEFORE)).is_err() {
            return Err(crate::Error::new(Kind::Invalid, "the pieces exceed 4 GiB"));
        }
        let mut out = Pieces {
            text: vec![0; Text::BEFORE],
            at: vec![Text::BEFORE as u32],
            slots: Slots::new(pieces.len())?,
            hash: Hash::new(),
            repeated: 0,
            longest: 0,
        };
        for (id, piece) in (0..).zip(pieces) {
            out.text.extend_from_slice(piece.as_bytes());
            out.at.push(out.text.len() as u32);
            out.longest = out.longest.max(piece.len());
            out.index(id, out.hash.text(Text::new(piece.as_bytes())));
        }
        Ok(out)
    }

    /// Makes the piece `id` the one that is found by its bytes, unless it has none.
    #[inline]
    fn index(&mut self, id: u32, hash: u64) {
        if self.at[id as usize] == self.at[id as usize + 1] {
            return;
        }
        let (slot, found) = self.slots.probe(hash, |other| self.text(other) == self.text(id));
        self.repeated += usize::from(found.is_some());
        self.slots.set(slot, hash, id);
    }

    /// A piece that is not empty.
    #[inline]
    fn text(&self, id: u32) -> Text<'_> {
        let id = id as usize;
        Text::within(&self.text[..self.at[id + 1] as usize], self.at[id] as usize)
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.at.len() - 1
    }

    /// The piece with this id, as it stands in the file.
    pub(crate) fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let (start, end) = (*self.at.get(id)?, *self.at.get(id + 1)?);
        std::str::from_utf8(&self.text[start as usize..end as usize]).ok()
    }

    /// The id of a piece.
    #[inline]
    pub(crate) fn find(&self, piece: &[u8]) -> Option<u32> {
        if piece.is_empty() || piece.len() > self.longest {
            return None;
        }
        let piece = Text::new(piece);
        self.find_hashed(piece, self.hash.text(piece))
    }

    /// The ids of many pieces, none of them empty.
    pub(crate) fn find_many<const N: usize>(&self, pieces: &[Text<'_>; N]) -> [Option<u32>; N] {
        let hashes = pieces.map(|piece| self.hash.text(piece));
        let likely = hashes.map(|hash| self.slots.likely(hash));
        // One step at a time for all of them: see `Slots`.
        let bounds = likely.map(|id| {
            let id = id.unwrap_or(0) as usize;
            (self.at[id] as usize, self.at[id + 1] as usize)
        });
        std::array::from_fn(|n| {
            let (start, end) = bounds[n];
            match likely[n] {
                Some(id) if Text::within(&self.text[..end], start) == pieces[n] => Some(id),
                _ => self.find_hashed(pieces[n], hashes[n]),
            }
        })
    }

    #[inline]
    fn find_hashed(&self, piece: Text<'_>, hash: u64) -> Option<u32> {
        self.slots.probe(hash, |id| self.text(id) == piece).1
    }

    /// Whether the piece `id` is `left` and then `right`, and is found by that.
    #[inline]
    pub(crate) fn joins(&self, id: u32, left: Text<'_>, right: Text<'_>) -> bool {
        let (left_len, right_len) = (left.bytes().len(), right.bytes().len());
        let at = |id: u32| self.at.get(id as usize).map_or(0, |at| *at as usize);
        let (start, end) = (at(id), at(id.saturating_add(1)));
        self.repeated == 0
            && end.checked_sub(start) == Some(left_len + right_len)
            && Text::within(&self.text[..start + left_len], start) == left
            && Text::within(&self.text[..end], start + left_len) == right
    }
}
