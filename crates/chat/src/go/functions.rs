//! Functions of Go templates: those of the language, and Ollama's.

use std::cmp::Ordering;

use super::PROPERTY;
use super::value::{Look, Value, short};
use crate::error::Error;
use crate::meter;
use crate::moment::Moment;
use crate::text::{Builder, Text};

/// `and` and `or` stop early and are evaluated elsewhere. `html`, `js`, `urlquery` and `call`,
/// which Go has too, are unknown here.
const KNOWN: &[&str] = &[
    "and",
    "currentDate",
    "eq",
    "ge",
    "gt",
    "index",
    "json",
    "le",
    "len",
    "lt",
    "ne",
    "not",
    "or",
    "print",
    "printf",
    "println",
    "slice",
    "toJson",
    "toTypeScriptType",
    "yesterdayDate",
];

pub(super) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Calls a function but `and` and `or`.
pub(super) fn call(name: &str, args: Vec<Value>, date: Moment) -> Result<Value, Error> {
    let few = || Error::operation(format!("`{name}` was given too few or too many values"));
    let two = || <[Value; 2]>::try_from(args.clone()).map_err(|_| few());
    let one = || <[Value; 1]>::try_from(args.clone()).map(|[value]| value).map_err(|_| few());
    Ok(match name {
        "not" => Value::Bool(!one()?.is_true()),
        "eq" => {
            let (first, others) =
                args.split_first().filter(|(_, o)| !o.is_empty()).ok_or_else(few)?;
            for other in others {
                if equal(first, other)? {
                    return Ok(Value::Bool(true));
                }
            }
            Value::Bool(false)
        }
        "ne" => {
            let [a, b] = two()?;
            Value::Bool(!equal(&a, &b)?)
        }
        "lt" | "le" | "gt" | "ge" => {
            let [a, b] = two()?;
            let order = order(&a, &b)?;
            Value::Bool(match name {
                "lt" => order == Some(Ordering::Less),
                "le" => order.is_some_and(Ordering::is_le),
                "gt" => !order.is_some_and(Ordering::is_le),
                _ => order != Some(Ordering::Less),
            })
        }
        "len" => Value::Int(length(&one()?)? as i64),
        "index" => index(&args)?,
        "slice" => slice(&args)?,
        "print" => text(|out| {
            for (place, value) in args.iter().enumerate() {
                let strings = |value: &Value| matches!(value, Value::Str(_));
                if place > 0 && !strings(value) && !strings(&args[place - 1]) {
                    out.push_plain(" ");
                }
                inner(value, out)?;
            }
            Ok(())
        })?,
        "println" => text(|out| {
            for (place, value) in args.iter().enumerate() {
                out.push_plain(if place > 0 { " " } else { "" });
                inner(value, out)?;
            }
            out.push_plain("\n");
            Ok(())
        })?,
        "printf" => match args.split_first() {
            Some((Value::Str(pattern), values)) => text(|out| printf(pattern, values, out))?,
            _ => return Err(few()),
        },
        "json" | "toJson" => {
            let value = one()?;
            text(|out| value.json(out))?
        }
        "currentDate" => day(date),
        "yesterdayDate" => day(date.day_before()),
        "toTypeScriptType" => Value::plain(&type_script(&one()?)),
        _ => return Err(Error::unsupported(format!("unknown function `{name}`"))),
    })
}

fn text(write: impl FnOnce(&mut Builder) -> Result<(), Error>) -> Result<Value, Error> {
    let mut out = Builder::new();
    write(&mut out)?;
    meter::room(out.len())?;
    Ok(Value::Str(out.finish()))
}

/// A value among others, as `fmt` prints it.
fn inner(value: &Value, out: &mut Builder) -> Result<(), Error> {
    value.print(out, false)
}

fn day(date: Moment) -> Value {
    Value::plain(&format!("{:04}-{:02}-{:02}", date.year, date.month, date.day))
}

