//! Rows of 32-blocks against one position (AVX2): four blocks of a row at a time, so that the
//! four accumulators of the contract are the lanes of one vector.

use std::arch::x86_64::*;

use super::avx2_lanes::*;
use crate::acts::Acts;

/// How far ahead of the block in hand memory is asked for.
const AHEAD: usize = 1024;

/// Eight partial sums of unsigned `w` (at most 31) times `q`: no pair passes 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn unsigned(w: __m256i, q: __m256i) -> __m256i {
    _mm256_madd_epi16(_mm256_maddubs_epi16(w, q), _mm256_set1_epi16(1))
}

/// Eight partial sums of signed `w` times `q`, as |w| · (q with the sign of w): |w| ≤ 128 and
/// |q| ≤ 127, so a pair is at most 2 · 128 · 127 = 32512.
#[inline]
#[target_feature(enable = "avx2")]
fn signed(w: __m256i, q: __m256i) -> __m256i {
    unsigned(_mm256_sign_epi8(w, w), _mm256_sign_epi8(q, w))
}

/// One storage type: bytes of a block, its 32 numbers, their product, log2 of the offset that
/// is taken off with the activations' sum, and where a minimum stands.
macro_rules! dot {
    ($name:ident, $bytes:literal, $numbers:expr, $product:ident, $offset:expr, $minimum:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            const OFFSET: Option<u32> = $offset;
            const MINIMUM: Option<usize> = $minimum;
            let (qs, _) = a.q.as_chunks::<32>();
            let (q4s, q_rest) = qs.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s, products) = a.s.split_at(a.blocks);
            let (s4s, s_rest) = s.as_chunks::<4>();
            let (m4s, m_rest) = products.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                // By index: the library's zip is not inlined here.
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    ahead(&blocks[0], AHEAD);
                    let product = |i: usize| $product($numbers(&blocks[i]), load_i8(&q[i]));
                    let mut isum = sums([product(0), product(1), product(2), product(3)]);
                    let (d, s) = (load4(d), load4_i32(s));
                    if let Some(offset) = OFFSET {
                        let shift = _mm_cvtsi32_si128(offset as i32);
                        isum = _mm_sub_epi32(isum, _mm_sll_epi32(s, shift));
                    }
                    let scale = _mm_mul_ps(halves(blocks, 0), d);
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(isum), scale, acc);
                    if let Some(at) = MINIMUM {
                        let sums = _mm_castsi128_ps(load4_i32(&m4s[b]));
                        acc = _mm_fmadd_ps(halves(blocks, at), sums, acc);
                    }
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let mut isum = sum($product($numbers(block), load_i8(&q_rest[i])));
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
    };
}

dot!(dot_q4_0, 18, |b: &[u8; 18]| fours::<2>(b), unsigned, Some(3), None);
dot!(dot_q4_1, 20, |b: &[u8; 20]| fours::<4>(b), unsigned, None, Some(2));
dot!(dot_q5_0, 22, |b: &[u8; 22]| fives::<2>(b), unsigned, Some(4), None);
dot!(dot_q5_1, 24, |b: &[u8; 24]| fives::<4>(b), unsigned, None, Some(2));
dot!(dot_q8_0, 34, |b: &[u8; 34]| eights(b), signed, None, None);
