//! The AVX-512 level, without VNNI: its table, and the portable loops compiled for it.
//!
//! Matrix products and attention are its own. Products for one position wait for memory, so
//! AVX2's serve.

use recinto_quant::DType;

use super::wide::widened;
use super::{avx2, avx2_whole, avx512_attend, avx512_gemm};
use crate::level::Level;
use crate::table::{Interleaved, Linear, Table};

widened!("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");

const BELOW: Table = avx2::TABLE;

/// Dots of interleaved groups are AVX2's.
fn interleaved(dtype: DType) -> Interleaved {
    Interleaved { gemm: avx512_gemm::sixteen(dtype), ..(BELOW.interleaved)(dtype) }
}

/// The functions of this level.
pub(super) const TABLE: Table = Table {
    level: Level::Avx512,
    q4_0: Linear { gemm: avx512_gemm::gemm_q4_0, ..BELOW.q4_0 },
    q4_1: Linear { gemm: avx512_gemm::gemm_q4_1, ..BELOW.q4_1 },
    q5_0: Linear { gemm: avx512_gemm::gemm_q5_0, ..BELOW.q5_0 },
    q5_1: Linear { gemm: avx512_gemm::gemm_q5_1, ..BELOW.q5_1 },
    q8_0: Linear { gemm: avx512_gemm::gemm_q8_0, ..BELOW.q8_0 },
    q4_k: Linear { gemm: avx512_gemm::gemm_q4_k, ..BELOW.q4_k },
    q5_k: Linear { gemm: avx512_gemm::gemm_q5_k, ..BELOW.q5_k },
    q6_k: Linear { gemm: avx512_gemm::gemm_q6_k, ..BELOW.q6_k },
    iq4_nl: Linear { gemm: avx512_gemm::gemm_iq4_nl, ..BELOW.iq4_nl },
    mxfp4: Linear { gemm: avx512_gemm::gemm_mxfp4, ..BELOW.mxfp4 },
    iq1_s: Linear { gemm: avx512_gemm::gemm_iq1_s, ..BELOW.iq1_s },
    iq1_m: Linear { gemm: avx512_gemm::gemm_iq1_m, ..BELOW.iq1_m },
    iq2_xxs: Linear { gemm: avx512_gemm::gemm_iq2_xxs, ..BELOW.iq2_xxs },
    iq2_xs: Linear { gemm: avx512_gemm::gemm_iq2_xs, ..BELOW.iq2_xs },
    iq2_s: Linear { gemm: avx512_gemm::gemm_iq2_s, ..BELOW.iq2_s },
    iq3_xxs: Linear { gemm: avx512_gemm::gemm_iq3_xxs, ..BELOW.iq3_xxs },
    iq3_s: Linear { gemm: avx512_gemm::gemm_iq3_s, ..BELOW.iq3_s },
    tq1_0: Linear { gemm: avx512_gemm::gemm_tq1_0, ..BELOW.tq1_0 },
    tq2_0: Linear { gemm: avx512_gemm::gemm_tq2_0, ..BELOW.tq2_0 },
    nvfp4: Linear { gemm: avx512_gemm::gemm_nvfp4, ..BELOW.nvfp4 },
    q1_0: Linear { gemm: avx512_gemm::gemm_q1_0, ..BELOW.q1_0 },
    q2_k: Linear { gemm: avx512_gemm::gemm_q2_k, ..BELOW.q2_k },
    q3_k: Linear { gemm: avx512_gemm::gemm_q3_k, ..BELOW.q3_k },
    iq4_xs: Linear { gemm: avx512_gemm::gemm_iq4_xs, ..BELOW.iq4_xs },
    interleaved,
    quantize_a32,
    quantize_b256,
    rms_norm,
    layer_norm,
    rope,
    add,
    mul,
    scale,
    softcap,
    silu,
    gelu,
    gelu_erf,
    relu,
    sigmoid,
    tanh,
    swiglu,
    geglu,
    geglu_erf,
    scores: avx512_attend::scores,
    largest,
    soften,
    weigh: avx512_attend::weigh,
    meet: avx2_whole::meet,
    gather: avx2_whole::gather,
    ..BELOW
};
