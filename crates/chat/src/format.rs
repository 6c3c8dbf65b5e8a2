//! Values as Python writes them: `str`, `repr`, numbers, `%` and `format`.

use crate::error::Error;
use crate::functions::Arguments;
use crate::meter;
use crate::text::{Builder, Text};
use crate::value::{Form, Value};

/// Widest field of a format.
const MAX_WIDTH: usize = 10_000;

/// Python's `str(value)`.
pub(crate) fn display(value: &Value) -> Result<Text, Error> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        Value::Undefined(_) => Ok(Text::plain("")),
        _ => {
            let mut out = Builder::new();
            repr(value, &mut out)?;
            Ok(out.finish())
        }
    }
}

/// Python's `repr(value)`.
pub(crate) fn repr(value: &Value, out: &mut Builder) -> Result<(), Error> {
    meter::step(1)?;
    match value {
        Value::Undefined(_) => out.push_plain("Undefined"),
        Value::None => out.push_plain("None"),
        Value::Bool(yes) => out.push_plain(if *yes { "True" } else { "False" }),
        Value::Int(int) => out.push_plain(&int.to_string()),
        Value::Float(number) => out.push_plain(&float(*number)),
        Value::Str(text) => quoted(text, out)?,
        Value::List(list) => {
            let (open, close) = match list.form {
                Form::List => ("[", "]"),
                Form::Tuple if list.items.len() == 1 => ("(", ",)"),
                Form::Tuple => ("(", ")"),
                Form::View | Form::Iter => {
                    return Err(Error::unsupported(format!("{} as text", value.type_name())));
                }
            };
            out.push_plain(open);
            for (place, item) in list.items.iter().enumerate() {
                if place > 0 {
                    out.push_plain(", ");
                }
                repr(item, out)?;
            }
            out.push_plain(close);
        }
        Value::Map(map) => {
            out.push_plain("{");
            for (place, (key, value)) in map.entries().iter().enumerate() {
                if place > 0 {
                    out.push_plain(", ");
                }
                repr(key, out)?;
                out.push_plain(": ");
                repr(value, out)?;
            }
            out.push_plain("}");
        }
        _ => return Err(Error::unsupported(format!("{} as text", value.type_name()))),
    }
    meter::fits(out.len())
}

/// A string in Python's quotes.
fn quoted(text: &Text, out: &mut Builder) -> Result<(), Error> {
    let string = text.as_str();
    meter::room(string.len())?;
    let quote = if string.contains('\'') && !string.contains('"') { '"' } else { '\'' };
    let mut buffer = [0; 4];
    out.push_plain(quote.encode_utf8(&mut buffer));
    for (range, data) in text.runs() {
        for c in string[range].chars() {
            match c {
                '\n' => out.push("\\n", data),
                '\r' => out.push("\\r", data),
                '\t' => out.push("\\t", data),
                '\\' => out.push("\\\\", data),
                _ if c == quote => {
                    out.push("\\", data);
                    out.push(c.encode_utf8(&mut buffer), data);
                }
                _ if is_printable(c) => out.push(c.encode_utf8(&mut buffer), data),
                _ => {
                    let code = u32::from(c);
                    let escaped = match code {
                        0..=0xff => format!("\\x{code:02x}"),
                        0x100..=0xffff => format!("\\u{code:04x}"),
                        _ => format!("\\U{code:08x}"),
                    };
                    out.push(&escaped, data);
                }
            }
        }
    }
    out.push_plain(quote.encode_utf8(&mut buffer));
    Ok(())
}

/// Python's `str.isprintable`; the standard library's escapes follow the same categories.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // In second place, so that marks that combine are not escaped for standing first.
    let pair: String = ['a', c].into_iter().collect();
    pair.escape_debug().eq(pair.chars())
}

/// Python's `repr` of a float: shortest digits, an exponent from 1e16 and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number:?}")
}

