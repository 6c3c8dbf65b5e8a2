//! Interleaved groups of sixteen rows against one position (AVX-512 VNNI): a line of a unit is
//! one vector, four numbers of sixteen rows, and one instruction multiplies and adds it up. See
//! `interleave` for the order of a unit, `avx2_sixteen` for where its parts lie.

use std::arch::x86_64::*;

use recinto_quant::DType;

use super::avx2_lanes::{ahead, load, part};
use super::avx2_sixteen::{AHEAD, FIFTHS, SCALES, SIX, quants};
use super::avx512_lanes::*;
use super::avx512vnni_gemm::sixteen;
use crate::acts::{Acts, SUMS};
use crate::table::{Interleaved, Sixteen, TILE};

/// The line at `at`: four bytes of sixteen rows. The one as far ahead as helps is asked for.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn line_at<const N: usize>(unit: &[u8; N], at: usize) -> Int {
    ahead(&unit[at..], AHEAD);
    load64(part(unit, at))
}

/// The halves at `at`, as floats.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn halves_at<const N: usize>(unit: &[u8; N], at: usize) -> Real {
    _mm512_cvtph_ps(load(part(unit, at)))
}

/// Low and high nibbles of a line.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn split(x: Int) -> (Int, Int) {
    let mask = _mm512_set1_epi8(15);
    (_mm512_and_si512(x, mask), _mm512_and_si512(_mm512_srli_epi16::<4>(x), mask))
}

/// `numbers`, and 16 where bit `BIT` of a byte is set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn fifth<const BIT: usize>(numbers: Int, x: Int) -> Int {
    let moved = match BIT {
        0 => _mm512_slli_epi16::<4>(x),
        1 => _mm512_slli_epi16::<3>(x),
        2 => _mm512_slli_epi16::<2>(x),
        3 => _mm512_slli_epi16::<1>(x),
        4 => x,
        5 => _mm512_srli_epi16::<1>(x),
        6 => _mm512_srli_epi16::<2>(x),
        _ => _mm512_srli_epi16::<3>(x),
    };
    joined(numbers, moved, _mm512_set1_epi8(16))
}

/// `a | (b & mask)`.
#[inline]
#[target_feature(enable = "avx512f")]
fn joined(a: Int, b: Int, mask: Int) -> Int {
    _mm512_ternarylogic_epi32::<0b1111_1000>(a, b, mask)
}

/// The eight steps of a unit of nibbles at `at`; `bits`: where their fifth bits are.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
fn nibbles32<const N: usize>(unit: &[u8; N], at: usize, bits: Option<usize>) -> [Int; 8] {
    let mut all = [zero(); 8];
    for i in 0..4 {
        (all[i], all[i + 4]) = split(line_at(unit, at + 64 * i));
    }
    if let Some(bits) = bits {
        let x = line_at(unit, bits);
        all[0] = fifth::<0>(all[0], x);
        all[1] = fifth::<1>(all[1], x);
        all[2] = fifth::<2>(all[2], x);
        all[3] = fifth::<3>(all[3], x);
        all[4] = fifth::<4>(all[4], x);
        all[5] = fifth::<5>(all[5], x);
        all[6] = fifth::<6>(all[6], x);
        all[7] = fifth::<7>(all[7], x);
    }
    all
}

/// The eight steps of a unit of signed bytes at `at`, 128 added by turning their top bit.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn raised32<const N: usize>(unit: &[u8; N], at: usize) -> [Int; 8] {
    let mut all = [zero(); 8];
    for k in 0..8 {
        all[k] = _mm512_xor_si512(line_at(unit, at + 64 * k), _mm512_set1_epi8(-128));
    }
    all
}

/// One storage type of 32-blocks: bytes of a unit, its steps, log2 of the offset where there is
/// one, where the minima are.
macro_rules! dot32 {
    ($name:ident, $unit:literal, $numbers:expr, $offset:expr, $minima:expr) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
        fn $name(group: &[u8], a: &Acts<'_>, out: &mut [f32; TILE]) {
            const OFFSET: Option<u32> = $offset;
            const MINIMA: Option<usize> = $minima;
            let units = group.as_chunks::<$unit>().0;
            let qs: &[[[i8; 4]; 8]] = a.q.as_chunks::<4>().0.as_chunks().0;
            let qs = &qs[..units.len()];
            let (ds, ss) = (&a.d[..units.len()], &a.s[..units.len()]);
            let mut acc = [zero_real(); 4];
            for b in 0..units.len() {
                let (unit, q) = (&units[b], &qs[b]);
                let w: [Int; 8] = $numbers(unit);
                // Two sums, so that they wait less for each other.
                let mut isum = [zero(); 2];
                if let Some(offset) = OFFSET {
                    isum[0] = _mm512_set1_epi32(-(ss[b] << offset));
                }
                for k in 0..8 {
                    isum[k % 2] = _mm512_dpbusd_epi32(isum[k % 2], w[k], everywhere(q[k]));
                }
                let isum = _mm512_add_epi32(isum[0], isum[1]);
                let acc = &mut acc[b % 4];
                *acc = add_scaled(*acc, isum, halves_at(unit, 0), ds[b]);
                if let Some(at) = MINIMA {
                    *acc = add_scaled(*acc, all(ss[b]), halves_at(unit, at), ds[b]);
                }
            }
            put_values(acc, out);
        }
    };
}

