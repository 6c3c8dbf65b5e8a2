//! Products with blocks of 256 values: sub-scales are applied in integers, floats once a block.

use recinto_quant::whole::{self, Whole};
use recinto_quant::{IQ4_NUMBERS, f16_to_f32};

use super::dot::half_bytes;
use crate::acts::{Acts, SUMS};
use crate::table::Linear;

/// Eight 6-bit scales and eight 6-bit minima from the 12 bytes of Q4_K and Q5_K.
#[inline(always)]
fn scale_min(packed: &[u8]) -> ([u8; 8], [u8; 8]) {
    let (mut scales, mut minima) = ([0; 8], [0; 8]);
    for j in 0..4 {
        let (s, m, low) = (packed[j], packed[j + 4], packed[j + 8]);
        scales[j] = s & 63;
        minima[j] = m & 63;
        scales[j + 4] = (low & 15) | ((s >> 6) << 4);
        minima[j + 4] = (low >> 4) | ((m >> 6) << 4);
    }
    (scales, minima)
}

/// `Σ_j m[j] · Σ q` over groups of 32.
fn minima_sum(minima: &[u8; 8], sums: &[i16]) -> i32 {
    minima.iter().zip(&sums[16..SUMS]).map(|(m, s)| i32::from(*m) * i32::from(*s)).sum()
}

/// Q4_K and Q5_K: group `j` in nibble `j mod 2` of 32 shared bytes, fifth bits in `high`.
#[inline(always)]
fn groups(scales: &[u8; 8], quants: &[u8], high: Option<&[u8]>, q: &[i8]) -> i32 {
    let mut total = 0;
    for j in 0..8 {
        let (bytes, q) = (&quants[j / 2 * 32..][..32], &q[j * 32..][..32]);
        let mut sum = 0;
        for i in 0..32 {
            let mut w = if j % 2 == 0 { bytes[i] & 15 } else { bytes[i] >> 4 };
            if let Some(high) = high {
                w |= ((high[i] >> j) & 1) << 4;
            }
            sum += i32::from(w) * i32::from(q[i]);
        }
        total += i32::from(scales[j]) * sum;
    }
    total
}

/// Q6_K: two halves of 128; in each, four groups of 32 share 64 low and 32 high bytes.
#[inline(always)]
fn sixes(block: &[u8; 210], q: &[i8]) -> i32 {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let mut total = 0;
    for j in 0..16 {
        let (half, group, odd) = (j / 8, j % 8 / 2, j % 2 * 16);
        let low = &low[half * 64 + group % 2 * 32 + odd..][..16];
        let high = &high[half * 32 + odd..][..16];
        let mut sum = 0;
        for i in 0..16 {
            let nibble = if group < 2 { low[i] & 15 } else { low[i] >> 4 };
            let w = i32::from(nibble | (((high[i] >> (group * 2)) & 3) << 4)) - 32;
            sum += w * i32::from(q[j * 16 + i]);
        }
        total += i32::from(scales[j] as i8) * sum;
    }
    total
}

/// `Σ_j scale(j) · Σ (w − offset) · q` of Q2_K and Q3_K over sixteen groups of 16: pairs of bits,
/// and third bits where there are any.
#[inline(always)]
fn twos(
    pairs: &[u8],
    third: Option<&[u8]>,
    offset: i32,
    scale: impl Fn(usize) -> i32,
    q: &[i8],
) -> i32 {
    let mut total = 0;
    for j in 0..16 {
        // Two halves of 128; in each, four groups of 32 share 32 bytes.
        let (half, group, odd) = (j / 8, j % 8 / 2, j % 2 * 16);
        let mut sum = 0;
        for i in 0..16 {
            let mut w = (pairs[half * 32 + odd + i] >> (group * 2)) & 3;
            if let Some(third) = third {
                w |= ((third[odd + i] >> (j / 2)) & 1) << 2;
            }
            sum += (i32::from(w) - offset) * i32::from(q[j * 16 + i]);
        }
        total += scale(j) * sum;
    }
    total
}

/// Scale `j` of Q3_K, −32 … 31: sixteen halves, then sixteen upper pairs in 4 bytes.
#[inline(always)]
fn scale_3(packed: &[u8], j: usize) -> i32 {
    let low = (packed[j % 8] >> (j / 8 * 4)) & 15;
    let high = (packed[8 + j % 4] >> (j / 4 * 2)) & 3;
    i32::from(low | (high << 4)) - 32
}

/// `Σ_j sc[j] · Σ w · q` of IQ4_XS: eight groups of 32, numbers from the table.
#[inline(always)]
fn looked_up(block: &[u8; 136], q: &[i8]) -> i32 {
    let high = u16::from_le_bytes([block[2], block[3]]);
    let number = |nibble: u8| i32::from(IQ4_NUMBERS[usize::from(nibble)]);
    let mut total = 0;
    for j in 0..8 {
        let (bytes, q) = (&block[8 + j * 16..][..16], &q[j * 32..][..32]);
        let mut sum = 0;
        for i in 0..16 {
            sum += number(bytes[i] & 15) * i32::from(q[i]);
            sum += number(bytes[i] >> 4) * i32::from(q[i + 16]);
        }
        let low = i32::from(block[4 + j / 2] >> (j % 2 * 4) & 15);
        total += (low + i32::from(high >> (j * 2) & 3) * 16 - 32) * sum;
    }
    total
}

