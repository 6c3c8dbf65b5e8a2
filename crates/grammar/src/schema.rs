//! JSON Schemas (draft 2020-12) in the words that the compiler keeps exactly.
//!
//! A schema is read whole before anything is compiled: every keyword by the table of
//! `keywords`, every value by its form. What comes out has no word left whose meaning is not
//! kept: annotations are gone, patterns and formats are spelled out, references lead to places that
//! were read.

mod constants;
mod formats;
mod keywords;
mod numbers;
mod pattern;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

pub use formats::{NUMBERS, TEXTS, TextFormat};
pub use keywords::{KEYWORDS, Keyword, Treatment};

use crate::error::{Error, Kind};
use numbers::Numbers;

/// The draft.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Words of a schema that tell the compiler itself what to do; only we may.
pub(crate) const RESERVED: &str = "x-guidance";
/// Types of JSON.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
/// Largest bound of a length or a number of items.
const LARGEST: u64 = 1 << 24;

/// The schema in the compiler's words.
///
/// # Errors
///
/// What is no schema, or has a word that cannot be kept exactly: the error names it.
pub(crate) fn lower(schema: &Value) -> Result<Map<String, Value>, Error> {
    // Read twice: where references lead is known when everything was read once.
    let mut first = Reader::default();
    first.schema(schema, "#", "#")?;
    first.numbers.check()?;
    let mut reader = Reader { targets: Some(first.places), ..Reader::default() };
    match reader.schema(schema, "#", "#")? {
        Value::Object(members) => Ok(members),
        Value::Bool(false) => Err(Error::new(Kind::Empty, "the schema `false` allows no value")),
        _ => Ok(Map::new()),
    }
}

#[derive(Default)]
struct Reader {
    /// Pointers into the schema as it was given, and `#anchor`s, with where they lead now.
    places: HashMap<String, String>,
    /// The same of the whole schema, once it was read.
    targets: Option<HashMap<String, String>>,
    numbers: Numbers,
}

fn unsupported(word: &str, what: &str) -> Error {
    Error::new(Kind::Unsupported, format!("`{word}` {what}"))
        .hint("what cannot be kept exactly is refused; leave the word out to do without")
}

fn form(word: &str, wanted: &str) -> Error {
    Error::new(Kind::Invalid, format!("`{word}` must be {wanted}"))
}