dot32!(dot_q4_0, 288, |u: &[u8; 288]| nibbles32(u, 32, None), Some(3), None);
dot32!(dot_q4_1, 320, |u: &[u8; 320]| nibbles32(u, 64, None), None, Some(32));
dot32!(dot_q5_0, 352, |u: &[u8; 352]| nibbles32(u, 96, Some(32)), Some(4), None);
dot32!(dot_q5_1, 384, |u: &[u8; 384]| nibbles32(u, 128, Some(64)), None, Some(32));
dot32!(dot_q8_0, 544, |u: &[u8; 544]| raised32(u, 32), Some(7), None);

/// Eight 6-bit scales, then eight 6-bit minima: two vectors of bytes each, groups 0–3 and 4–7.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn scales_minima<const N: usize>(unit: &[u8; N]) -> ([Int; 2], [Int; 2]) {
    let (s, m) = (line_at(unit, SCALES), line_at(unit, SCALES + 64));
    let low = line_at(unit, SCALES + 128);
    let (six, four) = (_mm512_set1_epi8(63), _mm512_set1_epi8(15));
    // The upper two bits move to the places of 16 and 32.
    let join = |low, high| {
        let low = _mm512_and_si512(low, four);
        joined(low, _mm512_srli_epi32::<2>(high), _mm512_set1_epi8(48))
    };
    (
        [_mm512_and_si512(s, six), join(low, s)],
        [_mm512_and_si512(m, six), join(_mm512_srli_epi32::<4>(low), m)],
    )
}

/// Byte `j` of every lane, unsigned.
#[inline]
#[target_feature(enable = "avx512f")]
fn byte(x: Int, j: usize) -> Int {
    let x = _mm512_srl_epi32(x, _mm_cvtsi32_si128(8 * j as i32));
    _mm512_and_si512(x, _mm512_set1_epi32(255))
}

/// Byte `j` of every lane, signed.
#[inline]
#[target_feature(enable = "avx512f")]
fn signed_byte(x: Int, j: usize) -> Int {
    let x = _mm512_sll_epi32(x, _mm_cvtsi32_si128(24 - 8 * j as i32));
    _mm512_srai_epi32::<24>(x)
}

/// Bytes `j` and `j + 1` of every lane as upper halves of 16-bit numbers; `j` is 0 or 2.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn upper(x: Int, j: usize) -> Int {
    let base = _mm_setr_epi32(0x0180_0080, 0x0580_0480, 0x0980_0880, 0x0d80_0c80);
    let place = _mm512_set1_epi32((j << 8 | j << 24) as i32);
    _mm512_shuffle_epi8(x, _mm512_add_epi32(_mm512_broadcast_i32x4(base), place))
}

/// Integer sums of a Q4_K or Q5_K (`FIVE`) unit: products, minima.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
fn sums_k<const N: usize, const FIVE: bool>(
    unit: &[u8; N],
    q: &[[i8; 4]; 64],
    sums: &[i16; SUMS],
) -> (Int, Int) {
    const { assert!(N == quants(FIVE) + 32 * 64) };
    let (scales, minima) = scales_minima(unit);
    let (mut isum, mut msum) = ([zero(); 2], zero());
    // Unknown to the compiler, which would bring all loads forward and put them on the stack.
    let steps = std::hint::black_box(8);
    macro_rules! two_groups {
        ($i:literal) => {
            let mut sum = [zero(); 2];
            let lines = &unit[quants(FIVE) + 512 * $i..].as_chunks::<64>().0[..steps];
            let high = &unit[FIFTHS..].as_chunks::<64>().0[..steps];
            let (first, second) = (&q[16 * $i..][..steps], &q[16 * $i + 8..][..steps]);
            for m in 0..steps {
                ahead(&lines[m], AHEAD);
                let (mut low, mut top) = split(load64(&lines[m]));
                if FIVE {
                    let high = load64(&high[m]);
                    low = fifth::<{ 2 * $i }>(low, high);
                    top = fifth::<{ 2 * $i + 1 }>(top, high);
                }
                sum[0] = _mm512_dpbusd_epi32(sum[0], low, everywhere(first[m]));
                sum[1] = _mm512_dpbusd_epi32(sum[1], top, everywhere(second[m]));
            }
            for g in 0..2 {
                let scale = byte(scales[$i / 2], $i % 2 * 2 + g);
                isum[g] = _mm512_add_epi32(isum[g], _mm512_mullo_epi32(sum[g], scale));
            }
            let weights = _mm512_srli_epi16::<8>(upper(minima[$i / 2], $i % 2 * 2));
            let two = two_everywhere(sums[16 + 2 * $i], sums[17 + 2 * $i]);
            msum = _mm512_dpwssd_epi32(msum, weights, two);
        };
    }
    two_groups!(0);
    two_groups!(1);
    two_groups!(2);
    two_groups!(3);
    (_mm512_add_epi32(isum[0], isum[1]), msum)
}

