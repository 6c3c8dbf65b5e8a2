//! Q4_1: 32 values a block: half scale, half minimum, 16 bytes as in Q4_0 without the offset.

use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<20>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        let minimum = f16_to_f32([block[2], block[3]]);
        for (j, byte) in block[4..].iter().enumerate() {
            out[j] = scale * f32::from(byte & 15) + minimum;
            out[j + 16] = scale * f32::from(byte >> 4) + minimum;
        }
    }
}
