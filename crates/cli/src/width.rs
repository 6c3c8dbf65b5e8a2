//! Columns of a terminal that a text takes.
//!
//! Source: the properties East_Asian_Width (Wide and Fullwidth) and General_Category (Mn, Me, Cf)
//! of the Unicode Character Database, by ranges; what is ambiguous there takes one column.

use std::{cmp::Ordering, ops::RangeInclusive};

type Ranges = &'static [RangeInclusive<u32>];

/// Two columns, in order.
const WIDE: Ranges = &[
    0x1100..=0x115f,
    0x231a..=0x231b,
    0x2329..=0x232a,
    0x23e9..=0x23ec,
    0x23f0..=0x23f0,
    0x23f3..=0x23f3,
    0x25fd..=0x25fe,
    0x2614..=0x2615,
    0x2648..=0x2653,
    0x267f..=0x267f,
    0x2693..=0x2693,
    0x26a1..=0x26a1,
    0x26aa..=0x26ab,
    0x26bd..=0x26be,
    0x26c4..=0x26c5,
    0x26ce..=0x26ce,
    0x26d4..=0x26d4,
    0x26ea..=0x26ea,
    0x26f2..=0x26f3,
    0x26f5..=0x26f5,
    0x26fa..=0x26fa,
    0x26fd..=0x26fd,
    0x2705..=0x2705,
    0x270a..=0x270b,
    0x2728..=0x2728,
    0x274c..=0x274c,
    0x274e..=0x274e,
    0x2753..=0x2755,
    0x2757..=0x2757,
    0x2795..=0x2797,
    0x27b0..=0x27b0,
    0x27bf..=0x27bf,
    0x2b1b..=0x2b1c,
    0x2b50..=0x2b50,
    0x2b55..=0x2b55,
    0x2e80..=0x303e,
    0x3041..=0x33ff,
    0x3400..=0x4dbf,
    0x4e00..=0xa4c6,
    0xa960..=0xa97c,
    0xac00..=0xd7a3,
    0xf900..=0xfaff,
    0xfe10..=0xfe19,
    0xfe30..=0xfe6b,
    0xff01..=0xff60,
    0xffe0..=0xffe6,
    0x16fe0..=0x16ff1,
    0x17000..=0x18cff,
    0x18d00..=0x18df2,
    0x1aff0..=0x1b2fb,
    0x1d300..=0x1d376,
    0x1f004..=0x1f004,
    0x1f0cf..=0x1f0cf,
    0x1f18e..=0x1f18e,
    0x1f191..=0x1f19a,
    0x1f200..=0x1f320,
    0x1f32d..=0x1f335,
    0x1f337..=0x1f37c,
    0x1f37e..=0x1f393,
    0x1f3a0..=0x1f3ca,
    0x1f3cf..=0x1f3d3,
    0x1f3e0..=0x1f3f0,
    0x1f3f4..=0x1f3f4,
    0x1f3f8..=0x1f43e,
    0x1f440..=0x1f440,
    0x1f442..=0x1f4fc,
    0x1f4ff..=0x1f53d,
    0x1f54b..=0x1f54e,
    0x1f550..=0x1f567,
    0x1f57a..=0x1f57a,
    0x1f595..=0x1f596,
    0x1f5a4..=0x1f5a4,
    0x1f5fb..=0x1f64f,
    0x1f680..=0x1f6c5,
    0x1f6cc..=0x1f6cc,
    0x1f6d0..=0x1f6d2,
    0x1f6d5..=0x1f6df,
    0x1f6eb..=0x1f6ec,
    0x1f6f4..=0x1f6fc,
    0x1f7e0..=0x1f7f0,
    0x1f90c..=0x1f93a,
    0x1f93c..=0x1f945,
    0x1f947..=0x1f9ff,
    0x1fa70..=0x1faff,
    0x20000..=0x3fffd,
];

