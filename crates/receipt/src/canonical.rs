//! JSON with one spelling: keys sorted by their bytes, no blanks, no fractions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The bytes of `value`: JSON in UTF-8, keys sorted by their bytes, no blanks. In receipts its
/// numbers are whole and fractions are text (see [`crate::Setting`]), so that every reader gets
/// the same value. `value` serializes to JSON: a map with other keys than text gives `null`.
pub fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    // Records are made of maps with text keys, so serializing them cannot fail.
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    let mut out = Vec::new();
    write(&value, &mut out);
    out
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            // The map of `serde_json` keeps the order of insertion.
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            list(out, b"{}", sorted.into_iter(), |(key, value), out| {
                scalar(&Value::String(key.clone()), out);
                out.push(b':');
                write(value, out);
            });
        }
        Value::Array(values) => list(out, b"[]", values.iter(), write),
        other => scalar(other, out),
    }
}

fn list<T>(
    out: &mut Vec<u8>,
    ends: &[u8; 2],
    items: impl Iterator<Item = T>,
    mut item: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(ends[0]);
    for (i, value) in items.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        item(value, out);
    }
    out.push(ends[1]);
}

/// As `serde_json` writes it: UTF-8 as it is, escapes only where JSON demands them.
fn scalar(value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling() {
        let cases = [
            (
                "sorted",
                r#"{ "b": 1, "a": { "z": [ ], "y": { } } }"#,
                r#"{"a":{"y":{},"z":[]},"b":1}"#,
            ),
            ("order of a list stays", "[3, 1, -2]", "[3,1,-2]"),
            ("by bytes", r#"{"ñ":1,"z":2,"Z":3}"#, r#"{"Z":3,"z":2,"ñ":1}"#),
            ("escapes", r#""\u00f1\/\n\u0001\"""#, "\"ñ/\\n\\u0001\\\"\""),
            ("large", "18446744073709551615", "18446744073709551615"),
            ("plain", "[true,false,null]", "[true,false,null]"),
        ];
        for (name, text, want) in cases {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(String::from_utf8(to_bytes(&value)).unwrap(), want, "{name}");
        }
    }
}
