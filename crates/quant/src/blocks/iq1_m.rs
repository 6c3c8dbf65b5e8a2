//! IQ1_M: 256 values a block: 32 lower bytes of indices into the codebook of IQ1_S, 32 halves of
//! bytes (the three upper bits of an index, and whether an eighth is taken off or added), then four
//! words of 16 bits: each four times three bits of a scale for 16 values, and four bits of the
//! block's half scale, the lowest ones first.

use super::iq1_s::put_eighths;
use crate::half::f16_to_f32;
use crate::whole::{Whole, expand_whole};

/// A block as whole numbers.
pub fn whole(block: &[u8; 56]) -> Whole {
    let mut numbers = [0; 256];
    for (i, to) in numbers.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let half = block[32 + i / 2] >> (4 * (i % 2));
        put_eighths(to, u16::from(block[i]) | u16::from(half & 7) << 8, half & 8 != 0);
    }
    let word = |i: usize| u16::from_le_bytes([block[48 + 2 * i], block[49 + 2 * i]]);
    let scale = (0..4).fold(0, |all, i| all | word(i) >> 12 << (4 * i));
    let scales = std::array::from_fn(|j| 2 * (word(j / 4) >> (3 * (j % 4)) & 7) as i8 + 1);
    Whole { scale: f16_to_f32(scale.to_le_bytes()) * 0.125, scales, numbers }
}

expand_whole!(56);