/// Walks a row's blocks; `$step` gives the new accumulator.
macro_rules! blocks {
    ($table:ident, $dot:ident, $gemm:ident, $bytes:literal, $step:expr) => {
        fn $dot(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let step: fn(&[u8; $bytes], &[i8; 256], f32, &[i16; SUMS], f32) -> f32 = $step;
            for (row, out) in rows.chunks_exact(stride).zip(out) {
                let mut acc = [0f32; 4];
                let (qs, _) = a.q.as_chunks::<256>();
                let (sums, _) = a.sums.as_chunks::<SUMS>();
                for (b, block) in row.as_chunks::<$bytes>().0.iter().enumerate() {
                    acc[b % 4] = step(block, &qs[b], a.d[b], &sums[b], acc[b % 4]);
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
        super::dot::by_dots!($gemm, $dot);
        pub(crate) const $table: Linear = Linear { dot: $dot, gemm: $gemm };
    };
}

/// The float steps of a block with minima; `halves` are its scale and minimum.
fn with_minima(halves: &[u8], isum: i32, msum: i32, d: f32, acc: f32) -> f32 {
    let scale = f16_to_f32(half_bytes(halves, 0)) * d;
    let minimum = f16_to_f32(half_bytes(halves, 2)) * d;
    let acc = (isum as f32).mul_add(scale, acc);
    (-(msum as f32)).mul_add(minimum, acc)
}

blocks!(Q4_K, dot_q4_k, gemm_q4_k, 144, |block, q, d, sums, acc| {
    let (scales, minima) = scale_min(&block[4..16]);
    let isum = groups(&scales, &block[16..], None, q);
    with_minima(block, isum, minima_sum(&minima, sums), d, acc)
});
blocks!(Q5_K, dot_q5_k, gemm_q5_k, 176, |block, q, d, sums, acc| {
    let (scales, minima) = scale_min(&block[4..16]);
    let isum = groups(&scales, &block[48..], Some(&block[16..48]), q);
    with_minima(block, isum, minima_sum(&minima, sums), d, acc)
});
blocks!(Q6_K, dot_q6_k, gemm_q6_k, 210, |block, q, d, _, acc| {
    let scale = f16_to_f32(half_bytes(block, 208)) * d;
    (sixes(block, q) as f32).mul_add(scale, acc)
});
blocks!(Q2_K, dot_q2_k, gemm_q2_k, 84, |block, q, d, sums, acc| {
    let isum = twos(&block[16..80], None, 0, |j| i32::from(block[j] & 15), q);
    let minima = block[..16].iter().zip(&sums[..16]);
    let msum = minima.map(|(m, s)| i32::from(m >> 4) * i32::from(*s)).sum();
    with_minima(&block[80..], isum, msum, d, acc)
});
blocks!(Q3_K, dot_q3_k, gemm_q3_k, 110, |block, q, d, _, acc| {
    let scale = f16_to_f32(half_bytes(block, 108)) * d;
    let isum = twos(&block[32..96], Some(&block[..32]), 4, |j| scale_3(&block[96..108], j), q);
    (isum as f32).mul_add(scale, acc)
});
blocks!(IQ4_XS, dot_iq4_xs, gemm_iq4_xs, 136, |block, q, d, _, acc| {
    let scale = f16_to_f32(half_bytes(block, 0)) * d;
    (looked_up(block, q) as f32).mul_add(scale, acc)
});

/// A block that is read as whole numbers, with scales of 16 values each.
#[inline(always)]
fn whole_numbers(w: &Whole, q: &[i8; 256], d: f32, acc: f32) -> f32 {
    let groups = w.numbers.as_chunks::<16>().0.iter().zip(q.as_chunks::<16>().0);
    let sums = groups.zip(w.scales).map(|((w, q), scale)| {
        let products = w.iter().zip(q).map(|(w, q)| i32::from(*w) * i32::from(*q));
        i32::from(scale) * products.sum::<i32>()
    });
    (sums.sum::<i32>() as f32).mul_add(w.scale * d, acc)
}

macro_rules! wholes {
    ($($table:ident, $dot:ident, $gemm:ident, $bytes:literal, $whole:ident;)*) => {$(
        blocks!($table, $dot, $gemm, $bytes, |block, q, d, _, acc| {
            whole_numbers(&whole::$whole(block), q, d, acc)
        });
    )*};
}

wholes! {
    IQ1_S, dot_iq1_s, gemm_iq1_s, 50, iq1_s;
    IQ1_M, dot_iq1_m, gemm_iq1_m, 56, iq1_m;
    IQ2_XXS, dot_iq2_xxs, gemm_iq2_xxs, 66, iq2_xxs;
    IQ2_XS, dot_iq2_xs, gemm_iq2_xs, 74, iq2_xs;
    IQ2_S, dot_iq2_s, gemm_iq2_s, 82, iq2_s;
    IQ3_XXS, dot_iq3_xxs, gemm_iq3_xxs, 98, iq3_xxs;
    IQ3_S, dot_iq3_s, gemm_iq3_s, 110, iq3_s;
    TQ1_0, dot_tq1_0, gemm_tq1_0, 54, tq1_0;
    TQ2_0, dot_tq2_0, gemm_tq2_0, 66, tq2_0;
}
