//! Messages, calls and tools as the values that Ollama gives its templates.
//!
//! Facts: `template/template.go` and `api/types.go` of Ollama: names of fields, what JSON keeps
//! of a tool's definition, and how neighbouring messages are joined.

use std::rc::Rc;

use serde_json::Value as Json;

use super::value::{Field, List, Look, Map, Struct, Value};
use crate::error::{Error, Kind};
use crate::message::{Message, Role};
use crate::text::{Builder, Text};

fn data(text: &str) -> Value {
    Value::Str(Text::data(text))
}

fn field(name: &'static str, value: Value) -> Field {
    Field { name, json: name, optional: false, value }
}

fn tagged(name: &'static str, json: &'static str, optional: bool, value: Value) -> Field {
    Field { name, json, optional, value }
}

/// A field of any type: JSON leaves it out where it is nothing.
fn open(name: &'static str, json: &'static str, given: &Json) -> Result<Field, Error> {
    Ok(tagged(name, json, given.is_null(), from_json(given)?))
}

fn made(name: &'static str, look: Look, fields: Vec<Field>) -> Value {
    Value::Struct(Rc::new(Struct { name, fields, look }))
}

/// A map whose missing keys are nothing.
pub(super) fn map(entries: Vec<(Text, Value)>, look: Look) -> Value {
    Value::Map(Rc::new(Map { entries, look, nil: false, missing: Value::Nil }))
}

/// A conversation as Ollama joins it.
pub(super) struct Joined {
    /// All system messages.
    pub system: Text,
    /// Neighbours of one role are one message; what the later ones call is not kept.
    pub messages: Vec<(Role, Text, Vec<Field>)>,
}

/// Joins `messages`.
pub(super) fn join(messages: &[Message]) -> Result<Joined, Error> {
    let mut system = Builder::new();
    let mut joined: Vec<(Role, Text, Vec<Field>)> = Vec::new();
    let mut any = false;
    for message in messages {
        let content = Text::data(&message.content);
        if message.role == Role::System {
            system.push_plain(if any { "\n\n" } else { "" });
            system.push_text(&content);
            any = true;
        }
        match joined.last_mut() {
            Some((role, text, _)) if *role == message.role && *role != Role::Tool => {
                let mut both = Builder::new();
                both.push_text(text);
                both.push_plain("\n\n");
                both.push_text(&content);
                *text = both.finish();
            }
            _ => joined.push((message.role, content, rest(message)?)),
        }
    }
    Ok(Joined { system: system.finish(), messages: joined })
}

impl Joined {
    /// The messages as a template sees them.
    pub fn values(&mut self) -> Value {
        let values = self.messages.drain(..).map(|(role, content, rest)| {
            let mut fields = vec![
                field("Role", Value::plain(role.word())),
                field("Content", Value::Str(content)),
            ];
            fields.extend(rest);
            made("message", Look::Address, fields)
        });
        Value::List(List::new(values.collect(), Look::Address))
    }
}

/// The fields of a message behind its role and content.
fn rest(message: &Message) -> Result<Vec<Field>, Error> {
    let optional = |text: &Option<String>| data(text.as_deref().unwrap_or_default());
    let mut calls = Vec::new();
    for (index, call) in message.tool_calls.iter().enumerate() {
        let arguments = match &call.arguments {
            Json::Object(map) => sorted(map, Look::Json)?,
            Json::Null => map(Vec::new(), Look::Json),
            Json::String(text) => match serde_json::from_str(text) {
                Ok(Json::Object(map)) => sorted(&map, Look::Json)?,
                _ => return Err(no_object()),
            },
            _ => return Err(no_object()),
        };
        let function = vec![
            field("Index", Value::Int(index as i64)),
            field("Name", data(&call.name)),
            field("Arguments", arguments),
        ];
        calls.push(made(
            "tool call",
            Look::Fmt,
            vec![
                field("ID", optional(&call.id)),
                field("Function", made("function of a tool call", Look::Fmt, function)),
            ],
        ));
    }
    let calls = match calls.is_empty() {
        true => List::nil(Look::Fmt),
        false => List::new(calls, Look::Fmt),
    };
    let of_tool = |text: &Option<String>| match message.role {
        Role::Tool => optional(text),
        _ => data(""),
    };
    Ok(vec![
        field("Thinking", optional(&message.reasoning)),
        field("Images", Value::List(List::nil(Look::Fmt))),
        field("ToolCalls", Value::List(calls)),
        field("ToolName", of_tool(&message.name)),
        field("ToolCallID", of_tool(&message.tool_call_id)),
    ])
}

fn no_object() -> Error {
    Error::new(Kind::Option, "the arguments of a tool call are not an object")
}

/// JSON as Go reads it into no type: numbers are floats, maps are sorted.
fn from_json(json: &Json) -> Result<Value, Error> {
    crate::meter::step(1)?;
    Ok(match json {
        Json::Null => Value::Nil,
        Json::Bool(yes) => Value::Bool(*yes),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => data(text),
        Json::Array(items) => {
            let items = items.iter().map(from_json).collect::<Result<_, _>>()?;
            Value::List(List::new(items, Look::Fmt))
        }
        Json::Object(map) => sorted(map, Look::Fmt)?,
    })
}

