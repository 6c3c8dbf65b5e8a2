//! One page of one layer's keys and values, in the type a session keeps them in.
//!
//! How a value is narrowed is part of `docs/determinism.md`, "KV cache and attention".

use std::fmt;
use std::io;
use std::ops::Range;
use std::str::FromStr;

use recinto_os::memory;
use recinto_quant::f32_to_f16;
use zeroize::{Zeroize, Zeroizing};

/// Positions of one page.
pub const PAGE: usize = 256;
/// Positions of keys, or columns of values, that lie side by side: what a step of attention
/// loads at once, so that it walks straight through memory.
pub(crate) const LANES: usize = 16;
/// Values of a head that share a scale where keys and values are stored as bytes.
pub(crate) const GROUP: usize = 32;

/// How keys and values are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KvType {
    /// 16 bits a value, the range of f32.
    #[default]
    Bf16,
    /// 16 bits a value, three more bits of precision, up to 65504.
    F16,
    /// 8 bits a value and a half-precision scale for each 32 of a head.
    Q8_0,
}

impl KvType {
    /// All of them.
    pub const ALL: [KvType; 3] = [KvType::Bf16, KvType::F16, KvType::Q8_0];

    /// `bf16`, `f16` or `q8_0`.
    pub fn name(self) -> &'static str {
        match self {
            KvType::Bf16 => "bf16",
            KvType::F16 => "f16",
            KvType::Q8_0 => "q8_0",
        }
    }

    /// Bytes of one key or value of `dim` values.
    pub fn bytes(self, dim: usize) -> usize {
        match self {
            KvType::Bf16 | KvType::F16 => dim.saturating_mul(2),
            KvType::Q8_0 => dim.saturating_add(dim.div_ceil(GROUP).saturating_mul(2)),
        }
    }
}

impl fmt::Display for KvType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no type of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("keys and values are stored as bf16, f16 or q8_0")]
pub struct UnknownKvType;

impl FromStr for KvType {
    type Err = UnknownKvType;

    fn from_str(word: &str) -> Result<KvType, UnknownKvType> {
        KvType::ALL.into_iter().find(|kind| kind.name() == word).ok_or(UnknownKvType)
    }
}

/// Keys or values of one head in one page, as stored; [`key_at`] and [`value_at`] say where.
#[derive(Clone, Copy)]
pub(crate) enum Stored<'a> {
    Bf16(&'a [u16]),
    F16(&'a [u16]),
    /// Bytes in the order of the other types; half-precision scales, `[groups][PAGE]`.
    Q8 {
        codes: &'a [i8],
        scales: &'a [u16],
    },
}

/// Where value `d` of the key of position `j` lies among a head's keys of `dim` values:
/// `[PAGE / LANES][dim][LANES]`.
#[inline(always)]
pub(crate) fn key_at(dim: usize, d: usize, j: usize) -> usize {
    (j / LANES * dim + d) * LANES + j % LANES
}

/// Where column `c` of position `j` lies among a head's values of `dim` columns:
/// `[dim / LANES][PAGE][LANES]`, the last columns as many as are left.
#[inline(always)]
pub(crate) fn value_at(dim: usize, c: usize, j: usize) -> usize {
    let first = c / LANES * LANES;
    first * PAGE + j * LANES.min(dim - first) + c % LANES
}

/// Heads and sizes of what a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub kind: KvType,
    pub kv_heads: usize,
    pub key_dim: usize,
    pub value_dim: usize,
}

impl Shape {
    /// Words and bytes of keys or values of a page; `None` where that is no size in memory.
    fn side(&self, dim: usize) -> Option<(usize, usize)> {
        let all = |dim: usize| self.kv_heads.checked_mul(dim)?.checked_mul(PAGE);
        let (words, codes) = match self.kind {
            KvType::Bf16 | KvType::F16 => (all(dim)?, 0),
            KvType::Q8_0 => (all(dim.div_ceil(GROUP))?, all(dim)?),
        };
        let fits = words < usize::MAX / 8 && codes < usize::MAX / 8;
        fits.then_some((words, codes))
    }

    /// Bytes of a page.
    pub fn bytes(&self) -> Option<usize> {
        let (k, v) = (self.side(self.key_dim)?, self.side(self.value_dim)?);
        Some(2 * (k.0 + v.0) + k.1 + v.1)
    }
}

/// Keys or values of a page.
struct Side {
    /// Halves: the values themselves, or the scales of `codes`, `[head][groups][PAGE]`.
    words: Vec<u16>,
    codes: Vec<i8>,
}

