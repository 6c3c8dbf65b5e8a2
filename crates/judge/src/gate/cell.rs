//! Which answers share a threshold: those of one bucket, and for yes or no, of one side if asked.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Answer, Bucket, Error, Form, Kind, Value};

/// A bucket, and for whether the side that was answered; written `noul:2`, `noul:2:yes`.
///
/// Sides make a zone of two thresholds: sure enough of no, sure enough of yes, and between them a
/// person. Errors of the two sides rarely cost the same, nor are they equally frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The bucket.
    pub bucket: Bucket,
    /// Whether the answer was yes; `None` for both sides together and for other forms.
    pub yes: Option<bool>,
}

impl From<Bucket> for Cell {
    fn from(bucket: Bucket) -> Cell {
        Cell { bucket, yes: None }
    }
}

impl Cell {
    /// The cell of an answer, its side told.
    pub fn of(answer: &Answer) -> Cell {
        let yes = match answer.value() {
            Value::Whether { yes } => Some(*yes > 0.5),
            _ => None,
        };
        Cell { bucket: answer.bucket(), yes }
    }

    /// The cell as a gate keeps it: with its side, or without.
    pub(super) fn kept(self, sides: bool) -> Cell {
        if sides { self } else { self.bucket.into() }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bucket.fmt(f)?;
        match self.yes {
            None => Ok(()),
            Some(yes) => f.write_str(if yes { ":yes" } else { ":no" }),
        }
    }
}

impl FromStr for Cell {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cell, Error> {
        let sides = [(":yes", true), (":no", false)];
        let side = sides.iter().find_map(|(end, yes)| Some((text.strip_suffix(end)?, *yes)));
        let Some((bucket, yes)) = side else { return Ok(text.parse::<Bucket>()?.into()) };
        let bucket: Bucket = bucket.parse()?;
        if bucket.form != Form::Whether {
            return Err(Error::new(Kind::Json, "a side of a form that has none")
                .with_hint("only noul has yes and no"));
        }
        Ok(Cell { bucket, yes: Some(yes) })
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cell, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("not a cell of a gate"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_back() {
        for text in ["noul:2", "noul:2:yes", "noul:2:no", "choice:3-5", "score:11+"] {
            let cell: Cell = text.parse().unwrap();
            assert_eq!(cell.to_string(), text);
        }
        for text in ["choice:2:yes", "noul:2:sí", "noul:yes", "noul:2:yes:yes", ":yes", ""] {
            assert!(text.parse::<Cell>().is_err(), "{text}");
        }
    }
}
