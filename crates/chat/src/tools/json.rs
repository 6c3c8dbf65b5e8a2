//! Calls as JSON between marks: an object, several, or lists of them.

use serde_json::{Map, Value};

use super::scan::{Scan, Stop, call};
use crate::message::ToolCall;

const NAME: [&str; 2] = ["name", "tool_name"];
const ARGUMENTS: [&str; 2] = ["arguments", "parameters"];
const ID: [&str; 3] = ["id", "tool_call_id", "call_id"];

/// A row of this form.
pub(super) struct Json {
    pub open: &'static str,
    /// Empty where the calls end with their JSON.
    pub close: &'static str,
    pub layout: Layout,
}

#[derive(PartialEq)]
pub(super) enum Layout {
    /// `{"name": …, "arguments": …}`.
    Named,
    /// The same in a fence of Markdown; the opening mark alone is an ordinary word.
    Fenced,
    /// `{"the name": {the arguments}}`.
    Keyed,
}

impl Json {
    pub fn starts(&self) -> [&'static str; 1] {
        [self.open]
    }
}

/// Reads from the opening mark on.
pub(super) fn read(row: &Json, scan: &mut Scan) -> Result<Vec<ToolCall>, Stop> {
    scan.eat(row.open);
    scan.skip_space();
    if row.layout == Layout::Fenced {
        let fence = scan.eat("```json") || scan.eat("```");
        scan.skip_space();
        if !fence && !scan.sees("[") {
            return Err(if scan.is_at_end() { Stop::Unfinished } else { Stop::Text });
        }
    }
    let mut calls = Vec::new();
    let mut any = false;
    loop {
        scan.skip_space();
        if !(scan.sees("{") || (scan.sees("[") && !(any && row.close.is_empty()))) {
            break;
        }
        match scan.json()? {
            Value::Array(items) => {
                for item in &items {
                    calls.extend(item_calls(row, item)?);
                }
            }
            item => calls.extend(item_calls(row, &item)?),
        }
        any = true;
    }
    if !any {
        return Err(match scan.is_at_end() {
            true => Stop::Unfinished,
            false => Stop::Malformed("a tool call is not JSON"),
        });
    }
    if row.layout == Layout::Fenced {
        scan.eat("```");
    }
    scan.close(row.close)?;
    Ok(calls)
}

fn item_calls(row: &Json, item: &Value) -> Result<Vec<ToolCall>, Stop> {
    let Value::Object(map) = item else {
        return Err(Stop::Malformed("a tool call is not an object"));
    };
    if row.layout == Layout::Keyed {
        return map.iter().map(|(name, value)| call(None, name, value.clone())).collect();
    }
    Ok(vec![from_object(map)?])
}

/// A call from an object with a name and arguments, flat or under `function`.
pub(super) fn from_object(map: &Map<String, Value>) -> Result<ToolCall, Stop> {
    let id = match one(map, &ID)? {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        Some(_) => return Err(Stop::Malformed("a tool call has an identity that is no text")),
    };
    let inner = match map.get("function") {
        Some(Value::Object(inner)) => inner,
        _ => map,
    };
    let Some(Value::String(name)) = one(inner, &NAME)? else {
        return Err(Stop::Malformed("a tool call has no name that a tool could have"));
    };
    call(id, name, one(inner, &ARGUMENTS)?.cloned().unwrap_or(Value::Null))
}

fn one<'a>(map: &'a Map<String, Value>, keys: &[&str]) -> Result<Option<&'a Value>, Stop> {
    let mut found = keys.iter().filter_map(|key| map.get(*key));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Stop::Malformed("a tool call says the same thing twice")),
        (first, None) => Ok(first),
    }
}