impl Reader {
    /// One schema; `given` and `now` are pointers to it, as it was given and as it is written.
    fn schema(&mut self, schema: &Value, given: &str, now: &str) -> Result<Value, Error> {
        self.places.insert(given.into(), now.into());
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(_) => return Ok(schema.clone()),
            _ => return Err(Error::new(Kind::Invalid, "a schema is an object or a boolean")),
        };
        let mut out = Map::new();
        let mut also = Vec::new();
        for (word, value) in members {
            let row = KEYWORDS.iter().find(|row| row.name == word);
            match row.map(|row| row.treatment) {
                Some(Treatment::Annotation) => {}
                Some(Treatment::Refused) if word == "uniqueItems" && value == false => {}
                Some(Treatment::Refused) => {
                    return Err(unsupported(word, "cannot be kept exactly"));
                }
                Some(Treatment::Kept) => {
                    let at = (format!("{given}/{}", escaped(word)), format!("{now}/{word}"));
                    self.kept(word, value, (&at.0, &at.1), given == "#", &mut out, &mut also)?;
                }
                None if word == RESERVED => {
                    return Err(unsupported(word, "is a reserved word"));
                }
                // What vendors add to a schema.
                None if word.starts_with("x-") => {}
                None => {
                    let what = "is no keyword of JSON Schema, draft 2020-12, that is known";
                    return Err(unsupported(&shown(word), what)
                        .hint("words that begin with `x-` are annotations"));
                }
            }
        }
        for (word, range) in self.bounds(members)? {
            out.insert(word.into(), range);
        }
        if let Some(least) = properties_at_least(members)? {
            out.insert("minProperties".into(), json!(least));
        } else {
            out.remove("minProperties");
        }
        if !also.is_empty() {
            match out.entry("allOf").or_insert_with(|| json!([])) {
                Value::Array(all) => all.extend(also),
                _ => return Err(form("allOf", "a list of schemas")),
            }
        }
        Ok(Value::Object(out))
    }

    /// A keyword that holds: into `out` in the compiler's words, or a schema that holds `also`.
    fn kept(
        &mut self,
        word: &str,
        value: &Value,
        (given, now): (&str, &str),
        root: bool,
        out: &mut Map<String, Value>,
        also: &mut Vec<Value>,
    ) -> Result<(), Error> {
        let lowered = match word {
            "type" => types(value)?,
            "enum" => {
                let values = value.as_array().filter(|values| !values.is_empty());
                let values = values.ok_or_else(|| form(word, "a list with a value"))?;
                values.iter().try_for_each(|value| constants::check(word, value))?;
                value.clone()
            }
            "const" => {
                constants::check(word, value)?;
                value.clone()
            }
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                let Value::Object(schemas) = value else {
                    return Err(form(word, "an object of schemas"));
                };
                let mut lowered = Map::new();
                for (name, schema) in schemas {
                    let key = match word {
                        "patternProperties" => pattern::whole(name)?,
                        _ => name.clone(),
                    };
                    let given = format!("{given}/{}", escaped(name));
                    let now = format!("{now}/{}", encoded(&key));
                    let schema = self.schema(schema, &given, &now)?;
                    if lowered.insert(key, schema).is_some() {
                        return Err(unsupported(word, "has two patterns that mean the same"));
                    }
                }
                Value::Object(lowered)
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
                let schemas = schemas.ok_or_else(|| form(word, "a list of schemas"))?;
                let mut lowered = Vec::with_capacity(schemas.len());
                for (at, schema) in schemas.iter().enumerate() {
                    let (given, now) = (format!("{given}/{at}"), format!("{now}/{at}"));
                    lowered.push(self.schema(schema, &given, &now)?);
                }
                Value::Array(lowered)
            }
            "items" if value.is_array() => {
                return Err(unsupported(word, "as a list of schemas is of an older draft")
                    .hint("`prefixItems` is its name in draft 2020-12"));
            }
            "items" | "additionalProperties" => self.schema(value, given, now)?,
            "required" => {
                let names = value.as_array().ok_or_else(|| form(word, "a list of names"))?;
                if names.iter().any(|name| !name.is_string()) {
                    return Err(form(word, "a list of names"));
                }
                value.clone()
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "maxProperties" => {
                json!(count(word, value)?)
            }
            // These are written once all words of the schema are known.
            "minProperties" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                return Ok(());
            }
            "multipleOf" => {
                self.numbers.multiple(value)?;
                value.clone()
            }
            "pattern" => {
                let text = value.as_str().ok_or_else(|| form(word, "a text"))?;
                json!(pattern::whole(text)?)
            }
            "format" => {
                let name = value.as_str().ok_or_else(|| form(word, "a text"))?;
                match (formats::text(name), formats::number(name)) {
                    (Some(pattern), _) => also.push(json!({ "pattern": pattern })),
                    (None, Some(_)) => {}
                    (None, None) => {
                        let what = format!("`{}` is not known", shown(name));
                        return Err(unsupported(word, &what));
                    }
                }
                return Ok(());
            }
            "$ref" => {
                let target = value.as_str().ok_or_else(|| form(word, "a text"))?;
                if !target.starts_with('#') {
                    return Err(unsupported(word, "leads out of the schema"));
                }
                let pointer = decoded(target).ok_or_else(|| form(word, "a reference"))?;
                match self.targets.as_ref().map(|targets| targets.get(&pointer)) {
                    Some(Some(place)) => json!(place),
                    None => json!(pointer),
                    Some(None) => {
                        let target = shown(target);
                        let what = format!("`$ref` leads to no schema of this document: {target}");
                        return Err(Error::new(Kind::Unsupported, what));
                    }
                }
            }
            "$anchor" => {
                let name = value.as_str().ok_or_else(|| form(word, "a name"))?;
                let place = now.rsplit_once('/').map_or("#", |(place, _)| place);
                if self.places.insert(format!("#{name}"), place.into()).is_some() {
                    return Err(Error::new(Kind::Invalid, "an `$anchor` stands twice"));
                }
                return Ok(());
            }
            "$schema" => {
                let name = value.as_str().ok_or_else(|| form(word, "a text"))?;
                if name.trim_end_matches('#') != DRAFT {
                    return Err(unsupported(word, "names another draft than 2020-12"));
                }
                return Ok(());
            }
            "$id" if root && value.is_string() => return Ok(()),
            "$id" => return Err(unsupported(word, "within a schema cannot be kept")),
            _ => return Err(unsupported(word, "cannot be kept exactly")),
        };
        out.insert(word.into(), lowered);
        Ok(())
    }

    /// Bounds of numbers, those of a format among them.
    fn bounds(
        &mut self,
        members: &Map<String, Value>,
    ) -> Result<Vec<(&'static str, Value)>, Error> {
        let mut out = Vec::new();
        let format = members.get("format").and_then(Value::as_str).and_then(formats::number);
        let range = format.flatten();
        for (word, own) in [
            ("minimum", range.map(|range| range.0)),
            ("maximum", range.map(|range| range.1)),
            ("exclusiveMinimum", None),
            ("exclusiveMaximum", None),
        ] {
            let said = members.get(word).map(|value| numbers::bound(word, value)).transpose()?;
            let bound = match (said, own) {
                (Some(said), Some(own)) if word == "minimum" => Some(said.max(own as f64)),
                (Some(said), Some(own)) => Some(said.min(own as f64)),
                (Some(said), None) => Some(said),
                (None, own) => own.map(|own| own as f64),
            };
            if let Some(bound) = bound {
                self.numbers.bound(word, bound);
                out.push((word, numbers::written(bound)));
            }
        }
        Ok(out)
    }
}

