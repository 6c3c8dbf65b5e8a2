//! A place in an answer, and what stops the reading of a call.

use serde_json::{Map, Value};

use crate::message::ToolCall;

/// Longest name of a tool or of an argument, and longest identity of a call, in bytes.
const MAX_NAME: usize = 256;

/// Why no call was read.
#[derive(Debug, PartialEq)]
pub(super) enum Stop {
    /// What looked like a mark is ordinary text.
    Text,
    /// The answer ends inside the call.
    Unfinished,
    /// What is wrong with the call; never words of it.
    Malformed(&'static str),
}

/// A place in a text.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Definitions of the tools that were offered.
    pub tools: &'a [Value],
}

impl<'a> Scan<'a> {
    pub fn new(text: &'a str, tools: &'a [Value]) -> Scan<'a> {
        Scan { text, at: 0, tools }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes to a place that lies on a character's border.
    pub fn go(&mut self, at: usize) {
        self.at = at;
    }

    /// One character on.
    pub fn step(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn since(&self, from: usize) -> &'a str {
        &self.text[from..]
    }

    pub fn between(&self, from: usize, to: usize) -> &'a str {
        &self.text[from..to]
    }

    /// Whether nothing but white space follows.
    pub fn is_at_end(&self) -> bool {
        self.rest().trim().is_empty()
    }

    pub fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// The nearest of `marks` from here on; looks no further than it.
    pub fn find_any(&self, marks: &[&str]) -> Option<usize> {
        let bytes = self.rest().as_bytes();
        let begins = |at: &usize| marks.iter().any(|m| bytes[*at..].starts_with(m.as_bytes()));
        (0..bytes.len()).find(begins).map(|place| self.at + place)
    }

    pub fn sees(&self, mark: &str) -> bool {
        self.rest().starts_with(mark)
    }

    /// Takes `mark` if it stands here.
    pub fn eat(&mut self, mark: &str) -> bool {
        let there = self.sees(mark);
        if there {
            self.at += mark.len();
        }
        there
    }

    /// The text up to `mark`, and goes behind it.
    pub fn until(&mut self, mark: &str) -> Result<&'a str, Stop> {
        let found = self.rest().find(mark).ok_or(Stop::Unfinished)?;
        let text = &self.rest()[..found];
        self.at += found + mark.len();
        Ok(text)
    }

    /// Takes a mark that may be missing only where the answer ends.
    pub fn close(&mut self, mark: &str) -> Result<(), Stop> {
        let before = self.at;
        self.skip_space();
        if mark.is_empty() {
            self.at = before;
        } else if mark.starts_with(self.rest()) {
            self.at = self.text.len();
        } else if !self.eat(mark) {
            return Err(Stop::Malformed("a tool call is not closed where it should be"));
        }
        Ok(())
    }

    /// One JSON value, which begins here.
    pub fn json(&mut self) -> Result<Value, Stop> {
        let mut stream = serde_json::Deserializer::from_str(self.rest()).into_iter();
        let value = stream.next();
        let read = stream.byte_offset();
        match value {
            Some(Ok(value)) => {
                self.at += read;
                Ok(value)
            }
            None => Err(Stop::Unfinished),
            Some(Err(error)) if error.is_eof() => Err(Stop::Unfinished),
            Some(Err(_)) => Err(Stop::Malformed("a tool call is not JSON")),
        }
    }
}

/// Where a mark begins that the text does not end: two characters of it at least.
pub(super) fn partial(text: &str, marks: &[&str]) -> usize {
    let longest = |mark: &&str| {
        let ends = mark.char_indices().skip(2).map(|(end, _)| &mark[..end]);
        ends.filter(|part| text.ends_with(part)).map(str::len).max()
    };
    text.len() - marks.iter().filter_map(longest).max().unwrap_or(0)
}

/// A call by its parts; arguments written as a string are read.
pub(super) fn call(id: Option<String>, name: &str, arguments: Value) -> Result<ToolCall, Stop> {
    let arguments = match arguments {
        Value::Object(map) => Value::Object(map),
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Value::Object(map),
            _ => return Err(Stop::Malformed("the arguments of a tool call are not an object")),
        },
        _ => return Err(Stop::Malformed("the arguments of a tool call are not an object")),
    };
    Ok(ToolCall { id, name: named(name)?.to_owned(), arguments })
}

/// A name that a tool can have.
pub(super) fn named(name: &str) -> Result<&str, Stop> {
    let name = name.trim();
    let odd = |c: char| c.is_whitespace() || c.is_control() || "<>\"'{}[]()".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || name.contains(odd) {
        return Err(Stop::Malformed("a tool call has no name that a tool could have"));
    }
    Ok(name)
}

/// A name of an argument.
pub(super) fn key(name: &str) -> Result<&str, Stop> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_NAME || name.contains(['<', '>', '\n']) {
        return Err(Stop::Malformed("an argument of a tool call has no name"));
    }
    Ok(name)
}

/// Adds an argument; the second of one name is a fault.
pub(super) fn add(map: &mut Map<String, Value>, key: &str, value: Value) -> Result<(), Stop> {
    match map.insert(key.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(Stop::Malformed("a tool call has an argument twice")),
    }
}
