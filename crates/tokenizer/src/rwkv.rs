//! How RWKV's vocabularies write pieces: bytes that do not print after backslashes.

/// The bytes a piece stands for.
pub(crate) fn unescape(piece: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(piece.len());
    let mut rest = piece;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let [escape, after @ ..] = rest else { break };
        rest = after;
        match (escape, after) {
            (b't', _) => out.push(b'\t'),
            (b'n', _) => out.push(b'\n'),
            (b'r', _) => out.push(b'\r'),
            (b'x', [high, low, after @ ..]) if digit(*high).and(digit(*low)).is_some() => {
                let (high, low) = (digit(*high).unwrap_or(0), digit(*low).unwrap_or(0));
                out.push(high << 4 | low);
                rest = after;
            }
            (other, _) => out.push(*other),
        }
    }
    out
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes() {
        let cases: &[(&str, &[u8])] = &[
            ("año", "año".as_bytes()),
            (r"\t\n\r", b"\t\n\r"),
            (r"\xc3\xB1", "ñ".as_bytes()),
            (r"a\\b\'", b"a\\b'"),
            (r"\x4", b"x4"),
            (r"\xzz", b"xzz"),
            ("\\", b""),
        ];
        for (piece, want) in cases {
            assert_eq!(unescape(piece.as_bytes()), *want, "{piece}");
        }
    }
}
