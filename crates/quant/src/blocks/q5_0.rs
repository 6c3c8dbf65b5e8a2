//! Q5_0: 32 values a block: half scale, 32 high bits, 16 bytes of low halves as in Q4_0; the
//! five-bit number is offset by 16.

use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<22>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        let high = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
        for (j, byte) in block[6..].iter().enumerate() {
            let low = (byte & 15) | (((high >> j) & 1) << 4) as u8;
            let top = (byte >> 4) | (((high >> (j + 16)) & 1) << 4) as u8;
            out[j] = scale * f32::from(low as i8 - 16);
            out[j + 16] = scale * f32::from(top as i8 - 16);
        }
    }
}
