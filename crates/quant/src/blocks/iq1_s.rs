//! IQ1_S: 256 values a block: half scale, 32 lower bytes of indices into a codebook of groups of
//! eight, then a word of 16 bits for each 32 values: four times the three upper bits of an index,
//! a scale of three bits, and whether an eighth is taken off all numbers or added to them.
//!
//! Read as eight times the numbers, whole, and an eighth of the scale.

use crate::codebook::IQ1;
use crate::half::f16_to_f32;
use crate::whole::{Whole, expand_whole};

/// A block as whole numbers.
pub fn whole(block: &[u8; 50]) -> Whole {
    let (mut scales, mut numbers) = ([0; 16], [0; 256]);
    for (j, word) in block[34..].as_chunks::<2>().0.iter().enumerate() {
        let word = u16::from_le_bytes(*word);
        scales[2 * j..2 * j + 2].fill(2 * (word >> 12 & 7) as i8 + 1);
        for (l, to) in numbers[32 * j..][..32].as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let index = u16::from(block[2 + 4 * j + l]) | (word >> (3 * l) & 7) << 8;
            put_eighths(to, index, word >> 15 == 1);
        }
    }
    Whole { scale: f16_to_f32([block[0], block[1]]) * 0.125, scales, numbers }
}

/// Eight numbers of the codebook times 8, one more or less.
pub(super) fn put_eighths(to: &mut [i8; 8], index: u16, less: bool) {
    let by = if less { -1 } else { 1 };
    for (number, byte) in to.iter_mut().zip(IQ1[usize::from(index)].to_le_bytes()) {
        *number = byte as i8 - 16 + by;
    }
}

expand_whole!(50);
