//! Interleaved groups of sixteen rows against one position, and their panels (AVX2). One lane a
//! row, eight rows a half; see `interleave` for the order of a unit.

use std::arch::x86_64::*;

use recinto_quant::DType;

use super::avx2_lanes::*;
use super::avx2_panel::{GROUPS16, GROUPS32, LINES32, put};
use super::{avx2_gemm, avx2_gemm256, avx2_signed};
use crate::acts::{Acts, SUMS};
use crate::scratch::Line;
use crate::table::{Gemm, Interleaved, Sixteen, TILE};

/// How far ahead of the unit in hand memory is asked for: the stream is one line, and this far
/// is what hides a page walk too.
pub(super) const AHEAD: usize = 2048;

/// Asks for the memory of a unit ahead.
#[inline]
#[target_feature(enable = "avx2")]
fn unit_ahead<const N: usize>(unit: &[u8; N]) {
    for line in 0..N.div_ceil(64) {
        ahead(unit, AHEAD + line * 64);
    }
}

/// Half `h` of the line at `at`: four bytes of eight rows.
#[inline]
#[target_feature(enable = "avx2")]
fn line<const N: usize>(unit: &[u8; N], at: usize, h: usize) -> __m256i {
    load(part(unit, at + 32 * h))
}

/// Asks for the line at `x`; large units spread this out, for a burst of requests would wait for
/// a place to queue.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn ahead_of(x: *const u8) {
    _mm_prefetch::<_MM_HINT_T0>(x.cast());
}

/// Half `h` of the halves at `at`, as floats.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn floats<const N: usize>(unit: &[u8; N], at: usize, h: usize) -> __m256 {
    _mm256_cvtph_ps(load16(part(unit, at + 16 * h)))
}

/// Four activations from `at` on, everywhere.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn four(q: &[i8], at: usize) -> __m256i {
    let four: &[i8; 4] = q[at..].first_chunk().expect("whole steps");
    // SAFETY: four readable bytes, read as they lie.
    _mm256_set1_epi32(unsafe { four.as_ptr().cast::<i32>().read_unaligned() })
}

/// Two neighbouring sums from `at` on, everywhere.
#[inline]
#[target_feature(enable = "avx2")]
fn two(sums: &[i16; SUMS], at: usize) -> __m256i {
    let word = u32::from(sums[at] as u16) | u32::from(sums[at + 1] as u16) << 16;
    _mm256_set1_epi32(word as i32)
}

/// Low and high nibbles of a line.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn split(x: __m256i) -> (__m256i, __m256i) {
    let mask = _mm256_set1_epi8(15);
    (_mm256_and_si256(x, mask), _mm256_and_si256(_mm256_srli_epi16::<4>(x), mask))
}

/// Bit `k` of each byte, as 16.
#[inline]
#[target_feature(enable = "avx2")]
fn bit(x: __m256i, k: usize) -> __m256i {
    let count = _mm_cvtsi32_si128(k.abs_diff(4) as i32);
    let moved = if k < 4 { _mm256_sll_epi16(x, count) } else { _mm256_srl_epi16(x, count) };
    _mm256_and_si256(moved, _mm256_set1_epi8(16))
}

/// Bit `2I + TOP` of each byte, as 16.
#[inline]
#[target_feature(enable = "avx2")]
fn fifth<const I: usize, const TOP: usize>(x: __m256i) -> __m256i {
    let moved = match 2 * I + TOP {
        0 => _mm256_slli_epi16::<4>(x),
        1 => _mm256_slli_epi16::<3>(x),
        2 => _mm256_slli_epi16::<2>(x),
        3 => _mm256_slli_epi16::<1>(x),
        4 => x,
        5 => _mm256_srli_epi16::<1>(x),
        6 => _mm256_srli_epi16::<2>(x),
        _ => _mm256_srli_epi16::<3>(x),
    };
    _mm256_and_si256(moved, _mm256_set1_epi8(16))
}

/// The eight steps of half `h` of a unit of nibbles at `at`; `bits`: where their fifth bits are.
#[inline]
#[target_feature(enable = "avx2")]
fn nibbles32<const N: usize>(
    unit: &[u8; N],
    at: usize,
    bits: Option<usize>,
    h: usize,
) -> [__m256i; 8] {
    let mut all = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        (all[i], all[i + 4]) = split(line(unit, at + 64 * i, h));
    }
    if let Some(bits) = bits {
        let high = line(unit, bits, h);
        for k in 0..8 {
            all[k] = _mm256_or_si256(all[k], bit(high, k));
        }
    }
    all
}

