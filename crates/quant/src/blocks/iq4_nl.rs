//! IQ4_NL: 32 values a block: half scale, then 16 bytes in the order of Q4_0; a nibble is the
//! place of a number in a table.

use crate::half::f16_to_f32;

/// What a nibble of IQ4_NL and IQ4_XS stands for.
pub const IQ4_NUMBERS: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<18>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        for (j, byte) in block[2..].iter().enumerate() {
            out[j] = scale * f32::from(IQ4_NUMBERS[usize::from(byte & 15)]);
            out[j + 16] = scale * f32::from(IQ4_NUMBERS[usize::from(byte >> 4)]);
        }
    }
}
