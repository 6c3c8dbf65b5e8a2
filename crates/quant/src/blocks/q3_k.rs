//! Q3_K: 256 values a block: 32 bytes of third bits (bit `j` of byte `i` belongs to group `j` of
//! 32), 64 bytes of pairs as in Q2_K, 12 bytes with sixteen 6-bit scales (one for 16 values,
//! offset by 32), half scale; the three-bit number is offset by 4.

use crate::half::f16_to_f32;

/// Scale `j` (0..16), −32 … 31, from the 12 packed bytes: 16 halves, then 16 upper pairs.
fn scale_of(packed: &[u8], j: usize) -> i8 {
    let low = if j < 8 { packed[j] & 15 } else { packed[j - 8] >> 4 };
    let high = (packed[8 + j % 4] >> (j / 4 * 2)) & 3;
    (low | (high << 4)) as i8 - 32
}

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<110>().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let scale = f16_to_f32([block[108], block[109]]);
        let (third, pairs, packed) = (&block[..32], &block[32..96], &block[96..108]);
        for (i, value) in out.iter_mut().enumerate() {
            let (half, group, lane) = (i / 128, i % 128 / 32, i % 32);
            let pair = (pairs[half * 32 + lane] >> (group * 2)) & 3;
            let bit = (third[lane] >> (i / 32)) & 1;
            let q = (pair | (bit << 2)) as i8 - 4;
            *value = scale * f32::from(scale_of(packed, i / 16)) * f32::from(q);
        }
    }
}