/// The eight steps of half `h` of a unit of bytes at `at`.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes32<const N: usize>(unit: &[u8; N], at: usize, h: usize) -> [__m256i; 8] {
    let mut all = [_mm256_setzero_si256(); 8];
    for k in 0..8 {
        all[k] = line(unit, at + 64 * k, h);
    }
    all
}

/// Products of eight steps; `STEPS` of them fit 16 bits (`avx2_gemm` has the table), 1: signed.
#[inline]
#[target_feature(enable = "avx2")]
fn total_of<const STEPS: usize>(w: &[__m256i; 8], x: &[__m256i; 8]) -> __m256i {
    let ones = _mm256_set1_epi16(1);
    let mut total = _mm256_setzero_si256();
    for from in (0..8).step_by(STEPS) {
        let mut pairs = _mm256_setzero_si256();
        for k in from..from + STEPS {
            let more = if STEPS == 1 {
                _mm256_maddubs_epi16(_mm256_abs_epi8(w[k]), _mm256_sign_epi8(x[k], w[k]))
            } else {
                _mm256_maddubs_epi16(w[k], x[k])
            };
            pairs = _mm256_add_epi16(pairs, more);
        }
        total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, ones));
    }
    total
}

/// Writes the values of sixteen rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn put_rows(acc: [[__m256; 2]; 4], out: &mut [f32; TILE]) {
    for h in 0..2 {
        let low = _mm256_add_ps(acc[0][h], acc[1][h]);
        let high = _mm256_add_ps(acc[2][h], acc[3][h]);
        put8(out, h * 8, _mm256_add_ps(low, high));
    }
}

/// What a block of activations gives to sixteen rows of 32-blocks.
pub(super) struct Fed<'a> {
    /// Its eight steps; put everywhere where they are used, for they would not stay in registers.
    q: &'a [i8; 32],
    /// Its scale.
    d: __m256,
    /// What the numbers' offset makes of its sum, and the sum itself, for minima.
    offset: __m256i,
    sum: __m256,
}

impl<'a> Fed<'a> {
    /// Block `b`; `OFFSET` is log2 of the numbers' offset, or −1.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new<const OFFSET: i32>(a: &Acts<'a>, b: usize) -> Fed<'a> {
        let q: &[i8; 32] = a.q[32 * b..].first_chunk().expect("a whole block");
        let offset = if OFFSET < 0 { 0 } else { a.s[b] << OFFSET };
        Fed {
            q,
            d: _mm256_set1_ps(a.d[b]),
            offset: _mm256_set1_epi32(offset),
            sum: _mm256_set1_ps(a.s[b] as f32),
        }
    }

    /// Adds eight rows: their numbers `w`, scales, and minima where there are any.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn add<const STEPS: usize, const OFFSET: i32>(
        &self,
        acc: &mut __m256,
        w: &[__m256i; 8],
        scales: __m256,
        minima: Option<__m256>,
    ) {
        let mut x = [_mm256_setzero_si256(); 8];
        for k in 0..8 {
            x[k] = four(self.q, 4 * k);
        }
        let mut isum = total_of::<STEPS>(w, &x);
        if OFFSET >= 0 {
            isum = _mm256_sub_epi32(isum, self.offset);
        }
        let scale = _mm256_mul_ps(scales, self.d);
        *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, *acc);
        if let Some(minima) = minima {
            let scale = _mm256_mul_ps(minima, self.d);
            *acc = _mm256_fmadd_ps(self.sum, scale, *acc);
        }
    }
}

/// One storage type of 32-blocks: bytes of a unit, its steps, products, log2 of the offset (or
/// −1), where the minima are.
macro_rules! dot32 {
    ($name:ident, $unit:literal, $numbers:expr, $steps:literal, $offset:literal, $minima:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(group: &[u8], a: &Acts<'_>, out: &mut [f32; TILE]) {
            const MINIMA: Option<usize> = $minima;
            let units = group.as_chunks::<$unit>().0;
            let mut acc = [[_mm256_setzero_ps(); 2]; 4];
            for (b, unit) in units.iter().enumerate() {
                unit_ahead(unit);
                let fed = Fed::new::<{ $offset }>(a, b);
                for h in 0..2 {
                    let minima = MINIMA.map(|at| floats(unit, at, h));
                    let (acc, w) = (&mut acc[b % 4][h], $numbers(unit, h));
                    fed.add::<$steps, { $offset }>(acc, &w, floats(unit, 0, h), minima);
                }
            }
            put_rows(acc, out);
        }
    };
}