impl Side {
    fn new((words, codes): (usize, usize)) -> Option<Side> {
        Some(Side { words: zeros(words)?, codes: zeros(codes)? })
    }

    fn lock(&self) -> io::Result<()> {
        memory::lock(&self.words).and_then(|()| memory::lock(&self.codes))
    }

    fn copy_from(&mut self, other: &Side) {
        self.words.copy_from_slice(&other.words);
        self.codes.copy_from_slice(&other.codes);
    }

    fn head(&self, kind: KvType, dim: usize, head: usize) -> Stored<'_> {
        let cut = |len: usize| head * len..(head + 1) * len;
        match kind {
            KvType::Bf16 => Stored::Bf16(&self.words[cut(dim * PAGE)]),
            KvType::F16 => Stored::F16(&self.words[cut(dim * PAGE)]),
            KvType::Q8_0 => Stored::Q8 {
                codes: &self.codes[cut(dim * PAGE)],
                scales: &self.words[cut(dim.div_ceil(GROUP) * PAGE)],
            },
        }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.words.zeroize();
        self.codes.zeroize();
    }
}

/// Zeros, or nothing where memory is short.
fn zeros<T: Clone + Default>(len: usize) -> Option<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).ok()?;
    all.resize(len, T::default());
    Some(all)
}

/// A page of one layer; wiped when the last who shares it lets go.
pub(crate) struct Page {
    /// Of one head after the other: sixteen positions side by side for the scores.
    k: Side,
    /// Likewise: sixteen columns side by side for the weighed sum.
    v: Side,
}

impl Page {
    /// An empty page; `None` without memory, or where the system will not lock it.
    pub fn new(shape: &Shape, locked: bool) -> Option<Page> {
        let k = Side::new(shape.side(shape.key_dim)?)?;
        let v = Side::new(shape.side(shape.value_dim)?)?;
        if locked {
            // Locked memory stays so until it goes back to the system: an unlock here could
            // reach a neighbour on the same page of memory.
            k.lock().and_then(|()| v.lock()).ok()?;
        }
        Some(Page { k, v })
    }

    pub fn copy_from(&mut self, other: &Page) {
        self.k.copy_from(&other.k);
        self.v.copy_from(&other.v);
    }

