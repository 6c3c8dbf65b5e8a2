//! Fractions in artefacts: written as text, so that canonical bytes read back to the same bits.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number that is written as the shortest decimal text that reads back to the same bits, such as
/// `"0.1"`; `"inf"` for a loss without bound. Not a number is refused on reading.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Fraction(pub f64);

impl fmt::Debug for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<f64> for Fraction {
    fn from(value: f64) -> Fraction {
        Fraction(value)
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:?}", self.0))
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fraction, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value: f64 = text.parse().map_err(|_| de::Error::custom("not a fraction"))?;
        if value.is_nan() || format!("{value:?}") != text {
            return Err(de::Error::custom("not a fraction in its one spelling"));
        }
        Ok(Fraction(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling() {
        for value in [0.0, -0.0, 0.1, 1.0, 1e-300, 1e21, f64::MAX, f64::INFINITY, 1.0 / 3.0] {
            let text = serde_json::to_string(&Fraction(value)).unwrap();
            let back: Fraction = serde_json::from_str(&text).unwrap();
            assert_eq!(back.0.to_bits(), value.to_bits(), "{text}");
        }
        for wrong in ["\"NaN\"", "\"1\"", "\"0.10\"", "\" 0.1\"", "0.1", "\"0,1\"", "\"\""] {
            assert!(serde_json::from_str::<Fraction>(wrong).is_err(), "{wrong}");
        }
    }
}
