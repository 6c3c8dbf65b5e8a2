//! Text as characters with class bits, so that scanners look ahead without decoding again.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use zeroize::Zeroize;

/// Letter.
pub(crate) const L: u8 = 1;
/// Number.
pub(crate) const N: u8 = 2;
/// Punctuation.
pub(crate) const P: u8 = 4;
/// Mark (an accent that stands above or below).
pub(crate) const M: u8 = 8;
/// Symbol.
pub(crate) const S: u8 = 16;
/// White space.
pub(crate) const W: u8 = 32;

/// Class bits of a character.
pub(crate) fn bits(c: char) -> u8 {
    let group = match c.general_category_group() {
        GeneralCategoryGroup::Letter => L,
        GeneralCategoryGroup::Number => N,
        GeneralCategoryGroup::Punctuation => P,
        GeneralCategoryGroup::Mark => M,
        GeneralCategoryGroup::Symbol => S,
        _ => 0,
    };
    group | if c.is_whitespace() { W } else { 0 }
}

const ASCII: [u8; 128] = ascii();

const fn ascii() -> [u8; 128] {
    let mut out = [0; 128];
    let mut code = 0;
    while code < 128 {
        out[code as usize] = match code {
            b'A'..=b'Z' | b'a'..=b'z' => L,
            b'0'..=b'9' => N,
            b'$' | b'+' | b'<'..=b'>' | b'^' | b'`' | b'|' | b'~' => S,
            b'!'..=b'~' => P,
            b' ' | 9..=13 => W,
            _ => 0,
        };
        code += 1;
    }
    out
}

/// Characters of a text; wiped when dropped.
#[derive(Default)]
pub(crate) struct Chars {
    all: Vec<(char, u8)>,
    /// Byte offset of each character, and of the end.
    at: Vec<u32>,
}

impl Chars {
    /// Takes a new text.
    pub(crate) fn read(&mut self, text: &str) {
        self.all.clear();
        self.at.clear();
        for (at, c) in text.char_indices() {
            let bits = ASCII.get(c as usize).copied().unwrap_or_else(|| bits(c));
            self.all.push((c, bits));
            self.at.push(at as u32);
        }
        self.at.push(text.len() as u32);
    }

    /// Number of characters.
    pub(crate) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Byte offset of a character.
    pub(crate) fn byte(&self, at: u32) -> u32 {
        self.at[at as usize]
    }

    pub(crate) fn part(&self, start: u32, end: u32) -> Part<'_> {
        Part { all: &self.all[..end as usize], start: start as usize }
    }
}

impl Drop for Chars {
    fn drop(&mut self) {
        self.all.iter_mut().for_each(|(c, bits)| {
            c.zeroize();
            bits.zeroize();
        });
        self.at.zeroize();
    }
}

/// A stretch of the text; nothing outside it is seen.
#[derive(Clone, Copy)]
pub(crate) struct Part<'c> {
    all: &'c [(char, u8)],
    pub start: usize,
}

impl Part<'_> {
    /// One past its last character.
    pub(crate) fn end(self) -> usize {
        self.all.len()
    }

    /// The character at `at`; NUL beyond the end, which no rule looks for.
    #[inline]
    pub(crate) fn char(self, at: usize) -> char {
        self.all.get(at).map_or('\0', |(c, _)| *c)
    }

    /// The class bits at `at`; none beyond the end.
    #[inline]
    pub(crate) fn bits(self, at: usize) -> u8 {
        self.all.get(at).map_or(0, |(_, bits)| *bits)
    }

    /// Where the run that begins at `at` ends.
    #[inline]
    pub(crate) fn run(self, at: usize, keep: impl Fn(char, u8) -> bool) -> usize {
        let rest = self.all.get(at..).unwrap_or_default();
        at + rest.iter().position(|(c, bits)| !keep(*c, *bits)).unwrap_or(rest.len())
    }
}

/// Letters that have case, as DeepSeek's first expression lists them (an early Unicode).
pub(crate) const CASED: &[(u32, u32)] = &[
    (0x41, 0x5a),
    (0x61, 0x7a),
    (0xb5, 0xb5),
    (0xc0, 0xd6),
    (0xd8, 0xf6),
    (0xf8, 0x1ba),
    (0x1bc, 0x1bf),
    (0x1c4, 0x293),
    (0x295, 0x2af),
    (0x370, 0x373),
    (0x376, 0x377),
    (0x37b, 0x37d),
    (0x37f, 0x37f),
    (0x386, 0x386),
    (0x388, 0x38a),
    (0x38c, 0x38c),
    (0x38e, 0x3a1),
    (0x3a3, 0x3f5),
    (0x3f7, 0x481),
    (0x48a, 0x52f),
    (0x531, 0x556),
    (0x10a0, 0x10c5),
    (0x13a0, 0x13f5),
    (0x13f8, 0x13fd),
    (0x1c90, 0x1cba),
    (0x1cbd, 0x1cbf),
    (0x1d00, 0x1d2b),
    (0x1d6b, 0x1d77),
    (0x1d79, 0x1d9a),
    (0x1e00, 0x1f15),
    (0x1f18, 0x1f1d),
    (0x1f20, 0x1f45),
    (0x1f48, 0x1f4d),
    (0x1f50, 0x1f57),
    (0x1f59, 0x1f59),
    (0x1f5b, 0x1f5b),
    (0x1f5d, 0x1f5d),
    (0x1f5f, 0x1f7d),
    (0x1f80, 0x1fb4),
    (0x1fb6, 0x1fbc),
    (0x1fbe, 0x1fbe),
    (0x1fc2, 0x1fc4),
    (0x1fc6, 0x1fcc),
    (0x1fd0, 0x1fd3),
    (0x1fd6, 0x1fdb),
    (0x1fe0, 0x1fec),
    (0x1ff2, 0x1ff4),
    (0x1ff6, 0x1ffc),
    (0x2102, 0x2102),
    (0x2107, 0x2107),
    (0x210a, 0x2113),
    (0x2115, 0x2115),
    (0x2119, 0x211d),
    (0x2124, 0x2124),
    (0x2126, 0x2126),
    (0x2128, 0x2128),
    (0x212a, 0x212d),
    (0x212f, 0x2134),
    (0x2139, 0x2139),
    (0x213c, 0x213f),
    (0x2145, 0x2149),
    (0x214e, 0x214e),
    (0x2183, 0x2184),
    (0x2c00, 0x2c7b),
    (0x2c7e, 0x2ce4),
    (0x2ceb, 0x2cee),
    (0x2cf2, 0x2cf3),
    (0xa640, 0xa66d),
    (0xa680, 0xa69b),
    (0xa722, 0xa76f),
    (0xa771, 0xa787),
    (0xa78b, 0xa78e),
    (0xab70, 0xabbf),
    (0xfb00, 0xfb06),
    (0xfb13, 0xfb17),
    (0xff21, 0xff3a),
    (0xff41, 0xff5a),
    (0x10400, 0x1044f),
    (0x104b0, 0x104d3),
    (0x104d8, 0x104fb),
    (0x10c80, 0x10cb2),
    (0x10cc0, 0x10cf2),
    (0x118a0, 0x118df),
    (0x1e900, 0x1e943),
];
