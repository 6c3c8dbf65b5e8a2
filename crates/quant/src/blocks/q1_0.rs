//! Q1_0: 128 values a block: half scale, then a bit for each value, lowest first: the scale where
//! it is set, else the scale taken away.

use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<18>().0.iter().zip(out.as_chunks_mut::<128>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        for (i, value) in out.iter_mut().enumerate() {
            *value = if block[2 + i / 8] >> (i % 8) & 1 == 1 { scale } else { -scale };
        }
    }
}
