//! JSON of a checkpoint's small files: no key twice, not too deep, numbers as they are written.

use std::{collections::HashSet, fmt};

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::{Error, Kind};

/// Most levels of lists and maps within each other; published files have four.
const DEEPEST: usize = 32;

/// A JSON value; maps keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// A whole number from 0.
    U64(u64),
    /// A whole number below 0.
    I64(i64),
    F64(f64),
    Str(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    /// The value of `bytes`; an error says of which file (`what`) and where, never what stands
    /// there.
    pub fn parse(bytes: &[u8], what: &str) -> Result<Json, Error> {
        serde_json::from_slice(bytes).map_err(|e| {
            let why = match e.classify() {
                serde_json::error::Category::Data => "not sound JSON: a key twice, or too deep,",
                _ => "not JSON",
            };
            let what = format!("{what} is {why} at line {} column {}", e.line(), e.column());
            Error::new(Kind::Invalid, what)
        })
    }

    /// The entry called `name` of a map.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Map(entries) = self else { return None };
        entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text, if it is one.
    pub fn str(&self) -> Option<&str> {
        if let Json::Str(text) = self { Some(text) } else { None }
    }

    /// The whole number from 0, if it is one.
    pub fn u64(&self) -> Option<u64> {
        if let Json::U64(number) = self { Some(*number) } else { None }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        Level(0).deserialize(deserializer)
    }
}

/// How deep the value to come lies.
#[derive(Clone, Copy)]
struct Level(usize);

impl Level {
    fn within<E: de::Error>(self) -> Result<Level, E> {
        if self.0 == DEEPEST { Err(E::custom("too deep")) } else { Ok(Level(self.0 + 1)) }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::U64(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or(Json::I64(value), Json::U64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::F64(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Str(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let (within, mut out) = (self.within()?, Vec::new());
        while let Some(item) = items.next_element_seed(within)? {
            out.push(item);
        }
        Ok(Json::List(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let (within, mut out, mut seen) = (self.within()?, Vec::new(), HashSet::new());
        while let Some(key) = entries.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(de::Error::custom("a key twice"));
            }
            out.push((key, entries.next_value_seed(within)?));
        }
        Ok(Json::Map(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_what_is_not() {
        let sound = r#"{"año": [1, -2, 2.5, "ñ", null, true, {}]}"#;
        let list = vec![
            Json::U64(1),
            Json::I64(-2),
            Json::F64(2.5),
            Json::Str("ñ".into()),
            Json::Null,
            Json::Bool(true),
            Json::Map(vec![]),
        ];
        assert_eq!(Json::parse(sound.as_bytes(), "x").unwrap().get("año"), Some(&Json::List(list)));
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Json::parse(deep(DEEPEST).as_bytes(), "x").is_ok());
        let cases = [
            ("too deep", deep(DEEPEST + 1), "not sound JSON"),
            ("a million levels", "[".repeat(1_000_000), "not"),
            ("a key twice", r#"{"secreto":1,"secreto":2}"#.into(), "not sound JSON"),
            ("twice below", r#"[{"a":{"b":1,"\u0062":2}}]"#.into(), "not sound JSON"),
            ("cut", r#"{"a":"#.into(), "not JSON at line 1 column 5"),
            ("two values", "1 2".into(), "not JSON"),
            ("not a number", "NaN".into(), "not JSON"),
            ("beyond double", "1e999".into(), "not"),
        ];
        for (name, text, says) in cases {
            let error = Json::parse(text.as_bytes(), "config.json").unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("secreto"), "{name}: {error}");
        }
        assert!(Json::parse(b"\"\xff\"", "x").is_err(), "not UTF-8");
    }
}
