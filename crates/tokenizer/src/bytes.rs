//! The alphabet of byte-level vocabularies: every byte as one printable character.
//!
//! Source: the byte encoder published with GPT-2. Bytes that print stand for themselves; the
//! others follow from U+0100 in their order.

/// The character that stands for each byte.
pub(crate) const CHARS: [char; 256] = chars();

/// The byte each character below U+0144 stands for, or none.
const BYTES: [Option<u8>; 0x144] = bytes();

const fn prints(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

const fn chars() -> [char; 256] {
    let mut out = ['\0'; 256];
    let (mut byte, mut next) = (0usize, 0x100u32);
    while byte < 256 {
        let code = if prints(byte as u8) { byte as u32 } else { next };
        if !prints(byte as u8) {
            next += 1;
        }
        out[byte] = match char::from_u32(code) {
            Some(c) => c,
            None => '\0',
        };
        byte += 1;
    }
    out
}

const fn bytes() -> [Option<u8>; 0x144] {
    let mut out = [None; 0x144];
    let mut byte = 0;
    while byte < 256 {
        out[CHARS[byte] as usize] = Some(byte as u8);
        byte += 1;
    }
    out
}

/// The byte `c` stands for.
#[inline]
pub(crate) fn byte_of(c: char) -> Option<u8> {
    BYTES.get(c as usize).copied().flatten()
}

/// The byte a piece such as `<0x0A>` stands for.
pub(crate) fn byte_piece(piece: &str) -> Option<u8> {
    let hex = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    if hex.len() != 2 || hex.starts_with('+') {
        return None;
    }
    u8::from_str_radix(hex, 16).ok()
}