    /// Keys of one head.
    pub fn keys(&self, shape: &Shape, head: usize) -> Stored<'_> {
        self.k.head(shape.kind, shape.key_dim, head)
    }

    /// Values of one head.
    pub fn values(&self, shape: &Shape, head: usize) -> Stored<'_> {
        self.v.head(shape.kind, shape.value_dim, head)
    }

    /// Stores positions `first..` of the page, position-major `[n][kv_heads · dim]`.
    pub fn store(&mut self, shape: &Shape, first: usize, k: &[f32], v: &[f32]) {
        match shape.kind {
            KvType::Bf16 => self.store_words(shape, first, k, v, bf16),
            KvType::F16 => {
                self.store_words(shape, first, k, v, |x| u16::from_le_bytes(f32_to_f16(x)));
            }
            KvType::Q8_0 => self.store_codes(shape, first, k, v),
        }
    }

    fn store_words(
        &mut self,
        shape: &Shape,
        first: usize,
        k: &[f32],
        v: &[f32],
        narrow: impl Fn(f32) -> u16,
    ) {
        let mut near = [[0; 64]; LANES];
        let (dim, width) = (shape.key_dim, shape.kv_heads * shape.key_dim);
        let mut done = 0;
        while done < k.len() / width {
            // Positions that lie side by side, some of their values at a time: narrowed as they
            // come, then turned.
            let j = first + done;
            let n = (LANES - j % LANES).min(k.len() / width - done);
            let k = &k[done * width..(done + n) * width];
            for (h, head) in self.k.words.chunks_exact_mut(PAGE * dim).enumerate() {
                for d in (0..dim).step_by(64) {
                    let many = (dim - d).min(64);
                    for (near, k) in near.iter_mut().zip(k.chunks_exact(width)) {
                        let k = &k[h * dim + d..][..many];
                        near.iter_mut().zip(k).for_each(|(to, x)| *to = narrow(*x));
                    }
                    let at = key_at(dim, d, j);
                    for (i, to) in head[at..].chunks_mut(LANES).take(many).enumerate() {
                        to.iter_mut().zip(&near[..n]).for_each(|(to, near)| *to = near[i]);
                    }
                }
            }
            done += n;
        }
        // What was not touched needs no wiping: most steps store one position.
        near.iter_mut().take(k.len() / width).for_each(Zeroize::zeroize);
        let dim = shape.value_dim;
        for (i, v) in v.chunks_exact(shape.kv_heads * dim).enumerate() {
            let heads = self.v.words.chunks_exact_mut(PAGE * dim);
            for (head, v) in heads.zip(v.chunks_exact(dim)) {
                for (t, v) in v.chunks(LANES).enumerate() {
                    let at = value_at(dim, t * LANES, first + i);
                    let to = head[at..at + v.len()].iter_mut();
                    to.zip(v).for_each(|(to, x)| *to = narrow(*x));
                }
            }
        }
    }

    fn store_codes(&mut self, shape: &Shape, first: usize, k: &[f32], v: &[f32]) {
        let mut codes = Zeroizing::new([0i8; GROUP]);
        type At = fn(usize, usize, usize) -> usize;
        let sides: [(&mut Side, &[f32], usize, At); 2] =
            [(&mut self.k, k, shape.key_dim, key_at), (&mut self.v, v, shape.value_dim, value_at)];
        for (side, x, dim, at) in sides {
            for (i, x) in x.chunks_exact(shape.kv_heads * dim).enumerate() {
                let j = first + i;
                let heads = side.codes.chunks_exact_mut(PAGE * dim);
                let scales = side.words.chunks_exact_mut(PAGE * dim.div_ceil(GROUP));
                for ((head, scales), x) in heads.zip(scales).zip(x.chunks_exact(dim)) {
                    for (g, x) in x.chunks(GROUP).enumerate() {
                        scales[g * PAGE + j] = bytes_of(x, &mut codes);
                        for (d, code) in codes.iter().enumerate().take(x.len()) {
                            head[at(dim, g * GROUP + d, j)] = *code;
                        }
                    }
                }
            }
        }
    }

    /// Stored bytes of the first `filled` positions in one fixed order, little-endian, in pieces.
    /// Nothing of later positions is among them.
    pub fn write(
        &self,
        shape: &Shape,
        filled: usize,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut piece = Zeroizing::new([0; PIECE]);
        shape.runs(filled, &mut |keys, words, run| {
            let side = if keys { &self.k } else { &self.v };
            if words {
                for words in side.words[run].chunks(PIECE / 2) {
                    for (to, word) in piece.as_chunks_mut::<2>().0.iter_mut().zip(words) {
                        *to = word.to_le_bytes();
                    }
                    sink(&piece[..2 * words.len()])?;
                }
            } else {
                for codes in side.codes[run].chunks(PIECE) {
                    piece.iter_mut().zip(codes).for_each(|(to, code)| *to = *code as u8);
                    sink(&piece[..codes.len()])?;
                }
            }
            Ok(())
        })
    }

    /// Reads what [`Page::write`] gave.
    pub fn read(
        &mut self,
        shape: &Shape,
        filled: usize,
        source: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut piece = Zeroizing::new([0; PIECE]);
        shape.runs(filled, &mut |keys, words, run| {
            let side = if keys { &mut self.k } else { &mut self.v };
            if words {
                for words in side.words[run].chunks_mut(PIECE / 2) {
                    source(&mut piece[..2 * words.len()])?;
                    for (word, from) in words.iter_mut().zip(piece.as_chunks::<2>().0) {
                        *word = u16::from_le_bytes(*from);
                    }
                }
            } else {
                for codes in side.codes[run].chunks_mut(PIECE) {
                    source(&mut piece[..codes.len()])?;
                    codes.iter_mut().zip(piece.iter()).for_each(|(code, from)| *code = *from as i8);
                }
            }
            Ok(())
        })
    }
}

/// Bytes that are written or read at once.
const PIECE: usize = 4096;

