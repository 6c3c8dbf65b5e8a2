//! The names of who can answer. A name is said, never guessed: no key, no host and no model name
//! chooses one.

use std::fmt;

use crate::error::{Error, Kind};

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Name {
    /// This process.
    Local,
    /// Nobody: answers that follow from the request alone, for tests of what is built on answers.
    Mock,
    /// Anthropic's service, or another that speaks its wire.
    Anthropic,
    /// OpenAI's service, or another that speaks one of its wires.
    OpenAi,
    /// A service that speaks one of OpenAI's wires and has no address of its own here.
    OpenAiCompatible,
}

/// Every provider of this version.
const NAMES: &[(&str, Name)] = &[
    ("local", Name::Local),
    ("mock", Name::Mock),
    ("anthropic", Name::Anthropic),
    ("openai", Name::OpenAi),
    ("openai-compatible", Name::OpenAiCompatible),
];

impl Name {
    /// The provider called `name`.
    ///
    /// # Errors
    ///
    /// An unknown name; the text lists the known ones.
    pub fn from_name(name: &str) -> Result<Name, Error> {
        NAMES.iter().find(|row| row.0 == name).map(|row| row.1).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|row| row.0).collect();
            let what = match shown(name) {
                true => format!("unknown provider `{name}`"),
                false => "a value that is not a provider's name".into(),
            };
            Error::new(Kind::UnknownProvider, what).hint(format!("known: {}", known.join(", ")))
        })
    }

    /// Whether answers come from elsewhere: text leaves this process.
    pub fn is_remote(self) -> bool {
        !matches!(self, Name::Local | Name::Mock)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

/// Whether a value may stand in an error text: a plain short word. Anything else may be a key
/// that was put into the wrong variable.
pub(crate) fn shown(value: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=20).contains(&value.len()) && value.bytes().all(plain)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_repeated() {
        let cases = [
            ("opnai", true),
            ("Local_2-x", true),
            ("abcdefghijklmnopqrst", true),
            ("abcdefghijklmnopqrstu", false),
            ("sk-ant-0123456789abcdefghijkl", false),
            ("a key", false),
            ("clave=1", false),
            ("señor", false),
            ("a.b", false),
            ("", false),
        ];
        for (value, repeated) in cases {
            let text = Name::from_name(value).unwrap_err().to_string();
            let part = if repeated { value } else { "a value that is not a provider's name" };
            assert!(text.contains(part) && text.contains("known: local"), "{value}: {text}");
            assert!(repeated || value.is_empty() || !text.contains(value), "{value}: {text}");
        }
    }
}
