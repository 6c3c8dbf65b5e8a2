//! The AVX-VNNI level: AVX2 with products of bytes in one instruction.

use recinto_quant::DType;

use super::{avx2, avxvnni_dot, avxvnni_gemm};
use crate::level::Level;
use crate::table::{Interleaved, Linear, Table};

const BELOW: Table = avx2::TABLE;

/// Dots of interleaved groups are AVX2's.
fn interleaved(dtype: DType) -> Interleaved {
    Interleaved { gemm: avxvnni_gemm::sixteen(dtype), ..(BELOW.interleaved)(dtype) }
}

/// The functions of this level.
pub(super) const TABLE: Table = Table {
    level: Level::AvxVnni,
    q4_0: Linear { dot: avxvnni_dot::dot_q4_0, gemm: avxvnni_gemm::gemm_q4_0 },
    q4_1: Linear { dot: avxvnni_dot::dot_q4_1, gemm: avxvnni_gemm::gemm_q4_1 },
    q5_0: Linear { dot: avxvnni_dot::dot_q5_0, gemm: avxvnni_gemm::gemm_q5_0 },
    q5_1: Linear { dot: avxvnni_dot::dot_q5_1, gemm: avxvnni_gemm::gemm_q5_1 },
    q8_0: Linear { dot: avxvnni_dot::dot_q8_0, gemm: avxvnni_gemm::gemm_q8_0 },
    q4_k: Linear { dot: avxvnni_dot::dot_q4_k, gemm: avxvnni_gemm::gemm_q4_k },
    q5_k: Linear { dot: avxvnni_dot::dot_q5_k, gemm: avxvnni_gemm::gemm_q5_k },
    q6_k: Linear { dot: avxvnni_dot::dot_q6_k, gemm: avxvnni_gemm::gemm_q6_k },
    iq4_nl: Linear { gemm: avxvnni_gemm::gemm_iq4_nl, ..BELOW.iq4_nl },
    mxfp4: Linear { gemm: avxvnni_gemm::gemm_mxfp4, ..BELOW.mxfp4 },
    iq1_s: Linear { gemm: avxvnni_gemm::gemm_iq1_s, ..BELOW.iq1_s },
    iq1_m: Linear { gemm: avxvnni_gemm::gemm_iq1_m, ..BELOW.iq1_m },
    iq2_xxs: Linear { gemm: avxvnni_gemm::gemm_iq2_xxs, ..BELOW.iq2_xxs },
    iq2_xs: Linear { gemm: avxvnni_gemm::gemm_iq2_xs, ..BELOW.iq2_xs },
    iq2_s: Linear { gemm: avxvnni_gemm::gemm_iq2_s, ..BELOW.iq2_s },
    iq3_xxs: Linear { gemm: avxvnni_gemm::gemm_iq3_xxs, ..BELOW.iq3_xxs },
    iq3_s: Linear { gemm: avxvnni_gemm::gemm_iq3_s, ..BELOW.iq3_s },
    tq1_0: Linear { gemm: avxvnni_gemm::gemm_tq1_0, ..BELOW.tq1_0 },
    tq2_0: Linear { gemm: avxvnni_gemm::gemm_tq2_0, ..BELOW.tq2_0 },
    q1_0: Linear { gemm: avxvnni_gemm::gemm_q1_0, ..BELOW.q1_0 },
    q2_k: Linear { gemm: avxvnni_gemm::gemm_q2_k, ..BELOW.q2_k },
    q3_k: Linear { gemm: avxvnni_gemm::gemm_q3_k, ..BELOW.q3_k },
    iq4_xs: Linear { gemm: avxvnni_gemm::gemm_iq4_xs, ..BELOW.iq4_xs },
    interleaved,
    ..BELOW
};
