//! The AVX-512 VNNI level: AVX-512 with products of bytes in one instruction.

use super::{avx512, avx512vnni_dot, avx512vnni_gemm, avx512vnni_sixteen};
use crate::level::Level;
use crate::table::{Linear, Table};

const BELOW: Table = avx512::TABLE;

/// The functions of this level.
pub(super) const TABLE: Table = Table {
    level: Level::Avx512Vnni,
    q4_0: Linear { dot: avx512vnni_dot::dot_q4_0, gemm: avx512vnni_gemm::gemm_q4_0 },
    q4_1: Linear { dot: avx512vnni_dot::dot_q4_1, gemm: avx512vnni_gemm::gemm_q4_1 },
    q5_0: Linear { dot: avx512vnni_dot::dot_q5_0, gemm: avx512vnni_gemm::gemm_q5_0 },
    q5_1: Linear { dot: avx512vnni_dot::dot_q5_1, gemm: avx512vnni_gemm::gemm_q5_1 },
    q8_0: Linear { dot: avx512vnni_dot::dot_q8_0, gemm: avx512vnni_gemm::gemm_q8_0 },
    q2_k: Linear { gemm: avx512vnni_gemm::gemm_q2_k, ..BELOW.q2_k },
    q3_k: Linear { gemm: avx512vnni_gemm::gemm_q3_k, ..BELOW.q3_k },
    q4_k: Linear { dot: avx512vnni_dot::dot_q4_k, gemm: avx512vnni_gemm::gemm_q4_k },
    q5_k: Linear { dot: avx512vnni_dot::dot_q5_k, gemm: avx512vnni_gemm::gemm_q5_k },
    q6_k: Linear { dot: avx512vnni_dot::dot_q6_k, gemm: avx512vnni_gemm::gemm_q6_k },
    iq4_nl: Linear { gemm: avx512vnni_gemm::gemm_iq4_nl, ..BELOW.iq4_nl },
    iq4_xs: Linear { gemm: avx512vnni_gemm::gemm_iq4_xs, ..BELOW.iq4_xs },
    mxfp4: Linear { gemm: avx512vnni_gemm::gemm_mxfp4, ..BELOW.mxfp4 },
    iq1_s: Linear { gemm: avx512vnni_gemm::gemm_iq1_s, ..BELOW.iq1_s },
    iq1_m: Linear { gemm: avx512vnni_gemm::gemm_iq1_m, ..BELOW.iq1_m },
    iq2_xxs: Linear { gemm: avx512vnni_gemm::gemm_iq2_xxs, ..BELOW.iq2_xxs },
    iq2_xs: Linear { gemm: avx512vnni_gemm::gemm_iq2_xs, ..BELOW.iq2_xs },
    iq2_s: Linear { gemm: avx512vnni_gemm::gemm_iq2_s, ..BELOW.iq2_s },
    iq3_xxs: Linear { gemm: avx512vnni_gemm::gemm_iq3_xxs, ..BELOW.iq3_xxs },
    iq3_s: Linear { gemm: avx512vnni_gemm::gemm_iq3_s, ..BELOW.iq3_s },
    tq1_0: Linear { gemm: avx512vnni_gemm::gemm_tq1_0, ..BELOW.tq1_0 },
    tq2_0: Linear { gemm: avx512vnni_gemm::gemm_tq2_0, ..BELOW.tq2_0 },
    q1_0: Linear { gemm: avx512vnni_gemm::gemm_q1_0, ..BELOW.q1_0 },
    interleaved: avx512vnni_sixteen::products,
    ..BELOW
};
