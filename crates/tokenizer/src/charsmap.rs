//! SentencePiece's precompiled map of characters: what each sequence is rewritten to.
//!
//! The format is that of SentencePiece's normalizer: the length of a double array, the array
//! (32-bit words of the Darts-clone layout), then the replacements, each ended by a zero byte.

use crate::{Error, error::Kind};

/// Longest sequence that is looked up; those of published maps have about a tenth of it.
const MAX_BYTES: usize = 256;

/// Sequences of bytes and their replacements.
pub(crate) struct Charsmap {
    array: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    /// From the bytes of `precompiled_charsmap`; none at all are an empty map.
    pub(crate) fn new(bytes: &[u8]) -> Result<Charsmap, Error> {
        let invalid =
            |what: &str| Error::new(Kind::Invalid, format!("the precompiled charsmap {what}"));
        if bytes.is_empty() {
            return Ok(Charsmap { array: Vec::new(), replacements: String::new() });
        }
        let (head, rest) =
            bytes.split_first_chunk::<4>().ok_or_else(|| invalid("has no length"))?;
        let len = u32::from_le_bytes(*head) as usize;
        if !len.is_multiple_of(4) || len >= rest.len() {
            return Err(invalid(&format!("has {} bytes for an array of {len}", rest.len())));
        }
        let (array, replacements) = rest.split_at(len);
        let replacements = std::str::from_utf8(replacements)
            .map_err(|_| invalid("has replacements that are not UTF-8"))?;
        if !replacements.ends_with('\0') {
            return Err(invalid("has a replacement without an end"));
        }
        let words = array.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        Ok(Charsmap { array: words.collect(), replacements: replacements.to_owned() })
    }

    /// The longest known sequence that begins `text`: its length and what it becomes.
    pub(crate) fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let mut found = None;
        let mut node = offset(*self.array.first()?);
        for (at, byte) in text.bytes().take(MAX_BYTES).enumerate() {
            if byte == 0 {
                break;
            }
            node ^= usize::from(byte);
            let Some(unit) = self.array.get(node).copied() else { break };
            if unit & (1 << 31 | 0xff) != u32::from(byte) {
                break;
            }
            node ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let value = self.array.get(node).map(|unit| unit & !(1 << 31));
                // Whole characters only: the rest of the text must be one too.
                found = value.filter(|_| text.is_char_boundary(at + 1)).map(|v| (at + 1, v));
            }
        }
        let (len, value) = found?;
        let replacement = self.replacements.get(value as usize..)?;
        Some((len, replacement.split('\0').next().unwrap_or_default()))
    }
}

/// How far the children of a unit lie from it.
fn offset(unit: u32) -> usize {
    let shift = (unit & 1 << 9) >> 6;
    ((unit >> 10) << shift) as usize
}

/// Bytes from their base64 text; `None` when it is none.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 2 || !text.len().is_multiple_of(4) || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.as_bytes().chunks(4) {
        let mut word = 0u32;
        for byte in group {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            word = word << 6 | u32::from(digit);
        }
        word <<= 6 * (4 - group.len());
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_texts() {
        let cases: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("YcOx", Some("añ".as_bytes())),
            ("YQ==", Some(b"a")),
            ("YWI=", Some(b"ab")),
            ("+/+/", Some(&[0xfb, 0xff, 0xbf])),
            ("YQ=", None),
            ("Y", None),
            ("Y===", None),
            ("YQ*=", None),
        ];
        for (text, want) in cases {
            assert_eq!(base64(text).as_deref(), *want, "{text:?}");
        }
    }

    /// A map with one entry, `a` to `bc`, laid out by hand.
    fn tiny() -> Vec<u8> {
        // The root's children lie at 256 ^ byte; the leaf's value at that ^ 512.
        let mut array = vec![0u32; 1024];
        array[0] = 256 << 10;
        let child = 256 ^ usize::from(b'a');
        array[child] = 512 << 10 | 1 << 8 | u32::from(b'a');
        array[child ^ 512] = 1 << 31 | 1;
        let mut bytes = 4096u32.to_le_bytes().to_vec();
        bytes.extend(array.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(b"\0bc\0");
        bytes
    }

    #[test]
    fn sequences_and_faults() {
        let map = Charsmap::new(&tiny()).expect("a map");
        assert_eq!(map.longest("abc"), Some((1, "bc")));
        assert_eq!(map.longest("ba"), None);
        assert_eq!(map.longest(""), None);
        assert!(Charsmap::new(&[]).expect("none").longest("a").is_none());
        let sound = tiny();
        let faults: &[(&str, Vec<u8>)] = &[
            ("no length", vec![1, 2]),
            ("an array longer than the map", [&[0xff; 4][..], &sound[4..]].concat()),
            ("half a word", [&[3, 0, 0, 0][..], &sound[4..]].concat()),
            ("not UTF-8", [&sound[..], &[0xff, 0]].concat()),
            ("no end", [&sound[..], b"x"].concat()),
        ];
        for (name, bytes) in faults {
            assert!(Charsmap::new(bytes).is_err(), "{name}");
        }
        // Numbers that lead out of the array lead nowhere.
        for at in (4..4100).step_by(4) {
            let mut bytes = tiny();
            bytes[at..at + 4].copy_from_slice(&0x7fff_ff61u32.to_le_bytes());
            let map = Charsmap::new(&bytes).expect("a map");
            map.longest("aaaa");
        }
    }
}
