//! Calls without marks around them: JSON that is the answer, and a recipient on a line of its own.

use serde_json::{Map, Value};

use super::Parts;
use super::json::from_object;
use super::literal;
use super::scan::{Scan, Stop};
use crate::message::ToolCall;

/// Before code, and before calls of built-in tools.
const CODE: &str = "<|python_tag|>";
/// The keys that an object may have to be a call and nothing else.
const KEYS: [&str; 5] = ["type", "id", "name", "parameters", "arguments"];
/// Before a recipient.
const TO: &str = ">>>";
/// The recipient of what is said to the user.
const ALL: &str = "all";
/// The tool that takes code.
const PYTHON: &str = "python";

/// A call of the tool that takes code.
pub(super) fn code(text: &str) -> ToolCall {
    let arguments = Map::from_iter([("code".to_owned(), Value::from(text.trim()))]);
    ToolCall { id: None, name: PYTHON.to_owned(), arguments: Value::Object(arguments) }
}

/// `{"name": …, "parameters": {…}}` anywhere, and code or built-in calls after their mark.
///
/// An object that has other keys, or no arguments, is what the model says.
pub(super) fn read_whole(scan: &mut Scan, out: &mut Parts) -> Result<(), &'static str> {
    let mut from = scan.at();
    while let Some(begin) = scan.find_any(&[CODE, "{"]) {
        scan.go(begin);
        if scan.eat(CODE) {
            out.text(scan.between(from, begin));
            from = scan.at();
            scan.skip_space();
            if scan.sees("{") {
                continue;
            }
            return read_code(scan, out, begin);
        }
        let object = match scan.json() {
            Ok(Value::Object(object)) => object,
            Err(Stop::Unfinished) if begins_call(scan.rest()) => {
                out.text(scan.between(from, begin));
                out.unfinished(scan.rest());
                return Ok(());
            }
            _ => {
                scan.step();
                continue;
            }
        };
        if !is_call(&object) {
            continue;
        }
        match from_object(&object) {
            Ok(call) => {
                let text = scan.between(from, begin);
                // Several calls stand in a row, some with a semicolon between.
                let between = matches!(text.trim(), ";" | "," | "");
                if !between {
                    out.text(text);
                }
                out.calls(vec![call]);
                from = scan.at();
            }
            Err(Stop::Malformed(what)) => return Err(what),
            Err(_) => {}
        }
    }
    let rest = scan.since(from);
    let cut = super::scan::partial(rest, &[CODE]);
    if rest[..cut].trim() != ";" {
        out.text(&rest[..cut]);
    }
    if cut < rest.len() {
        out.unfinished(&rest[cut..]);
    }
    Ok(())
}

fn read_code(scan: &mut Scan, out: &mut Parts, begin: usize) -> Result<(), &'static str> {
    if scan.is_at_end() {
        out.unfinished(scan.since(begin));
        return Ok(());
    }
    let start = scan.at();
    match literal::read_built_in(scan) {
        Ok(call) if scan.is_at_end() => out.calls(vec![call]),
        Err(Stop::Unfinished) if scan.rest().contains(".call(") => {
            out.unfinished(scan.since(begin));
        }
        _ => out.calls(vec![code(scan.since(start))]),
    }
    Ok(())
}

fn is_call(object: &Map<String, Value>) -> bool {
    let known = |key: &String| KEYS.contains(&key.as_str());
    let given = object.get("parameters").or_else(|| object.get("arguments"));
    object.keys().all(known)
        && object.get("name").is_some_and(Value::is_string)
        && given.is_some_and(|given| given.is_object() || given.is_string() || given.is_null())
}

/// Whether an object that the answer does not end may become a call.
fn begins_call(text: &str) -> bool {
    let mut words = text.trim_start_matches('{').trim_start().split('"');
    let (_, key) = (words.next(), words.next());
    key.is_none_or(|key| KEYS.iter().any(|known| known.starts_with(key)))
}

/// `NAME`, a line end, JSON; the next after `>>>`. What is said is to `all`.
pub(super) fn read_recipients(scan: &mut Scan, out: &mut Parts) -> Result<(), &'static str> {
    let mut first = true;
    loop {
        let begin = scan.at();
        let marked = scan.eat(TO);
        let rest = scan.rest();
        let Some((name, body)) = rest.split_once('\n').filter(|(name, _)| is_name(name)) else {
            if marked && is_name(rest) {
                out.unfinished(scan.since(begin));
            } else {
                out.text(scan.since(begin));
            }
            return Ok(());
        };
        let name = name.trim();
        let known =
            |tool: &Value| tool.get("function").unwrap_or(tool)["name"].as_str() == Some(name);
        let json = body.trim_start().starts_with('{');
        let to = marked || name == ALL || name == PYTHON || json || scan.tools.iter().any(known);
        let start = begin + (rest.len() - body.len()) + if marked { TO.len() } else { 0 };
        let end = next(scan.since(start)).map_or(scan.since(0).len(), |at| start + at);
        if !to && first {
            out.text(scan.between(begin, end));
        } else if name == ALL {
            out.text(scan.between(start, end));
        } else if name == PYTHON && !json {
            out.calls(vec![code(scan.between(start, end))]);
        } else {
            scan.go(start);
            scan.skip_space();
            match scan.json().and_then(|value| super::scan::call(None, name, value)) {
                Ok(call) if scan.at() <= end && scan.between(scan.at(), end).trim().is_empty() => {
                    out.calls(vec![call]);
                }
                Ok(_) => return Err("a tool call is followed by something else"),
                Err(Stop::Malformed(what)) => return Err(what),
                Err(_) => {
                    out.unfinished(scan.since(begin));
                    return Ok(());
                }
            }
        }
        scan.go(end);
        first = false;
        if scan.rest().is_empty() {
            return Ok(());
        }
    }
}

fn is_name(line: &str) -> bool {
    let line = line.trim_end();
    !line.is_empty() && line.chars().all(in_name)
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Where the next recipient is named.
fn next(text: &str) -> Option<usize> {
    text.match_indices(TO).map(|(at, _)| at).find(|at| {
        let rest = &text[at + TO.len()..];
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        end > 0 && matches!(rest[end..].chars().next(), None | Some('\r' | '\n'))
    })
}
