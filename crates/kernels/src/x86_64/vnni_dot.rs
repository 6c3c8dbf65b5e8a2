//! Rows against one position with `vpdpbusd`: the same source for AVX-VNNI and for AVX-512
//! VNNI, whose instructions have names of their own.
//!
//! Four blocks of a row are worked on at a time: the four accumulators of the contract are the
//! lanes of one vector. A block of 32 fills 32 bytes, and no wider vector makes it fewer
//! instructions; those of 256 are each level's own.

/// Declares the products of every quantized type. `$bytes` adds four products of unsigned and
/// signed bytes to each integer; `$fives` gives the numbers of a block of Q5_0 or Q5_1. What
/// expands this has `groups` and `six`: eight partial sums of a block of 256.
macro_rules! vnni_dots {
    ($features:literal, $bytes:ident, $fives:ident) => {
        use super::avx2_dot256::scale_min;
        use super::avx2_lanes::*;
        use crate::acts::{Acts, SUMS};

        /// How far ahead of the block in hand memory is asked for.
        const AHEAD: usize = 1024;

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
            let all = _mm256_madd_epi16(_mm256_packs_epi32(a, b), ones);
            _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all))
        }

        /// Eight bytes of a word as 16-bit numbers.
        #[inline]
        #[target_feature(enable = $features)]
        fn widen(bytes: u64) -> __m128i {
            _mm_cvtepu8_epi16(_mm_cvtsi64_si128(bytes as i64))
        }

        /// Four partial sums of the minima of a block.
        #[inline]
        #[target_feature(enable = $features)]
        fn minima_sums(minima: u64, sums: &[i16; SUMS]) -> __m128i {
            let sums = load8_i16(sums[16..].first_chunk().expect("eight sums"));
            _mm_madd_epi16(widen(minima), sums)
        }

        vnni_dots! { $features, $bytes:
            dot_q4_0 = 18, |b: &[u8; 18]| fours::<2>(b), small_sums, Some(3), None;
            dot_q4_1 = 20, |b: &[u8; 20]| fours::<4>(b), small_sums, None, Some(2);
            dot_q5_0 = 22, |b: &[u8; 22]| $fives::<2>(b), small_sums, Some(4), None;
            dot_q5_1 = 24, |b: &[u8; 24]| $fives::<4>(b), small_sums, None, Some(2);
            dot_q8_0 = 34, |b: &[u8; 34]| unsigned(b), sums, Some(7), None;
        }

        /// Q8_0 with 128 added to every number.
        #[inline]
        #[target_feature(enable = $features)]
        fn unsigned(block: &[u8; 34]) -> __m256i {
            _mm256_xor_si256(eights(block), _mm256_set1_epi8(-128))
        }

        vnni_dots! { $features; dot_q4_k = 144, false; dot_q5_k = 176, true; }

        #[target_feature(enable = $features)]
        pub(super) fn dot_q6_k(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let (q4s, q_rest) = a.q.as_chunks::<256>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.sums.as_chunks::<SUMS>().0.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<210>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    let mut isum = [_mm256_setzero_si256(); 4];
                    for i in 0..4 {
                        for line in 0..3 {
                            ahead(&blocks[i], AHEAD + 64 * line);
                        }
                        isum[i] = six(&blocks[i], &q[i], &s[i]);
                    }
                    let scale = _mm_mul_ps(four_halves(blocks, 208), load4(d));
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(sums(isum)), scale, acc);
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let isum = sum(six(block, &q_rest[i], &s_rest[i])) as f32;
                    acc[i] = isum.mul_add(half(block, 208) * d_rest[i], acc[i]);
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    };
    // 32-blocks: bytes of a block, its numbers, how four blocks' integers are summed, log2 of
    // the numbers' offset, where a minimum stands.
    ($features:literal, $product:ident: $(
        $name:ident = $bytes:literal, $numbers:expr, $sums:ident, $offset:expr, $minimum:expr;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            const OFFSET: Option<u32> = $offset;
            const MINIMUM: Option<usize> = $minimum;
            let (qs, _) = a.q.as_chunks::<32>();
            let (q4s, q_rest) = qs.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s, products) = a.s.split_at(a.blocks);
            let (s4s, s_rest) = s.as_chunks::<4>();
            let (m4s, m_rest) = products.as_chunks::<4>();
            let zero = _mm256_setzero_si256();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                // By index: the library's zip is not inlined here.
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    ahead(&blocks[0], AHEAD);
                    let mut isum = [zero; 4];
                    for i in 0..4 {
                        isum[i] = $product(zero, $numbers(&blocks[i]), load_i8(&q[i]));
                    }
                    let (mut isum, d, s) = ($sums(isum), load4(d), load4_i32(s));
                    if let Some(offset) = OFFSET {
                        let by = _mm_cvtsi32_si128(offset as i32);
                        isum = _mm_sub_epi32(isum, _mm_sll_epi32(s, by));
                    }
                    let scale = _mm_mul_ps(four_halves(blocks, 0), d);
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(isum), scale, acc);
                    if let Some(at) = MINIMUM {
                        let sums = _mm_castsi128_ps(load4_i32(&m4s[b]));
                        acc = _mm_fmadd_ps(four_halves(blocks, at), sums, acc);
                    }
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let mut isum = sum($product(zero, $numbers(block), load_i8(&q_rest[i])));
                    if let Some(offset) = OFFSET {
                        isum -= s_rest[i] << offset;
                    }
                    acc[i] = (isum as f32).mul_add(half(block, 0) * d_rest[i], acc[i]);
                    if let Some(at) = MINIMUM {
                        let sum = f32::from_bits(m_rest[i] as u32);
                        acc[i] = half(block, at).mul_add(sum, acc[i]);
                    }
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
    // 256-blocks with minima: bytes of a block, whether there is a fifth bit.
    ($features:literal; $($name:ident = $bytes:literal, $five:literal;)*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let (q4s, q_rest) = a.q.as_chunks::<256>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.sums.as_chunks::<SUMS>().0.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    let mut isum = [_mm256_setzero_si256(); 4];
                    let mut msum = [_mm_setzero_si128(); 4];
                    for i in 0..4 {
                        ahead(&blocks[i], AHEAD);
                        ahead(&blocks[i], AHEAD + 64);
                        let (scales, minima) = scale_min(part(&blocks[i], 4));
                        isum[i] = groups::<$five>(scales, &blocks[i], &q[i]);
                        msum[i] = minima_sums(minima, &s[i]);
                    }
                    let d = load4(d);
                    let scale = _mm_mul_ps(four_halves(blocks, 0), d);
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(sums(isum)), scale, acc);
                    let msum = _mm_hadd_epi32(
                        _mm_hadd_epi32(msum[0], msum[1]),
                        _mm_hadd_epi32(msum[2], msum[3]),
                    );
                    let scale = _mm_mul_ps(four_halves(blocks, 2), d);
                    acc = _mm_fnmadd_ps(_mm_cvtepi32_ps(msum), scale, acc);
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let (scales, minima) = scale_min(part(block, 4));
                    let isum = sum(groups::<$five>(scales, block, &q_rest[i])) as f32;
                    let msum = sum4(minima_sums(minima, &s_rest[i])) as f32;
                    acc[i] = isum.mul_add(half(block, 0) * d_rest[i], acc[i]);
                    acc[i] = (-msum).mul_add(half(block, 2) * d_rest[i], acc[i]);
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
}
pub(super) use vnni_dots;
