//! Products with float weights, sixteen lanes; and what the other products share.

use recinto_quant::{bf16_to_f32, f16_to_f32};

use crate::acts::Acts;
use crate::table::{Linear, TILE};

/// Lanes folded in the fixed order: `l[i] += l[i + h]` for h = 8, 4, 2, 1.
#[inline(always)]
pub(crate) fn fold(mut lanes: [f32; 16]) -> f32 {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
    }
    lanes[0]
}

/// A little-endian pair at `at`.
#[inline(always)]
pub(super) fn half_bytes(bytes: &[u8], at: usize) -> [u8; 2] {
    [bytes[at], bytes[at + 1]]
}

/// Sixteen lanes of `fma(w, x, lane)`.
#[inline(always)]
fn lanes<const BYTES: usize>(row: &[u8], x: &[f32], value: impl Fn([u8; BYTES]) -> f32) -> f32 {
    let mut lanes = [0f32; 16];
    let (weights, _) = row.as_chunks::<BYTES>();
    for (weights, x) in weights.chunks(16).zip(x.chunks(16)) {
        for ((lane, w), x) in lanes.iter_mut().zip(weights).zip(x) {
            *lane = value(*w).mul_add(*x, *lane);
        }
    }
    fold(lanes)
}

macro_rules! float {
    ($table:ident, $dot:ident, $gemm:ident, $value:expr) => {
        fn $dot(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            for (row, out) in rows.chunks_exact(stride).zip(out) {
                *out = lanes(row, a.x, $value);
            }
        }
        super::dot::by_dots!($gemm, $dot);
        pub(crate) const $table: Linear = Linear { dot: $dot, gemm: $gemm };
    };
}

/// A matrix product by one dot after another: what the portable level does.
macro_rules! by_dots {
    ($gemm:ident, $dot:ident) => {
        fn $gemm(
            rows: &[u8],
            stride: usize,
            a: &Acts<'_>,
            _: &mut crate::scratch::Work,
            out: &mut [f32],
        ) {
            let count = rows.len() / stride;
            for (p, out) in out.chunks_exact_mut(crate::table::TILE).enumerate() {
                $dot(rows, stride, &a.range(p, 1), &mut out[..count]);
            }
        }
    };
}
pub(crate) use by_dots;

float!(F32, dot_f32, gemm_f32, f32::from_le_bytes);
float!(F16, dot_f16, gemm_f16, f16_to_f32);
float!(BF16, dot_bf16, gemm_bf16, bf16_to_f32);

const _: () = assert!(TILE == 16);
