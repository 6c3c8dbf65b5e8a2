//! Text as characters with class bits, so that scanners look ahead without decoding again.

use recinto_os::Wiped;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

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
    if within(NEWER, c) {
        return 0;
    }
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
    all: Wiped<(char, u8)>,
    /// Byte offset of each character, and of the end.
    at: Wiped<u32>,
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

/// Whether a sorted table of ranges has `c`.
pub(crate) fn within(ranges: &[(u32, u32)], c: char) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= c as u32);
    after > 0 && c as u32 <= ranges[after - 1].1
}

/// Characters newer than Unicode 15.1, the version the reference's classes come from. To it, and
/// so here, they have no class; an id must not depend on the age of a table.
const NEWER: &[(u32, u32)] = &[
    (0x558, 0x558),
    (0x58b, 0x58c),
    (0x5c8, 0x5cf),
    (0x88f, 0x88f),
    (0x897, 0x897),
    (0xb53, 0xb54),
    (0xc5c, 0xc5c),
    (0xcdc, 0xcdc),
    (0x1acf, 0x1aff),
    (0x1b4e, 0x1b4f),
    (0x1b7f, 0x1b7f),
    (0x1c89, 0x1c8f),
    (0x208f, 0x208f),
    (0x209d, 0x209f),
    (0x20c1, 0x20cf),
    (0x2427, 0x243f),
    (0x2b96, 0x2b96),
    (0x2e60, 0x2e7f),
    (0x31e4, 0x31ee),
    (0xa7cb, 0xa7cf),
    (0xa7d2, 0xa7d2),
    (0xa7d4, 0xa7d4),
    (0xa7da, 0xa7f1),
    (0xab6c, 0xab6f),
    (0xfbc3, 0xfbd2),
    (0xfd90, 0xfd91),
    (0xfdc8, 0xfdce),
    (0x105c0, 0x105ff),
    (0x107bb, 0x107ff),
    (0x10940, 0x1097f),
    (0x10d40, 0x10e5f),
    (0x10ec2, 0x10efc),
    (0x11380, 0x113ff),
    (0x116d0, 0x116ff),
    (0x11b0a, 0x11bff),
    (0x11db0, 0x11edf),
    (0x11f5a, 0x11faf),
    (0x1246f, 0x1246f),
    (0x12475, 0x1247f),
    (0x12550, 0x12f8f),
    (0x13460, 0x143ff),
    (0x16100, 0x167ff),
    (0x16d40, 0x16e3f),
    (0x16ea0, 0x16eff),
    (0x16ff2, 0x16fff),
    (0x187f8, 0x187ff),
    (0x18cd6, 0x18cff),
    (0x18d09, 0x1afef),
    (0x1b123, 0x1b131),
    (0x1b168, 0x1b16f),
    (0x1cc00, 0x1ceff),
    (0x1d127, 0x1d128),
    (0x1d1eb, 0x1d1ff),
    (0x1d250, 0x1d2bf),
    (0x1d6a6, 0x1d6a7),
    (0x1db00, 0x1deff),
    (0x1df1f, 0x1df24),
    (0x1df2b, 0x1dfff),
    (0x1e5d0, 0x1e7df),
    (0x1f1ae, 0x1f1e5),
    (0x1f6d8, 0x1f6db),
    (0x1f777, 0x1f77a),
    (0x1f7da, 0x1f7df),
    (0x1f7f1, 0x1f7ff),
    (0x1f8b2, 0x1f8ff),
    (0x1fa54, 0x1fa5f),
    (0x1fa89, 0x1fa8f),
    (0x1fabe, 0x1fabe),
    (0x1fac6, 0x1facd),
    (0x1fadc, 0x1fadf),
    (0x1fae9, 0x1faef),
    (0x1faf9, 0x1faff),
    (0x1fbcb, 0x1fbef),
    (0x1fbfa, 0x1ffff),
    (0x2b73a, 0x2b73f),
    (0x2b81e, 0x2b81f),
    (0x2cea2, 0x2ceaf),
    (0x323b0, 0xe0000),
];

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
