//! IQ3_S: 256 values a block: half scale, 64 lower bytes of indices into a codebook of groups of
//! four, eight bytes with the ninth bits of the indices, 32 bytes of signs, then eight scales of
//! four bits, one for 32 values.

use crate::codebook::IQ3_S;
use crate::half::f16_to_f32;
use crate::whole::{Whole, expand_whole, put_group};

/// A block as whole numbers.
pub fn whole(block: &[u8; 110]) -> Whole {
    let mut numbers = [0; 256];
    let (low, high, signs) = (&block[2..66], &block[66..74], &block[74..106]);
    for (i, to) in numbers.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let ninth = usize::from(high[i / 8] >> (i % 8) & 1);
        let group = IQ3_S[usize::from(low[i]) | ninth << 8];
        put_group(to, &group.to_le_bytes(), signs[i / 2] >> (4 * (i % 2)));
    }
    let half = |j: usize| block[106 + j / 2] >> (4 * (j % 2)) & 15;
    let scales = std::array::from_fn(|j| 2 * half(j / 2) as i8 + 1);
    Whole { scale: f16_to_f32([block[0], block[1]]), scales, numbers }
}

expand_whole!(110);