/// HTML escapes, as `Markup` makes them.
pub(crate) fn escape(text: &Text) -> Result<Text, Error> {
    meter::room(text.len().saturating_mul(2))?;
    Ok(text.map_runs(|run| {
        let mut out = String::with_capacity(run.len());
        for c in run.chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '\'' => out.push_str("&#39;"),
                '"' => out.push_str("&#34;"),
                c => out.push(c),
            }
        }
        out
    }))
}

/// How one field is written: `[fill]align`, sign-less width, precision, type.
#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    width: usize,
    precision: Option<usize>,
    kind: Option<char>,
    /// The pattern holds data, so what it fills with counts as data.
    data: bool,
}

impl Spec {
    fn parse(text: &str, data: bool) -> Result<Spec, Error> {
        let unknown = || Error::unsupported("this kind of format");
        let mut spec = Spec { data, ..Spec::default() };
        let chars: Vec<char> = text.chars().collect();
        let mut rest = &chars[..];
        if let [fill, align @ ('<' | '>' | '^'), tail @ ..] = rest {
            (spec.fill, spec.align, rest) = (Some(*fill), Some(*align), tail);
        } else if let [align @ ('<' | '>' | '^'), tail @ ..] = rest {
            (spec.align, rest) = (Some(*align), tail);
        }
        if let ['0', tail @ ..] = rest {
            spec.fill.get_or_insert('0');
            spec.align.get_or_insert('=');
            rest = tail;
        }
        let number = |rest: &mut &[char]| -> Result<Option<usize>, Error> {
            let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
            let text: String = rest[..digits].iter().collect();
            *rest = &rest[digits..];
            match text.is_empty() {
                true => Ok(None),
                false => match text.parse() {
                    Ok(width) if width <= MAX_WIDTH => Ok(Some(width)),
                    _ => Err(Error::limit("a format is too wide")),
                },
            }
        };
        spec.width = number(&mut rest)?.unwrap_or(0);
        if let ['.', tail @ ..] = rest {
            rest = tail;
            spec.precision = Some(number(&mut rest)?.unwrap_or(0));
        }
        match rest {
            [] => {}
            [kind @ ('s' | 'd' | 'f' | 'r' | 'x' | 'i')] => spec.kind = Some(*kind),
            _ => return Err(unknown()),
        }
        Ok(spec)
    }

