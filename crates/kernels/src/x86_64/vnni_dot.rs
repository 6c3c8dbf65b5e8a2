//! Rows against one position with `vpdpbusd`: the same source for AVX-VNNI and for AVX-512
//! VNNI, whose instructions have names of their own.
//!
//! A block of 32 fills 32 bytes, and no wider vector makes it fewer instructions; those of 256
//! are each level's own.

/// Declares the products of every quantized type. `$bytes` adds four products of unsigned and
/// signed bytes to each integer; `$fives` gives the numbers of a block of Q5_0 or Q5_1. What
/// expands this has `groups` and `six`: eight partial sums of a block of 256.
macro_rules! vnni_dots {
    ($features:literal, $bytes:ident, $fives:ident) => {
        use super::avx2_dot256::{minima, scale_min};
        use super::avx2_lanes::*;
        use super::row_dots::{AHEAD, row_dots};
        use crate::acts::{Acts, SUMS};

        /// Halves at one place of four blocks.
        #[inline]
        #[target_feature(enable = $features)]
        fn four_halves<const N: usize>(blocks: &[[u8; N]; 4], at: usize) -> __m128 {
            let mut all = _mm_setzero_si128();
            all = _mm_insert_epi16::<0>(all, word(&blocks[0], at));
            all = _mm_insert_epi16::<1>(all, word(&blocks[1], at));
            all = _mm_insert_epi16::<2>(all, word(&blocks[2], at));
            all = _mm_insert_epi16::<3>(all, word(&blocks[3], at));
            _mm_cvtph_ps(all)
        }

        /// The 16 bits at `at`.
        #[inline]
        #[target_feature(enable = $features)]
        fn word(block: &[u8], at: usize) -> i32 {
            i32::from(u16::from_le_bytes(*part(block, at)))
        }

        /// The sums of four vectors of eight integers that fit 16 bits, even when two are added:
        /// 8 · 31 · 127 = 31496 is the most that numbers of five bits give.
        #[inline]
        #[target_feature(enable = $features)]
        fn small_sums(x: [__m256i; 4]) -> __m128i {
            let ones = _mm256_set1_epi16(1);
            let a = _mm256_madd_epi16(_mm256_packs_epi32(x[0], x[1]), ones);
            let b = _mm256_madd_epi16(_mm256_packs_epi32(x[2], x[3]), ones);
            four(_mm256_madd_epi16(_mm256_packs_epi32(a, b), ones))
        }

        /// Eight partial sums of unsigned `w` times 32 activations.
        #[inline]
        #[target_feature(enable = $features)]
        fn product(w: __m256i, q: &[i8; 32]) -> __m256i {
            $bytes(_mm256_setzero_si256(), w, load_i8(q))
        }

        /// Q8_0 with 128 added to every number.
        #[inline]
        #[target_feature(enable = $features)]
        fn unsigned(block: &[u8; 34]) -> __m256i {
            _mm256_xor_si256(eights(block), _mm256_set1_epi8(-128))
        }

        row_dots! { $features, 32:
            dot_q4_0 = 18, |b: &[u8; 18], q| product(fours::<2>(b), q), small_sums, Some(3),
                [four_halves, half], None;
            dot_q4_1 = 20, |b: &[u8; 20], q| product(fours::<4>(b), q), small_sums, None,
                [four_halves, half], Some(2);
            dot_q5_0 = 22, |b: &[u8; 22], q| product($fives::<2>(b), q), small_sums, Some(4),
                [four_halves, half], None;
            dot_q5_1 = 24, |b: &[u8; 24], q| product($fives::<4>(b), q), small_sums, None,
                [four_halves, half], Some(2);
            dot_q8_0 = 34, |b: &[u8; 34], q| product(unsigned(b), q), sums, Some(7),
                [four_halves, half], None;
        }

        row_dots! { $features, 256:
            dot_q4_k = 144, 2, |b: &[u8; 144], q, _| groups::<false>(b, q), [four_halves, half], 0,
                less minima, 2;
            dot_q5_k = 176, 2, |b: &[u8; 176], q, _| groups::<true>(b, q), [four_halves, half], 0,
                less minima, 2;
            dot_q6_k = 210, 3, six, [four_halves, half], 208;
        }
    };
}
pub(super) use vnni_dots;
