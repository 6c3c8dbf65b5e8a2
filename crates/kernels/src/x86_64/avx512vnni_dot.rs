//! Rows against one position (AVX-512 VNNI).

use std::arch::x86_64::*;

use super::vnni_dot::vnni_dots;

/// Q5_0 and Q5_1 from the block's high bits at `AT`, which are a mask as they stand, and the
/// nibbles after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn masked_fives<const AT: usize>(block: &[u8]) -> __m256i {
    let (low, high) = (nibbles(part(block, AT + 4)), u32::from_le_bytes(*part(block, AT)));
    _mm256_mask_add_epi8(low, high, low, _mm256_set1_epi8(16))
}

vnni_dots!(
    "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c",
    _mm256_dpbusd_epi32,
    _mm256_dpwssd_epi32,
    masked_fives
);
