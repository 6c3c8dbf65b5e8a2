//! Panels out of rows as they lie in the file (AVX2): the packed words of eight rows are turned
//! first, then unpacked, for turning has half as much to move before.

use std::arch::x86_64::*;

use super::avx2_dot as few;
use super::avx2_panel::{GROUPS16, GROUPS32, LINES32, put};
use super::avx2_signed::put_block;
use super::avx2_sixteen::{Fed, ahead_of, put_rows, six_panel, split, two_panel};
use crate::acts::Acts;
use crate::scratch::Line;
use crate::table::TILE;

/// One block of each of eight rows, `BYTES` long: where the first is, and how far each row is
/// from the first.
#[derive(Clone, Copy)]
pub(super) struct Eight<const BYTES: usize> {
    base: *const u8,
    away: [usize; 8],
}

/// One block of each of eight whole rows that follow each other `stride` bytes apart.
#[derive(Clone, Copy)]
struct Even<const BYTES: usize> {
    base: *const u8,
    stride: usize,
}

impl<const BYTES: usize> Even<BYTES> {
    /// As [`Eight::words`].
    ///
    /// # Safety
    /// Eight blocks are there.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn words<const AT: usize>(&self) -> [__m256i; 4] {
        const { assert!(AT + 16 <= BYTES) };
        // SAFETY: sixteen bytes inside the block of each row.
        unsafe {
            let s = self.stride;
            let four = self.base.add(4 * s);
            let pair = |low: *const u8, high: *const u8| {
                let low = _mm_loadu_si128(low.add(AT).cast());
                _mm256_set_m128i(_mm_loadu_si128(high.add(AT).cast()), low)
            };
            turn_words([
                pair(self.base, four),
                pair(self.base.add(s), four.add(s)),
                pair(self.base.add(2 * s), four.add(2 * s)),
                pair(self.base.add(3 * s), four.add(3 * s)),
            ])
        }
    }
}

/// Words of rows `i` and `i + 4` to words `i` of eight rows.
#[inline]
#[target_feature(enable = "avx2")]
fn turn_words(a: [__m256i; 4]) -> [__m256i; 4] {
    let (low, high) = (_mm256_unpacklo_epi32(a[0], a[1]), _mm256_unpackhi_epi32(a[0], a[1]));
    let (low2, high2) = (_mm256_unpacklo_epi32(a[2], a[3]), _mm256_unpackhi_epi32(a[2], a[3]));
    [
        _mm256_unpacklo_epi64(low, low2),
        _mm256_unpackhi_epi64(low, low2),
        _mm256_unpacklo_epi64(high, high2),
        _mm256_unpackhi_epi64(high, high2),
    ]
}

impl<const BYTES: usize> Eight<BYTES> {
    /// The first blocks of rows `8h..8h + 8` of some rows; rows past the last repeat it.
    #[inline]
    pub(super) fn new(rows: &[u8], stride: usize, h: usize) -> Eight<BYTES> {
        let last = rows.len() / stride - 1;
        let first = last.min(8 * h);
        let mut away = [0; 8];
        for (i, away) in away.iter_mut().enumerate() {
            *away = ((8 * h + i).min(last) - first) * stride;
        }
        Eight { base: rows[first * stride..].as_ptr(), away }
    }

    /// Block `b` of the same rows.
    ///
    /// # Safety
    /// The rows have more than `b` blocks.
    #[inline]
    pub(super) unsafe fn block(self, b: usize) -> Eight<BYTES> {
        // SAFETY: the caller says so.
        Eight { base: unsafe { self.base.add(b * BYTES) }, ..self }
    }

    /// Four words of four bytes from `AT` on: result `i` has word `i` of every row.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn words<const AT: usize>(&self) -> [__m256i; 4] {
        const { assert!(AT + 16 <= BYTES) };
        let mut a = [_mm256_setzero_si256(); 4];
        for i in 0..4 {
            // SAFETY: sixteen bytes inside a block of rows `i` and `i + 4`.
            a[i] = unsafe {
                let low = _mm_loadu_si128(self.base.add(self.away[i] + AT).cast());
                let high = _mm_loadu_si128(self.base.add(self.away[i + 4] + AT).cast());
                _mm256_set_m128i(high, low)
            };
        }
        turn_words(a)
    }
}