dot32!(dot_q4_0, 288, |u: &[u8; 288], h| nibbles32(u, 32, None, h), 8, 3, None);
dot32!(dot_q4_1, 320, |u: &[u8; 320], h| nibbles32(u, 64, None, h), 8, -1, Some(32));
dot32!(dot_q5_0, 352, |u: &[u8; 352], h| nibbles32(u, 96, Some(32), h), 4, 4, None);
dot32!(dot_q5_1, 384, |u: &[u8; 384], h| nibbles32(u, 128, Some(64), h), 4, -1, Some(32));
dot32!(dot_q8_0, 544, |u: &[u8; 544], h| bytes32(u, 32, h), 1, -1, None);

/// Where the parts of a Q4_K (`FIVE` false) or Q5_K unit lie: scales, fifth bits, nibbles.
pub(super) const SCALES: usize = 64;
pub(super) const FIFTHS: usize = SCALES + 192;
pub(super) const fn quants(five: bool) -> usize {
    if five { FIFTHS + 512 } else { FIFTHS }
}

/// Eight 6-bit scales, then eight 6-bit minima, of eight rows: two vectors of bytes each, groups
/// 0–3 and 4–7, one row a lane.
#[inline]
#[target_feature(enable = "avx2")]
fn scales_minima<const N: usize>(unit: &[u8; N], h: usize) -> ([__m256i; 2], [__m256i; 2]) {
    let (s, m) = (line(unit, SCALES, h), line(unit, SCALES + 64, h));
    let low = line(unit, SCALES + 128, h);
    let (six, four) = (_mm256_set1_epi8(63), _mm256_set1_epi8(15));
    let top = |x| {
        let two = _mm256_and_si256(_mm256_srli_epi32::<6>(x), _mm256_set1_epi8(3));
        _mm256_slli_epi32::<4>(two)
    };
    let join = |low, high| _mm256_or_si256(_mm256_and_si256(low, four), top(high));
    (
        [_mm256_and_si256(s, six), join(low, s)],
        [_mm256_and_si256(m, six), join(_mm256_srli_epi32::<4>(low), m)],
    )
}

/// Bytes of every lane where `FIRST` says for the first lane and `STEP` more for each lane of a
/// half, all of them `place` further on; a place of 0x80 or more gives 0.
#[inline]
#[target_feature(enable = "avx2")]
fn pick<const FIRST: u32, const STEP: u32>(x: __m256i, place: u32) -> __m256i {
    let lane = |r: u32| (FIRST + r * STEP) as i32;
    let half = _mm_setr_epi32(lane(0), lane(1), lane(2), lane(3));
    let places = _mm256_add_epi32(_mm256_set_m128i(half, half), _mm256_set1_epi32(place as i32));
    _mm256_shuffle_epi8(x, places)
}

/// Byte `j` of every lane, twice as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn twice(x: __m256i, j: usize) -> __m256i {
    pick::<0x8000_8000, 0x0004_0004>(x, (j | j << 16) as u32)
}

/// Bytes `j` and `j + 1` of every lane as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn neighbours(x: __m256i, j: usize) -> __m256i {
    pick::<0x8001_8000, 0x0004_0004>(x, (j | j << 16) as u32)
}

