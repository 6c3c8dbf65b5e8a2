//! Answers in messages of their own, each with a header that names its channel and recipient.

use serde_json::Value;

use super::elements::{self, Elements};
use super::scan::{Scan, Stop, call};
use super::typed::Written;
use super::{Parts, scan, whole};
use crate::message::ToolCall;

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
/// What ends a message.
const ENDS: [&str; 6] = ["<|end|>", "<|call|>", "<|return|>", "<|eom|>", "<|eot|>", START];

/// Calls inside a message that are elements, not JSON.
const INNER: Elements = Elements {
    section: ("<atem:function_calls>", "</atem:function_calls>"),
    open: "<atem:invoke name=\"",
    named: "\"",
    key: "<atem:parameter name=\"",
    keyed: "\"",
    value: "",
    end: "</atem:parameter>",
    tag: ">",
    close: "</atem:invoke>",
    written: Written::Bare,
};

/// `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>` and the like.
pub(super) fn read(scan: &mut Scan, out: &mut Parts) -> Result<(), &'static str> {
    while !scan.rest().is_empty() {
        let begin = scan.at();
        let Ok(header) = scan.until(MESSAGE) else {
            let rest = scan.rest();
            if rest.contains("<|") || rest.trim_start().starts_with("to=") {
                out.unfinished(rest);
            } else {
                out.text(rest);
            }
            return Ok(());
        };
        let before = header.find("<|").map_or(header, |at| &header[..at]);
        let before = before.split("to=").next().unwrap_or_default();
        if before.trim() != "assistant" {
            out.text(before);
        }
        let start = scan.at();
        let found = scan.find_any(&ENDS);
        let end = found.unwrap_or(scan.since(0).len());
        let body = scan.between(start, end);
        // Where the answer ends, the mark that ends the message may be cut.
        let said = &body[..scan::partial(body, &ENDS)];
        let channel = word(header, CHANNEL).unwrap_or("final");
        match word(header, "to=") {
            None | Some("user" | "all" | "assistant") if channel == "analysis" => {
                out.thought(said.trim());
            }
            None | Some("user" | "all" | "assistant") => out.text(said),
            Some("self") => out.thought(said.trim()),
            Some(name) => match read_call(scan, name, body) {
                Ok(calls) => out.calls(calls),
                Err(Stop::Malformed(what)) => return Err(what),
                Err(_) if found.is_some() => return Err("a tool call ends too early"),
                Err(_) => {
                    out.unfinished(scan.since(begin));
                    return Ok(());
                }
            },
        }
        scan.go(end);
        for mark in ENDS.iter().filter(|mark| **mark != START) {
            scan.eat(mark);
        }
    }
    Ok(())
}

fn read_call(scan: &Scan, name: &str, body: &str) -> Result<Vec<ToolCall>, Stop> {
    let mut inner = Scan::new(body, scan.tools);
    inner.skip_space();
    let calls = if inner.sees("<atem:") {
        elements::read(&INNER, &mut inner)?
    } else if name == "python" && !inner.sees("{") {
        return match inner.is_at_end() {
            true => Err(Stop::Unfinished),
            false => Ok(vec![whole::code(body)]),
        };
    } else {
        let value: Value = match inner.is_at_end() {
            true => return Err(Stop::Unfinished),
            false => inner.json()?,
        };
        vec![call(None, name.strip_prefix("functions.").unwrap_or(name), value)?]
    };
    // The mark that ends the message may be cut.
    let rest = inner.rest().trim();
    match rest.is_empty() || ENDS.iter().any(|mark| mark.starts_with(rest)) {
        true => Ok(calls),
        false => Err(Stop::Malformed("a tool call is followed by something else")),
    }
}

/// The word after `mark`.
fn word<'a>(header: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(mark)?;
    let end = rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|word| !word.is_empty())
}
