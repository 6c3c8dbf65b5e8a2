//! JSON as Python writes it, which is what the model was trained to read: `", "` and `": "` between
//! values, letters as they are, numbers in Python's spelling.

use recinto_judge::json::float;
use serde_json::Value;

/// A value as text: a text as it is, anything else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => respelled(&other.to_string()),
    }
}

/// Sound JSON in Python's spelling (`json.dumps`, letters not escaped). Whole numbers keep all
/// their digits.
pub(super) fn respelled(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let bytes = json.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                let text: String = serde_json::from_str(&json[at..end]).unwrap_or_default();
                quoted(&text, &mut out);
                at = end;
                continue;
            }
            b',' => out.push_str(", "),
            b':' => out.push_str(": "),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'-' | b'0'..=b'9' => {
                let rest = &bytes[at..];
                let part = |b: &&u8| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = at + rest.iter().take_while(part).count();
                number(&json[at..end], &mut out);
                at = end;
                continue;
            }
            // Brackets and the words true, false and null.
            other => out.push(char::from(other)),
        }
        at += 1;
    }
    out
}

/// One past the closing quote of the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn number(text: &str, out: &mut String) {
    match text {
        "-0" => out.push('0'),
        whole if !whole.contains(['.', 'e', 'E']) => out.push_str(whole),
        _ => out.push_str(&float(text.parse().unwrap_or(f64::NAN))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_python_writes_them() {
        let cases = [
            ("spaces", r#"{"a":[1,2],"b":{}, "c" : []}"#, r#"{"a": [1, 2], "b": {}, "c": []}"#),
            ("words", "[true,false,null]", "[true, false, null]"),
            ("large", "[100000000000000000000,-0,1E5]", "[100000000000000000000, 0, 100000.0]"),
            (
                "letters",
                "\"\\u00f1and\\u00fa \\u2028 \\/ \\ud83d\\ude00\"",
                "\"ñandú \u{2028} / 😀\"",
            ),
            (
                "escapes",
                r#""\n\t\"\\ \u0001 \u007f \b\f\r""#,
                "\"\\n\\t\\\"\\\\ \\u0001 \u{7f} \\b\\f\\r\"",
            ),
            ("marks in strings", r#"{"a,b":"c:d, 1.50"}"#, r#"{"a,b": "c:d, 1.50"}"#),
            ("an escape at the end", r#"["\\","x"]"#, r#"["\\", "x"]"#),
        ];
        for (name, json, want) in cases {
            assert_eq!(respelled(json), want, "{name}");
        }
        assert_eq!(text_of(&Value::String("¿qué?".into())), "¿qué?", "a text as it is");
    }
}
