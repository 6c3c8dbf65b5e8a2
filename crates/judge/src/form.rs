//! The three forms of a question, and the buckets that calibration and gates keep apart.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Kind};

/// The form of a question. On the wire (the hosted API's `type`): `noul`, `choice`, `score`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Form {
    /// Whether a statement holds: the answer is the probability of yes.
    #[serde(rename = "noul")]
    Whether,
    /// One of several labels, or nothing.
    #[serde(rename = "choice")]
    Choose,
    /// A place on a scale of described levels, counted from 0.
    #[serde(rename = "score")]
    Rate,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 3] = [Form::Whether, Form::Choose, Form::Rate];

    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Form::Whether => "noul",
            Form::Choose => "choice",
            Form::Rate => "score",
        }
    }
}

/// How many options, in the steps by which published checkpoints keep temperatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// Two, or one.
    Two,
    /// Three to five.
    Few,
    /// Six to ten.
    Some,
    /// Eleven and more.
    Many,
}

/// Each size, its name, and the most options it has.
const SIZES: [(Size, &str, usize); 4] = [
    (Size::Two, "2", 2),
    (Size::Few, "3-5", 5),
    (Size::Some, "6-10", 10),
    (Size::Many, "11+", usize::MAX),
];

impl Size {
    /// The size that `options` options have.
    pub fn of(options: usize) -> Size {
        SIZES.iter().find(|(_, _, most)| options <= *most).map_or(Size::Many, |row| row.0)
    }

    /// Whether it has no end: counts of it can be far apart.
    pub fn is_open(self) -> bool {
        self == Size::Many
    }

    fn name(self) -> &'static str {
        SIZES.iter().find(|(size, _, _)| *size == self).map_or("", |row| row.1)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Form and size together, written `choice:3-5`: rows of one bucket share a temperature, and
/// answers of one bucket share a threshold. Confidence is not comparable between buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// The form of the question.
    pub form: Form,
    /// The number of its options, roughly.
    pub size: Size,
}

impl Bucket {
    /// The bucket of a question with `options` options.
    pub fn of(form: Form, options: usize) -> Bucket {
        Bucket { form, size: Size::of(options) }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.form.name(), self.size)
    }
}

impl FromStr for Bucket {
    type Err = Error;

    fn from_str(text: &str) -> Result<Bucket, Error> {
        let unknown = || {
            Error::new(Kind::Json, "not a bucket")
                .with_hint("form and size, such as noul:2, choice:3-5, score:6-10 or choice:11+")
        };
        let (form, size) = text.split_once(':').ok_or_else(unknown)?;
        let form = Form::ALL.into_iter().find(|f| f.name() == form).ok_or_else(unknown)?;
        let size = SIZES.iter().find(|(_, name, _)| *name == size).ok_or_else(unknown)?.0;
        Ok(Bucket { form, size })
    }
}

impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bucket {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bucket, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("not a bucket"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_names() {
        let cases = [
            (Form::Whether, 2, "noul:2"),
            (Form::Choose, 1, "choice:2"),
            (Form::Choose, 3, "choice:3-5"),
            (Form::Choose, 5, "choice:3-5"),
            (Form::Rate, 6, "score:6-10"),
            (Form::Rate, 10, "score:6-10"),
            (Form::Choose, 11, "choice:11+"),
            (Form::Choose, usize::MAX, "choice:11+"),
        ];
        for (form, options, want) in cases {
            let bucket = Bucket::of(form, options);
            assert_eq!(bucket.to_string(), want);
            assert_eq!(want.parse::<Bucket>().unwrap(), bucket);
            let json = serde_json::to_string(&bucket).unwrap();
            assert_eq!(serde_json::from_str::<Bucket>(&json).unwrap(), bucket);
        }
        for wrong in ["", "noul", "noul:3", "elección:2", "choice:", "choice:3–5", "Choice:2"] {
            assert!(wrong.parse::<Bucket>().is_err(), "{wrong}");
        }
    }
}