/// The TypeScript type of a property, or of a list of types.
pub(super) fn type_script(value: &Value) -> String {
    let any = || "any".to_owned();
    let Value::Struct(property) = value else { return any() };
    let list = |name: &str| match property.fields.iter().find(|field| field.name == name) {
        Some(field) => match &field.value {
            Value::List(list) => list.items().to_vec(),
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    let types = list("Type");
    let one = |value: &Value| match value {
        Value::Str(name) => match name.as_str() {
            "string" => "string",
            "number" | "integer" => "number",
            "boolean" => "boolean",
            "array" => "any[]",
            "object" => "Record<string, any>",
            "null" => "null",
            _ => "any",
        },
        _ => "any",
    };
    match list("AnyOf") {
        _ if property.name != PROPERTY => any(),
        choices if !choices.is_empty() => {
            choices.iter().map(type_script).collect::<Vec<_>>().join(" | ")
        }
        _ if types.is_empty() => any(),
        _ => types.iter().map(one).collect::<Vec<_>>().join(" | "),
    }
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(list) => list.nil,
        Value::Map(map) => map.nil,
        _ => false,
    }
}

fn incomparable(a: &Value, b: &Value) -> Error {
    Error::operation(format!("{} and {} cannot be compared", a.kind(), b.kind()))
}

fn equal(a: &Value, b: &Value) -> Result<bool, Error> {
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => {
            meter::step(a.len().min(b.len()) as u64 / 32)?;
            a.as_str() == b.as_str()
        }
        (Value::Nil, other) | (other, Value::Nil) => is_nil(other),
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_))
            if is_nil(a) || is_nil(b) =>
        {
            is_nil(a) == is_nil(b)
        }
        _ => return Err(incomparable(a, b)),
    })
}

fn order(a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(Some(a.cmp(b))),
        (Value::Float(a), Value::Float(b)) => Ok(a.partial_cmp(b)),
        (Value::Str(a), Value::Str(b)) => Ok(Some(a.as_str().cmp(b.as_str()))),
        _ => Err(incomparable(a, b)),
    }
}

fn length(value: &Value) -> Result<usize, Error> {
    match value {
        Value::Str(text) => Ok(text.len()),
        Value::List(list) => Ok(list.items().len()),
        Value::Map(map) if map.look != Look::Address => Ok(map.entries.len()),
        _ => Err(Error::operation(format!("{} has no length", value.kind()))),
    }
}

/// A place in something of `length`, both ends included.
fn place(value: &Value, length: usize) -> Result<usize, Error> {
    let Value::Int(int) = value else {
        return Err(Error::operation(format!("{} is no index", value.kind())));
    };
    usize::try_from(*int)
        .ok()
        .filter(|place| *place <= length)
        .ok_or_else(|| Error::operation("an index is out of range"))
}

fn index(args: &[Value]) -> Result<Value, Error> {
    let Some((subject, keys)) = args.split_first() else {
        return Err(Error::operation("`index` was given nothing"));
    };
    let mut value = subject.clone();
    for key in keys {
        let out = || Error::operation("an index is out of range");
        value = match (&value, key) {
            (Value::List(list), key) => {
                let at = place(key, list.items().len())?;
                list.items().get(at).ok_or_else(out)?.clone()
            }
            (Value::Str(text), key) => {
                let at = place(key, text.len())?;
                Value::Int(i64::from(*text.as_str().as_bytes().get(at).ok_or_else(out)?))
            }
            (Value::Map(map), Value::Str(key)) => {
                meter::step(map.entries.len() as u64 / 8)?;
                map.get(key.as_str()).unwrap_or(&map.missing).clone()
            }
            _ => return Err(Error::operation(format!("{} has no items", value.kind()))),
        };
    }
    Ok(value)
}

fn slice(args: &[Value]) -> Result<Value, Error> {
    let Some((subject, bounds @ ([] | [_] | [_, _] | [_, _, _]))) = args.split_first() else {
        return Err(Error::operation("`slice` was given too few or too many values"));
    };
    let length = match subject {
        Value::Str(_) if bounds.len() < 3 => length(subject)?,
        Value::List(_) => length(subject)?,
        _ => return Err(Error::operation(format!("{} cannot be sliced", subject.kind()))),
    };
    let bound = |at: usize, otherwise| bounds.get(at).map_or(Ok(otherwise), |v| place(v, length));
    let (from, to, most) = (bound(0, 0)?, bound(1, length)?, bound(2, length)?);
    if from > to || to > most {
        return Err(Error::operation("the bounds of a slice are in the wrong order"));
    }
    Ok(match subject {
        Value::List(list) => Value::List(list.slice(from, to)),
        Value::Str(text) => {
            let whole = text.as_str();
            if !whole.is_char_boundary(from) || !whole.is_char_boundary(to) {
                return Err(Error::unsupported("a slice that cuts a character in two"));
            }
            meter::room(to - from)?;
            Value::Str(text.slice(from..to))
        }
        _ => Value::Nil,
    })
}

/// What stands between `%` and the letter.
#[derive(Default)]
struct Flags {
    left: bool,
    zero: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
}

