//! IQ4_XS: 256 values a block: half scale, eight upper pairs and eight halves of 6-bit scales (one
//! for 32 values, offset by 32), then for each group 16 bytes as in IQ4_NL.

use super::iq4_nl::IQ4_NUMBERS;
use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<136>().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        let high = u16::from_le_bytes([block[2], block[3]]);
        let (low, quants) = (&block[4..8], &block[8..]);
        for (j, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let low = (low[j / 2] >> (j % 2 * 4)) & 15;
            let high = ((high >> (j * 2)) & 3) as u8;
            let step = scale * f32::from((low | (high << 4)) as i8 - 32);
            for (i, byte) in quants[j * 16..][..16].iter().enumerate() {
                out[i] = step * f32::from(IQ4_NUMBERS[usize::from(byte & 15)]);
                out[i + 16] = step * f32::from(IQ4_NUMBERS[usize::from(byte >> 4)]);
            }
        }
    }
}
