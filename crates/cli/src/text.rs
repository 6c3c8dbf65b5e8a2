//! Bytes to text as it comes: UTF-8 or a named encoding, never a guess.
//!
//! A byte order mark is left out; line ends and the form of accents (NFC, NFD) stay as they are.

use clap::ValueEnum;
use recinto_os::{Wiped, WipedText};

use crate::{failure::Failure, input::Reading};

/// How bytes of a file or of stdin are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Encoding {
    /// UTF-8; anything else is refused.
    #[default]
    #[value(name = "utf-8")]
    Utf8,
    /// ISO 8859-1: each byte is the character of that number.
    #[value(name = "latin-1")]
    Latin1,
    /// Windows-1252, Western European.
    #[value(name = "windows-1252")]
    Windows1252,
    /// UTF-16; a byte order mark says which, else little-endian.
    #[value(name = "utf-16")]
    Utf16,
}

/// Byte order marks, the longer ones first where one begins another.
const MARKS: [(&[u8], &str); 4] = [
    (&[0xff, 0xfe, 0, 0], "UTF-32, little-endian"),
    (&[0, 0, 0xfe, 0xff], "UTF-32, big-endian"),
    (&[0xff, 0xfe], "UTF-16, little-endian"),
    (&[0xfe, 0xff], "UTF-16, big-endian"),
];

/// The text in `bytes`, which came from `place`.
pub fn decode(bytes: &[u8], how: Reading, place: &str) -> Result<WipedText, Failure> {
    let mut text = WipedText::new(how.lock);
    match how.encoding {
        Encoding::Utf8 => {
            let read = std::str::from_utf8(bytes)
                .map_err(|e| not_utf8(bytes, e.valid_up_to(), e.error_len(), place))?;
            text.push_str(read.strip_prefix('\u{feff}').unwrap_or(read));
        }
        Encoding::Latin1 => {
            for byte in bytes {
                text.push_str(char::from(*byte).encode_utf8(&mut [0; 2]));
            }
        }
        Encoding::Windows1252 => convert(bytes, encoding_rs::WINDOWS_1252, &mut text, place)?,
        Encoding::Utf16 => {
            let big = bytes.strip_prefix(b"\xfe\xff").map(|rest| (rest, encoding_rs::UTF_16BE));
            let little = bytes.strip_prefix(b"\xff\xfe").unwrap_or(bytes);
            let (rest, encoding) = big.unwrap_or((little, encoding_rs::UTF_16LE));
            convert(rest, encoding, &mut text, place)?;
        }
    }
    Ok(text)
}

fn convert(
    bytes: &[u8],
    encoding: &'static encoding_rs::Encoding,
    text: &mut WipedText,
    place: &str,
) -> Result<(), Failure> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut part: Wiped<u8> = Wiped::default();
    part.try_resize(1 << 14).map_err(|_| Failure::running("no memory for the text"))?;
    let mut at = 0;
    loop {
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(&bytes[at..], &mut part, true);
        at += read;
        // The decoder writes whole characters.
        text.push_str(std::str::from_utf8(&part[..written]).unwrap_or_default());
        match result {
            encoding_rs::DecoderResult::InputEmpty => return Ok(()),
            encoding_rs::DecoderResult::OutputFull => {}
            encoding_rs::DecoderResult::Malformed(..) => {
                let name = encoding.name();
                return Err(Failure::usage(format!("{place}: not {name} (near byte {at})")));
            }
        }
    }
}

fn not_utf8(bytes: &[u8], at: usize, length: Option<usize>, place: &str) -> Failure {
    if let Some((_, name)) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        let failure = Failure::usage(format!("{place}: {name} text, by its byte order mark"));
        return match name.starts_with("UTF-16") {
            true => failure.hint("`--encoding utf-16` converts it"),
            false => failure.hint("convert it to UTF-8 first, with iconv for example"),
        };
    }
    if length.is_none() {
        let what = format!("{place}: it ends in the middle of a UTF-8 character, at byte {at}");
        return Failure::usage(what).hint("was the text cut by bytes?");
    }
    let failure = Failure::usage(format!("{place}: not UTF-8, at byte {at}"));
    match looks_western(bytes, at) {
        true => failure.hint("`--encoding windows-1252` converts it, if that is what it is"),
        false => failure.hint("convert it to UTF-8 first; `--encoding` names what can be read"),
    }
}

