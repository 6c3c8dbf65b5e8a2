//! Products with blocks of 32 values: exact integers inside a block, four accumulators across.

use recinto_quant::{
    IQ4_NUMBERS, MXFP4_NUMBERS, f16_to_f32, half_e4m3_to_f32, half_exponent_to_f32,
};

use super::dot::half_bytes;
use crate::acts::Acts;
use crate::table::Linear;

/// Low nibbles are the first 16 values of a block, high nibbles the last 16.
#[inline(always)]
fn nibbles(bytes: &[u8], q: &[i8; 32], offset: i32) -> i32 {
    let mut sum = 0;
    for (i, byte) in bytes[..16].iter().enumerate() {
        sum += (i32::from(byte & 15) - offset) * i32::from(q[i]);
        sum += (i32::from(byte >> 4) - offset) * i32::from(q[i + 16]);
    }
    sum
}

/// Nibbles with a fifth bit each, from a 32-bit word in the order of the values.
#[inline(always)]
fn fives(high: &[u8], low: &[u8], q: &[i8; 32], offset: i32) -> i32 {
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    let mut sum = 0;
    for (i, byte) in low[..16].iter().enumerate() {
        let first = i32::from(byte & 15) | (((high >> i) & 1) << 4) as i32;
        let last = i32::from(byte >> 4) | (((high >> (i + 16)) & 1) << 4) as i32;
        sum += (first - offset) * i32::from(q[i]) + (last - offset) * i32::from(q[i + 16]);
    }
    sum
}

/// Nibbles that are places in a table of numbers.
#[inline(always)]
fn looked_up(bytes: &[u8], q: &[i8; 32], numbers: &[i8; 16]) -> i32 {
    let number = |nibble: u8| i32::from(numbers[usize::from(nibble)]);
    let mut sum = 0;
    for (i, byte) in bytes[..16].iter().enumerate() {
        sum += number(byte & 15) * i32::from(q[i]) + number(byte >> 4) * i32::from(q[i + 16]);
    }
    sum
}

/// One dtype: `$sum` gives a block's integer sum; `$minimum` where a minimum stands, if any;
/// `$scale` its scale, where that is not a half at its start.
macro_rules! blocks {
    ($table:ident, $dot:ident, $gemm:ident, $bytes:literal, $sum:expr, $minimum:expr) => {
        blocks!($table, $dot, $gemm, $bytes, $sum, $minimum, |b| f16_to_f32(half_bytes(b, 0)));
    };
    (
        $table:ident, $dot:ident, $gemm:ident, $bytes:literal, $sum:expr, $minimum:expr,
        $scale:expr
    ) => {
        fn $dot(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let sum: fn(&[u8; $bytes], &[i8; 32]) -> i32 = $sum;
            let minimum: Option<usize> = $minimum;
            let scale: fn(&[u8; $bytes]) -> f32 = $scale;
            for (row, out) in rows.chunks_exact(stride).zip(out) {
                let mut acc = [0f32; 4];
                let (blocks, (qs, _)) = (row.as_chunks::<$bytes>().0, a.q.as_chunks::<32>());
                for (b, (block, q)) in blocks.iter().zip(qs).enumerate() {
                    let scale = scale(block) * a.d[b];
                    let acc = &mut acc[b % 4];
                    *acc = (sum(block, q) as f32).mul_add(scale, *acc);
                    if let Some(at) = minimum {
                        let scale = f16_to_f32(half_bytes(block, at)) * a.d[b];
                        *acc = (a.s[b] as f32).mul_add(scale, *acc);
                    }
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
        super::dot::by_dots!($gemm, $dot);
        pub(crate) const $table: Linear = Linear { dot: $dot, gemm: $gemm };
    };
}

blocks!(Q4_0, dot_q4_0, gemm_q4_0, 18, |b, q| nibbles(&b[2..], q, 8), None);
blocks!(Q4_1, dot_q4_1, gemm_q4_1, 20, |b, q| nibbles(&b[4..], q, 0), Some(2));
blocks!(Q5_0, dot_q5_0, gemm_q5_0, 22, |b, q| fives(&b[2..6], &b[6..], q, 16), None);
blocks!(Q5_1, dot_q5_1, gemm_q5_1, 24, |b, q| fives(&b[4..8], &b[8..], q, 0), Some(2));
blocks!(
    Q8_0,
    dot_q8_0,
    gemm_q8_0,
    34,
    |b, q| b[2..].iter().zip(q).map(|(w, q)| i32::from(*w as i8) * i32::from(*q)).sum(),
    None
);
blocks!(IQ4_NL, dot_iq4_nl, gemm_iq4_nl, 18, |b, q| looked_up(&b[2..], q, &IQ4_NUMBERS), None);
// Doubled numbers times half the scale: both are exact.
blocks!(
    MXFP4,
    dot_mxfp4,
    gemm_mxfp4,
    17,
    |b, q| looked_up(&b[1..], q, &MXFP4_NUMBERS),
    None,
    |b| half_exponent_to_f32(b[0])
);

/// A dtype whose blocks have four parts of `$values` values with a sum of their own, one for each
/// accumulator. `$sum` and `$scale` give those of part `g`.
macro_rules! quarters {
    (
        $table:ident, $dot:ident, $gemm:ident, $bytes:literal, $values:literal, $sum:expr,
        $scale:expr
    ) => {
        fn $dot(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let sum: fn(&[u8; $bytes], usize, &[i8; $values]) -> i32 = $sum;
            let scale: fn(&[u8; $bytes], usize) -> f32 = $scale;
            for (row, out) in rows.chunks_exact(stride).zip(out) {
                let mut acc = [0f32; 4];
                let parts = a.q.as_chunks::<$values>().0.as_chunks::<4>().0;
                for (b, (block, qs)) in row.as_chunks::<$bytes>().0.iter().zip(parts).enumerate() {
                    for (g, (acc, q)) in acc.iter_mut().zip(qs).enumerate() {
                        let d = a.d[(4 * b + g) * $values / 32];
                        *acc = (sum(block, g, q) as f32).mul_add(scale(block, g) * d, *acc);
                    }
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
        super::dot::by_dots!($gemm, $dot);
        pub(crate) const $table: Linear = Linear { dot: $dot, gemm: $gemm };
    };
}

quarters!(
    NVFP4,
    dot_nvfp4,
    gemm_nvfp4,
    36,
    16,
    |b, g, q| {
        let number = |nibble: u8| i32::from(MXFP4_NUMBERS[usize::from(nibble)]);
        let bytes = b[4 + 8 * g..][..8].iter().enumerate();
        let two = |(i, byte): (usize, &u8)| {
            number(byte & 15) * i32::from(q[i]) + number(byte >> 4) * i32::from(q[i + 8])
        };
        bytes.map(two).sum()
    },
    |b, g| half_e4m3_to_f32(b[g])
);
quarters!(
    Q1_0,
    dot_q1_0,
    gemm_q1_0,
    18,
    32,
    |b, g, q| {
        let bit = |i: usize| b[2 + 4 * g + i / 8] >> (i % 8) & 1;
        let signed = |(i, q): (usize, &i8)| i32::from(*q) * (2 * i32::from(bit(i)) - 1);
        q.iter().enumerate().map(signed).sum()
    },
    |b, _| f16_to_f32(half_bytes(b, 0))
);
