//! Values of `const` and `enum`: those that can be written, and told from others.

use serde_json::Value;

use super::{numbers, unsupported, unwritable};
use crate::error::Error;

/// Checks every number, text and name within a value of `word`.
pub(super) fn check(word: &str, value: &Value) -> Result<(), Error> {
    let text = |text: &str| match text.contains(unwritable) {
        true => Err(unsupported(word, "has a control character that cannot be written")),
        false => Ok(()),
    };
    match value {
        Value::Number(number) => numbers::exact(number).map(drop).ok_or_else(|| {
            unsupported(word, "has a number beyond 2^53 or with more than 12 decimals")
        }),
        Value::String(string) => text(string),
        Value::Array(values) => values.iter().try_for_each(|value| check(word, value)),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            text(name)?;
            check(word, value)
        }),
        _ => Ok(()),
    }
}