impl Shape {
    /// Every run of stored numbers that belongs to the first `filled` positions of a page, in
    /// order: `run(keys or else values, words or else codes, where)`.
    fn runs(
        &self,
        filled: usize,
        run: &mut dyn FnMut(bool, bool, Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let bytes = self.kind == KvType::Q8_0;
        for (keys, dim) in [(true, self.key_dim), (false, self.value_dim)] {
            if bytes {
                for row in 0..self.kv_heads * dim.div_ceil(GROUP) {
                    run(keys, true, row * PAGE..row * PAGE + filled)?;
                }
            }
            for head in (0..self.kv_heads).map(|head| head * dim * PAGE) {
                if keys {
                    let whole = filled / LANES * LANES;
                    run(keys, !bytes, head..head + whole * dim)?;
                    let last = (0..dim).map(|d| head + key_at(dim, d, whole));
                    let mut last = last.take_while(|_| whole < filled);
                    last.try_for_each(|at| run(keys, !bytes, at..at + filled - whole))?;
                } else {
                    for c in (0..dim).step_by(LANES) {
                        let at = head + value_at(dim, c, 0);
                        run(keys, !bytes, at..at + filled * LANES.min(dim - c))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// To bf16 (half to even); magnitudes below 2⁻⁴⁰ become 0, NaN stays NaN.
#[inline(always)]
fn bf16(x: f32) -> u16 {
    // All three answers are made and one is taken: no branch, so that rows go by vectors.
    let bits = x.to_bits();
    let magnitude = (bits & 0x7fff_ffff) as i32;
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let kept = if magnitude < 0x2b80_0000 { 0 } else { rounded };
    let nan = bits >> 16 | 0x40;
    (if magnitude > 0x7f80_0000 { nan } else { kept }) as u16
}

/// At most [`GROUP`] values as bytes, and their scale as a half.
fn bytes_of(x: &[f32], codes: &mut [i8; GROUP]) -> u16 {
    // Adding 1.5 · 2²³ leaves the nearest integer, half to even.
    const MAGIC: f32 = 12_582_912.0;
    let largest = x.iter().fold(0, |m: u32, x| m.max(x.to_bits() & 0x7fff_ffff));
    let largest = f32::from_bits(largest);
    codes.fill(0);
    if !largest.is_finite() {
        return 0x7e00;
    }
    let scale = u16::from_le_bytes(f32_to_f16(largest / 127.0));
    if scale != 0 {
        let inv = 127.0 / largest;
        for (code, x) in codes.iter_mut().zip(x) {
            *code = ((x * inv + MAGIC) - MAGIC).clamp(-127.0, 127.0) as i8;
        }
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_rounds_and_flushes() {
        let cases = [
            ("one", 1.0, 0x3f80),
            ("half to even, down", f32::from_bits(0x3f80_8000), 0x3f80),
            ("half to even, up", f32::from_bits(0x3f81_8000), 0x3f82),
            ("just above half", f32::from_bits(0x3f80_8001), 0x3f81),
            ("smallest kept", 2f32.powi(-40), 0x2b80),
            ("below it", 2f32.powi(-41), 0),
            ("minus zero", -0.0, 0),
            ("negative", -2.0, 0xc000),
            ("infinity", f32::INFINITY, 0x7f80),
            ("largest", f32::MAX, 0x7f80),
            ("nan stays", f32::NAN, 0x7fc0),
        ];
        for (name, x, want) in cases {
            assert_eq!(bf16(x), want, "{name}");
        }
    }

    #[test]
    fn bytes_have_one_scale_for_all() {
        type Case<'a> = (&'a str, &'a [f32], u16, &'a [i8]);
        let half = |x: f32| u16::from_le_bytes(f32_to_f16(x));
        let cases: [Case<'_>; 7] = [
            ("whole steps", &[127.0, -127.0, 64.0, 0.0], half(1.0), &[127, -127, 64, 0]),
            ("half to even", &[127.0, 0.5, 1.5, 2.5, -2.5], half(1.0), &[127, 0, 2, 2, -2]),
            ("zeros", &[0.0, -0.0], 0, &[0, 0]),
            ("too small for a half", &[1e-9, -1e-9], 0, &[0, 0]),
            ("too large for one", &[1e9], 0x7c00, &[127]),
            ("not a number", &[1.0, f32::NAN], 0x7e00, &[0, 0]),
            ("infinite", &[f32::NEG_INFINITY], 0x7e00, &[0]),
        ];
        for (name, x, scale, want) in cases {
            let mut codes = [9; GROUP];
            assert_eq!(bytes_of(x, &mut codes), scale, "{name}");
            assert_eq!(&codes[..x.len()], want, "{name}");
            assert!(codes[x.len()..].iter().all(|code| *code == 0), "{name}");
        }
    }

    #[test]
    fn words_name_the_types() {
        for kind in KvType::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for word in ["", "BF16", "q8", "f32"] {
            assert_eq!(word.parse::<KvType>(), Err(UnknownKvType), "{word}");
        }
        assert_eq!(KvType::default(), KvType::Bf16);
        assert_eq!((KvType::F16.bytes(80), KvType::Q8_0.bytes(80)), (160, 86));
    }
}
