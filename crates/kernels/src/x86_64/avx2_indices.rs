//! Where the numbers of IQ1, IQ2 and IQ3 stand in their codebooks (AVX2): all of a block together,
//! for one by one that takes longer than the products.

use std::arch::x86_64::*;

use super::avx2_lanes::*;

/// The 16 bits at `at`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn word(block: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(*part(block, at)))
}

/// Indices into a codebook of `OF` entries, a power of two: sixteen in each of `MANY` vectors, made
/// together and read one by one.
pub(super) struct Indices<const MANY: usize, const OF: usize>([[u16; 16]; MANY]);

impl<const MANY: usize, const OF: usize> Indices<MANY, OF> {
    /// The lowest bits of 16-bit numbers.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new(indices: [__m256i; MANY]) -> Indices<MANY, OF> {
        const { assert!(OF.is_power_of_two() && OF <= 1 << 16) };
        let (mut all, mask) = ([[0; 16]; MANY], _mm256_set1_epi16((OF - 1) as i16));
        for i in 0..MANY {
            all[i] = array16(_mm256_and_si256(indices[i], mask));
        }
        // Else the compiler takes them out of the vectors, which is slower than memory.
        Indices(std::hint::black_box(all))
    }

    /// The entry at index `i`.
    #[inline]
    pub(super) fn entry<T: Copy>(&self, entries: &[T; OF], i: usize) -> T {
        // SAFETY: `new` made all indices smaller than `OF`.
        unsafe { *entries.get_unchecked(usize::from(self.0[i / 16][i % 16])) }
    }
}

/// Bit `i` of a word as bit 8 of 16-bit number `i`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn ninths(word: i16) -> __m256i {
    let low = _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128);
    let bits = _mm256_set_m128i(_mm_slli_epi16::<8>(low), low);
    let chosen = _mm256_and_si256(_mm256_set1_epi16(word), bits);
    _mm256_and_si256(_mm256_cmpeq_epi16(chosen, bits), _mm256_set1_epi16(256))
}

/// The indices of IQ2_XXS, which are bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn indices_2_xxs(block: &[u8; 66]) -> &[u8; 64] {
    part(block, 2)
}

/// The indices of IQ2_XS, below their signs.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn indices_2_xs(block: &[u8; 74]) -> Indices<2, 512> {
    Indices::new([load(part(block, 2)), load(part(block, 34))])
}

/// The indices of IQ2_S: bytes, and above them pairs of bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn indices_2_s(block: &[u8; 82]) -> Indices<2, 1024> {
    let mut all = [_mm256_setzero_si256(); 2];
    // Each of two bytes for four places; a product moves pair `l` to bit 8.
    let first = _mm256_set1_epi64x(0x0100_0100_0100_0100);
    let four = _mm256_unpacklo_epi64(first, _mm256_add_epi8(first, _mm256_set1_epi8(8)));
    let up = _mm256_set1_epi64x(1 << 8 | 1 << (6 + 16) | 1 << (4 + 32) | 1 << (2 + 48));
    for i in 0..2 {
        let low = _mm256_cvtepu8_epi16(load16(part(block, 2 + 16 * i)));
        let high = u32::from_le_bytes(*part(block, 66 + 4 * i));
        let high = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(high as i32));
        let high = _mm256_mullo_epi16(_mm256_shuffle_epi8(high, four), up);
        let high = _mm256_and_si256(high, _mm256_set1_epi16(0x300));
        all[i] = _mm256_or_si256(low, high);
    }
    Indices::new(all)
}

/// The indices of IQ3_XXS, which are bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn indices_3_xxs(block: &[u8; 98]) -> &[u8; 64] {
    part(block, 2)
}

/// The indices of IQ3_S: bytes, and a ninth bit.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn indices_3_s(block: &[u8; 110]) -> Indices<4, 512> {
    let mut all = [_mm256_setzero_si256(); 4];
    for i in 0..4 {
        let low = _mm256_cvtepu8_epi16(load16(part(block, 2 + 16 * i)));
        all[i] = _mm256_or_si256(low, ninths(word(block, 66 + 2 * i) as i16));
    }
    Indices::new(all)
}

/// Each of four words four times.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn four_times(words: &[u8; 8]) -> __m256i {
    let four = _mm256_setr_epi64x(
        0x0100_0100_0100_0100,
        0x0302_0302_0302_0302,
        0x0504_0504_0504_0504,
        0x0706_0706_0706_0706,
    );
    _mm256_shuffle_epi8(_mm256_set1_epi64x(i64::from_le_bytes(*words)), four)
}

/// The indices of IQ1: bytes, and above them three bits from bit `l · BITS` of a word for four.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn indices_1<const BITS: i32>(low: &[u8; 32], high: &[u8; 16]) -> Indices<2, 2048> {
    let mut all = [_mm256_setzero_si256(); 2];
    // A product moves the bits of `l` up to bit 8; those of the last are above it.
    let up = _mm256_set1_epi64x(1 << 8 | 1 << (24 - BITS) | 1 << (40 - 2 * BITS));
    let down = _mm_cvtsi32_si128(3 * BITS - 8);
    for i in 0..2 {
        let x = four_times(part(high, 8 * i));
        let (up, down) = (_mm256_mullo_epi16(x, up), _mm256_srl_epi16(x, down));
        let high = _mm256_blend_epi16::<0b1000_1000>(up, down);
        let high = _mm256_and_si256(high, _mm256_set1_epi16(0x700));
        all[i] = _mm256_or_si256(_mm256_cvtepu8_epi16(load16(part(low, 16 * i))), high);
    }
    Indices::new(all)
}
