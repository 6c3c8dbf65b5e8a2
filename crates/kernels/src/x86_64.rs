//! Levels of x86-64, each only where the CPU and the system have all of its instructions.

mod avx2;
mod avx2_attend;
mod avx2_dot;
mod avx2_dot256;
mod avx2_float;
mod avx2_gemm;
mod avx2_gemm256;
mod avx2_lanes;
mod avx2_panel;
mod wide;

use crate::level::Level;
use crate::table::Table;

/// The table of `level`, where this CPU has it.
pub(crate) fn table(level: Level) -> Option<&'static Table> {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    match level {
        Level::Avx2 if avx2 => Some(&avx2::TABLE),
        _ => None,
    }
}
