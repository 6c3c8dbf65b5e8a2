//! IQ2_XS: 256 values a block: half scale (eight times too large), 32 words of 16 bits (nine of an
//! index into the codebook, seven of signs), then sixteen scales of four bits, one for 16 values.

use crate::codebook::IQ2_XS;
use crate::half::f16_to_f32;
use crate::whole::{Whole, eight_signs, expand_whole, odd_scales, put_group};

/// A block as whole numbers.
pub fn whole(block: &[u8; 74]) -> Whole {
    let mut numbers = [0; 256];
    let words = block[2..66].as_chunks::<2>().0;
    for (to, word) in numbers.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        let word = u16::from_le_bytes(*word);
        let group = IQ2_XS[usize::from(word & 511)];
        put_group(to, &group.to_le_bytes(), eight_signs((word >> 9) as u8));
    }
    let scale = f16_to_f32([block[0], block[1]]) * 0.125;
    Whole { scale, scales: odd_scales(&block[66..]), numbers }
}

expand_whole!(74);
