//! Activations to signed bytes: one scale a block, half to even.

use crate::acts::SUMS;

/// Adding and taking away 1.5 · 2²³ rounds to an integer, half to even, where |x| < 2²²; the
/// integer then stands in the low bits.
const MAGIC: f32 = 12_582_912.0;

/// `d` and the bytes of one block (`x` may be shorter: the rest is zero).
#[inline(always)]
fn block<const N: usize>(x: &[f32], q: &mut [i8; N]) -> f32 {
    let mut values = [0f32; N];
    values[..x.len()].copy_from_slice(x);
    let mut amax = 0u32;
    for value in &values {
        // As integers, so that a NaN is the largest of all.
        amax = amax.max(value.to_bits() & 0x7fff_ffff);
    }
    let amax = f32::from_bits(amax);
    if !amax.is_finite() {
        *q = [0; N];
        return f32::NAN;
    }
    if amax < f32::from_bits(0x0d80_0000) {
        *q = [0; N]; // below 2⁻¹⁰⁰: the inverse could overflow
        return 0.0;
    }
    let inv = 127.0 / amax;
    for (q, value) in q.iter_mut().zip(&values) {
        let rounded = (value * inv + MAGIC).to_bits() as i32 - MAGIC.to_bits() as i32;
        *q = rounded.clamp(-127, 127) as i8;
    }
    amax / 127.0
}

/// Form A32 of one position.
#[inline(always)]
pub(crate) fn a32(x: &[f32], q: &mut [i8], d: &mut [f32], s: &mut [i32]) {
    let (q, _) = q.as_chunks_mut::<32>();
    for (((x, q), d), s) in x.chunks(32).zip(q).zip(d).zip(s) {
        *d = block(x, q);
        *s = q.iter().map(|q| i32::from(*q)).sum();
    }
}

/// Form B256 of one position.
#[inline(always)]
pub(crate) fn b256(x: &[f32], q: &mut [i8], d: &mut [f32], sums: &mut [i16]) {
    let (q, _) = q.as_chunks_mut::<256>();
    let (sums, _) = sums.as_chunks_mut::<SUMS>();
    for (((x, q), d), sums) in x.chunks(256).zip(q).zip(d).zip(sums) {
        *d = block(x, q);
        let (small, large) = sums.split_at_mut(16);
        for (sum, q) in small.iter_mut().zip(q.as_chunks::<16>().0) {
            *sum = q.iter().map(|q| i16::from(*q)).sum();
        }
        for (sum, pair) in large.iter_mut().zip(small.as_chunks::<2>().0) {
            *sum = pair[0] + pair[1];
        }
    }
}