/// Integer sums of a Q6_K unit, whose offset of 32 is taken off.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
fn sums_six(unit: &[u8; 3360], q: &[[i8; 4]; 64], sums: &[i16; SUMS]) -> Int {
    let (mut isum, mut msum) = ([zero(); 4], zero());
    let two = _mm512_set1_epi8(48);
    for quarter in 0..4 {
        // The first or last sixteen of each of the four groups of 32 of half `t`.
        let (t, last) = (quarter / 2, quarter % 2);
        let mut sum = [zero(); 4];
        for m in 4 * last..4 * last + 4 {
            let high = line_at(unit, SIX.1 + 64 * (8 * t + m));
            let (l0, h0) = split(line_at(unit, SIX.2 + 64 * (16 * t + m)));
            let (l1, h1) = split(line_at(unit, SIX.2 + 64 * (16 * t + 8 + m)));
            let w = [
                joined(l0, _mm512_slli_epi16::<4>(high), two),
                joined(l1, _mm512_slli_epi16::<2>(high), two),
                joined(h0, high, two),
                joined(h1, _mm512_srli_epi16::<2>(high), two),
            ];
            for g in 0..4 {
                let x = everywhere(q[32 * t + 8 * g + m]);
                sum[g] = _mm512_dpbusd_epi32(sum[g], w[g], x);
            }
        }
        for g in 0..4 {
            let j = 8 * t + 2 * g + last;
            let scale = signed_byte(load64(part(unit, SIX.0 + 64 * (j / 4))), j % 4);
            isum[g] = _mm512_add_epi32(isum[g], _mm512_mullo_epi32(sum[g], scale));
        }
    }
    for i in 0..8 {
        let scales = load64(part(unit, SIX.0 + 64 * (i / 2)));
        let weights = _mm512_srai_epi16::<8>(upper(scales, i % 2 * 2));
        msum = _mm512_dpwssd_epi32(msum, weights, two_everywhere(sums[2 * i], sums[2 * i + 1]));
    }
    let (a, b) = (_mm512_add_epi32(isum[0], isum[1]), _mm512_add_epi32(isum[2], isum[3]));
    less_shifted(_mm512_add_epi32(a, b), msum, 5)
}

/// One storage type of 256-blocks: bytes of a unit, its sums, whether there are minima.
macro_rules! dot256 {
    ($name:ident, $unit:literal, $sums:expr, $minima:literal) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
        fn $name(group: &[u8], a: &Acts<'_>, out: &mut [f32; TILE]) {
            let units = group.as_chunks::<$unit>().0;
            let qs: &[[[i8; 4]; 64]] = a.q.as_chunks::<4>().0.as_chunks().0;
            let sums = &a.sums.as_chunks::<SUMS>().0[..units.len()];
            let (qs, ds) = (&qs[..units.len()], &a.d[..units.len()]);
            let mut acc = [zero_real(); 4];
            for b in 0..units.len() {
                let unit = &units[b];
                let (isum, msum) = $sums(unit, &qs[b], &sums[b]);
                let acc = &mut acc[b % 4];
                *acc = add_scaled(*acc, isum, halves_at(unit, 0), ds[b]);
                if $minima {
                    *acc = take_scaled(*acc, msum, halves_at(unit, 32), ds[b]);
                }
            }
            put_values(acc, out);
        }
    };
}

dot256!(dot_q4_k, 2304, |u: &[u8; 2304], q, s| sums_k::<2304, false>(u, q, s), true);
dot256!(dot_q5_k, 2816, |u: &[u8; 2816], q, s| sums_k::<2816, true>(u, q, s), true);
dot256!(dot_q6_k, 3360, |u: &[u8; 3360], q, s| (sums_six(u, q, s), zero()), false);

/// This level's products over interleaved groups.
pub(super) fn products(dtype: DType) -> Interleaved {
    let dot: Sixteen = match dtype {
        DType::Q4_0 => dot_q4_0,
        DType::Q4_1 => dot_q4_1,
        DType::Q5_0 => dot_q5_0,
        DType::Q5_1 => dot_q5_1,
        DType::Q8_0 => dot_q8_0,
        DType::Q4K => dot_q4_k,
        DType::Q5K => dot_q5_k,
        DType::Q6K => dot_q6_k,
        _ => return Interleaved::default(),
    };
    Interleaved { dot: Some(dot), gemm: sixteen(dtype) }
}
