//! A hash table of numbers: who asks says whether a number is the one that is meant.

use crate::{Error, error::Kind};

/// Numbers below a limit, by the hashes of what they stand for.
pub(crate) struct Slots {
    /// Low bits: number + 1, and 0 is free; the bits above: a part of the hash, so that almost
    /// nothing but what is meant is looked at. A power of two long, at most two thirds full.
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
        let words = vec![0; (count * 3 / 2 + 2).next_power_of_two()];
        Ok(Slots { words, number: (count as u32 + 1).next_power_of_two() - 1 })
    }

    /// The slot for `hash`, and the number in it that `is` the one that is meant.
    #[inline]
    pub(crate) fn probe(&self, hash: u64, is: impl Fn(u32) -> bool) -> (usize, Option<u32>) {
        let (tag, mask) = ((hash >> 32) as u32, self.words.len() - 1);
        let mut slot = hash as usize & mask;
        loop {
            let word = self.words[slot];
            let Some(number) = (word & self.number).checked_sub(1) else { return (slot, None) };
            if (word ^ tag) & !self.number == 0 && is(number) {
                return (slot, Some(number));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Puts `number` into a slot that [`Slots::probe`] gave for the same hash.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, hash: u64, number: u32) {
        self.words[slot] = (hash >> 32) as u32 & !self.number | (number + 1);
    }
}