/// The lower (`HIGH` false) or upper halves of eight words, as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn halves_of<const HIGH: bool>(x: __m256i) -> __m128i {
    let x = match HIGH {
        true => _mm256_srli_epi32::<16>(x),
        false => _mm256_and_si256(x, _mm256_set1_epi32(0xffff)),
    };
    let x = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(x, x));
    _mm256_castsi256_si128(x)
}

/// The same as floats, in the bits of a line.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn floats_of<const HIGH: bool>(x: __m256i) -> __m256i {
    _mm256_castps_si256(_mm256_cvtph_ps(halves_of::<HIGH>(x)))
}

/// Bits `4K … 4K + 3` of every word as 16 in its four bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn fifth<const K: usize>(x: __m256i) -> __m256i {
    let row = _mm256_set_epi32(12, 8, 4, 0, 12, 8, 4, 0);
    let ones = 0x0101_0101;
    let place = _mm256_mullo_epi32(row, _mm256_set1_epi32(ones));
    let place = _mm256_add_epi32(place, _mm256_set1_epi32((K / 2) as i32 * ones));
    let low = K.is_multiple_of(2);
    let bits = _mm256_set1_epi32(if low { 0x0804_0201 } else { 0x8040_2010u32 as i32 });
    let chosen = _mm256_and_si256(_mm256_shuffle_epi8(x, place), bits);
    _mm256_and_si256(_mm256_cmpeq_epi8(chosen, bits), _mm256_set1_epi8(16))
}

/// The word that begins two bytes after the first of these: Q5_0's fifth bits.
#[inline]
#[target_feature(enable = "avx2")]
fn middle(w: [__m256i; 4]) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<16>(w[0]), _mm256_slli_epi32::<16>(w[1]))
}

/// Eight steps of nibbles out of their four words, with fifth bits where there are any.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nibbles(w: [__m256i; 4], bits: Option<__m256i>) -> [__m256i; 8] {
    let mut all = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        (all[i], all[i + 4]) = split(w[i]);
    }
    if let Some(bits) = bits {
        all[0] = _mm256_or_si256(all[0], fifth::<0>(bits));
        all[1] = _mm256_or_si256(all[1], fifth::<1>(bits));
        all[2] = _mm256_or_si256(all[2], fifth::<2>(bits));
        all[3] = _mm256_or_si256(all[3], fifth::<3>(bits));
        all[4] = _mm256_or_si256(all[4], fifth::<4>(bits));
        all[5] = _mm256_or_si256(all[5], fifth::<5>(bits));
        all[6] = _mm256_or_si256(all[6], fifth::<6>(bits));
        all[7] = _mm256_or_si256(all[7], fifth::<7>(bits));
    }
    all
}

macro_rules! panel32 {
    ($name:ident, $bytes:literal, $numbers:expr, $minimum:literal) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, lines: &mut [Line]) {
            let eight = [Eight::<$bytes>::new(rows, stride, 0), Eight::new(rows, stride, 1)];
            let lines = &mut lines.as_chunks_mut::<LINES32>().0[..stride / $bytes];
            for (b, lines) in lines.iter_mut().enumerate() {
                for h in 0..2 {
                    // SAFETY: there are as many blocks in a row as were taken of the lines.
                    let block = unsafe { eight[h].block(b) };
                    let numbers: [__m256i; 8] = $numbers(&block);
                    for (line, x) in lines.iter_mut().zip(numbers) {
                        put(line, h, x);
                    }
                    let scales = block.words::<0>()[0];
                    put(&mut lines[8], h, floats_of::<false>(scales));
                    if $minimum {
                        put(&mut lines[9], h, floats_of::<true>(scales));
                    }
                }
            }
        }
    };
}