fn sorted(given: &serde_json::Map<String, Json>, look: Look) -> Result<Value, Error> {
    let mut keys: Vec<&String> = given.keys().collect();
    keys.sort();
    let entry = |key: &String| Ok((Text::data(key), from_json(&given[key])?));
    Ok(map(keys.into_iter().map(entry).collect::<Result<_, Error>>()?, look))
}

/// The definitions of tools; nothing where there are none.
pub(super) fn tools(tools: &[Json]) -> Result<Value, Error> {
    if tools.is_empty() {
        return Ok(Value::List(List::nil(Look::Json)));
    }
    let items = tools.iter().map(tool).collect::<Result<_, _>>()?;
    Ok(Value::List(List::new(items, Look::Json)))
}

fn tool(given: &Json) -> Result<Value, Error> {
    let function = &given["function"];
    let parameters = &function["parameters"];
    let properties = match object(&parameters["properties"])? {
        None => Map { entries: Vec::new(), look: Look::Json, nil: true, missing: Value::Nil },
        Some(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let entry = |key: &String| Ok((Text::data(key), property(&map[key], 0)?));
            let entries = keys.into_iter().map(entry).collect::<Result<_, Error>>()?;
            Map { entries, look: Look::Json, nil: false, missing: property(&Json::Null, 0)? }
        }
    };
    let parameters = vec![
        tagged("Type", "type", false, string(&parameters["type"])?),
        open("Defs", "$defs", &parameters["$defs"])?,
        open("Items", "items", &parameters["items"])?,
        tagged("Required", "required", true, strings(&parameters["required"], Look::Fmt)?),
        tagged("Properties", "properties", false, Value::Map(Rc::new(properties))),
    ];
    let inner = vec![
        tagged("Name", "name", false, string(&function["name"])?),
        tagged("Description", "description", false, string(&function["description"])?),
        tagged("Parameters", "parameters", false, made("parameters", Look::Fmt, parameters)),
    ];
    let outer = vec![
        tagged("Type", "type", false, string(&given["type"])?),
        open("Items", "items", &given["items"])?,
        tagged("Function", "function", false, made("function", Look::Fmt, inner)),
    ];
    Ok(made("tool", Look::Json, outer))
}

/// One property of a tool's parameters.
fn property(given: &Json, depth: usize) -> Result<Value, Error> {
    if depth > 64 {
        return Err(Error::limit("the definition of a tool nests too deep"));
    }
    let any = match &given["anyOf"] {
        Json::Null => List::nil(Look::Fmt),
        Json::Array(items) => {
            let items = items.iter().map(|item| property(item, depth + 1));
            List::new(items.collect::<Result<_, _>>()?, Look::Fmt)
        }
        _ => return Err(wrong()),
    };
    let types = match &given["type"] {
        Json::String(name) => Value::List(List::new(vec![data(name)], Look::Types)),
        other => strings(other, Look::Types)?,
    };
    let choices = match &given["enum"] {
        Json::Null => Value::List(List::nil(Look::Fmt)),
        list @ Json::Array(_) => from_json(list)?,
        _ => return Err(wrong()),
    };
    let properties = match object(&given["properties"])? {
        None => Map { entries: Vec::new(), look: Look::Address, nil: true, missing: Value::Nil },
        Some(map) => {
            let entry =
                |(key, value): (&String, &Json)| Ok((Text::data(key), property(value, depth + 1)?));
            let entries = map.iter().map(entry).collect::<Result<_, Error>>()?;
            Map { entries, look: Look::Address, nil: false, missing: Value::Nil }
        }
    };
    let fields = vec![
        tagged("AnyOf", "anyOf", true, Value::List(any)),
        tagged("Type", "type", true, types),
        open("Items", "items", &given["items"])?,
        tagged("Description", "description", true, string(&given["description"])?),
        tagged("Enum", "enum", true, choices),
        tagged("Properties", "properties", true, Value::Map(Rc::new(properties))),
        tagged("Required", "required", true, strings(&given["required"], Look::Fmt)?),
    ];
    Ok(made(super::PROPERTY, Look::Fmt, fields))
}

fn object(given: &Json) -> Result<Option<&serde_json::Map<String, Json>>, Error> {
    match given {
        Json::Null => Ok(None),
        Json::Object(map) => Ok(Some(map)),
        _ => Err(wrong()),
    }
}

fn string(given: &Json) -> Result<Value, Error> {
    match given {
        Json::Null => Ok(data("")),
        Json::String(text) => Ok(data(text)),
        _ => Err(wrong()),
    }
}

fn strings(given: &Json, look: Look) -> Result<Value, Error> {
    match given {
        Json::Null => Ok(Value::List(List::nil(look))),
        Json::Array(items) => {
            let items = items.iter().map(string).collect::<Result<_, _>>()?;
            Ok(Value::List(List::new(items, look)))
        }
        _ => Err(wrong()),
    }
}

fn wrong() -> Error {
    Error::new(Kind::Option, "a tool's definition has a part of another type than it should")
        .hint("`type` and `description` are strings, `properties` an object, `required` a list")
}