/// Scaled products of groups `2I` and `2I + 1` of both halves, from the nibbles (and fifth bits)
/// at `unit` and the activations at `q`. Pointers and a count the compiler does not know, because
/// it would unroll the steps, bring all loads forward and put them on the stack.
///
/// # Safety
/// `unit` has the eight lines of the two groups, `high` eight lines of fifth bits where `FIVE`,
/// `q` 64 activations.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn two_groups<const FIVE: bool, const I: usize>(
    unit: *const u8,
    high: *const u8,
    q: *const i8,
    scales: [[__m256i; 2]; 2],
) -> [__m256i; 2] {
    let mask = _mm256_set1_epi8(15);
    let steps = std::hint::black_box(if FIVE { 4 } else { 8 });
    let mut isum = [_mm256_setzero_si256(); 2];
    for part in 0..1 + usize::from(FIVE) {
        let mut pairs = [[_mm256_setzero_si256(); 2]; 2];
        for m in part * steps..(part + 1) * steps {
            // SAFETY: the caller has these lines and activations.
            unsafe {
                ahead_of(unit.wrapping_add(64 * m + AHEAD));
                let x = [
                    _mm256_set1_epi32(q.add(4 * m).cast::<i32>().read_unaligned()),
                    _mm256_set1_epi32(q.add(32 + 4 * m).cast::<i32>().read_unaligned()),
                ];
                for h in 0..2 {
                    let both = _mm256_loadu_si256(unit.add(64 * m + 32 * h).cast());
                    let mut low = _mm256_and_si256(both, mask);
                    let mut top = _mm256_and_si256(_mm256_srli_epi16::<4>(both), mask);
                    if FIVE {
                        let high = _mm256_loadu_si256(high.add(64 * m + 32 * h).cast());
                        low = _mm256_or_si256(low, fifth::<I, 0>(high));
                        top = _mm256_or_si256(top, fifth::<I, 1>(high));
                    }
                    pairs[h][0] = _mm256_add_epi16(pairs[h][0], _mm256_maddubs_epi16(low, x[0]));
                    pairs[h][1] = _mm256_add_epi16(pairs[h][1], _mm256_maddubs_epi16(top, x[1]));
                }
            }
        }
        for h in 0..2 {
            for g in 0..2 {
                let scaled = _mm256_madd_epi16(pairs[h][g], scales[h][g]);
                isum[h] = _mm256_add_epi32(isum[h], scaled);
            }
        }
    }
    isum
}

/// Integer sums of both halves of a Q4_K or Q5_K unit: products, minima.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_k<const N: usize, const FIVE: bool>(
    unit: &[u8; N],
    q: &[i8; 256],
    sums: &[i16; SUMS],
) -> ([__m256i; 2], [__m256i; 2]) {
    const { assert!(N == quants(FIVE) + 32 * 64) };
    let of = [scales_minima(unit, 0), scales_minima(unit, 1)];
    let mut isum = [_mm256_setzero_si256(); 2];
    let mut msum = isum;
    macro_rules! two_groups {
        ($i:literal) => {
            let mut scales = [[_mm256_setzero_si256(); 2]; 2];
            for h in 0..2 {
                let (s, m) = (of[h].0[$i / 2], of[h].1[$i / 2]);
                scales[h] = [twice(s, $i % 2 * 2), twice(s, $i % 2 * 2 + 1)];
                let weighed = _mm256_madd_epi16(neighbours(m, $i % 2 * 2), two(sums, 16 + 2 * $i));
                msum[h] = _mm256_add_epi32(msum[h], weighed);
            }
            // SAFETY: the unit is as long as was asserted: eight lines for each `$i`, after them
            // nothing; the fifth bits are eight lines before; 256 activations.
            let more = unsafe {
                let lines = unit.as_ptr().add(quants(FIVE) + 512 * $i);
                let (high, q) = (unit.as_ptr().add(FIFTHS), q.as_ptr().add(64 * $i));
                two_groups::<FIVE, $i>(lines, high, q, scales)
            };
            for h in 0..2 {
                isum[h] = _mm256_add_epi32(isum[h], more[h]);
            }
        };
    }
    two_groups!(0);
    two_groups!(1);
    two_groups!(2);
    two_groups!(3);
    (isum, msum)
}

/// What the sums of two neighbouring groups of sixteen are weighed with, as pairs: groups `2i` and
/// `2i + 1` of Q6_K.
#[inline]
#[target_feature(enable = "avx2")]
fn six_pair(unit: &[u8; 3360], i: usize, h: usize) -> __m256i {
    let scales = line(unit, SIX.0 + 64 * (i / 2), h);
    let (first, second) = (signed_twice(scales, i % 2 * 2), signed_twice(scales, i % 2 * 2 + 1));
    _mm256_blend_epi16::<0b1010_1010>(first, second)
}

