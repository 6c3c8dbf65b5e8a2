//! JSON at the door: no key twice, not too deep, not too long. `serde_json` alone keeps the last of
//! two equal keys and says nothing.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{Error, Kind};

/// Most bytes of a text: what the hosted API takes.
pub const LONGEST: usize = 32 << 20;
/// Most levels of lists and maps within each other.
pub const DEEPEST: usize = 64;

/// The value of a text.
pub(crate) fn parse(text: &str, what: &str) -> Result<Value, Error> {
    if text.len() > LONGEST {
        let what = format!("{what} of {} bytes", text.len());
        return Err(Error::new(Kind::Json, what).with_hint(format!("at most {LONGEST} bytes")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut reader).and_then(|v| reader.end().map(|()| v));
    value.map_err(|e| {
        Error::json(what, &e)
            .with_hint(format!("no key twice, at most {DEEPEST} levels, no numbers beyond double"))
    })
}

/// How deep lists and maps lie within each other.
pub(crate) fn depth(value: &Value) -> usize {
    // Values made in code may be deeper than any text, so no recursion.
    let (mut deepest, mut open) = (0, vec![(value, 0)]);
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().map(|v| (v, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|v| (v, depth + 1))),
            _ => continue,
        }
        deepest = deepest.max(depth + 1);
    }
    deepest
}

/// All text in a value, keys left out, in order, each followed by a line break.
pub(crate) fn text_of(value: &Value) -> String {
    let (mut out, mut open) = (String::new(), vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(map) => open.extend(map.values().rev()),
            _ => {}
        }
    }
    out
}

/// A value as models read it: text as it stands, a map or a list as JSON without blanks, keys in
/// their order.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn within<E: de::Error>(self) -> Result<Strict, E> {
        let depth = self.depth + 1;
        if depth > DEEPEST { Err(E::custom("too deep")) } else { Ok(Strict { depth }) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let within = self.within()?;
        let mut out = Vec::new();
        while let Some(item) = items.next_element_seed(within)? {
            out.push(item);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let within = self.within()?;
        let mut out = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(within)?;
            if out.insert(key, value).is_some() {
                return Err(de::Error::custom("a key twice"));
            }
        }
        Ok(Value::Object(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        let cases = [
            ("sound", r#"{"año":[1,2.5,"ñ",null,true]}"#.to_owned(), true),
            ("64 levels", deep(64), true),
            ("65 levels", deep(65), false),
            ("a million levels", "[".repeat(1_000_000), false),
            ("a key twice", r#"{"a":1,"a":1}"#.into(), false),
            ("a key twice, escaped", r#"{"ñ":1,"\u00f1":2}"#.into(), false),
            ("deep below, a key twice", r#"{"a":[{"b":1,"b":2}]}"#.into(), false),
            ("beyond double", "1e999".into(), false),
            ("two values", "1 2".into(), false),
            ("cut", r#"{"a":"#.into(), false),
            ("empty", String::new(), false),
        ];
        for (name, text, sound) in cases {
            let read = parse(&text, "a test");
            assert_eq!(read.is_ok(), sound, "{name}");
            if let Ok(value) = read {
                assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap(), "{name}");
                assert!(depth(&value) <= DEEPEST);
            }
        }
        let secret = parse(r#"{"secreto":1,"secreto":2}"#, "a test").unwrap_err().to_string();
        assert!(!secret.contains("secreto"), "{secret}");
        let value = parse(r#"{"a":["uno",{"b":"dos"}],"c":3}"#, "a test").unwrap();
        assert_eq!(text_of(&value), "uno\ndos\n");
        assert_eq!((depth(&value), depth(&Value::Null)), (3, 0));
    }
}