    fn write(&self, value: &Value, out: &mut Builder) -> Result<(), Error> {
        let wrong = || Error::operation(format!("a format that {} lacks", value.type_name()));
        let int = || match value {
            Value::Float(float) => Some(*float as i128),
            _ => value.as_int(),
        };
        let number = !matches!(value, Value::Str(_));
        let text = match (self.kind, self.precision) {
            (Some('d' | 'i'), _) => Text::plain(&int().ok_or_else(wrong)?.to_string()),
            (Some('x'), _) => Text::plain(&format!("{:x}", value.as_int().ok_or_else(wrong)?)),
            (Some('f'), precision) => {
                let float = value.as_float().ok_or_else(wrong)?;
                Text::plain(&format!("{float:.*}", precision.unwrap_or(6)))
            }
            (Some('r'), _) => {
                let mut out = Builder::new();
                repr(value, &mut out)?;
                out.finish()
            }
            (_, Some(precision)) if !number => {
                let text = display(value)?;
                let end = text.as_str().char_indices().nth(precision).map(|(at, _)| at);
                text.slice(0..end.unwrap_or(text.len()))
            }
            (_, Some(_)) => return Err(Error::unsupported("this kind of format")),
            _ => display(value)?,
        };
        let missing = self.width.saturating_sub(text.as_str().chars().count());
        let align = self.align.unwrap_or(if number { '>' } else { '<' });
        let before = match align {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        let fill = self.fill.unwrap_or(' ').to_string();
        // Zeros go between the sign and the digits.
        let sign = usize::from(align == '=' && text.as_str().starts_with('-'));
        out.push_range(&text, 0..sign);
        out.push(&fill.repeat(before), self.data);
        out.push_range(&text, sign..text.len());
        out.push(&fill.repeat(missing - before), self.data);
        meter::fits(out.len())
    }
}

/// Python's `pattern.format(…)`.
pub(crate) fn braces(pattern: &Text, args: Arguments) -> Result<Text, Error> {
    let string = pattern.as_str();
    let mut out = Builder::new();
    let (mut next, mut numbered) = (0usize, false);
    let mut at = 0;
    while let Some(found) = string[at..].find(['{', '}']) {
        let open = at + found;
        out.push_range(pattern, at..open);
        let here = &string[open..];
        if here.starts_with("{{") || here.starts_with("}}") {
            out.push_range(pattern, open..open + 1);
            at = open + 2;
            continue;
        }
        let close = here.find('}').filter(|_| here.starts_with('{'));
        let Some(close) = close else {
            return Err(Error::operation("a single brace in a format"));
        };
        let field = &here[1..close];
        let (name, spec) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = name.split_once('!').unwrap_or((name, ""));
        let value = if name.is_empty() {
            next += 1;
            args.positional.get(next - 1)
        } else if let Ok(place) = name.parse::<usize>() {
            numbered = true;
            args.positional.get(place)
        } else {
            args.named.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
        };
        if numbered && next > 0 {
            return Err(Error::operation("a format mixes `{}` and `{0}`"));
        }
        let value = value.ok_or_else(|| Error::operation("a format names what it is not given"))?;
        let mut spec = Spec::parse(spec, pattern.has_data())?;
        match conversion {
            "" | "s" => {}
            "r" => spec.kind = Some('r'),
            _ => return Err(Error::unsupported("this conversion in a format")),
        }
        spec.write(value, &mut out)?;
        at = open + close + 1;
    }
    out.push_range(pattern, at..pattern.len());
    Ok(out.finish())
}

/// Python's `pattern % args`.
pub(crate) fn percent(pattern: &Text, args: &Value) -> Result<Text, Error> {
    let string = pattern.as_str();
    let single = [args.clone()];
    let items: &[Value] = match args {
        Value::List(list) if list.form == Form::Tuple => &list.items,
        _ => &single,
    };
    let mut items = items.iter();
    let mut out = Builder::new();
    let mut at = 0;
    while let Some(found) = string[at..].find('%') {
        let open = at + found;
        out.push_range(pattern, at..open);
        let here = &string[open + 1..];
        if here.starts_with('%') {
            out.push_range(pattern, open..open + 1);
            at = open + 2;
            continue;
        }
        let mut named = None;
        let mut field = here;
        if let Some(rest) = here.strip_prefix('(') {
            let (name, rest) =
                rest.split_once(')').ok_or_else(|| Error::operation("a format ends too early"))?;
            (named, field) = (Some(name), rest);
        }
        let end = field
            .find(|c: char| c.is_ascii_alphabetic())
            .ok_or_else(|| Error::operation("a format ends too early"))?;
        let value = match (named, args) {
            (Some(name), Value::Map(map)) => map.get_str(name),
            _ => items.next(),
        };
        let value = value.ok_or_else(|| Error::operation("not enough values for a format"))?;
        let flags = &field[..end];
        let kind = &field[end..end + 1];
        let spec = match flags.strip_prefix('-') {
            Some(width) => format!("<{width}{kind}"),
            None if flags.starts_with(|c: char| c.is_ascii_digit() && c != '0') => {
                format!(">{flags}{kind}")
            }
            None => format!("{flags}{kind}"),
        };
        Spec::parse(&spec, pattern.has_data())?.write(value, &mut out)?;
        at = string.len() - field.len() + end + 1;
    }
    out.push_range(pattern, at..pattern.len());
    if items.next().is_some() && !matches!(args, Value::Map(_)) {
        return Err(Error::operation("too many values for a format"));
    }
    Ok(out.finish())
}
