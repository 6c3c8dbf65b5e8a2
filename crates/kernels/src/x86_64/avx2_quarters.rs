//! NVFP4 and Q1_0, whose blocks have a part for each of the four accumulators (AVX2): the numbers,
//! rows against one position, and sixteen rows of NVFP4 against many.

use std::arch::x86_64::*;

use recinto_quant::{MXFP4_NUMBERS, half_e4m3_to_f32};

use super::avx2_gemm::{Places, put_values};
use super::avx2_lanes::*;
use super::avx2_panel::{LINES32, half_floats};
use super::avx2_panel_more::panel_nvfp4;
use super::avx2_sixteen::split;
use super::avx2_table::{look_up, pairs, raised};
use super::panel_gemm::panel_products;
use super::row_dots::AHEAD;
use super::wide::each;
use crate::acts::Acts;
use crate::scratch::{Line, Work};
use crate::table::TILE;

/// Part `i` of Q1_0, 32 values: −1 where a bit is not set, 1 where it is.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn ones(block: &[u8; 18], i: usize) -> __m256i {
    let word = u32::from_le_bytes(*part(block, 2 + 4 * i));
    _mm256_or_si256(bits(!word), _mm256_set1_epi8(1))
}

/// The numbers of NVFP4, which are those of MXFP4.
const NUMBERS: [u8; 16] = raised(&MXFP4_NUMBERS, 0);

/// Half `i` of NVFP4, two parts of 16 values: signed numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nv4(block: &[u8; 36], i: usize) -> __m256i {
    // Eight bytes have the first and the last eight values of a part.
    let both = load16(part(block, 4 + 16 * i));
    let (low, high) = (both, _mm_srli_epi16::<4>(both));
    let apart = _mm256_set_m128i(_mm_unpackhi_epi64(low, high), _mm_unpacklo_epi64(low, high));
    look_up(&NUMBERS, _mm256_and_si256(apart, _mm256_set1_epi8(15)))
}

/// Scales of NVFP4 from eight bytes, halved, as `half_e4m3_to_f32` without a choice.
#[inline]
#[target_feature(enable = "avx2")]
fn scales(bytes: u64) -> __m256 {
    let (x, most) = (_mm_cvtsi64_si128(bytes as i64), _mm_set1_epi8(0x7f));
    let x = _mm_andnot_si128(_mm_cmpeq_epi8(x, most), _mm_and_si128(x, most));
    let x = _mm256_slli_epi32::<20>(_mm256_cvtepu8_epi32(x));
    _mm256_mul_ps(_mm256_castsi256_ps(x), _mm256_set1_ps(f32::from_bits((119 + 127) << 23)))
}

/// Half a scale of NVFP4.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scale(block: &[u8; 36], g: usize) -> f32 {
    half_e4m3_to_f32(block[g])
}

/// The sum of four lanes, as every product ends.
#[inline]
#[target_feature(enable = "avx2")]
fn folded(acc: __m128) -> f32 {
    let acc = array4(acc);
    (acc[0] + acc[1]) + (acc[2] + acc[3])
}

/// Rows of Q1_0.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn dot_q1_0(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
    let (q, d) = (a.q.as_chunks::<32>().0.as_chunks::<4>().0, a.d.as_chunks::<4>().0);
    let (one, wide) = (_mm256_set1_epi8(1), _mm256_set1_epi16(1));
    for r in 0..out.len() {
        let blocks = rows[r * stride..][..stride].as_chunks::<18>().0;
        let mut acc = _mm_setzero_ps();
        for b in 0..blocks.len() {
            let (block, q) = (&blocks[b], &q[b]);
            ahead(block, AHEAD);
            let of = |i: usize| {
                let signed = _mm256_sign_epi8(load_i8(&q[i]), ones(block, i));
                _mm256_madd_epi16(_mm256_maddubs_epi16(one, signed), wide)
            };
            let isum = sums([of(0), of(1), of(2), of(3)]);
            let scale = _mm_mul_ps(_mm_set1_ps(half(block, 0)), load4(&d[b]));
            acc = _mm_fmadd_ps(_mm_cvtepi32_ps(isum), scale, acc);
        }
        out[r] = folded(acc);
    }
}