/// Adds a unit's sums to their accumulators.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add_k<const N: usize>(
    acc: &mut [__m256; 2],
    unit: &[u8; N],
    d: f32,
    isum: [__m256i; 2],
    msum: [__m256i; 2],
) {
    let d = _mm256_set1_ps(d);
    for h in 0..2 {
        let scale = _mm256_mul_ps(floats(unit, 0, h), d);
        acc[h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[h]), scale, acc[h]);
        let scale = _mm256_mul_ps(floats(unit, 32, h), d);
        acc[h] = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(msum[h]), scale, acc[h]);
    }
}

macro_rules! dot_k {
    ($name:ident, $unit:literal, $five:literal) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(group: &[u8], a: &Acts<'_>, out: &mut [f32; TILE]) {
            let units = group.as_chunks::<$unit>().0;
            let qs = &a.q.as_chunks::<256>().0[..units.len()];
            let sums = &a.sums.as_chunks::<SUMS>().0[..units.len()];
            let ds = &a.d[..units.len()];
            let mut acc = [[_mm256_setzero_ps(); 2]; 4];
            for b in 0..units.len() {
                let unit = &units[b];
                let (isum, msum) = sums_k::<$unit, $five>(unit, &qs[b], &sums[b]);
                add_k(&mut acc[b % 4], unit, ds[b], isum, msum);
            }
            put_rows(acc, out);
        }
    };
}

dot_k!(dot_q4_k, 2304, false);
dot_k!(dot_q5_k, 2816, true);

/// Where the parts of a Q6_K unit lie: scales, upper two bits, nibbles.
pub(super) const SIX: (usize, usize, usize) = (32, 32 + 256, 32 + 256 + 1024);

/// Step `m` of the four groups of 32 of part `t` of half `h` of a Q6_K unit: 0 … 63.
#[inline]
#[target_feature(enable = "avx2")]
fn sixes(unit: &[u8; 3360], h: usize, t: usize, m: usize) -> [__m256i; 4] {
    let high = line(unit, SIX.1 + 64 * (8 * t + m), h);
    let (l0, h0) = split(line(unit, SIX.2 + 64 * (16 * t + m), h));
    let (l1, h1) = split(line(unit, SIX.2 + 64 * (16 * t + 8 + m), h));
    let two = |x| _mm256_and_si256(x, _mm256_set1_epi8(48));
    [
        _mm256_or_si256(l0, two(_mm256_slli_epi16::<4>(high))),
        _mm256_or_si256(l1, two(_mm256_slli_epi16::<2>(high))),
        _mm256_or_si256(h0, two(high)),
        _mm256_or_si256(h1, two(_mm256_srli_epi16::<2>(high))),
    ]
}

/// Signed scales `j` of eight rows, twice, as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn signed_twice(x: __m256i, j: usize) -> __m256i {
    // The byte goes to the upper half of each number; the shift brings its sign along.
    let bytes = pick::<0x0080_0080, 0x0400_0400>(x, (j << 8 | j << 24) as u32);
    _mm256_srai_epi16::<8>(bytes)
}

