//! The AVX2 level: its table, and the portable loops compiled for it.

use super::wide::widened;
use super::{
    avx2_attend, avx2_dot, avx2_dot256, avx2_float, avx2_gemm, avx2_gemm256, avx2_sixteen,
    avx2_table, avx2_twos, avx2_words,
};
use crate::level::Level;
use crate::table::{Linear, Table};

widened!("avx2,fma,f16c");

/// The functions of this level.
pub(super) const TABLE: Table = Table {
    level: Level::Avx2,
    gemm_from: 4,
    gemm_to: 512,
    f32: Linear { dot: avx2_float::dot_f32, gemm: avx2_float::gemm_f32 },
    f16: Linear { dot: avx2_float::dot_f16, gemm: avx2_float::gemm_f16 },
    bf16: Linear { dot: avx2_float::dot_bf16, gemm: avx2_float::gemm_bf16 },
    q4_0: Linear { dot: avx2_words::dot_q4_0, gemm: avx2_gemm::gemm_q4_0 },
    q4_1: Linear { dot: avx2_words::dot_q4_1, gemm: avx2_gemm::gemm_q4_1 },
    q5_0: Linear { dot: avx2_dot::dot_q5_0, gemm: avx2_gemm::gemm_q5_0 },
    q5_1: Linear { dot: avx2_dot::dot_q5_1, gemm: avx2_gemm::gemm_q5_1 },
    q8_0: Linear { dot: avx2_dot::dot_q8_0, gemm: avx2_gemm::gemm_q8_0 },
    q2_k: Linear { dot: avx2_twos::dot_q2_k, gemm: avx2_gemm256::gemm_q2_k },
    q3_k: Linear { dot: avx2_twos::dot_q3_k, gemm: avx2_gemm256::gemm_q3_k },
    q4_k: Linear { dot: avx2_dot256::dot_q4_k, gemm: avx2_gemm256::gemm_q4_k },
    q5_k: Linear { dot: avx2_dot256::dot_q5_k, gemm: avx2_gemm256::gemm_q5_k },
    q6_k: Linear { dot: avx2_dot256::dot_q6_k, gemm: avx2_gemm256::gemm_q6_k },
    iq4_nl: Linear { dot: avx2_table::dot_iq4_nl, gemm: avx2_gemm::gemm_iq4_nl },
    iq4_xs: Linear { dot: avx2_table::dot_iq4_xs, gemm: avx2_gemm256::gemm_iq4_xs },
    mxfp4: Linear { dot: avx2_table::dot_mxfp4, gemm: avx2_gemm::gemm_mxfp4 },
    interleaved: avx2_sixteen::products,
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
    relu,
    sigmoid,
    tanh,
    swiglu,
    geglu,
    scores: avx2_attend::scores,
    largest,
    soften,
    weigh: avx2_attend::weigh,
};
