//! NVFP4: 64 values a block: four scales that are floats of four exponent and three fraction bits,
//! one for 16 values, then 32 bytes; each eight of them hold 16 values, low halves first, numbers
//! of MXFP4.

use super::mxfp4::MXFP4_NUMBERS;
use crate::half::half_e4m3_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<36>().0.iter().zip(out.as_chunks_mut::<64>().0) {
        for (g, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = half_e4m3_to_f32(block[g]);
            for (j, byte) in block[4 + 8 * g..][..8].iter().enumerate() {
                out[j] = scale * f32::from(MXFP4_NUMBERS[usize::from(byte & 15)]);
                out[j + 8] = scale * f32::from(MXFP4_NUMBERS[usize::from(byte >> 4)]);
            }
        }
    }
}
