//! Q4_K: 256 values a block: half scale, half scale of minima, 12 bytes with eight 6-bit scales
//! and eight 6-bit minima, 128 bytes; each 32 bytes hold two groups of 32, low halves first.

use crate::half::f16_to_f32;

/// Scale and minimum of group `j` (0..8) from the 12 packed bytes.
pub(crate) fn scale_min(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        let low = packed[j + 4];
        ((low & 15) | ((packed[j - 4] >> 6) << 4), (low >> 4) | ((packed[j] >> 6) << 4))
    }
}

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<144>().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        let minimum = f16_to_f32([block[2], block[3]]);
        let (packed, quants) = block[4..].split_at(12);
        for (j, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (s, m) = scale_min(packed, j);
            let (step, offset) = (scale * f32::from(s), minimum * f32::from(m));
            let bytes = &quants[j / 2 * 32..][..32];
            for (value, byte) in out.iter_mut().zip(bytes) {
                let q = if j % 2 == 0 { byte & 15 } else { byte >> 4 };
                *value = step * f32::from(q) - offset;
            }
        }
    }
}
