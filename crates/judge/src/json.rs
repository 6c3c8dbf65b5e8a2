//! JSON at the door: no key twice, not too deep, not too long. `serde_json` alone keeps the last of
//! two equal keys and says nothing.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, error::Category};

use crate::{Error, Kind};

/// Most bytes of a text: what the hosted API takes.
pub const LONGEST: usize = 32 << 20;
/// Most levels of lists and maps within each other.
pub const DEEPEST: usize = 64;
/// Faults of values that are JSON.
const WHYS: [&str; 3] = [TWICE, TOO_DEEP, NOT_FINITE];
const TWICE: &str = "a key twice";
const TOO_DEEP: &str = "too deep";
const NOT_FINITE: &str = "a number that is none";

/// The value of a text that should be `what`.
///
/// # Errors
///
/// What is no JSON; a key twice; more than [`DEEPEST`] levels or [`LONGEST`] bytes; a number that no
/// double holds. The place is told, and never a word of the text.
pub fn parse(text: &str, what: &str) -> Result<Value, Error> {
    parse_within(text, what, DEEPEST)
}

/// The same of a text that may have `deepest` levels, 127 at most.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_within(text: &str, what: &str, deepest: usize) -> Result<Value, Error> {
    if text.len() > LONGEST {
        let what = format!("{what} of {} bytes", text.len());
        return Err(Error::new(Kind::Json, what).with_hint(format!("at most {LONGEST} bytes")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let strict = Strict { left: deepest };
    let value = strict.deserialize(&mut reader).and_then(|v| reader.end().map(|()| v));
    value.map_err(|e| {
        // Of its own, `serde_json` has nothing to say to values that may be anything.
        let why = match (e.classify(), e.to_string()) {
            (Category::Data, said) => WHYS.iter().find(|why| said.starts_with(**why)).copied(),
            (Category::Eof, _) => Some("it ends too early"),
            _ => None,
        };
        let place = match text.contains('\n') {
            true => format!("line {}, column {}", e.line(), e.column()),
            false => format!("column {}", e.column()),
        };
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Error::new(Kind::Json, format!("not {what}{why} ({place})"))
            .with_hint(format!("no key twice, at most {deepest} levels, no numbers beyond double"))
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

/// A JSON text without blanks between its parts, its texts in one spelling and its numbers as they
/// are written. `None` for what is no JSON.
pub(crate) fn compact(text: &str) -> Option<String> {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('"') {
        out.extend(rest[..at].chars().filter(|c| !c.is_ascii_whitespace()));
        let mut texts = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<String>();
        let text = texts.next()?.ok()?;
        out.push_str(&Value::String(text).to_string());
        rest = &rest[at + texts.byte_offset()..];
    }
    out.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    Some(out)
}

#[derive(Clone, Copy)]
struct Strict {
    /// Levels that may still lie within.
    left: usize,
}

impl Strict {
    fn within<E: de::Error>(self) -> Result<Strict, E> {
        let left = self.left.checked_sub(1).ok_or_else(|| E::custom(TOO_DEEP))?;
        Ok(Strict { left })
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
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom(NOT_FINITE))
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
                return Err(de::Error::custom(TWICE));
            }
        }
        Ok(Value::Object(out))
    }
}

/// A finite number as Python's `repr` gives it, which models of that world were trained on: the fewest digits that lead back to it, with an exponent
/// below −4 and from 16 on.
pub fn float(value: f64) -> String {
    let shown = format!("{value:e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { format!("{plain}.0") }
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
        let says = [
            (r#"{"a":1,"a":2}"#.to_owned(), "not a test: a key twice (column 13)"),
            ("{\n\"a\":\n1e999}".into(), "not a test (line 3, column 5)"),
            (deep(65), "not a test: too deep (column 66)"),
            (String::new(), "not a test: it ends too early (column 0)"),
            ("{\"secreto\":".into(), "not a test: it ends too early (column 11)"),
            ("{\"secreto\" 1}".into(), "not a test (column 12)"),
        ];
        for (text, what) in says {
            assert_eq!(parse(&text, "a test").unwrap_err().what(), what);
        }
        let value = parse(r#"{"a":["uno",{"b":"dos"}],"c":3}"#, "a test").unwrap();
        assert_eq!(text_of(&value), "uno\ndos\n");
        assert_eq!((depth(&value), depth(&Value::Null)), (3, 0));
    }

    #[test]
    fn numbers_as_python_spells_them() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (2.5, "2.5"),
            (1e21, "1e+21"),
            (1e-7, "1e-07"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (0.1, "0.1"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
        ];
        for (value, want) in cases {
            assert_eq!(float(value), want);
        }
    }
}
