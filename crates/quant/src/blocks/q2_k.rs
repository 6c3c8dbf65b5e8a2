//! Q2_K: 256 values a block: 16 bytes, each the scale (low half) and the minimum (high half) of
//! 16 values, 64 bytes of pairs, half scale, half scale of minima.

use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<84>().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let scale = f16_to_f32([block[80], block[81]]);
        let minimum = f16_to_f32([block[82], block[83]]);
        let (packed, pairs) = (&block[..16], &block[16..80]);
        for (i, value) in out.iter_mut().enumerate() {
            // Two halves of 128; in each, four groups of 32 share 32 bytes, lowest pairs first.
            let (half, group, lane) = (i / 128, i % 128 / 32, i % 32);
            let q = (pairs[half * 32 + lane] >> (group * 2)) & 3;
            let packed = packed[i / 16];
            let (step, offset) = (scale * f32::from(packed & 15), minimum * f32::from(packed >> 4));
            *value = step * f32::from(q) - offset;
        }
    }
}
