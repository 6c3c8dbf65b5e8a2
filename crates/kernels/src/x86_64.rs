//! Levels of x86-64, each only where the CPU and the system have all of its instructions.

// Lanes, rows and positions of one step are counted side by side: indices say which is which.
#![allow(clippy::needless_range_loop)]

mod avx2;
mod avx2_attend;
mod avx2_codebook;
mod avx2_dot;
mod avx2_dot256;
mod avx2_float;
mod avx2_gemm;
mod avx2_gemm256;
mod avx2_lanes;
mod avx2_panel;
mod avx2_panel_codebook;
mod avx2_panel_more;
mod avx2_quarters;
mod avx2_sixteen;
mod avx2_table;
mod avx2_ternary;
mod avx2_twos;
mod avx2_words;
mod avx512;
mod avx512_attend;
mod avx512_gemm;
mod avx512_lanes;
mod avx512vnni;
mod avx512vnni_dot;
mod avx512vnni_gemm;
mod avx512vnni_sixteen;
mod avxvnni;
mod avxvnni_dot;
mod avxvnni_gemm;
mod panel_gemm;
mod row_dots;
mod vnni_dot;
mod wide;

use crate::level::Level;
use crate::table::Table;

static AVX2: Table = avx2::TABLE;
static AVX_VNNI: Table = avxvnni::TABLE;
static AVX512: Table = avx512::TABLE;
static AVX512_VNNI: Table = avx512vnni::TABLE;

/// The table of `level`, where this CPU has it.
pub(crate) fn table(level: Level) -> Option<&'static Table> {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq");
    match level {
        Level::Avx2 if avx2 => Some(&AVX2),
        Level::AvxVnni if avx2 && is_x86_feature_detected!("avxvnni") => Some(&AVX_VNNI),
        Level::Avx512 if avx512 => Some(&AVX512),
        Level::Avx512Vnni if avx512 && is_x86_feature_detected!("avx512vnni") => Some(&AVX512_VNNI),
        _ => None,
    }
}