fn printf(pattern: &Text, values: &[Value], out: &mut Builder) -> Result<(), Error> {
    let text = pattern.as_str();
    let mut values = values.iter();
    let mut at = 0;
    while let Some(found) = text[at..].find('%') {
        out.push_range(pattern, at..at + found);
        at += found + 1;
        let mut flags = Flags::default();
        while let Some(c) = text[at..].chars().next().filter(|c| matches!(c, '-' | '0' | '+')) {
            match c {
                '-' => flags.left = true,
                '0' => flags.zero = true,
                _ => flags.plus = true,
            }
            at += 1;
        }
        flags.width = number(text, &mut at)?.unwrap_or(0);
        if text[at..].starts_with('.') {
            at += 1;
            flags.precision = Some(number(text, &mut at)?.unwrap_or(0));
        }
        let Some(verb) = text[at..].chars().next() else {
            return Err(Error::unsupported("a pattern of `printf` that ends inside a code"));
        };
        at += verb.len_utf8();
        if verb == '%' {
            out.push_plain("%");
            continue;
        }
        let Some(value) = values.next() else {
            return Err(Error::unsupported("`printf` with too few values"));
        };
        format(verb, &flags, value, out)?;
        meter::fits(out.len())?;
    }
    out.push_range(pattern, at..text.len());
    if values.next().is_some() {
        return Err(Error::unsupported("`printf` with too many values"));
    }
    Ok(())
}

fn number(text: &str, at: &mut usize) -> Result<Option<usize>, Error> {
    let digits = text[*at..].bytes().take_while(u8::is_ascii_digit).count();
    let read = &text[*at..*at + digits];
    *at += digits;
    match read.parse::<usize>() {
        Ok(number) if number <= 1000 => Ok(Some(number)),
        Ok(_) => Err(Error::limit("a code of `printf` that is wider than 1000")),
        Err(_) if digits == 0 => Ok(None),
        Err(_) => Err(Error::limit("a code of `printf` that is wider than 1000")),
    }
}

fn format(verb: char, flags: &Flags, value: &Value, out: &mut Builder) -> Result<(), Error> {
    let mut shown = Builder::new();
    let mut numeric = true;
    let sign = |negative: bool| if flags.plus && !negative { "+" } else { "" };
    match (verb, value) {
        ('v' | 'd', Value::Int(int)) => shown.push_plain(&format!("{}{int}", sign(*int < 0))),
        ('v' | 'g', Value::Float(float)) if flags.precision.is_none() => {
            shown.push_plain(&format!("{}{}", sign(*float < 0.0), short(*float)));
        }
        ('f', Value::Float(float)) => {
            let digits = flags.precision.unwrap_or(6);
            shown.push_plain(&format!("{}{float:.digits$}", sign(*float < 0.0)));
        }
        ('t', Value::Bool(_)) => inner(value, &mut shown)?,
        ('s' | 'v', Value::Str(text)) => {
            numeric = false;
            let most = flags.precision.unwrap_or(usize::MAX);
            let end = text.as_str().char_indices().nth(most).map_or(text.len(), |(end, _)| end);
            shown.push_range(text, 0..end);
        }
        ('q', Value::Str(text)) => {
            numeric = false;
            quoted(text, &mut shown);
        }
        ('v', _) if flags.precision.is_none() => inner(value, &mut shown)?,
        ('s', Value::List(_) | Value::Map(_) | Value::Struct(_)) if flags.precision.is_none() => {
            inner(value, &mut shown)?;
        }
        _ => {
            return Err(Error::unsupported(format!(
                "`printf` with `%{verb}` and {}",
                value.kind()
            )));
        }
    }
    let shown = shown.finish();
    let short = flags.width.saturating_sub(shown.as_str().chars().count());
    if flags.left {
        out.push_text(&shown);
        out.push_plain(&" ".repeat(short));
    } else if flags.zero && numeric && shown.as_str().starts_with(['-', '+']) {
        out.push_range(&shown, 0..1);
        out.push_plain(&"0".repeat(short));
        out.push_range(&shown, 1..shown.len());
    } else {
        let pad = if flags.zero { "0" } else { " " };
        out.push_plain(&pad.repeat(short));
        out.push_text(&shown);
    }
    Ok(())
}

/// A string as Go writes it in quotes; characters that print stay as they are.
fn quoted(text: &Text, out: &mut Builder) {
    out.push_plain("\"");
    for (range, data) in text.runs() {
        for c in text.as_str()[range].chars() {
            let short = match c {
                '"' => "\\\"",
                '\\' => "\\\\",
                '\u{7}' => "\\a",
                '\u{8}' => "\\b",
                '\u{c}' => "\\f",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\u{b}' => "\\v",
                _ => "",
            };
            match c {
                _ if !short.is_empty() => out.push(short, data),
                c if c < ' ' || c == '\u{7f}' => {
                    out.push(&format!("\\x{:02x}", u32::from(c)), data);
                }
                c => out.push(c.encode_utf8(&mut [0; 4]), data),
            }
        }
    }
    out.push_plain("\"");
}
