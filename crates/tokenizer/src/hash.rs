//! Hashing of pieces and pairs, seeded once a process so that no file can aim for collisions.

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

    /// Hash of bytes.
    #[inline]
    pub(crate) fn bytes(self, bytes: &[u8]) -> u64 {
        let mut hash = self.fold(bytes.len() as u64, self.start);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            hash = self.fold(hash ^ u64::from_le_bytes(*word), hash.rotate_left(32));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.fold(hash ^ u64::from_le_bytes(last), hash.rotate_left(32))
    }

    /// Hash of two ids.
    #[inline]
    pub(crate) fn pair(self, left: u32, right: u32) -> u64 {
        let word = u64::from(left) << 32 | u64::from(right);
        let hash = self.fold(word, 0);
        self.fold(hash, word)
    }
}
