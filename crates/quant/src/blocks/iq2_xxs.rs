//! IQ2_XXS: 256 values a block: half scale (eight times too large), then for each 32 values four
//! indices into the codebook and a word: four times seven bits of signs, and a scale of four bits.

use crate::codebook::IQ2_XXS;
use crate::half::f16_to_f32;
use crate::whole::{Whole, eight_signs, expand_whole, put_group};

/// A block as whole numbers.
pub fn whole(block: &[u8; 66]) -> Whole {
    let (mut scales, mut numbers) = ([0; 16], [0; 256]);
    for (j, part) in block[2..].as_chunks::<8>().0.iter().enumerate() {
        let word = u32::from_le_bytes([part[4], part[5], part[6], part[7]]);
        scales[2 * j..2 * j + 2].fill(2 * (word >> 28) as i8 + 1);
        for (l, to) in numbers[32 * j..][..32].as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let signs = eight_signs((word >> (7 * l) & 127) as u8);
            put_group(to, &IQ2_XXS[usize::from(part[l])].to_le_bytes(), signs);
        }
    }
    Whole { scale: f16_to_f32([block[0], block[1]]) * 0.125, scales, numbers }
}

expand_whole!(66);
