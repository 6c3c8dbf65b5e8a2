//! Q4_0: 32 values a block: half scale, 16 bytes; value j in the low half of byte j, value
//! j + 16 in the high half, both offset by 8.

use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<18>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        for (j, byte) in block[2..].iter().enumerate() {
            out[j] = scale * f32::from((byte & 15) as i8 - 8);
            out[j + 16] = scale * f32::from((byte >> 4) as i8 - 8);
        }
    }
}
