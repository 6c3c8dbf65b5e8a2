//! Loads, and how the bytes of a block become 32 small numbers in one vector (AVX2).

use std::arch::x86_64::*;

/// 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(x: &[u8; 32]) -> __m256i {
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

/// 32 signed bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_i8(x: &[i8; 32]) -> __m256i {
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

/// 16 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_i16(x: &[i16; 16]) -> __m256i {
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

/// 8 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load8_i16(x: &[i16; 8]) -> __m128i {
    // SAFETY: 16 readable bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(x.as_ptr().cast()) }
}

/// 16 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load16(x: &[u8; 16]) -> __m128i {
    // SAFETY: 16 readable bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(x.as_ptr().cast()) }
}

/// 4 integers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load4_i32(x: &[i32; 4]) -> __m128i {
    // SAFETY: 16 readable bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(x.as_ptr().cast()) }
}

/// 4 floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load4(x: &[f32; 4]) -> __m128 {
    // SAFETY: 16 readable bytes; the load asks for no alignment.
    unsafe { _mm_loadu_ps(x.as_ptr()) }
}

/// 8 floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load8(x: &[f32; 8]) -> __m256 {
    // SAFETY: 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_ps(x.as_ptr()) }
}

/// 8 floats to memory, from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put8(to: &mut [f32], at: usize, x: __m256) {
    let to: &mut [f32; 8] = to[at..].first_chunk_mut().expect("whole lanes");
    // SAFETY: 32 writable bytes; the store asks for no alignment.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), x) }
}

/// 4 lanes as an array.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn array4(x: __m128) -> [f32; 4] {
    // SAFETY: the same 16 bytes.
    unsafe { std::mem::transmute(x) }
}

/// 16 lanes of 16 bits as an array.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn array16(x: __m256i) -> [u16; 16] {
    // SAFETY: the same 32 bytes.
    unsafe { std::mem::transmute(x) }
}

/// 8 lanes as an array.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn array8(x: __m256) -> [f32; 8] {
    // SAFETY: the same 32 bytes.
    unsafe { std::mem::transmute(x) }
}

/// A part of a block whose place the compiler knows.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn part<const N: usize>(block: &[u8], at: usize) -> &[u8; N] {
    block[at..].first_chunk().expect("a part lies in its block")
}

/// Asks for memory ahead of a stream; past its end this does nothing.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn ahead(x: &[u8], bytes: usize) {
    _mm_prefetch::<_MM_HINT_T0>(x.as_ptr().wrapping_add(bytes).cast());
}

/// 16 bytes of nibbles as 32 bytes: low nibbles, then high ones.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nibbles(x: &[u8; 16]) -> __m256i {
    let low = load16(x);
    let both = _mm256_set_m128i(_mm_srli_epi16::<4>(low), low);
    _mm256_and_si256(both, _mm256_set1_epi8(15))
}

/// Bit `i` of a word in all bits of byte `i`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bits(word: u32) -> __m256i {
    let word = _mm256_set1_epi32(word as i32);
    let spread =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
    _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(word, spread), bit), bit)
}

/// Bit `i` of a word as 16 in byte `i`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fifths(x: &[u8; 4]) -> __m256i {
    _mm256_and_si256(bits(u32::from_le_bytes(*x)), _mm256_set1_epi8(16))
}

/// Q4_0 and Q4_1 from the block's nibbles at `AT`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fours<const AT: usize>(block: &[u8]) -> __m256i {
    nibbles(part(block, AT))
}

/// Q5_0 and Q5_1 from the block's high bits at `AT` and the nibbles after them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fives<const AT: usize>(block: &[u8]) -> __m256i {
    _mm256_or_si256(nibbles(part(block, AT + 4)), fifths(part(block, AT)))
}

/// Q8_0, signed.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn eights(block: &[u8]) -> __m256i {
    load(part(block, 2))
}

/// A stored half as f32.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn half(block: &[u8], at: usize) -> f32 {
    let bits = i32::from(u16::from_le_bytes(*part(block, at)));
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)))
}

/// Halves at one place of four blocks.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn halves<const N: usize>(blocks: &[[u8; N]; 4], at: usize) -> __m128 {
    let bits = |i: usize| u64::from(u16::from_le_bytes(*part(&blocks[i], at)));
    let all = bits(0) | bits(1) << 16 | bits(2) << 32 | bits(3) << 48;
    _mm_cvtph_ps(_mm_cvtsi64_si128(all as i64))
}

/// The sums of four vectors of eight integers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sums(x: [__m256i; 4]) -> __m128i {
    let (a, b) = (_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
    four(_mm256_hadd_epi32(a, b))
}

/// The sums of four vectors of four integers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sums4(x: [__m128i; 4]) -> __m128i {
    _mm_hadd_epi32(_mm_hadd_epi32(x[0], x[1]), _mm_hadd_epi32(x[2], x[3]))
}

/// Four partial sums of eight.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn four(x: __m256i) -> __m128i {
    _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x))
}

/// The sum of eight integers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sum(x: __m256i) -> i32 {
    sum4(four(x))
}

/// The sum of four integers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sum4(x: __m128i) -> i32 {
    let x = _mm_add_epi32(x, _mm_shuffle_epi32::<0b01_00_11_10>(x));
    _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32::<0b10_11_00_01>(x)))
}

/// Sixteen lanes folded as `all::fold` does: 8, 4, 2, 1.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fold(low: __m256, high: __m256) -> f32 {
    let x = _mm256_add_ps(low, high);
    let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
    let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
}
