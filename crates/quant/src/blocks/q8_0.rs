//! Q8_0: 32 values a block: half scale, then 32 signed bytes.

use crate::half::{f16_to_f32, f32_to_f16};

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<34>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = f16_to_f32([block[0], block[1]]);
        for (value, byte) in out.iter_mut().zip(&block[2..]) {
            *value = scale * f32::from(*byte as i8);
        }
    }
}

pub(crate) fn pack(values: &[f32], out: &mut [u8]) {
    for (block, values) in out.as_chunks_mut::<34>().0.iter_mut().zip(values.as_chunks::<32>().0) {
        let largest = values.iter().fold(0.0f32, |a, v| a.max(v.abs()));
        let scale = f32_to_f16(largest / 127.0);
        let step = f16_to_f32(scale);
        block[..2].copy_from_slice(&scale);
        for (byte, value) in block[2..].iter_mut().zip(values) {
            let q = if step == 0.0 { 0.0 } else { (value / step).round_ties_even() };
            *byte = q.clamp(-127.0, 127.0) as i8 as u8;
        }
    }
}