panel32!(panel_q4_0, 18, |b: &Eight<18>| nibbles(b.words::<2>(), None), false);
panel32!(panel_q4_1, 20, |b: &Eight<20>| nibbles(b.words::<4>(), None), true);
panel32!(
    panel_q5_0,
    22,
    |b: &Eight<22>| nibbles(b.words::<6>(), Some(middle(b.words::<0>()))),
    false
);
panel32!(panel_q5_1, 24, |b: &Eight<24>| nibbles(b.words::<8>(), Some(b.words::<0>()[1])), true);
panel32!(panel_q8_0, 34, |b: &Eight<34>| eights(b).0, false);

/// The eight steps of signed bytes of a block of each of eight rows, and the scales.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn eights(b: &Eight<34>) -> ([__m256i; 8], __m256i) {
    let (low, high) = (b.words::<2>(), b.words::<18>());
    let all = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
    (all, floats_of::<false>(b.words::<0>()[0]))
}

/// The panel of magnitudes and signs of Q8_0; see `avx2_signed`.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn signed_q8_0(rows: &[u8], stride: usize, lines: &mut [Line]) {
    let eight = [Eight::<34>::new(rows, stride, 0), Eight::new(rows, stride, 1)];
    let lines = &mut lines.as_chunks_mut().0[..stride / 34];
    for (b, lines) in lines.iter_mut().enumerate() {
        for h in 0..2 {
            // SAFETY: there are as many blocks in a row as were taken of the lines.
            let block = unsafe { eight[h].block(b) };
            let (w, scales) = eights(&block);
            put_block(lines, h, w, scales);
        }
    }
}

/// Sixteen rows at a time against one position: turned as for a panel, and used at once. `$few`
/// takes the rows left over.
macro_rules! dot32 {
    (
        $name:ident, $bytes:literal, $numbers:expr, $steps:literal, $offset:literal,
        $minimum:literal, $few:path
    ) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let blocks = stride / $bytes;
            let (whole, rest) = out.as_chunks_mut::<TILE>();
            for (i, out) in whole.iter_mut().enumerate() {
                let rows = &rows[i * TILE * stride..][..TILE * stride];
                let mut acc = [[_mm256_setzero_ps(); 2]; 4];
                for b in 0..blocks {
                    // The next sixteen rows lie behind these, and are as long.
                    let next = rows.as_ptr().wrapping_add(TILE * (stride + b * $bytes));
                    for line in 0..TILE * $bytes / 64 + 1 {
                        ahead_of(next.wrapping_add(64 * line));
                    }
                    let fed = Fed::new::<{ $offset }>(a, b);
                    for h in 0..2 {
                        let base = rows.as_ptr().wrapping_add(8 * h * stride + b * $bytes);
                        let block = Even::<$bytes> { base, stride };
                        // SAFETY: sixteen rows with `blocks` blocks each.
                        let (w, both): ([__m256i; 8], _) =
                            unsafe { ($numbers(&block), block.words::<0>()[0]) };
                        let scales = _mm256_cvtph_ps(halves_of::<false>(both));
                        let minima = $minimum.then(|| _mm256_cvtph_ps(halves_of::<true>(both)));
                        let acc = &mut acc[b % 4][h];
                        fed.add::<$steps, { $offset }>(acc, &w, scales, minima);
                    }
                }
                put_rows(acc, out);
            }
            let taken = whole.len() * TILE * stride;
            $few(&rows[taken..], stride, a, rest);
        }
    };
}

dot32!(dot_q4_0, 18, |b: &Even<18>| nibbles(b.words::<2>(), None), 8, 3, false, few::dot_q4_0);
dot32!(dot_q4_1, 20, |b: &Even<20>| nibbles(b.words::<4>(), None), 8, -1, true, few::dot_q4_1);

/// A unit as `interleave` describes it, for one block of sixteen rows.
#[repr(C, align(64))]
struct Unit<const N: usize>([u8; N]);

impl<const N: usize> Unit<N> {
    /// Writes half `h` of the line at `at`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn put(&mut self, at: usize, h: usize, x: __m256i) {
        let to: &mut [u8; 32] = self.0[at + 32 * h..].first_chunk_mut().expect("half a line");
        // SAFETY: 32 writable bytes; the store asks for no alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), x) }
    }

    /// Writes half `h` of the halves at `at`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn put_halves(&mut self, at: usize, h: usize, x: __m128i) {
        let to: &mut [u8; 16] = self.0[at + 16 * h..].first_chunk_mut().expect("eight halves");
        // SAFETY: 16 writable bytes; the store asks for no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), x) }
    }
}