/// Whether the bytes can be Latin-1 or Windows-1252 text: no control bytes, no sign of UTF-8
/// before the fault, and fewer high bytes than plain ones.
fn looks_western(bytes: &[u8], fault: usize) -> bool {
    let control = |b: &u8| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c);
    let high = bytes.iter().filter(|byte| **byte >= 0x80).count();
    bytes[..fault].is_ascii() && !bytes.iter().any(control) && high * 2 <= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_as_they_come() {
        let cases: &[(&str, Encoding, &[u8], &str)] = &[
            ("plain", Encoding::Utf8, "¿Qué año?".as_bytes(), "¿Qué año?"),
            ("mark", Encoding::Utf8, b"\xef\xbb\xbfs\xc3\xad", "sí"),
            ("only one mark goes", Encoding::Utf8, b"\xef\xbb\xbf\xef\xbb\xbfa", "\u{feff}a"),
            ("crlf", Encoding::Utf8, b"a\r\nb\r\n", "a\r\nb\r\n"),
            ("nfc", Encoding::Utf8, "\u{f1}".as_bytes(), "\u{f1}"),
            ("nfd", Encoding::Utf8, "n\u{303}".as_bytes(), "n\u{303}"),
            ("empty", Encoding::Utf8, b"", ""),
            ("zero", Encoding::Utf8, b"a\0b", "a\0b"),
            ("latin-1", Encoding::Latin1, b"a\xf1o \x80", "año \u{80}"),
            ("windows-1252", Encoding::Windows1252, b"\xbfa\xf1o? 5 \x80", "¿año? 5 €"),
            ("utf-16, little", Encoding::Utf16, b"\xff\xfe\xf1\0a\0", "ña"),
            ("utf-16, big", Encoding::Utf16, b"\xfe\xff\0\xf1\0a", "ña"),
            ("utf-16, no mark", Encoding::Utf16, b"\xf1\0a\0", "ña"),
        ];
        for (name, encoding, bytes, want) in cases {
            let got = decode(bytes, Reading { encoding: *encoding, lock: false }, "x");
            assert_eq!(got.unwrap_or_else(|e| panic!("{name}: {e:?}")).as_str(), *want, "{name}");
        }
    }

    #[test]
    fn long_texts_are_converted_in_parts() {
        let latin: Vec<u8> = b"a\xf1o ".repeat(20_000);
        for encoding in [Encoding::Latin1, Encoding::Windows1252] {
            let text = decode(&latin, Reading { encoding, lock: false }, "x").unwrap();
            assert_eq!(text.as_str(), "año ".repeat(20_000));
        }
        let utf16: Vec<u8> =
            "¿😀ñ".repeat(20_000).encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [b"\xfe\xff", &utf16[..]].concat();
        let text =
            decode(&marked, Reading { encoding: Encoding::Utf16, lock: false }, "x").unwrap();
        assert_eq!(text.as_str(), "¿😀ñ".repeat(20_000));
    }

    #[test]
    fn refusals() {
        let western = "hint: `--encoding windows-1252`";
        let cases: &[(&str, Encoding, &[u8], &[&str])] = &[
            ("latin-1", Encoding::Utf8, b"El ni\xf1o", &["x: not UTF-8, at byte 5", western]),
            ("cp1252", Encoding::Utf8, b"5 \x80", &["at byte 2", western]),
            ("mixed", Encoding::Utf8, b"\xc3\xb1 \xf1o", &["at byte 3", "convert it to UTF-8"]),
            ("binary", Encoding::Utf8, b"ab\0\xff\x01", &["at byte 3", "convert it to UTF-8"]),
            ("cut", Encoding::Utf8, b"ma\xc3", &["middle of a UTF-8 character, at byte 2"]),
            ("utf-16", Encoding::Utf8, b"\xff\xfea\0", &["UTF-16, little-endian", "utf-16`"]),
            ("utf-16, big", Encoding::Utf8, b"\xfe\xff\0a", &["UTF-16, big-endian", "utf-16`"]),
            ("utf-32", Encoding::Utf8, b"\xff\xfe\0\0a\0\0\0", &["UTF-32, little-endian"]),
            ("odd utf-16", Encoding::Utf16, b"\xff\xfea\0b", &["x: not UTF-16LE"]),
            ("half of a pair", Encoding::Utf16, b"\0\xd8a\0", &["x: not UTF-16LE"]),
        ];
        for (name, encoding, bytes, parts) in cases {
            let failure =
                decode(bytes, Reading { encoding: *encoding, lock: false }, "x").expect_err(name);
            let text = failure.text.unwrap();
            for part in *parts {
                assert!(text.contains(part), "{name}: {part} not in: {text}");
            }
        }
    }
}