/// Scaled products of four groups of sixteen of half `h`: the first or last (`LAST`) halves of
/// the groups of 32 of part `t`. Four steps each, two of which fit 16 bits. Pointers for the
/// reason [`two_groups`] gives.
#[inline]
#[target_feature(enable = "avx2")]
fn quarter_six(unit: &[u8; 3360], h: usize, t: usize, last: usize, q: &[i8; 256]) -> __m256i {
    let (mask, upper) = (_mm256_set1_epi8(15), _mm256_set1_epi8(48));
    let mut isum = _mm256_setzero_si256();
    let mut scales = [_mm256_setzero_si256(); 4];
    for g in 0..4 {
        let j = 8 * t + 2 * g + last;
        scales[g] = signed_twice(line(unit, SIX.0 + 64 * (j / 4), h), j % 4);
    }
    assert!(t < 2 && last < 2 && h < 2);
    let steps = std::hint::black_box(2);
    for two in 0..2 {
        let mut pairs = [_mm256_setzero_si256(); 4];
        for step in 0..steps {
            let m = 4 * last + 2 * two + step;
            // SAFETY: `m` is below 8, so these are lines of the unit and steps of `q`.
            unsafe {
                let line = |at: usize| {
                    let at = unit.as_ptr().add(at + 32 * h);
                    ahead_of(at.wrapping_add(AHEAD));
                    _mm256_loadu_si256(at.cast())
                };
                let four = |g: usize| {
                    let at = q.as_ptr().add(128 * t + 32 * g + 4 * m);
                    _mm256_set1_epi32(at.cast::<i32>().read_unaligned())
                };
                let high = line(SIX.1 + 64 * (8 * t + m));
                let first = line(SIX.2 + 64 * (16 * t + m));
                let second = line(SIX.2 + 64 * (16 * t + 8 + m));
                let join = |low, high| _mm256_or_si256(low, _mm256_and_si256(high, upper));
                let low = |x| _mm256_and_si256(x, mask);
                let top = |x| _mm256_and_si256(_mm256_srli_epi16::<4>(x), mask);
                let w = [
                    join(low(first), _mm256_slli_epi16::<4>(high)),
                    join(low(second), _mm256_slli_epi16::<2>(high)),
                    join(top(first), high),
                    join(top(second), _mm256_srli_epi16::<2>(high)),
                ];
                for g in 0..4 {
                    let more = _mm256_maddubs_epi16(w[g], four(g));
                    pairs[g] = _mm256_add_epi16(pairs[g], more);
                }
            }
        }
        for g in 0..4 {
            isum = _mm256_add_epi32(isum, _mm256_madd_epi16(pairs[g], scales[g]));
        }
    }
    isum
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn dot_q6_k(group: &[u8], a: &Acts<'_>, out: &mut [f32; TILE]) {
    let units = group.as_chunks::<3360>().0;
    let qs = &a.q.as_chunks::<256>().0[..units.len()];
    let sums = &a.sums.as_chunks::<SUMS>().0[..units.len()];
    let ds = &a.d[..units.len()];
    let mut acc = [[_mm256_setzero_ps(); 2]; 4];
    for b in 0..units.len() {
        let (unit, q) = (&units[b], &qs[b]);
        let d = _mm256_set1_ps(ds[b]);
        for h in 0..2 {
            let mut isum = _mm256_setzero_si256();
            for part in 0..4 {
                let more = quarter_six(unit, h, part / 2, part % 2, q);
                isum = _mm256_add_epi32(isum, more);
            }
            let mut msum = _mm256_setzero_si256();
            for i in 0..8 {
                let weighed = _mm256_madd_epi16(six_pair(unit, i, h), two(&sums[b], 2 * i));
                msum = _mm256_add_epi32(msum, weighed);
            }
            isum = _mm256_sub_epi32(isum, _mm256_slli_epi32::<5>(msum));
            let acc = &mut acc[b % 4][h];
            let scale = _mm256_mul_ps(floats(unit, 0, h), d);
            *acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, *acc);
        }
    }
    put_rows(acc, out);
}

/// A panel of 32-blocks out of units; see `avx2_panel`.
macro_rules! panel32 {
    ($name:ident, $unit:literal, $numbers:expr, $minima:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(group: &[u8], _: usize, lines: &mut [Line]) {
            const MINIMA: Option<usize> = $minima;
            let units = group.as_chunks::<$unit>().0;
            for (unit, lines) in units.iter().zip(lines.as_chunks_mut::<LINES32>().0) {
                unit_ahead(unit);
                for h in 0..2 {
                    for (line, w) in lines.iter_mut().zip($numbers(unit, h)) {
                        put(line, h, w);
                    }
                    put(&mut lines[8], h, _mm256_castps_si256(floats(unit, 0, h)));
                    if let Some(at) = MINIMA {
                        put(&mut lines[9], h, _mm256_castps_si256(floats(unit, at, h)));
                    }
                }
            }
        }
    };
}

panel32!(panel_q4_0, 288, |u: &[u8; 288], h| nibbles32(u, 32, None, h), None);
panel32!(panel_q4_1, 320, |u: &[u8; 320], h| nibbles32(u, 64, None, h), Some(32));
panel32!(panel_q5_0, 352, |u: &[u8; 352], h| nibbles32(u, 96, Some(32), h), None);
panel32!(panel_q5_1, 384, |u: &[u8; 384], h| nibbles32(u, 128, Some(64), h), Some(32));
panel32!(panel_q8_0, 544, |u: &[u8; 544], h| bytes32(u, 32, h), None);

