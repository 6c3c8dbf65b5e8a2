//! Sixteen rows as one vector (AVX-512): what `panel_gemms` needs and both AVX-512 levels have.

use std::arch::x86_64::*;

use crate::scratch::Line;
use crate::table::TILE;

/// Integers of sixteen rows.
pub(super) type Int = __m512i;
/// Floats of sixteen rows.
pub(super) type Real = __m512;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero() -> Int {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero_real() -> Real {
    _mm512_setzero_ps()
}

/// 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load64(x: &[u8; 64]) -> Int {
    // SAFETY: 64 readable bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
}

/// A line: sixteen rows.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn line(line: &Line) -> Int {
    load64(&line.0)
}

/// A line of floats.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn floats(x: &Line) -> Real {
    _mm512_castsi512_ps(line(x))
}

/// Four bytes of activations everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn everywhere(x: [i8; 4]) -> Int {
    let bytes = [x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8];
    _mm512_set1_epi32(i32::from_ne_bytes(bytes))
}

/// Two neighbouring 16-bit numbers everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn two_everywhere(low: i16, high: i16) -> Int {
    let two = u32::from(low as u16) | u32::from(high as u16) << 16;
    _mm512_set1_epi32(two as i32)
}

/// `−s · 2^by`, everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn taken_off<const BY: u32>(s: i32) -> Int {
    _mm512_sub_epi32(zero(), _mm512_slli_epi32::<BY>(_mm512_set1_epi32(s)))
}

/// `isum − 2^by · msum`; `isum` where `by` is 0.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn less_shifted(isum: Int, msum: Int, by: i32) -> Int {
    match by {
        0 => isum,
        _ => _mm512_sub_epi32(isum, _mm512_sll_epi32(msum, _mm_cvtsi32_si128(by))),
    }
}

/// `acc + isum · (scales · d)`, fused.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add_scaled(acc: Real, isum: Int, scales: Real, d: f32) -> Real {
    let scale = _mm512_mul_ps(scales, _mm512_set1_ps(d));
    _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum), scale, acc)
}

/// `acc − isum · (scales · d)`, fused.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn take_scaled(acc: Real, isum: Int, scales: Real, d: f32) -> Real {
    let scale = _mm512_mul_ps(scales, _mm512_set1_ps(d));
    _mm512_fnmadd_ps(_mm512_cvtepi32_ps(isum), scale, acc)
}

/// `s`, everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn all(s: i32) -> Int {
    _mm512_set1_epi32(s)
}

/// Writes the values of sixteen rows of one position.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn put_values(acc: [Real; 4], out: &mut [f32; TILE]) {
    let sum = _mm512_add_ps(_mm512_add_ps(acc[0], acc[1]), _mm512_add_ps(acc[2], acc[3]));
    // SAFETY: 64 writable bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), sum) }
}
