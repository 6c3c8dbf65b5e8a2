//! TQ1_0: 256 values a block, −1, 0 or 1: 48 bytes of five digits of base three each, four bytes
//! of four, half scale. A byte is the number its digits make, first one highest, times 256/243: so
//! the product with a power of three, cut to a byte, begins with the wanted digit.

use crate::half::f16_to_f32;
use crate::whole::{Whole, expand_whole};

/// Where bytes stand, how many, and how many digits each has.
const PARTS: [(usize, usize, usize); 3] = [(0, 32, 5), (32, 16, 5), (48, 4, 4)];

/// A block as whole numbers.
pub fn whole(block: &[u8; 54]) -> Whole {
    let (mut numbers, mut at) = ([0; 256], 0);
    for (from, bytes, digits) in PARTS {
        let mut power = 1u8;
        for _ in 0..digits {
            for byte in &block[from..from + bytes] {
                numbers[at] = ((u16::from(byte.wrapping_mul(power)) * 3) >> 8) as i8 - 1;
                at += 1;
            }
            power = power.wrapping_mul(3);
        }
    }
    Whole { scale: f16_to_f32([block[52], block[53]]), scales: [1; 16], numbers }
}

expand_whole!(54);