/// The panel of magnitudes and signs of Q8_0; see `avx2_signed`.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn signed_q8_0(group: &[u8], _: usize, lines: &mut [Line]) {
    for (unit, lines) in group.as_chunks::<544>().0.iter().zip(lines.as_chunks_mut().0) {
        unit_ahead(unit);
        for h in 0..2 {
            let scales = _mm256_castps_si256(floats(unit, 0, h));
            avx2_signed::put_block(lines, h, bytes32(unit, 32, h), scales);
        }
    }
}

/// The panel lines of a Q4_K or Q5_K (`FIVE`) unit.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn two_panel<const N: usize, const FIVE: bool>(
    unit: &[u8; N],
    lines: &mut [Line; GROUPS32],
) {
    for h in 0..2 {
        macro_rules! two_groups {
            ($i:literal) => {
                for m in 0..8 {
                    let from = quants(FIVE) + 64 * (8 * $i + m);
                    let (mut low, mut top) = split(line(unit, from, h));
                    if FIVE {
                        let high = line(unit, FIFTHS + 64 * m, h);
                        low = _mm256_or_si256(low, fifth::<$i, 0>(high));
                        top = _mm256_or_si256(top, fifth::<$i, 1>(high));
                    }
                    put(&mut lines[16 * $i + m], h, low);
                    put(&mut lines[16 * $i + 8 + m], h, top);
                }
            };
        }
        two_groups!(0);
        two_groups!(1);
        two_groups!(2);
        two_groups!(3);
        let (scales, minima) = scales_minima(unit, h);
        for j in 0..8 {
            put(&mut lines[64 + j], h, twice(scales[j / 4], j % 4));
        }
        for i in 0..4 {
            put(&mut lines[72 + i], h, neighbours(minima[i / 2], i % 2 * 2));
        }
        put(&mut lines[76], h, _mm256_castps_si256(floats(unit, 0, h)));
        put(&mut lines[77], h, _mm256_castps_si256(floats(unit, 32, h)));
    }
}

/// The panel lines of a Q6_K unit.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn six_panel(unit: &[u8; 3360], lines: &mut [Line; GROUPS16]) {
    for h in 0..2 {
        for t in 0..2 {
            for m in 0..8 {
                for (g, w) in sixes(unit, h, t, m).into_iter().enumerate() {
                    put(&mut lines[8 * (4 * t + g) + m], h, w);
                }
            }
        }
        for j in 0..16 {
            let scales = line(unit, SIX.0 + 64 * (j / 4), h);
            put(&mut lines[64 + j], h, signed_twice(scales, j % 4));
        }
        for i in 0..8 {
            put(&mut lines[80 + i], h, six_pair(unit, i, h));
        }
        put(&mut lines[88], h, _mm256_castps_si256(floats(unit, 0, h)));
    }
}

macro_rules! panel256 {
    ($name:ident, $unit:literal, $layout:ident, $panel:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(group: &[u8], _: usize, lines: &mut [Line]) {
            let lines = lines.as_chunks_mut::<{ $layout }>().0;
            for (unit, lines) in group.as_chunks::<$unit>().0.iter().zip(lines) {
                unit_ahead(unit);
                $panel(unit, lines);
            }
        }
    };
}

panel256!(panel_q4_k, 2304, GROUPS32, two_panel::<2304, false>);
panel256!(panel_q5_k, 2816, GROUPS32, two_panel::<2816, true>);
panel256!(panel_q6_k, 3360, GROUPS16, six_panel);

/// This level's products over interleaved groups.
pub(super) fn products(dtype: DType) -> Interleaved {
    let (dot, gemm): (Sixteen, Gemm) = match dtype {
        DType::Q4_0 => (dot_q4_0, avx2_gemm::sixteen_q4_0),
        DType::Q4_1 => (dot_q4_1, avx2_gemm::sixteen_q4_1),
        DType::Q5_0 => (dot_q5_0, avx2_gemm::sixteen_q5_0),
        DType::Q5_1 => (dot_q5_1, avx2_gemm::sixteen_q5_1),
        DType::Q8_0 => (dot_q8_0, avx2_signed::sixteen_q8_0),
        DType::Q4K => (dot_q4_k, avx2_gemm256::sixteen_q4_k),
        DType::Q5K => (dot_q5_k, avx2_gemm256::sixteen_q5_k),
        DType::Q6K => (dot_q6_k, avx2_gemm256::sixteen_q6_k),
        _ => return Interleaved::default(),
    };
    Interleaved { dot: Some(dot), gemm: Some(gemm) }
}