/// Copies words from block to unit, four at a time.
macro_rules! turn {
    ($unit:ident, $block:ident, $h:ident, $($at:literal to $line:expr),*) => {$(
        for (i, x) in $block.words::<$at>().into_iter().enumerate() {
            $unit.put($line + 64 * i, $h, x);
        }
    )*};
}

/// Scales, minima and their packed 6 bits of Q4_K and Q5_K.
macro_rules! heads {
    ($unit:ident, $block:ident, $h:ident) => {
        let [both, s0, s1, s2] = $block.words::<0>();
        $unit.put_halves(0, $h, halves_of::<false>(both));
        $unit.put_halves(32, $h, halves_of::<true>(both));
        $unit.put(64, $h, s0);
        $unit.put(128, $h, s1);
        $unit.put(192, $h, s2);
    };
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn panel_q4_k(rows: &[u8], stride: usize, lines: &mut [Line]) {
    let mut unit = Unit([0; 2304]);
    let eight = [Eight::<144>::new(rows, stride, 0), Eight::new(rows, stride, 1)];
    let lines = &mut lines.as_chunks_mut::<GROUPS32>().0[..stride / 144];
    for (b, lines) in lines.iter_mut().enumerate() {
        for h in 0..2 {
            // SAFETY: there are as many blocks in a row as were taken of the lines.
            let block = unsafe { eight[h].block(b) };
            heads!(unit, block, h);
            turn!(unit, block, h, 16 to 256, 32 to 512, 48 to 768, 64 to 1024);
            turn!(unit, block, h, 80 to 1280, 96 to 1536, 112 to 1792, 128 to 2048);
        }
        two_panel::<2304, false>(&unit.0, lines);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn panel_q5_k(rows: &[u8], stride: usize, lines: &mut [Line]) {
    let mut unit = Unit([0; 2816]);
    let eight = [Eight::<176>::new(rows, stride, 0), Eight::new(rows, stride, 1)];
    let lines = &mut lines.as_chunks_mut::<GROUPS32>().0[..stride / 176];
    for (b, lines) in lines.iter_mut().enumerate() {
        for h in 0..2 {
            // SAFETY: there are as many blocks in a row as were taken of the lines.
            let block = unsafe { eight[h].block(b) };
            heads!(unit, block, h);
            turn!(unit, block, h, 16 to 256, 32 to 512);
            turn!(unit, block, h, 48 to 768, 64 to 1024, 80 to 1280, 96 to 1536);
            turn!(unit, block, h, 112 to 1792, 128 to 2048, 144 to 2304, 160 to 2560);
        }
        two_panel::<2816, true>(&unit.0, lines);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn panel_q6_k(rows: &[u8], stride: usize, lines: &mut [Line]) {
    let mut unit = Unit([0; 3360]);
    let eight = [Eight::<210>::new(rows, stride, 0), Eight::new(rows, stride, 1)];
    let lines = &mut lines.as_chunks_mut::<GROUPS16>().0[..stride / 210];
    for (b, lines) in lines.iter_mut().enumerate() {
        for h in 0..2 {
            // SAFETY: there are as many blocks in a row as were taken of the lines.
            let block = unsafe { eight[h].block(b) };
            // The scale is in the upper half of the last word that lies in the block.
            unit.put_halves(0, h, halves_of::<true>(block.words::<194>()[3]));
            turn!(unit, block, h, 192 to 32, 128 to 288, 144 to 544, 160 to 800, 176 to 1056);
            turn!(unit, block, h, 0 to 1312, 16 to 1568, 32 to 1824, 48 to 2080);
            turn!(unit, block, h, 64 to 2336, 80 to 2592, 96 to 2848, 112 to 3104);
        }
        six_panel(&unit.0, lines);
    }
}
