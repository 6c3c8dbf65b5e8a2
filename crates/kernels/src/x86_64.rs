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
mod avx2_indices;
mod avx2_lanes;
mod avx2_panel;
mod avx2_panel_codebook;
mod avx2_panel_more;
mod avx2_quarters;
mod avx2_signed;
mod avx2_sixteen;
mod avx2_table;
mod avx2_ternary;
mod avx2_twos;
mod avx2_whole;
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

/// The CPU features that `level` needs, and whether this CPU and its system have each.
pub(crate) fn features(level: Level) -> Vec<(&'static str, bool)> {
    macro_rules! asked {
        ($($name:tt),*) => { vec![$(($name, is_x86_feature_detected!($name))),*] };
    }
    let base = || asked!("avx2", "fma", "f16c");
    let wide = || asked!("avx512f", "avx512bw", "avx512vl", "avx512dq");
    match level {
        Level::Portable => Vec::new(),
        Level::Avx2 => base(),
        Level::AvxVnni => [base(), asked!("avxvnni")].concat(),
        Level::Avx512 => [base(), wide()].concat(),
        Level::Avx512Vnni => [base(), wide(), asked!("avx512vnni")].concat(),
    }
}

/// The table of `level`, where this CPU has it.
pub(crate) fn table(level: Level) -> Option<&'static Table> {
    let table = match level {
        Level::Portable => return None,
        Level::Avx2 => &AVX2,
        Level::AvxVnni => &AVX_VNNI,
        Level::Avx512 => &AVX512,
        Level::Avx512Vnni => &AVX512_VNNI,
    };
    features(level).iter().all(|(_, has)| *has).then_some(table)
}