/// Two partial sums for each of the four parts of a block of NVFP4, whose activations are `q`. The
/// numbers are left where their nibbles are: the first halves of all parts, then the last halves.
#[inline]
#[target_feature(enable = "avx2")]
fn parts(block: &[u8; 36], q: &[[i8; 32]; 2]) -> __m256i {
    let (nibbles, q) = (split(load(part(block, 4))), [load_i8(&q[0]), load_i8(&q[1])]);
    let even = _mm256_permute2x128_si256::<0x20>(q[0], q[1]);
    let odd = _mm256_permute2x128_si256::<0x31>(q[0], q[1]);
    let first = pairs(look_up(&NUMBERS, nibbles.0), _mm256_unpacklo_epi64(even, odd));
    let last = pairs(look_up(&NUMBERS, nibbles.1), _mm256_unpackhi_epi64(even, odd));
    // Two pairs are at most 4 · 12 · 127 = 6096.
    _mm256_madd_epi16(_mm256_add_epi16(first, last), _mm256_set1_epi16(1))
}

/// The sums of the parts of two blocks, each block in a half; those of a block fit 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn of_two(a: __m256i, b: __m256i) -> __m256 {
    let sums = _mm256_madd_epi16(_mm256_packs_epi32(a, b), _mm256_set1_epi16(1));
    _mm256_cvtepi32_ps(_mm256_permute4x64_epi64::<0b11_01_10_00>(sums))
}

/// Rows of NVFP4, two blocks at a time.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn dot_nvfp4(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
    let q = a.q.as_chunks::<32>().0.as_chunks::<2>().0;
    let d = a.d.as_chunks::<2>().0;
    let code = |block: &[u8; 36]| u64::from(u32::from_le_bytes(*part(block, 0)));
    let twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    for r in 0..out.len() {
        let blocks = rows[r * stride..][..stride].as_chunks::<36>().0;
        let (q, d) = (&q[..blocks.len()], &d[..blocks.len()]);
        let (twos, last) = blocks.as_chunks::<2>();
        let mut acc = _mm_setzero_ps();
        for (i, [x, y]) in twos.iter().enumerate() {
            ahead(x, AHEAD);
            ahead(y, AHEAD);
            let isum = of_two(parts(x, &q[2 * i]), parts(y, &q[2 * i + 1]));
            let four = _mm_setr_ps(d[2 * i][0], d[2 * i][1], d[2 * i + 1][0], d[2 * i + 1][1]);
            let d = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(four), twice);
            let scale = _mm256_mul_ps(scales(code(x) | code(y) << 32), d);
            let low = |x| _mm256_castps256_ps128(x);
            acc = _mm_fmadd_ps(low(isum), low(scale), acc);
            let high = |x| _mm256_extractf128_ps::<1>(x);
            acc = _mm_fmadd_ps(high(isum), high(scale), acc);
        }
        if let [x] = last {
            let (q, d) = (&q[blocks.len() - 1], d[blocks.len() - 1]);
            let isum = _mm256_castps256_ps128(of_two(parts(x, q), _mm256_setzero_si256()));
            let scale = _mm256_castps256_ps128(scales(code(x)));
            let scale = _mm_mul_ps(scale, _mm_setr_ps(d[0], d[0], d[1], d[1]));
            acc = _mm_fmadd_ps(isum, scale, acc);
        }
        out[r] = folded(acc);
    }
}

/// `P` positions of blocks of 32 with `PARTS` sums of their own: a line of scales and the next of
/// the four accumulators for each.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn positions<const P: usize, const PARTS: usize>(
    lines: &[Line],
    a: &Acts<'_>,
    first: usize,
    out: &mut [[f32; TILE]],
) {
    let places = Places::<P>::new::<8, LINES32>(lines, a, first);
    let d: [&[f32]; P] = each(a.d, first, a.blocks);
    let wide = [_mm256_set1_epi16(1); 2];
    // Unknown to the compiler, see `Places`.
    let steps = std::hint::black_box(8 / PARTS);
    let mut acc = [[[_mm256_setzero_ps(); 2]; 4]; P];
    for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
        for g in 0..PARTS {
            let mut isum = [[_mm256_setzero_si256(); 2]; P];
            let from = 8 / PARTS * g;
            let at = (b * 8 + from, b * LINES32 + from);
            // SAFETY: a part of the eight steps and lines of block `b`.
            unsafe { places.signed(at, steps, wide, &mut isum) };
            for p in 0..P {
                let d = _mm256_set1_ps(d[p][b]);
                for h in 0..2 {
                    let acc = &mut acc[p][(b * PARTS + g) % 4][h];
                    let scale = _mm256_mul_ps(half_floats(&lines[8 + g], h), d);
                    *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[p][h]), scale, *acc);
                }
            }
        }
    }
    for (acc, out) in acc.into_iter().zip(out) {
        put_values(acc, out);
    }
}

panel_products! { "avx2,fma,f16c", 4, positions:
    gemm_nvfp4 = panel_nvfp4, LINES32, <2>;
}
