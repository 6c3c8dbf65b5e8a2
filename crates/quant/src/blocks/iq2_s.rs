//! IQ2_S: 256 values a block: half scale (eight times too large), 32 lower bytes of indices into
//! the codebook, 32 bytes of signs, eight bytes with the upper pairs of the indices, then sixteen
//! scales of four bits, one for 16 values.

use crate::codebook::IQ2_S;
use crate::half::f16_to_f32;
use crate::whole::{Whole, expand_whole, odd_scales, put_group};

/// A block as whole numbers.
pub fn whole(block: &[u8; 82]) -> Whole {
    let mut numbers = [0; 256];
    let (low, signs, high) = (&block[2..34], &block[34..66], &block[66..74]);
    for (i, to) in numbers.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let upper = usize::from(high[i / 4] >> (2 * (i % 4)) & 3);
        put_group(to, &IQ2_S[usize::from(low[i]) | upper << 8].to_le_bytes(), signs[i]);
    }
    let scale = f16_to_f32([block[0], block[1]]) * 0.125;
    Whole { scale, scales: odd_scales(&block[74..]), numbers }
}

expand_whole!(82);
