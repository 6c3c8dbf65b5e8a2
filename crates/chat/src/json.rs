//! `tojson` and `fromjson`: Python's `json.dumps` with marks.

use crate::error::Error;
use crate::format;
use crate::functions::Arguments;
use crate::meter;
use crate::run::Run;
use crate::text::{Builder, Text};
use crate::value::{Form, Value, compare};

/// How to write JSON, with Python's names and defaults.
struct Style {
    ascii: bool,
    sort: bool,
    indent: Option<Text>,
    item: Text,
    key: Text,
}

/// The filter `tojson`: no HTML escapes and no ASCII escapes unless asked for.
pub(crate) fn dump(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [ascii, indent, separators, sort] =
        args.bind("tojson", ["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match indent {
        None | Some(Value::None) => None,
        Some(Value::Str(text)) => Some(text),
        Some(value) => match value.as_int() {
            Some(width) => Some(Text::plain(&" ".repeat(width.clamp(0, 64) as usize))),
            None => return Err(Error::operation("`tojson` needs an integer as indent")),
        },
    };
    let comma = if indent.is_some() { "," } else { ", " };
    let (item, key) = match separators {
        None | Some(Value::None) => (Text::plain(comma), Text::plain(": ")),
        Some(pair) => match &pair.items()?[..] {
            [Value::Str(item), Value::Str(key)] => (item.clone(), key.clone()),
            _ => return Err(Error::operation("`tojson` needs two strings as separators")),
        },
    };
    let truth = |value: Option<Value>| value.is_some_and(|value| value.is_true());
    let style = Style { ascii: truth(ascii), sort: truth(sort), indent, item, key };
    let mut out = Builder::new();
    style.write(&subject, 0, &mut out)?;
    Ok(Value::Str(out.finish()))
}

impl Style {
    fn write(&self, value: &Value, depth: usize, out: &mut Builder) -> Result<(), Error> {
        meter::step(1)?;
        match value {
            Value::None => out.push_plain("null"),
            Value::Bool(yes) => out.push_plain(if *yes { "true" } else { "false" }),
            Value::Int(int) => out.push_plain(&int.to_string()),
            Value::Float(number) => out.push_plain(&float(*number)),
            Value::Str(text) => self.string(text, out)?,
            Value::List(list) if matches!(list.form, Form::List | Form::Tuple) => {
                if list.items.is_empty() {
                    out.push_plain("[]");
                    return Ok(());
                }
                out.push_plain("[");
                for (place, item) in list.items.iter().enumerate() {
                    self.before(place, depth + 1, out);
                    self.write(item, depth + 1, out)?;
                }
                self.line(depth, out);
                out.push_plain("]");
            }
            Value::Map(map) => {
                let mut entries: Vec<&(Value, Value)> = map.entries().iter().collect();
                if entries.is_empty() {
                    out.push_plain("{}");
                    return Ok(());
                }
                if self.sort {
                    sort(&mut entries)?;
                }
                out.push_plain("{");
                for (place, (key, value)) in entries.into_iter().enumerate() {
                    self.before(place, depth + 1, out);
                    match key {
                        Value::Str(text) => self.string(text, out)?,
                        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                            out.push_plain("\"");
                            self.write(key, depth, out)?;
                            out.push_plain("\"");
                        }
                        _ => return Err(Error::operation("a key that JSON does not have")),
                    }
                    out.push_text(&self.key);
                    self.write(value, depth + 1, out)?;
                }
                self.line(depth, out);
                out.push_plain("}");
            }
            _ => return Err(Error::operation(format!("{} is not JSON", value.type_name()))),
        }
        meter::fits(out.len())
    }

    fn before(&self, place: usize, depth: usize, out: &mut Builder) {
        if place > 0 {
            out.push_text(&self.item);
        }
        self.line(depth, out);
    }

    fn line(&self, depth: usize, out: &mut Builder) {
        if let Some(indent) = &self.indent {
            out.push_plain("\n");
            for _ in 0..depth {
                out.push_text(indent);
            }
        }
    }

    fn string(&self, text: &Text, out: &mut Builder) -> Result<(), Error> {
        meter::room(text.len())?;
        out.push_plain("\"");
        for (range, data) in text.runs() {
            let run = &text.as_str()[range];
            let mut done = 0;
            for (at, c) in run.char_indices() {
                let short = match c {
                    '"' => "\\\"",
                    '\\' => "\\\\",
                    '\n' => "\\n",
                    '\r' => "\\r",
                    '\t' => "\\t",
                    '\u{8}' => "\\b",
                    '\u{c}' => "\\f",
                    c if c < ' ' || (self.ascii && c > '\u{7e}') => "",
                    _ => continue,
                };
                out.push(&run[done..at], data);
                done = at + c.len_utf8();
                if !short.is_empty() {
                    out.push(short, data);
                    continue;
                }
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push(&format!("\\u{unit:04x}"), data);
                }
            }
            out.push(&run[done..], data);
        }
        out.push_plain("\"");
        Ok(())
    }
}

fn sort(entries: &mut [&(Value, Value)]) -> Result<(), Error> {
    let mut failed = None;
    entries.sort_by(|a, b| match compare(&a.0, &b.0) {
        Ok(order) => order.unwrap_or(std::cmp::Ordering::Equal),
        Err(error) => {
            failed.get_or_insert(error);
            std::cmp::Ordering::Equal
        }
    });
    failed.map_or(Ok(()), Err)
}

fn float(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format::float(number)
    }
}
