//! Calls as marked elements: a name, and each argument between marks of its own.

use serde_json::{Map, Value};

use super::scan::{Scan, Stop, add, key, named};
use super::typed::{self, Written};
use crate::message::ToolCall;

/// A row of this form. Marks that a family does not have are empty.
pub(super) struct Elements {
    /// Around all calls of an answer, or around each; what opens it may be missing.
    pub section: (&'static str, &'static str),
    /// Before the name.
    pub open: &'static str,
    /// After the name; where it is empty, a name ends with its line or with the next mark.
    pub named: &'static str,
    /// Before an argument's name.
    pub key: &'static str,
    /// After it.
    pub keyed: &'static str,
    /// Before an argument's value, where it does not follow the name's mark at once.
    pub value: &'static str,
    /// After the value.
    pub end: &'static str,
    /// Ends the tags that have attributes besides the name.
    pub tag: &'static str,
    /// After the last argument.
    pub close: &'static str,
    /// How values are written where no attribute says so.
    pub written: Written,
}

impl Elements {
    pub fn starts(&self) -> Vec<&'static str> {
        [self.section.0, self.open].into_iter().filter(|mark| !mark.is_empty()).collect()
    }
}

/// Reads the calls of one section.
pub(super) fn read(row: &Elements, scan: &mut Scan) -> Result<Vec<ToolCall>, Stop> {
    let section = !row.section.0.is_empty() && scan.eat(row.section.0);
    let mut calls = Vec::new();
    loop {
        scan.skip_space();
        let more = section && scan.sees(row.open);
        if !calls.is_empty() && !more {
            break;
        }
        if row.open.starts_with(scan.rest()) {
            return Err(Stop::Unfinished);
        }
        calls.push(read_one(row, scan)?);
    }
    if section {
        scan.close(row.section.1)?;
    } else if !row.section.1.is_empty() {
        // Some models forget the mark that opens and write the one that closes.
        scan.eat(row.section.1);
    }
    Ok(calls)
}

fn read_one(row: &Elements, scan: &mut Scan) -> Result<ToolCall, Stop> {
    if !scan.eat(row.open) {
        return Err(Stop::Malformed("a list of tool calls holds something else"));
    }
    let name = if row.named.is_empty() {
        let end = scan.find_any(&["\n", row.key, row.close]).ok_or(Stop::Unfinished)?;
        let name = scan.between(scan.at(), end);
        scan.go(end);
        name
    } else {
        scan.until(row.named)?
    };
    let name = named(name)?;
    attributes(row, scan)?;
    let mut arguments = Map::new();
    loop {
        scan.skip_space();
        if scan.eat(row.close) {
            let arguments = Value::Object(arguments);
            return Ok(ToolCall { id: None, name: name.to_owned(), arguments });
        }
        if !scan.eat(row.key) {
            let rest = scan.rest();
            let begun = [row.close, row.key].iter().any(|mark| mark.starts_with(rest));
            return Err(match begun {
                true => Stop::Unfinished,
                false => Stop::Malformed("a tool call holds something that is no argument"),
            });
        }
        let key = key(scan.until(row.keyed)?)?;
        let written = attributes(row, scan)?.unwrap_or(row.written);
        if !row.value.is_empty() {
            scan.skip_space();
            if row.value.starts_with(scan.rest()) && !scan.sees(row.value) {
                return Err(Stop::Unfinished);
            }
            if !scan.eat(row.value) {
                return Err(Stop::Malformed("an argument of a tool call has no value"));
            }
        }
        let text = scan.until(row.end)?;
        // A value on lines of its own does not own the line ends around it.
        let text = text.strip_prefix('\n').unwrap_or(text);
        let text = text.strip_suffix('\n').unwrap_or(text);
        add(&mut arguments, key, typed::value(scan, name, key, text, written)?)?;
    }
}

