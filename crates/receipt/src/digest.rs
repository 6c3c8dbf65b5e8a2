//! A SHA-256 digest as a value.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Kind};

const PREFIX: &str = "sha256:";

/// A SHA-256 digest. Shown as 64 lower-case hexadecimal digits; in JSON as `sha256:` and those
/// digits, so that a reader sees what kind of digest it is. [`FromStr`] takes both forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest that has these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{self}")
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Digest, Error> {
        let bad = || {
            Error::new(Kind::Digest, "not a sha-256 digest")
                .hint("64 digits 0-9 a-f, with or without `sha256:` before them")
        };
        let digits = text.strip_prefix(PREFIX).unwrap_or(text).as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(bad());
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(pairs) {
            let [high, low] = pair.map(|digit| match digit {
                b'0'..=b'9' => Some(digit - b'0'),
                b'a'..=b'f' => Some(digit - b'a' + 10),
                _ => None,
            });
            *byte = high.ok_or_else(bad)? << 4 | low.ok_or_else(bad)?;
        }
        Ok(Digest(out))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{PREFIX}{self}"))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        if !text.starts_with(PREFIX) {
            return Err(de::Error::custom("not a sha-256 digest"));
        }
        text.parse().map_err(|_| de::Error::custom("not a sha-256 digest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let digest = Digest::from_bytes(std::array::from_fn(|i| (i * 37) as u8));
        let text = digest.to_string();
        assert_eq!(text.len(), 64);
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(format!("sha256:{text}").parse(), Ok(digest));
        assert_eq!(format!("{digest:?}"), format!("sha256:{text}"));
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"sha256:{text}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>(&format!("\"{text}\"")).is_err());
    }

    #[test]
    fn other_text_is_refused() {
        let good = "ab".repeat(32);
        let cases = [
            ("empty", String::new()),
            ("short", good[..62].into()),
            ("odd", good[..63].into()),
            ("long", good.clone() + "00"),
            ("capitals", good.to_uppercase()),
            ("blank", format!(" {}", &good[1..])),
            ("no digit", format!("g{}", &good[1..])),
            ("not ASCII", "ñ".repeat(32)),
            ("another kind", format!("sha512:{good}")),
            ("twice", format!("sha256:sha256:{good}")),
        ];
        for (name, text) in cases {
            let error = text.parse::<Digest>().unwrap_err();
            assert_eq!(error.kind(), Kind::Digest, "{name}");
        }
    }
}
