//! Hashing of pieces and pairs, seeded once a process so that no file can aim for collisions.
//!
//! Most pieces have at most sixteen bytes, and their lengths are as good as random: a loop over
//! the bytes would be mispredicted each time. So a text is held as two words that may overlap.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

/// Two secrets; the order of anything never depends on them.
static SEEDS: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let state = RandomState::new();
    [state.hash_one(1u8) | 1, state.hash_one(2u8)]
});

/// A copy of the seeds, taken once where many hashes follow.
#[derive(Clone, Copy)]
pub(crate) struct Hash {
    odd: u64,
    start: u64,
}

impl Hash {
    pub(crate) fn new() -> Hash {
        Hash { odd: SEEDS[0], start: SEEDS[1] }
    }

    fn fold(self, a: u64, b: u64) -> u64 {
        let product = u128::from(a ^ self.start) * u128::from(b ^ self.odd);
        product as u64 ^ (product >> 64) as u64
    }

    /// Hash of a text.
    #[inline]
    pub(crate) fn text(self, text: Text<'_>) -> u64 {
        let mut hash = self.fold(text.first, text.last);
        if let Some(middle) = text.middle() {
            for word in middle.as_chunks::<8>().0 {
                hash = self.fold(hash ^ u64::from_le_bytes(*word), hash.rotate_left(32));
            }
        }
        self.fold(hash ^ text.bytes.len() as u64, hash.rotate_left(32))
    }

    /// Hash of two ids.
    #[inline]
    pub(crate) fn pair(self, left: u32, right: u32) -> u64 {
        let word = u64::from(left) << 32 | u64::from(right);
        let hash = self.fold(word, 0);
        self.fold(hash, word)
    }
}

/// Bytes with the words at their two ends; all of them, if they are at most sixteen.
#[derive(Clone, Copy)]
pub(crate) struct Text<'b> {
    bytes: &'b [u8],
    /// The first eight bytes, little-endian, zeros above those that are not there.
    first: u64,
    /// The last eight; the same word as `first` where there are fewer.
    last: u64,
}

impl<'b> Text<'b> {
    #[inline]
    pub(crate) fn new(bytes: &'b [u8]) -> Text<'b> {
        let len = bytes.len();
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            return Text { bytes, first, last };
        }
        let word = if let (Some(low), Some(high)) = (bytes.first_chunk(), bytes.last_chunk()) {
            let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
            u64::from(low) | u64::from(high) << (8 * (len - 4))
        } else {
            let byte = |at: usize| bytes.get(at).map_or(0, |byte| u64::from(*byte) << (8 * at));
            byte(0) | byte(1) | byte(2)
        };
        Text { bytes, first: word, last: word }
    }

    /// The bytes of `around` from `start` on, where `start` is [`Text::BEFORE`] or more and at
    /// least one byte follows it: with bytes in front that may be read, no length needs a branch.
    #[inline]
    pub(crate) fn within(around: &'b [u8], start: usize) -> Text<'b> {
        let bytes = &around[start..];
        let few = bytes.len().min(8);
        let word = |end: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&around[end - 8..end]);
            u64::from_le_bytes(word) >> (64 - 8 * few)
        };
        Text { bytes, first: word(start + few), last: word(around.len()) }
    }

    /// How many bytes must stand in front of a text for [`Text::within`].
    pub(crate) const BEFORE: usize = 8;

    pub(crate) fn bytes(self) -> &'b [u8] {
        self.bytes
    }

    /// Writes the bytes to `out[at..]`, whose next eight bytes it may change as well.
    #[inline]
    pub(crate) fn write(self, out: &mut [u8], at: usize) {
        let len = self.bytes.len();
        let out = &mut out[at..];
        if len > 16 {
            out[..len].copy_from_slice(self.bytes);
            return;
        }
        out[..8].copy_from_slice(&self.first.to_le_bytes());
        let last = len.saturating_sub(8);
        out[last..last + 8].copy_from_slice(&self.last.to_le_bytes());
    }

    /// What the two words do not hold, from the ninth byte to the end; nothing in short texts.
    #[inline]
    fn middle(self) -> Option<&'b [u8]> {
        if self.bytes.len() > 16 { self.bytes.get(8..) } else { None }
    }
}

impl PartialEq for Text<'_> {
    #[inline]
    fn eq(&self, other: &Text<'_>) -> bool {
        self.bytes.len() == other.bytes.len()
            && (self.first ^ other.first) | (self.last ^ other.last) == 0
            && self.middle() == other.middle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a text stands changes nothing, and each of its bytes counts.
    #[test]
    fn texts_of_every_length() {
        let hash = Hash::new();
        let around: Vec<u8> = (1..=100).collect();
        for len in 1..70 {
            for start in Text::BEFORE..20 {
                let bytes = &around[start..start + len];
                let (alone, within) =
                    (Text::new(bytes), Text::within(&around[..start + len], start));
                assert_eq!(within.bytes(), bytes, "{len} bytes at {start}");
                assert!(alone == within, "{len} bytes at {start}");
                assert_eq!(hash.text(alone), hash.text(within), "{len} bytes at {start}");
                let mut out = vec![0xff; len + 12];
                within.write(&mut out, 3);
                assert_eq!(&out[3..3 + len], bytes, "{len} bytes at {start}");
                assert_eq!((&out[..3], out[len + 11]), (&[0xff; 3][..], 0xff), "{len} bytes");
            }
            let bytes = &around[..len];
            for at in 0..len {
                let mut other = bytes.to_vec();
                other[at] ^= 0x80;
                let (text, other) = (Text::new(bytes), Text::new(&other));
                assert!(text != other, "byte {at} of {len}");
                assert_ne!(hash.text(text), hash.text(other), "byte {at} of {len}");
            }
            let longer = [bytes, &[0]].concat();
            assert!(Text::new(bytes) != Text::new(&longer), "{len} bytes and a zero");
            assert_ne!(hash.text(Text::new(bytes)), hash.text(Text::new(&longer)), "{len} bytes");
        }
    }
}
