//! Bytes and values that held words, overwritten when they go.

use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

/// A JSON value whose texts are wiped when it is dropped.
pub(crate) struct Wiped(pub Value);

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(members) => members.values_mut().for_each(wipe),
        _ => {}
    }
}

/// The value as JSON, in a buffer that is wiped when the last who holds it lets go.
pub(crate) fn bytes(value: &Wiped) -> Option<bytes::Bytes> {
    let mut out = Zeroizing::new(Vec::with_capacity(length(&value.0)));
    serde_json::to_writer(&mut *out, &value.0).ok()?;
    Some(bytes::Bytes::from_owner(Owned(out)))
}

struct Owned(Zeroizing<Vec<u8>>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// At least the length of the value as JSON, so that the buffer does not move and leave a copy.
fn length(value: &Value) -> usize {
    match value {
        // Six letters for a control character; most texts have few.
        Value::String(text) => {
            let escaped = text.bytes().filter(|b| *b < 0x20 || matches!(b, b'"' | b'\\')).count();
            text.len() + 5 * escaped + 2
        }
        Value::Array(items) => items.iter().map(|item| length(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| 6 * key.len() + 4 + length(value);
            members.iter().map(member).sum::<usize>() + 2
        }
        _ => 32,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_buffer_never_moves() {
        let values = [
            json!(null),
            json!("¿Qué \"dice\"\n\u{1}\\?"),
            json!({ "año": ["ñ", 1.5, -7, true, { "a\u{1}b": "\u{7f}\u{0}" }] }),
        ];
        for value in values {
            let text = value.to_string();
            assert!(length(&value) >= text.len(), "{text}");
            assert_eq!(&*bytes(&Wiped(value)).unwrap(), text.as_bytes());
        }
    }
}
