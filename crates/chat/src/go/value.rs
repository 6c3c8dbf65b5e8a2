//! The values a Go template computes with, and how Go prints them and writes them as JSON.
//!
//! Facts: the documentation of Go's `text/template`, `fmt` and `encoding/json`, and the types that
//! Ollama gives its templates (`template/template.go`, `api/types.go`).

use std::rc::Rc;

use crate::error::Error;
use crate::meter;
use crate::text::{Builder, Text};

#[derive(Clone)]
pub(super) enum Value {
    /// Nothing: a name that the data do not have, or JSON's null.
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Text),
    List(List),
    Map(Rc<Map>),
    Struct(Rc<Struct>),
}

/// How Go prints a container.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Look {
    /// As `fmt` does: `[a b]`, `map[k:v]`, `{a b}`.
    Fmt,
    /// As JSON, by a method of its type.
    Json,
    /// A list of names of types: one alone, or as `fmt` does.
    Types,
    /// As an address in memory, which no text can hold.
    Address,
}

/// A list, or a part of one.
#[derive(Clone)]
pub(super) struct List {
    items: Rc<Vec<Value>>,
    from: usize,
    to: usize,
    pub look: Look,
    /// Go's list that was never made; JSON's null.
    pub nil: bool,
}

pub(super) struct Map {
    /// Sorted by key, but for a map that is an [`Look::Address`].
    pub entries: Vec<(Text, Value)>,
    pub look: Look,
    pub nil: bool,
    /// What a key that is not there gives.
    pub missing: Value,
}

pub(super) struct Struct {
    pub name: &'static str,
    pub fields: Vec<Field>,
    pub look: Look,
}

pub(super) struct Field {
    pub name: &'static str,
    /// The name in JSON.
    pub json: &'static str,
    /// Whether JSON leaves it out where it is empty.
    pub optional: bool,
    pub value: Value,
}

impl List {
    pub fn new(items: Vec<Value>, look: Look) -> List {
        let to = items.len();
        List { items: Rc::new(items), from: 0, to, look, nil: false }
    }

    /// A list that was not made.
    pub fn nil(look: Look) -> List {
        List { nil: true, ..List::new(Vec::new(), look) }
    }

    pub fn items(&self) -> &[Value] {
        &self.items[self.from..self.to]
    }

    /// Items `from..to`, which are there.
    pub fn slice(&self, from: usize, to: usize) -> List {
        List { from: self.from + from, to: self.from + to, ..self.clone() }
    }
}

impl Map {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| known.as_str() == key).map(|(_, value)| value)
    }
}

impl Value {
    pub fn plain(text: &str) -> Value {
        Value::Str(Text::plain(text))
    }

