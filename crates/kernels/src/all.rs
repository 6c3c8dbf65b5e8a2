//! The portable level: safe, plain, slow where it must be. It defines every number; the other
//! levels are compared with it bit by bit.
//!
//! Loops that a compiler can widen by itself are marked to be inlined: a faster level compiles
//! the very same source for its instructions instead of writing it again.

pub(crate) mod attend;
mod dot;
mod dot256;
mod dot32;
pub mod math;
pub(crate) mod norm;
pub(crate) mod point;
pub(crate) mod quantize;
pub(crate) mod rotate;
pub(crate) mod whole;

use crate::level::Level;
use crate::table::Table;

pub(crate) use dot::fold;

/// The functions of the portable level.
pub(crate) const TABLE: Table = Table {
    level: Level::Portable,
    gemm_from: 2,
    gemm_to: 8,
    f32: dot::F32,
    f16: dot::F16,
    bf16: dot::BF16,
    q4_0: dot32::Q4_0,
    q4_1: dot32::Q4_1,
    q5_0: dot32::Q5_0,
    q5_1: dot32::Q5_1,
    q8_0: dot32::Q8_0,
    q2_k: dot256::Q2_K,
    q3_k: dot256::Q3_K,
    q4_k: dot256::Q4_K,
    q5_k: dot256::Q5_K,
    q6_k: dot256::Q6_K,
    iq4_nl: dot32::IQ4_NL,
    iq4_xs: dot256::IQ4_XS,
    mxfp4: dot32::MXFP4,
    iq1_s: dot256::IQ1_S,
    iq1_m: dot256::IQ1_M,
    iq2_xxs: dot256::IQ2_XXS,
    iq2_xs: dot256::IQ2_XS,
    iq2_s: dot256::IQ2_S,
    iq3_xxs: dot256::IQ3_XXS,
    iq3_s: dot256::IQ3_S,
    tq1_0: dot256::TQ1_0,
    tq2_0: dot256::TQ2_0,
    nvfp4: dot32::NVFP4,
    q1_0: dot32::Q1_0,
    interleaved: crate::table::in_order_only,
    quantize_a32: quantize::a32,
    quantize_b256: quantize::b256,
    rms_norm: norm::rms_norm,
    layer_norm: norm::layer_norm,
    rope: rotate::rope,
    add: point::add,
    mul: point::mul,
    scale: point::scale,
    softcap: point::softcap,
    silu: point::silu,
    gelu: point::gelu,
    gelu_erf: point::gelu_erf,
    relu: point::relu,
    sigmoid: point::sigmoid,
    tanh: point::tanh,
    swiglu: point::swiglu,
    geglu: point::geglu,
    geglu_erf: point::geglu_erf,
    scores: attend::scores,
    largest: attend::largest,
    soften: attend::soften,
    weigh: attend::weigh,
    meet: whole::meet,
    gather: whole::gather,
};
