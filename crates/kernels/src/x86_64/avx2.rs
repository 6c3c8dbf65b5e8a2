//! The AVX2 level: its table, and the portable loops compiled for it.

use super::wide::widened;
use super::{
    avx2_attend, avx2_codebook, avx2_dot, avx2_dot256, avx2_float, avx2_gemm, avx2_gemm256,
    avx2_quarters, avx2_sixteen, avx2_table, avx2_ternary, avx2_twos, avx2_words,
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
    iq1_s: Linear { dot: avx2_codebook::dot_iq1_s, gemm: avx2_gemm256::gemm_iq1_s },
    iq1_m: Linear { dot: avx2_codebook::dot_iq1_m, gemm: avx2_gemm256::gemm_iq1_m },
    iq2_xxs: Linear { dot: avx2_codebook::dot_iq2_xxs, gemm: avx2_gemm256::gemm_iq2_xxs },
    iq2_xs: Linear { dot: avx2_codebook::dot_iq2_xs, gemm: avx2_gemm256::gemm_iq2_xs },
    iq2_s: Linear { dot: avx2_codebook::dot_iq2_s, gemm: avx2_gemm256::gemm_iq2_s },
    iq3_xxs: Linear { dot: avx2_codebook::dot_iq3_xxs, gemm: avx2_gemm256::gemm_iq3_xxs },
    iq3_s: Linear { dot: avx2_codebook::dot_iq3_s, gemm: avx2_gemm256::gemm_iq3_s },
    tq1_0: Linear { dot: avx2_ternary::dot_tq1_0, gemm: avx2_gemm256::gemm_tq1_0 },
    tq2_0: Linear { dot: avx2_ternary::dot_tq2_0, gemm: avx2_gemm256::gemm_tq2_0 },
    nvfp4: Linear { dot: avx2_quarters::dot_nvfp4, gemm: avx2_quarters::gemm_nvfp4 },
    q1_0: Linear { dot: avx2_quarters::dot_q1_0, gemm: avx2_gemm::gemm_q1_0 },
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
