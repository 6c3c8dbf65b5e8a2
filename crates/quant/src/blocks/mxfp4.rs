//! MXFP4 (OCP Microscaling Formats 1.0): 32 values a block: a scale that is an exponent, then 16
//! bytes in the order of Q4_0; a nibble is a float of one sign, two exponent and one fraction bit.
//! Read as twice that float, a whole number, times half the scale.

use crate::half::half_exponent_to_f32;

/// What a nibble of MXFP4 stands for, doubled. Minus zero is zero.
pub const MXFP4_NUMBERS: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<17>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = half_exponent_to_f32(block[0]);
        for (j, byte) in block[1..].iter().enumerate() {
            out[j] = scale * f32::from(MXFP4_NUMBERS[usize::from(byte & 15)]);
            out[j + 16] = scale * f32::from(MXFP4_NUMBERS[usize::from(byte >> 4)]);
        }
    }
}

/// The exponent that puts the largest value between 4 and 8 (halves of the numbers 8 … 16), then
/// the nearest number; of two equally near ones the first of the table.
pub(crate) fn pack(values: &[f32], out: &mut [u8]) {
    for (block, values) in out.as_chunks_mut::<17>().0.iter_mut().zip(values.as_chunks::<32>().0) {
        let largest = values.iter().fold(0.0f32, |a, v| a.max(v.abs()));
        // The stored exponent of a float counts from 2⁻¹²⁷ too.
        let exponent = ((largest.to_bits() >> 23) as u8).saturating_sub(2);
        let scale = half_exponent_to_f32(exponent);
        let nearest = |value: f32| {
            let mut best = (0u8, f32::INFINITY);
            for (i, number) in (0u8..).zip(MXFP4_NUMBERS) {
                let error = (scale * f32::from(number) - value).abs();
                if error < best.1 {
                    best = (i, error);
                }
            }
            best.0
        };
        block[0] = exponent;
        for (j, byte) in block[1..].iter_mut().enumerate() {
            *byte = nearest(values[j]) | (nearest(values[j + 16]) << 4);
        }
    }
}
