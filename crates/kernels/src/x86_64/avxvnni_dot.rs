//! Rows against one position (AVX-VNNI).

use std::arch::x86_64::*;

use super::vnni_dot::vnni_dots;

vnni_dots!("avx2,fma,f16c,avxvnni", _mm256_dpbusd_avx_epi32, _mm256_dpwssd_avx_epi32, fives);
