//! Values of a receipt's options: numbers and words of this program, never a user's text.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use crate::Digest;

/// A word that stands in this program's source, or one read back from a receipt. It cannot be
/// made from text that came while running, so no prompt gets into a receipt by mistake.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Word(Cow<'static, str>);

impl Word {
    /// A word of the program.
    pub const fn new(word: &'static str) -> Word {
        Word(Cow::Borrowed(word))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The value of one option. A fraction is written as text, the shortest decimal that reads back
/// to the same bits in its own precision (`"0.7"`); a text of the user's, such as a stop string,
/// is given as its [`Digest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// On or off.
    Bool(bool),
    /// A whole number.
    Whole(u64),
    /// A whole number below zero.
    Negative(i64),
    /// A word, a fraction or a digest.
    Word(Word),
    /// Several.
    List(Vec<Setting>),
}

impl Setting {
    /// A word of the program.
    pub const fn word(word: &'static str) -> Setting {
        Setting::Word(Word::new(word))
    }
}

impl From<bool> for Setting {
    fn from(value: bool) -> Setting {
        Setting::Bool(value)
    }
}

impl From<u64> for Setting {
    fn from(value: u64) -> Setting {
        Setting::Whole(value)
    }
}

impl From<u32> for Setting {
    fn from(value: u32) -> Setting {
        Setting::Whole(value.into())
    }
}

impl From<usize> for Setting {
    fn from(value: usize) -> Setting {
        Setting::Whole(value as u64)
    }
}

impl From<i64> for Setting {
    fn from(value: i64) -> Setting {
        u64::try_from(value).map_or(Setting::Negative(value), Setting::Whole)
    }
}

impl From<f32> for Setting {
    fn from(value: f32) -> Setting {
        Setting::Word(Word(format!("{value:?}").into()))
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Setting {
        Setting::Word(Word(format!("{value:?}").into()))
    }
}

impl From<Digest> for Setting {
    fn from(value: Digest) -> Setting {
        Setting::Word(Word(format!("{value:?}").into()))
    }
}

impl<T: Into<Setting>> From<Vec<T>> for Setting {
    fn from(values: Vec<T>) -> Setting {
        Setting::List(values.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_back() {
        let digest = crate::sha256(b"");
        let cases: [(&str, Setting, String); 14] = [
            ("on", true.into(), "true".into()),
            ("zero", 0u32.into(), "0".into()),
            ("seed", u64::MAX.into(), u64::MAX.to_string()),
            ("size", 7usize.into(), "7".into()),
            ("below zero", (-5i64).into(), "-5".into()),
            ("not below zero", 5i64.into(), "5".into()),
            ("least", i64::MIN.into(), i64::MIN.to_string()),
            ("f32", 0.7f32.into(), "\"0.7\"".into()),
            ("f64", 0.1f64.into(), "\"0.1\"".into()),
            ("whole fraction", 1.0f32.into(), "\"1.0\"".into()),
            ("small", f32::MIN_POSITIVE.into(), "\"1.1754944e-38\"".into()),
            ("no number", f32::NAN.into(), "\"NaN\"".into()),
            ("digest", digest.into(), format!("\"sha256:{digest}\"")),
            ("list", vec![1u32, 2].into(), "[1,2]".into()),
        ];
        for (name, setting, want) in cases {
            let text = serde_json::to_string(&setting).unwrap();
            assert_eq!(text, want, "{name}");
            assert_eq!(serde_json::from_str::<Setting>(&text).unwrap(), setting, "{name}");
        }
        assert_eq!(Setting::word("greedy"), Setting::Word(Word::new("greedy")));
        assert_eq!(Word::new("año").as_str(), "año");
        assert!(serde_json::from_str::<Setting>("0.5").is_err(), "a fraction that is no text");
    }
}
