//! TQ2_0: 256 values a block: 64 bytes of pairs as in Q2_K, offset by 1, then a half scale.

use crate::half::f16_to_f32;
use crate::whole::{Whole, expand_whole};

/// A block as whole numbers.
pub fn whole(block: &[u8; 66]) -> Whole {
    let numbers = std::array::from_fn(|i| {
        // Two halves of 128; in each, four groups of 32 share 32 bytes, lowest pairs first.
        let (half, group, lane) = (i / 128, i % 128 / 32, i % 32);
        (block[half * 32 + lane] >> (group * 2) & 3) as i8 - 1
    });
    Whole { scale: f16_to_f32([block[64], block[65]]), scales: [1; 16], numbers }
}

expand_whole!(66);