/// No column of their own: marks on the character before, of the scripts that use them most.
const MARKS: Ranges = &[
    0x0300..=0x036f,
    0x0483..=0x0489,
    0x0591..=0x05bd,
    0x05bf..=0x05bf,
    0x05c1..=0x05c2,
    0x05c4..=0x05c5,
    0x0610..=0x061a,
    0x064b..=0x065f,
    0x0670..=0x0670,
    0x06d6..=0x06dc,
    0x06df..=0x06e4,
    0x06e7..=0x06e8,
    0x06ea..=0x06ed,
    0x0900..=0x0902,
    0x093a..=0x093a,
    0x093c..=0x093c,
    0x0941..=0x0948,
    0x094d..=0x094d,
    0x0e31..=0x0e31,
    0x0e34..=0x0e3a,
    0x0e47..=0x0e4e,
    0x1160..=0x11ff,
    0x1ab0..=0x1aff,
    0x1dc0..=0x1dff,
    0x20d0..=0x20f0,
    0x302a..=0x302d,
    0x3099..=0x309a,
    0xfe00..=0xfe0f,
    0xfe20..=0xfe2f,
    0xe0100..=0xe01ef,
];

/// General category Cf: what turns, joins or hides its neighbours and is not seen itself.
const FORMAT: Ranges = &[
    0x00ad..=0x00ad,
    0x0600..=0x0605,
    0x061c..=0x061c,
    0x06dd..=0x06dd,
    0x070f..=0x070f,
    0x0890..=0x0891,
    0x08e2..=0x08e2,
    0x180e..=0x180e,
    0x200b..=0x200f,
    0x202a..=0x202e,
    0x2060..=0x2064,
    0x2066..=0x206f,
    0xfeff..=0xfeff,
    0xfff9..=0xfffb,
    0x110bd..=0x110bd,
    0x110cd..=0x110cd,
    0x13430..=0x1343f,
    0x1bca0..=0x1bca3,
    0x1d173..=0x1d17a,
    0xe0001..=0xe0001,
    0xe0020..=0xe007f,
];

fn within(ranges: Ranges, c: char) -> bool {
    let c = c as u32;
    let side = |range: &RangeInclusive<u32>| match c {
        _ if *range.end() < c => Ordering::Less,
        _ if *range.start() > c => Ordering::Greater,
        _ => Ordering::Equal,
    };
    ranges.binary_search_by(side).is_ok()
}

/// Whether it is a format character.
pub fn is_format(c: char) -> bool {
    within(FORMAT, c)
}

fn of(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        // Before the wide ones, which some of them stand between.
        c if within(MARKS, c) || is_format(c) => 0,
        c if within(WIDE, c) => 2,
        _ => 1,
    }
}

/// Columns of a line.
pub fn width(text: &str) -> usize {
    text.chars().map(of).sum()
}

/// The beginning of a line that takes at most `columns`, marks on its last character included.
pub fn cut(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        taken += of(*c);
        taken > columns
    });
    beyond.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_texts() {
        let cases = [
            ("ascii", "qwen3:0.6b", 10),
            ("Spanish", "¿niño?", 6),
            ("Spanish, decomposed", "n\u{303}andu\u{301}", 5),
            ("Chinese", "模型", 4),
            ("Japanese, with a voiced mark", "か\u{3099}モデル", 8),
            ("Korean", "모델", 4),
            ("full width", "Ａ！", 4),
            ("half width", "ｱ", 1),
            ("emoji", "🦙x", 3),
            ("a joined emoji's parts", "👩\u{200d}🚀", 4),
            ("the mark of a cut", "…", 1),
        ];
        for (name, text, want) in cases {
            assert_eq!(width(text), want, "{name}");
            for columns in 0..=want {
                let rest = width(cut(text, columns));
                assert!(rest <= columns && columns - rest <= 1, "{name}: {columns} {rest}");
            }
            assert_eq!(cut(text, want), text, "{name}");
        }
    }

    #[test]
    fn tables_are_in_order() {
        for ranges in [WIDE, MARKS, FORMAT] {
            assert!(ranges.iter().all(|range| range.start() <= range.end()));
            assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].start()));
        }
    }
}
