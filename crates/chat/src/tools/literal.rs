//! Calls as code: Python's `[f(a='x', n=2)]`, and `call:f{a:…,n:2}` with strings between marks.

use serde_json::{Map, Value};

use super::scan::{Scan, Stop, add, named};
use crate::message::ToolCall;

/// Nesting of lists and maps.
const MAX_DEPTH: usize = 64;

/// A row of Python calls.
pub(super) struct Python {
    pub open: &'static str,
    pub close: &'static str,
}

/// A row of calls in braces.
pub(super) struct Braces {
    pub open: &'static str,
    pub close: &'static str,
    /// Stands on both sides of a string.
    pub quote: &'static str,
}

/// `[f(a='x'), g()]` between marks.
pub(super) fn read_python(row: &Python, scan: &mut Scan) -> Result<Vec<ToolCall>, Stop> {
    scan.eat(row.open);
    let mut reader = Reader { text: scan.rest(), at: 0, quote: None, depth: 0 };
    reader.expect("[")?;
    let calls = reader.list("]", Reader::call)?;
    scan.go(scan.at() + reader.at);
    if calls.is_empty() {
        return Err(Stop::Malformed("a list of tool calls is empty"));
    }
    scan.close(row.close)?;
    Ok(calls)
}

/// `name.call(a="x")`, the form of built-in tools; the scan stands at the name.
pub(super) fn read_built_in(scan: &mut Scan) -> Result<ToolCall, Stop> {
    let mut reader = Reader { text: scan.rest(), at: 0, quote: None, depth: 0 };
    let mut call = reader.call()?;
    scan.go(scan.at() + reader.at);
    match call.name.strip_suffix(".call") {
        Some(name) => call.name = named(name)?.to_owned(),
        None => return Err(Stop::Text),
    }
    Ok(call)
}

/// `call:f{a:…}` between marks.
pub(super) fn read_braces(row: &Braces, scan: &mut Scan) -> Result<Vec<ToolCall>, Stop> {
    scan.eat(row.open);
    scan.skip_space();
    if !scan.eat("call:") {
        return Err(match "call:".starts_with(scan.rest()) {
            true => Stop::Unfinished,
            false => Stop::Malformed("a tool call does not say what it calls"),
        });
    }
    let name = named(scan.until("{")?)?.to_owned();
    let mut reader = Reader { text: scan.rest(), at: 0, quote: Some(row.quote), depth: 1 };
    let arguments = reader.map()?;
    scan.go(scan.at() + reader.at);
    scan.close(row.close)?;
    Ok(vec![ToolCall { id: None, name, arguments }])
}

/// A whole text as a Python literal.
pub(super) fn python_value(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0, quote: None, depth: 0 };
    let value = reader.value().ok()?;
    reader.space();
    reader.rest().is_empty().then_some(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The mark around strings; Python's quotes where there is none.
    quote: Option<&'static str>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, mark: &str) -> bool {
        self.space();
        let there = self.rest().starts_with(mark);
        if there {
            self.at += mark.len();
        }
        there
    }

    fn expect(&mut self, mark: &str) -> Result<(), Stop> {
        if self.eat(mark) { Ok(()) } else { Err(self.wrong()) }
    }

    fn wrong(&self) -> Stop {
        let quote = self.quote.is_some_and(|quote| quote.starts_with(self.rest()));
        match self.rest().is_empty() || quote {
            true => Stop::Unfinished,
            false => Stop::Malformed("the arguments of a tool call cannot be read"),
        }
    }

    /// Items with commas between, up to `close`.
    fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, Stop>,
    ) -> Result<Vec<T>, Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Malformed("the arguments of a tool call nest too deep"));
        }
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.eat(close) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        self.depth -= 1;
        Ok(items)
    }

    /// Letters, digits and what else a name of code holds.
    fn word(&mut self) -> Result<&'a str, Stop> {
        self.space();
        let rest = self.rest();
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
        let length = rest.find(|c| !inside(c)).ok_or(Stop::Unfinished)?;
        if length == 0 {
            return Err(self.wrong());
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// `name(a=1, b='x')`.
    fn call(&mut self) -> Result<ToolCall, Stop> {
        let name = named(self.word()?)?.to_owned();
        self.expect("(")?;
        let pairs = self.list(")", |reader| {
            let key = reader.word()?;
            reader.expect("=")?;
            Ok((key, reader.value()?))
        })?;
        let mut arguments = Map::new();
        for (key, value) in pairs {
            add(&mut arguments, key, value)?;
        }
        Ok(ToolCall { id: None, name, arguments: Value::Object(arguments) })
    }

    /// Pairs up to the brace that closes.
    fn map(&mut self) -> Result<Value, Stop> {
        let pairs = self.list("}", |reader| {
            reader.space();
            let key = match reader.string()? {
                Some(key) => key,
                None if reader.quote.is_some() => reader.word()?.to_owned(),
                None => return Err(reader.wrong()),
            };
            reader.expect(":")?;
            Ok((key, reader.value()?))
        })?;
        let mut map = Map::new();
        for (key, value) in pairs {
            add(&mut map, &key, value)?;
        }
        Ok(Value::Object(map))
    }

    fn value(&mut self) -> Result<Value, Stop> {
        self.space();
        if let Some(text) = self.string()? {
            return Ok(Value::String(text));
        }
        for (open, close) in [("[", "]"), ("(", ")")] {
            if self.eat(open) {
                return Ok(Value::Array(self.list(close, Reader::value)?));
            }
        }
        if self.eat("{") {
            return self.map();
        }
        let from = self.at;
        // A word may end with the text only where a whole literal is read.
        let word = match self.word() {
            Err(Stop::Unfinished) if !self.rest().is_empty() => {
                self.at = self.text.len();
                &self.text[from..]
            }
            word => word?,
        };
        let python = self.quote.is_none();
        Ok(match word {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            "true" if !python => Value::Bool(true),
            "false" if !python => Value::Bool(false),
            "null" if !python => Value::Null,
            word => match serde_json::from_str(word) {
                Ok(Value::Number(number)) => Value::Number(number),
                _ => {
                    self.at = from;
                    return Err(self.wrong());
                }
            },
        })
    }

    /// A string, if one begins here.
    fn string(&mut self) -> Result<Option<String>, Stop> {
        if let Some(quote) = self.quote {
            if !self.eat(quote) {
                return Ok(None);
            }
            let end = self.rest().find(quote).ok_or(Stop::Unfinished)?;
            let text = self.rest()[..end].to_owned();
            self.at += end + quote.len();
            return Ok(Some(text));
        }
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return Ok(None);
        };
        self.at += 1;
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((place, c)) = chars.next() {
            if c == quote {
                self.at += place + 1;
                return Ok(Some(out));
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            let (_, code) = chars.next().ok_or(Stop::Unfinished)?;
            let digits = match code {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            match code {
                _ if digits > 0 => {
                    let mut number = 0u32;
                    for _ in 0..digits {
                        let (_, digit) = chars.next().ok_or(Stop::Unfinished)?;
                        let digit = digit.to_digit(16).ok_or(Stop::Malformed(ESCAPE))?;
                        number = (number << 4) | digit;
                    }
                    out.push(char::from_u32(number).ok_or(Stop::Malformed(ESCAPE))?);
                }
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '\n' => {}
                '\\' | '\'' | '"' => out.push(code),
                // As Python: the backslash stays.
                code => out.extend(['\\', code]),
            }
        }
        Err(Stop::Unfinished)
    }
}

const ESCAPE: &str = "a string of a tool call has an escape that is none";
