//! Whether bytes are UTF-8, asked of megabytes at once.
//!
//! The standard library decides character after character and says where the fault is. Here every
//! byte is compared with the three before it, which needs no branches and therefore compiles to
//! vector code; where the fault is, is not said.

/// Bytes looked at together.
const BLOCK: usize = 32;
/// Bytes before a block that may belong to its first character.
const BEFORE: usize = 3;

/// Whether `bytes` are UTF-8 from their first byte to their last.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    if bytes.len() <= BLOCK {
        return std::str::from_utf8(bytes).is_ok();
    }
    // Zeros before the first byte and after the last one: characters, and no part of another.
    let mut edge = [0; BEFORE + BLOCK];
    edge[BEFORE..].copy_from_slice(&bytes[..BLOCK]);
    let mut fault = block(&edge);
    let mut at = BLOCK;
    while let Some(window) = bytes[at - BEFORE..].first_chunk::<{ BEFORE + BLOCK }>() {
        fault |= block(window);
        at += BLOCK;
    }
    // At most 31 bytes are left, so that at least one zero follows them.
    let rest = &bytes[at - BEFORE..];
    edge = [0; BEFORE + BLOCK];
    edge[..rest.len()].copy_from_slice(rest);
    !(fault | block(&edge))
}

/// Whether one of the last [`BLOCK`] bytes cannot follow those before it.
///
/// Source: table 3-7 of the Unicode standard, the well-formed byte sequences.
#[inline]
fn block(window: &[u8; BEFORE + BLOCK]) -> bool {
    let mut fault = 0u8;
    for at in 0..BLOCK {
        let byte = window[at + 3];
        let (third, second, first) = (window[at], window[at + 1], window[at + 2]);
        let inside = byte & 0xc0 == 0x80;
        let needed = (first >= 0xc0) | (second >= 0xe0) | (third >= 0xf0);
        // Longer than it need be, a surrogate, or beyond the last character.
        let narrow = (first == 0xe0) & (byte < 0xa0)
            | (first == 0xed) & (byte >= 0xa0)
            | (first == 0xf0) & (byte < 0x90)
            | (first == 0xf4) & (byte >= 0x90);
        let never = (byte & 0xfe == 0xc0) | (byte >= 0xf5);
        fault |= u8::from((inside ^ needed) | narrow | never);
    }
    fault != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both answers must be the same, wherever the bytes stand in a block.
    fn same(name: &str, middle: &[u8]) {
        for (before, after) in [(0, 0), (0, 40), (29, 40), (30, 2), (31, 64), (32, 0), (63, 33)] {
            let mut bytes = vec![b'a'; before];
            bytes.extend_from_slice(middle);
            bytes.resize(bytes.len() + after, b'z');
            let want = std::str::from_utf8(&bytes).is_ok();
            assert_eq!(is_utf8(&bytes), want, "{name} {middle:x?} after {before}");
        }
    }

    #[test]
    fn every_two_bytes() {
        for first in 0..=255 {
            for second in 0..=255 {
                same("two", &[first, second]);
            }
        }
    }

    #[test]
    fn three_and_four_bytes_at_every_border() {
        let edges = [
            0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
            0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
        ];
        for first in edges {
            for second in edges {
                for third in edges {
                    same("three", &[first, second, third]);
                    for fourth in [0x00, 0x7f, 0x80, 0xbf, 0xc2, 0xe0, 0xf4] {
                        same("four", &[first, second, third, fourth]);
                    }
                }
            }
        }
    }

    #[test]
    fn text_and_every_cut_of_it() {
        let text = "¿Dónde está el año? ▁Ġ 中文 🦙🦙 zorro ñandú ".repeat(4);
        assert!(is_utf8(text.as_bytes()));
        for end in 0..text.len() {
            let bytes = &text.as_bytes()[..end];
            assert_eq!(is_utf8(bytes), std::str::from_utf8(bytes).is_ok(), "cut at {end}");
            let bytes = &text.as_bytes()[end..];
            assert_eq!(is_utf8(bytes), std::str::from_utf8(bytes).is_ok(), "from {end}");
        }
    }
}