/// `minProperties` where it says more than `required` does. One name may come twice among those
/// that are not named, so more than one of these cannot be asked for.
fn properties_at_least(members: &Map<String, Value>) -> Result<Option<u64>, Error> {
    let Some(value) = members.get("minProperties") else { return Ok(None) };
    let least = count("minProperties", value)?;
    let mut required: Vec<&str> = match members.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    required.sort_unstable();
    required.dedup();
    match least.checked_sub(required.len() as u64) {
        None | Some(0) => Ok(None),
        Some(1) => Ok(Some(least)),
        Some(_) => {
            Err(unsupported("minProperties", "asks for more than one member that is not required"))
        }
    }
}

/// The types, as they are.
fn types(value: &Value) -> Result<Value, Error> {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let good = match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(known),
        value => known(value),
    };
    match good {
        true => Ok(value.clone()),
        false => Err(form("type", &format!("among {}, or a list of them", TYPES.join(", ")))),
    }
}

/// A bound that counts: 2 or 2.0.
fn count(word: &str, value: &Value) -> Result<u64, Error> {
    let whole = |number: f64| number >= 0.0 && number.fract() == 0.0 && number < 1e15;
    let count = match value.as_u64() {
        Some(count) => Some(count),
        None => value.as_f64().filter(|number| whole(*number)).map(|number| number as u64),
    };
    let count = count.ok_or_else(|| form(word, "a whole number from 0"))?;
    if count > LARGEST {
        let what = format!("`{word}` is {count}; {LARGEST} is the most");
        return Err(Error::new(Kind::TooLarge, what));
    }
    Ok(count)
}

/// Whether a text of JSON can have the character only by its number (`\u0000`), which is not
/// written.
fn unwritable(letter: char) -> bool {
    letter.is_ascii_control() && !matches!(letter, '\n' | '\r' | '\t' | '\x08' | '\x0c')
}

/// A name as a step of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The same in the fragment of a URI.
fn encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in escaped(name).bytes() {
        match byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A fragment without its percent signs.
fn decoded(target: &str) -> Option<String> {
    let mut bytes = target.bytes();
    let mut out = Vec::with_capacity(target.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

/// A word of a schema, short enough for an error.
fn shown(word: &str) -> String {
    word.chars().take(60).collect()
}
