//! Rows against one position with `vpdpbusd` and `vpdpwssd` on 32 bytes: the same source for
//! AVX-VNNI and for AVX-512 VNNI, whose instructions have names of their own.
//!
//! A row waits for memory, so that wider vectors would gain nothing; fewer instructions a byte
//! do. Four blocks of a row are worked on at a time: the four accumulators of the contract are
//! the lanes of one vector.

/// Declares the products of every quantized type. `$bytes` adds four products of unsigned and
/// signed bytes to each integer, `$words` two of 16-bit numbers; `$fives` gives the numbers of a
/// block of Q5_0 or Q5_1.
macro_rules! vnni_dots {
    ($features:literal, $bytes:ident, $words:ident, $fives:ident) => {
        use super::avx2_dot256::{fifth, scale_min, sixes, two_groups};
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

        /// 16-bit number `J` of each half, everywhere in that half.
        #[inline]
        #[target_feature(enable = $features)]
        fn spread<const J: i16>(x: __m256i) -> __m256i {
            _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0100 + 0x0202 * J))
        }

        /// Adds group `J`: pairs that fit 16 bits, times its scale.
        #[inline]
        #[target_feature(enable = $features)]
        fn add_group<const J: i16>(
            total: __m256i,
            numbers: __m256i,
            scales: __m256i,
            q: &[i8; 256],
        ) -> __m256i {
            let q = load_i8(q[J as usize * 32..].first_chunk().expect("eight groups"));
            $words(total, _mm256_maddubs_epi16(numbers, q), spread::<J>(scales))
        }

        /// Partial sums of a Q4_K or Q5_K block (`FIVE`).
        #[inline]
        #[target_feature(enable = $features)]
        fn groups<const FIVE: bool>(scales: u64, block: &[u8], q: &[i8; 256]) -> __m256i {
            let scales = _mm256_broadcastsi128_si256(widen(scales));
            let quants = &block[if FIVE { 48 } else { 16 }..];
            let mut n = [_mm256_setzero_si256(); 8];
            for i in 0..4 {
                (n[2 * i], n[2 * i + 1]) = two_groups(quants, i);
            }
            if FIVE {
                let high = load(part(block, 16));
                n[0] = _mm256_or_si256(n[0], fifth::<0>(high));
                n[1] = _mm256_or_si256(n[1], fifth::<1>(high));
                n[2] = _mm256_or_si256(n[2], fifth::<2>(high));
                n[3] = _mm256_or_si256(n[3], fifth::<3>(high));
                n[4] = _mm256_or_si256(n[4], fifth::<4>(high));
                n[5] = _mm256_or_si256(n[5], fifth::<5>(high));
                n[6] = _mm256_or_si256(n[6], fifth::<6>(high));
                n[7] = _mm256_or_si256(n[7], fifth::<7>(high));
            }
            eight_groups(_mm256_setzero_si256(), n, scales, q)
        }

        /// Adds eight groups to two sums, so that they wait less for each other.
        #[inline]
        #[target_feature(enable = $features)]
        fn eight_groups(
            total: __m256i,
            n: [__m256i; 8],
            scales: __m256i,
            q: &[i8; 256],
        ) -> __m256i {
            let (mut a, mut b) = (total, _mm256_setzero_si256());
            a = add_group::<0>(a, n[0], scales, q);
            b = add_group::<1>(b, n[1], scales, q);
            a = add_group::<2>(a, n[2], scales, q);
            b = add_group::<3>(b, n[3], scales, q);
            a = add_group::<4>(a, n[4], scales, q);
            b = add_group::<5>(b, n[5], scales, q);
            a = add_group::<6>(a, n[6], scales, q);
            b = add_group::<7>(b, n[7], scales, q);
            _mm256_add_epi32(a, b)
        }

        /// Partial sums of a Q6_K block: with numbers 0 … 63, then 32 · Σ sc · Σ q taken off.
        #[inline]
        #[target_feature(enable = $features)]
        fn six(block: &[u8; 210], q: &[i8; 256], sums: &[i16; SUMS]) -> __m256i {
            let stored = load16(part(block, 192));
            let scales = _mm256_cvtepi8_epi16(stored);
            // Even scales in the lower half, odd ones in the upper: a group of 32 has both.
            let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
            let split = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(stored, apart));
            let sums = load_i16(sums.first_chunk().expect("16 sums"));
            let offset = _mm256_slli_epi32::<5>(_mm256_madd_epi16(scales, sums));
            let total = _mm256_sub_epi32(_mm256_setzero_si256(), offset);
            let (x, y) = (sixes(block, 0), sixes(block, 1));
            let numbers = [x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]];
            eight_groups(total, numbers, split, q)
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
            let (s4s, s_rest) = a.s.as_chunks::<4>();
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
                        let scale = _mm_mul_ps(four_halves(blocks, at), d);
                        acc = _mm_fmadd_ps(_mm_cvtepi32_ps(s), scale, acc);
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
                        let scale = half(block, at) * d_rest[i];
                        acc[i] = (s_rest[i] as f32).mul_add(scale, acc[i]);
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
