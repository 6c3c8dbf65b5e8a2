//! BF16: two little-endian bytes a value.

use crate::half::{bf16_to_f32, f32_to_bf16};

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *value = bf16_to_f32(*bytes);
    }
}

pub(crate) fn pack(values: &[f32], out: &mut [u8]) {
    for (bytes, value) in out.as_chunks_mut::<2>().0.iter_mut().zip(values) {
        *bytes = f32_to_bf16(*value);
    }
}
