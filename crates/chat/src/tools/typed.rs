//! Arguments that a family writes without saying their type.

use serde_json::Value;

use super::literal;
use super::scan::{Scan, Stop};

/// How the text of an argument is to be read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Written {
    /// It is the string itself.
    String,
    /// It is JSON.
    Json,
    /// By the tool's definition: strings bare, the rest as JSON.
    Bare,
    /// The same, and the rest as JSON or as Python writes it (`True`, `None`, `['a']`).
    Python,
}

/// The value of argument `key` of `tool` from its text.
pub(super) fn value(
    scan: &Scan,
    tool: &str,
    key: &str,
    text: &str,
    written: Written,
) -> Result<Value, Stop> {
    let string = || Value::String(text.to_owned());
    let json = serde_json::from_str::<Value>(text).ok();
    match written {
        Written::String => return Ok(string()),
        Written::Json => {
            return json.ok_or(Stop::Malformed("an argument of a tool call is not JSON"));
        }
        Written::Bare | Written::Python => {}
    }
    let read = match json {
        None if written == Written::Python => literal::python_value(text),
        read => read,
    };
    let types = declared(scan.tools, tool, key);
    Ok(match read {
        // A string in quotes, where the tool does not take just any string.
        Some(Value::String(_)) | None => string(),
        Some(value) if types.is_empty() || types.iter().any(|name| fits(name, &value)) => value,
        Some(_) => string(),
    })
}

fn fits(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || (name == "integer" && !number.is_f64()),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// The types that a definition allows for an argument; empty where it does not say.
fn declared<'a>(tools: &'a [Value], tool: &str, key: &str) -> Vec<&'a str> {
    let functions = tools.iter().map(|given| given.get("function").unwrap_or(given));
    let mut found = functions.filter(|function| function["name"] == *tool);
    let Some(function) = found.next() else { return Vec::new() };
    let schema = &function["parameters"]["properties"][key];
    let mut types = Vec::new();
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|word| schema[word].as_array());
    for schema in std::iter::once(schema).chain(choices.flatten()) {
        match &schema["type"] {
            Value::String(name) => types.push(name.as_str()),
            Value::Array(names) => types.extend(names.iter().filter_map(Value::as_str)),
            _ => {}
        }
    }
    if schema["nullable"] == true && !types.is_empty() {
        types.push("null");
    }
    types
}