/// The rest of a tag, and what it says of the value's type.
fn attributes(row: &Elements, scan: &mut Scan) -> Result<Option<Written>, Stop> {
    if row.tag.is_empty() {
        return Ok(None);
    }
    let text = scan.until(row.tag)?;
    let says = |word: &str| text.contains(word);
    Ok(if says("string=\"true\"") || says("type=\"string\"") {
        Some(Written::String)
    } else if says("string=\"false\"") || says("type=\"") {
        Some(Written::Json)
    } else {
        None
    })
}

/// What stands before each tag of the nested form.
const SPACE: &str = "]<]minimax[>[";
/// Opens the calls of the nested form.
pub(super) const NESTED_OPEN: &str = "]<]minimax[>[<tool_call>";
const NESTED_CALL: &str = "<invoke name=\"";
/// Nesting of values in the nested form.
const MAX_DEPTH: usize = 64;

/// Reads calls whose arguments are elements within elements, a list's items called `item`.
pub(super) fn read_nested(scan: &mut Scan) -> Result<Vec<ToolCall>, Stop> {
    scan.eat(NESTED_OPEN);
    let mut calls = Vec::new();
    loop {
        tag(scan)?;
        if scan.eat("</tool_call>") {
            return match calls.is_empty() {
                true => Err(Stop::Malformed("a list of tool calls is empty")),
                false => Ok(calls),
            };
        }
        if !scan.eat(NESTED_CALL) {
            return Err(unknown(scan, &[NESTED_CALL, "</tool_call>"]));
        }
        let name = named(scan.until("\">")?)?.to_owned();
        let mut arguments = Map::new();
        loop {
            tag(scan)?;
            if scan.eat("</invoke>") {
                break;
            }
            let (key, value) = element(scan, &name, None, 0)?;
            add(&mut arguments, &key, value)?;
        }
        calls.push(ToolCall { id: None, name, arguments: Value::Object(arguments) });
    }
}

/// Goes to the next tag.
fn tag(scan: &mut Scan) -> Result<(), Stop> {
    scan.skip_space();
    if scan.eat(SPACE) { Ok(()) } else { Err(unknown(scan, &[SPACE])) }
}

fn unknown(scan: &Scan, marks: &[&str]) -> Stop {
    match marks.iter().any(|mark| mark.starts_with(scan.rest())) {
        true => Stop::Unfinished,
        false => Stop::Malformed("a tool call holds something that is no argument"),
    }
}

/// One element from its opening tag on: its name and its value. `top` is the argument it is in.
fn element(
    scan: &mut Scan,
    tool: &str,
    top: Option<&str>,
    depth: usize,
) -> Result<(String, Value), Stop> {
    if depth > MAX_DEPTH {
        return Err(Stop::Malformed("the arguments of a tool call nest too deep"));
    }
    if !scan.eat("<") {
        return Err(unknown(scan, &["<"]));
    }
    let name = key(scan.until(">")?)?.to_owned();
    let close = format!("</{name}>");
    let text = scan.until(SPACE)?;
    if scan.eat(&close) {
        let written = if top.is_some() { Written::String } else { Written::Bare };
        let read = typed::value(scan, tool, &name, text, written)?;
        // Inside a list or an object no definition is asked: what is JSON is JSON.
        let read = match (top, serde_json::from_str::<Value>(text)) {
            (Some(_), Ok(value)) if !value.is_string() => value,
            _ => read,
        };
        return Ok((name, read));
    }
    if close.starts_with(scan.rest()) {
        return Err(Stop::Unfinished);
    }
    if !text.trim().is_empty() {
        return Err(Stop::Malformed("an argument of a tool call mixes text and elements"));
    }
    let mut children = Vec::new();
    loop {
        if scan.eat(&close) {
            break;
        }
        children.push(element(scan, tool, Some(top.unwrap_or(&name)), depth + 1)?);
        tag(scan)?;
    }
    let value = if children.iter().all(|(name, _)| name == "item") {
        Value::Array(children.into_iter().map(|(_, value)| value).collect())
    } else {
        let mut map = Map::new();
        for (key, value) in children {
            add(&mut map, &key, value)?;
        }
        Value::Object(map)
    };
    Ok((name, value))
}
