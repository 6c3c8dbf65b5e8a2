//! A hash table of numbers: who asks says whether a number is the one that is meant.
//!
//! A table does not fit in the nearest caches, and each look at it waits for memory. Where many
//! looks follow each other, all of them first read what they will need ([`Slots::touch`],
//! [`Slots::likely`]), so that they wait together and not in turn.

use crate::{Error, error::Kind};

/// How many looks are worth taking together.
pub(crate) const MANY: usize = 64;

/// A free slot: all bits of its number are set.
const FREE: u32 = u32::MAX;

/// Numbers below a limit, by the hashes of what they stand for.
pub(crate) struct Slots {
    /// Low bits: a number; the bits above: a part of the hash, so that almost nothing but what is
    /// meant is looked at. A power of two long, at most two thirds full.
    words: Vec<u32>,
    /// The bits that hold a number.
    number: u32,
}

impl Slots {
    /// For `count` numbers from 0 on.
    pub(crate) fn new(count: usize) -> Result<Slots, Error> {
        if count >= u32::MAX as usize / 4 {
            return Err(Error::new(Kind::Invalid, format!("{count} entries are too many")));
        }
        let words = vec![FREE; (count * 3 / 2 + 2).next_power_of_two()];
        // All bits set is `count` or more.
        Ok(Slots { words, number: (count as u32 + 1).next_power_of_two() - 1 })
    }

    /// The slot for `hash`, and the number in it that `is` the one that is meant.
    // Merging asks for each pair of symbols: the call itself would cost as much as most answers.
    #[inline(always)]
    pub(crate) fn probe(&self, hash: u64, is: impl Fn(u32) -> bool) -> (usize, Option<u32>) {
        let mask = self.words.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let word = self.words[slot];
            let number = word & self.number;
            if number == self.number {
                return (slot, None);
            }
            if self.fits(word, hash) && is(number) {
                return (slot, Some(number));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// A number that may be the one that is meant, if it is in its first or second place.
    #[inline]
    pub(crate) fn likely(&self, hash: u64) -> Option<u32> {
        let mask = self.words.len() - 1;
        let (first, second) = (hash as usize & mask, (hash as usize + 1) & mask);
        let (first, second) = (self.words[first], self.words[second]);
        let word = if self.fits(first, hash) { first } else { second };
        let number = word & self.number;
        (number != self.number && self.fits(word, hash)).then_some(number)
    }

    /// Reads the slots for `hashes`, so that they are near when [`Slots::probe`] needs them. Nothing
    /// else is done meanwhile: the fewer instructions lie between, the more reads are under way.
    #[inline]
    pub(crate) fn touch(&self, hashes: &[u64]) {
        let mask = self.words.len() - 1;
        let words = hashes.iter().map(|hash| self.words[*hash as usize & mask]);
        std::hint::black_box(words.fold(0, |all, word| all ^ word));
    }

    /// Puts `number` into a slot that [`Slots::probe`] gave for the same hash.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, hash: u64, number: u32) {
        self.words[slot] = (hash >> 32) as u32 & !self.number | number;
    }

    #[inline]
    fn fits(&self, word: u32, hash: u64) -> bool {
        (word ^ (hash >> 32) as u32) & !self.number == 0
    }
}
