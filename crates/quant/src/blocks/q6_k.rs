//! Q6_K: 256 values a block: 128 bytes of low halves, 64 bytes of upper pairs, 16 signed scales
//! (one for 16 values), half scale; the six-bit number is offset by 32.

use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<210>().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let scale = f16_to_f32([block[208], block[209]]);
        let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
        for (i, value) in out.iter_mut().enumerate() {
            // Two halves of 128; in each, four groups of 32 share 64 low and 32 high bytes.
            let (half, group, lane) = (i / 128, i % 128 / 32, i % 32);
            let byte = low[half * 64 + group % 2 * 32 + lane];
            let nibble = if group < 2 { byte & 15 } else { byte >> 4 };
            let pair = (high[half * 32 + lane] >> (group * 2)) & 3;
            let q = (nibble | (pair << 4)) as i8 - 32;
            let step = scale * f32::from(scales[i / 16] as i8);
            *value = step * f32::from(q);
        }
    }
}