    /// The kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "string",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Struct(inner) => inner.name,
        }
    }

    pub fn is_true(&self) -> bool {
        match self {
            Value::Nil => false,
            Value::Bool(yes) => *yes,
            Value::Int(int) => *int != 0,
            Value::Float(float) => *float != 0.0,
            Value::Str(text) => text.len() > 0,
            Value::List(list) => !list.items().is_empty(),
            Value::Map(map) if map.look == Look::Address => !map.nil,
            Value::Map(map) => !map.entries.is_empty(),
            Value::Struct(_) => true,
        }
    }

    /// What `json:",omitempty"` leaves out.
    fn is_empty(&self) -> bool {
        !matches!(self, Value::Struct(_)) && !self.is_true()
    }

    /// Prints the value as an action does; `outer` where it stands alone.
    pub fn print(&self, out: &mut Builder, outer: bool) -> Result<(), Error> {
        meter::step(1)?;
        match self {
            Value::Nil => out.push_plain(if outer { "<no value>" } else { "<nil>" }),
            Value::Bool(yes) => out.push_plain(if *yes { "true" } else { "false" }),
            Value::Int(int) => out.push_plain(&int.to_string()),
            Value::Float(float) => out.push_plain(&short(*float)),
            Value::Str(text) => out.push_text(text),
            Value::List(List { look: Look::Json, .. }) => self.json(out)?,
            Value::List(list) if list.look == Look::Types && list.items().len() < 2 => {
                if let Some(item) = list.items().first() {
                    item.print(out, false)?;
                }
            }
            Value::List(list) if list.look != Look::Address => {
                out.push_plain("[");
                self::each(list.items(), out, |item, out| item.print(out, false))?;
                out.push_plain("]");
            }
            Value::Map(map) if map.look == Look::Json => match map.nil {
                true => out.push_plain("{}"),
                false => self.json(out)?,
            },
            Value::Map(map) if map.look == Look::Fmt => {
                out.push_plain("map[");
                self::each(&map.entries, out, |(key, value), out| {
                    out.push_text(key);
                    out.push_plain(":");
                    value.print(out, false)
                })?;
                out.push_plain("]");
            }
            Value::Struct(inner) if inner.look == Look::Json => self.json(out)?,
            // Behind a list, a message is an address.
            Value::Struct(inner) if inner.look == Look::Fmt || outer => {
                out.push_plain("{");
                self::each(&inner.fields, out, |field, out| field.value.print(out, false))?;
                out.push_plain("}");
            }
            Value::Map(map) if map.nil => out.push_plain("<nil>"),
            _ => {
                return Err(Error::unsupported(
                    "a value is printed that would show as an address in memory",
                ));
            }
        }
        meter::fits(out.len())
    }

    /// Writes the value as Go's `json.Marshal` does.
    pub fn json(&self, out: &mut Builder) -> Result<(), Error> {
        meter::step(1)?;
        match self {
            Value::Nil => out.push_plain("null"),
            Value::Bool(yes) => out.push_plain(if *yes { "true" } else { "false" }),
            Value::Int(int) => out.push_plain(&int.to_string()),
            Value::Float(float) => out.push_plain(&number(*float)),
            Value::Str(text) => string(text, out)?,
            Value::List(list) if list.nil && list.look != Look::Types => out.push_plain("null"),
            Value::List(list) if list.look == Look::Types && list.items().len() == 1 => {
                list.items()[0].json(out)?;
            }
            Value::List(list) => {
                out.push_plain("[");
                for (place, item) in list.items().iter().enumerate() {
                    out.push_plain(if place > 0 { "," } else { "" });
                    item.json(out)?;
                }
                out.push_plain("]");
            }
            Value::Map(map) if map.nil => out.push_plain("null"),
            Value::Map(map) => {
                out.push_plain("{");
                for (place, (key, value)) in map.entries.iter().enumerate() {
                    out.push_plain(if place > 0 { "," } else { "" });
                    string(key, out)?;
                    out.push_plain(":");
                    value.json(out)?;
                }
                out.push_plain("}");
            }
            Value::Struct(inner) => {
                out.push_plain("{");
                let written = inner.fields.iter().filter(|f| !(f.optional && f.value.is_empty()));
                for (place, field) in written.enumerate() {
                    out.push_plain(if place > 0 { ",\"" } else { "\"" });
                    out.push_plain(field.json);
                    out.push_plain("\":");
                    field.value.json(out)?;
                }
                out.push_plain("}");
            }
        }
        meter::fits(out.len())
    }
}

fn each<T>(
    items: &[T],
    out: &mut Builder,
    mut print: impl FnMut(&T, &mut Builder) -> Result<(), Error>,
) -> Result<(), Error> {
    for (place, item) in items.iter().enumerate() {
        out.push_plain(if place > 0 { " " } else { "" });
        print(item, out)?;
    }
    Ok(())
}

/// The digits and the exponent of the shortest decimal that reads back as `float`.
fn digits(float: f64) -> (String, i32) {
    let text = format!("{:e}", float.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

fn exponent(float: f64, width: usize) -> String {
    let (digits, exponent) = digits(float);
    let sign = if float.is_sign_negative() { "-" } else { "" };
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{digits}e{mark}{:0width$}", exponent.abs())
}

/// A float as `fmt` prints it with `%v`.
pub(super) fn short(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let (_, power) = digits(float);
    // Go takes six for the count of digits where it asks for the shortest.
    if float != 0.0 && !(-4..6).contains(&power) { exponent(float, 2) } else { float.to_string() }
}

/// A float as `encoding/json` writes it.
fn number(float: f64) -> String {
    let size = float.abs();
    if float != 0.0 && !(1e-6..1e21).contains(&size) {
        exponent(float, 1)
    } else {
        float.to_string()
    }
}

/// A string as `encoding/json` writes it: HTML's characters as escapes.
fn string(text: &Text, out: &mut Builder) -> Result<(), Error> {
    meter::room(text.len())?;
    out.push_plain("\"");
    for (range, data) in text.runs() {
        for c in text.as_str()[range].chars() {
            let short = match c {
                '"' => "\\\"",
                '\\' => "\\\\",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\u{8}' => "\\b",
                '\u{c}' => "\\f",
                _ => "",
            };
            if !short.is_empty() {
                out.push(short, data);
            } else if c < ' ' || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
                out.push(&format!("\\u{:04x}", u32::from(c)), data);
            } else {
                out.push(c.encode_utf8(&mut [0; 4]), data);
            }
        }
    }
    out.push_plain("\"");
    Ok(())
}
