//! F32: four little-endian bytes a value.

pub(crate) fn expand(bytes: &[u8], out: &mut [f32]) {
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
}

pub(crate) fn pack(values: &[f32], out: &mut [u8]) {
    for (bytes, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
}
