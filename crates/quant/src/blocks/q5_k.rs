//! Q5_K: as Q4_K, with 32 bytes of fifth bits (bit `j` of byte `i` belongs to group `j`).

use super::q4_k::scale_min;
use crate::half::f16_to_f32;

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<176>().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        let minimum = f16_to_f32([block[2], block[3]]);
        let (packed, high, quants) = (&block[4..16], &block[16..48], &block[48..]);
        for (j, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (s, m) = scale_min(packed, j);
            let (step, offset) = (scale * f32::from(s), minimum * f32::from(m));
            let bytes = &quants[j / 2 * 32..][..32];
            for (i, (value, byte)) in out.iter_mut().zip(bytes).enumerate() {
                let low = if j % 2 == 0 { byte & 15 } else { byte >> 4 };
                let q = low | (((high[i] >> j) & 1) << 4);
                *value = step * f32::from(q) - offset;
            }
        }
    }
}
