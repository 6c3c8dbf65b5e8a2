//! The AVX-512 VNNI level: its table, and the portable loops compiled for it.
//!
//! Matrix products are its own. Products for one position wait for memory, so AVX2's serve.

use super::wide::widened;
use super::{avx2, avx512_gemm, avx512_gemm_more, avx512_gemm256};
use recinto_quant::DType;

use crate::level::Level;
use crate::table::{Interleaved, Linear, Table};

widened!("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c");

const BELOW: Table = avx2::TABLE;

/// Dots of interleaved groups are AVX2's; a matrix product puts the rows back in order first.
fn interleaved(dtype: DType) -> Interleaved {
    Interleaved { gemm: None, ..(BELOW.interleaved)(dtype) }
}

/// The functions of this level.
pub(super) const TABLE: Table = Table {
    level: Level::Avx512Vnni,
    q4_0: Linear { gemm: avx512_gemm::gemm_q4_0, ..BELOW.q4_0 },
    q4_1: Linear { gemm: avx512_gemm::gemm_q4_1, ..BELOW.q4_1 },
    q5_0: Linear { gemm: avx512_gemm::gemm_q5_0, ..BELOW.q5_0 },
    q5_1: Linear { gemm: avx512_gemm::gemm_q5_1, ..BELOW.q5_1 },
    q8_0: Linear { gemm: avx512_gemm::gemm_q8_0, ..BELOW.q8_0 },
    q2_k: Linear { gemm: avx512_gemm_more::gemm_q2_k, ..BELOW.q2_k },
    q3_k: Linear { gemm: avx512_gemm_more::gemm_q3_k, ..BELOW.q3_k },
    q4_k: Linear { gemm: avx512_gemm256::gemm_q4_k, ..BELOW.q4_k },
    q5_k: Linear { gemm: avx512_gemm256::gemm_q5_k, ..BELOW.q5_k },
    q6_k: Linear { gemm: avx512_gemm256::gemm_q6_k, ..BELOW.q6_k },
    iq4_nl: Linear { gemm: avx512_gemm::gemm_iq4_nl, ..BELOW.iq4_nl },
    iq4_xs: Linear { gemm: avx512_gemm_more::gemm_iq4_xs, ..BELOW.iq4_xs },
    mxfp4: Linear { gemm: avx512_gemm::gemm_mxfp4, ..BELOW.mxfp4 },
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
    relu,
    sigmoid,
    tanh,
    swiglu,
    geglu,
    largest,
    soften,
    ..BELOW
};
