//! IQ3_XXS: 256 values a block: half scale (four times too large), 64 indices into a codebook of
//! groups of four, then a word for each 32 values: four times seven bits of signs, and a scale of
//! four bits.

use crate::codebook::IQ3_XXS;
use crate::half::f16_to_f32;
use crate::whole::{Whole, eight_signs, expand_whole, put_group};

/// A block as whole numbers.
pub fn whole(block: &[u8; 98]) -> Whole {
    let (mut scales, mut numbers) = ([0; 16], [0; 256]);
    for (j, word) in block[66..].as_chunks::<4>().0.iter().enumerate() {
        let word = u32::from_le_bytes(*word);
        scales[2 * j..2 * j + 2].fill(2 * (word >> 28) as i8 + 1);
        for (l, to) in numbers[32 * j..][..32].as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let signs = eight_signs((word >> (7 * (l / 2)) & 127) as u8) >> (4 * (l % 2));
            let index = usize::from(block[2 + 8 * j + l]);
            put_group(to, &IQ3_XXS[index].to_le_bytes(), signs);
        }
    }
    Whole { scale: f16_to_f32([block[0], block[1]]) * 0.25, scales, numbers }
}

expand_whole!(98);
