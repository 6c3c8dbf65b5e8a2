//! The AVX-512 VNNI level: AVX-512 with products of bytes in one instruction.

use super::{avx512, avx512vnni_dot, avx512vnni_gemm};
use crate::level::Level;
use crate::table::{Linear, Table};

/// The functions of this level.
pub(super) const TABLE: Table = Table {
    level: Level::Avx512Vnni,
    q4_0: Linear { dot: avx512vnni_dot::dot_q4_0, gemm: avx512vnni_gemm::gemm_q4_0 },
    q4_1: Linear { dot: avx512vnni_dot::dot_q4_1, gemm: avx512vnni_gemm::gemm_q4_1 },
    q5_0: Linear { dot: avx512vnni_dot::dot_q5_0, gemm: avx512vnni_gemm::gemm_q5_0 },
    q5_1: Linear { dot: avx512vnni_dot::dot_q5_1, gemm: avx512vnni_gemm::gemm_q5_1 },
    q8_0: Linear { dot: avx512vnni_dot::dot_q8_0, gemm: avx512vnni_gemm::gemm_q8_0 },
    q4_k: Linear { dot: avx512vnni_dot::dot_q4_k, gemm: avx512vnni_gemm::gemm_q4_k },
    q5_k: Linear { dot: avx512vnni_dot::dot_q5_k, gemm: avx512vnni_gemm::gemm_q5_k },
    q6_k: Linear { dot: avx512vnni_dot::dot_q6_k, gemm: avx512vnni_gemm::gemm_q6_k },
    ..avx512::TABLE
};
