//! Operators, as Python has them.

use crate::error::Error;
use crate::format;
use crate::meter;
use crate::text::{Builder, Text};
use crate::tree::Binary;
use crate::value::{Form, Value, equal};

pub(crate) fn negate(value: &Value) -> Result<Value, Error> {
    match value {
        Value::Float(float) => Ok(Value::Float(-float)),
        _ => match value.as_int().and_then(i128::checked_neg) {
            Some(int) => Ok(Value::Int(int)),
            None => Err(Error::operation(format!("`-` on {}", value.type_name()))),
        },
    }
}

pub(crate) fn binary(op: Binary, a: &Value, b: &Value) -> Result<Value, Error> {
    match (op, a, b) {
        (Binary::Concat, _, _) => {
            // Unlike `+`, `~` does not escape beside `Markup`: the reference escapes nothing here.
            let (a, b) = (format::display(a)?, format::display(b)?);
            meter::room(a.len() + b.len())?;
            let mut out = Builder::new();
            out.push_text(&a);
            out.push_text(&b);
            Ok(Value::Str(out.finish()))
        }
        (Binary::Add, Value::Str(a), Value::Str(b)) => join(a, b),
        (Binary::Add, Value::List(x), Value::List(y))
            if x.form == y.form && matches!(x.form, Form::List | Form::Tuple) =>
        {
            meter::room((x.items.len() + y.items.len()) * size_of::<Value>())?;
            Value::sequence(x.items.iter().chain(&y.items).cloned().collect(), x.form)
        }
        (Binary::Mul, Value::Str(text), times) | (Binary::Mul, times, Value::Str(text))
            if times.as_int().is_some() =>
        {
            let times = count(times, text.len())?;
            let mut out = Builder::new();
            for _ in 0..times {
                out.push_text(text);
            }
            Ok(Value::Str(out.finish()))
        }
        (Binary::Mul, Value::List(list), times) | (Binary::Mul, times, Value::List(list))
            if times.as_int().is_some() && matches!(list.form, Form::List | Form::Tuple) =>
        {
            let times = count(times, list.items.len().saturating_mul(size_of::<Value>()))?;
            let mut items = Vec::with_capacity(list.items.len() * times);
            for _ in 0..times {
                items.extend_from_slice(&list.items);
            }
            Value::sequence(items, list.form)
        }
        (Binary::Rem, Value::Str(pattern), args) => Ok(Value::Str(format::percent(pattern, args)?)),
        _ => arithmetic(op, a, b),
    }
}

/// How often to repeat `size` bytes, once there is room for the result.
fn count(times: &Value, size: usize) -> Result<usize, Error> {
    let times = times.as_int().unwrap_or(0).max(0);
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    if size == 0 {
        return Ok(0);
    }
    meter::room(size.saturating_mul(times))?;
    Ok(times)
}

/// Two texts after one another; beside `Markup`, other text is escaped.
fn join(a: &Text, b: &Text) -> Result<Value, Error> {
    meter::room(a.len() + b.len())?;
    let markup = a.is_markup() || b.is_markup();
    let mut out = Builder::new();
    for part in [a, b] {
        if markup && !part.is_markup() {
            out.push_text(&format::escape(part)?);
        } else {
            out.push_text(part);
        }
    }
    let text = out.finish();
    Ok(Value::Str(if markup { text.with_markup(true) } else { text }))
}

fn arithmetic(op: Binary, a: &Value, b: &Value) -> Result<Value, Error> {
    let wrong = || {
        Error::operation(format!(
            "`{}` between {} and {}",
            symbol(op),
            a.type_name(),
            b.type_name()
        ))
    };
    let large = || Error::operation("a number is too large");
    let zero = || Error::operation("division by zero");
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        if y == 0 && matches!(op, Binary::Div | Binary::FloorDiv | Binary::Rem) {
            return Err(zero());
        }
        let int = match op {
            Binary::Add => x.checked_add(y),
            Binary::Sub => x.checked_sub(y),
            Binary::Mul => x.checked_mul(y),
            Binary::Div => return Ok(Value::Float(x as f64 / y as f64)),
            Binary::FloorDiv => x.checked_div_euclid(y).and_then(|q| {
                // Python rounds down, also for a negative divisor.
                if y < 0 && x.checked_rem_euclid(y)? != 0 { q.checked_sub(1) } else { Some(q) }
            }),
            Binary::Rem => {
                x.checked_rem(y).map(|r| if r != 0 && (r < 0) != (y < 0) { r + y } else { r })
            }
            Binary::Pow if y < 0 => return Ok(Value::Float((x as f64).powf(y as f64))),
            Binary::Pow => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
            Binary::Concat => None,
        };
        return int.map(Value::Int).ok_or_else(large);
    }
    let (Some(x), Some(y)) = (a.as_float(), b.as_float()) else { return Err(wrong()) };
    if y == 0.0 && matches!(op, Binary::Div | Binary::FloorDiv | Binary::Rem) {
        return Err(zero());
    }
    Ok(Value::Float(match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::FloorDiv => (x / y).floor(),
        Binary::Rem => x - y * (x / y).floor(),
        Binary::Pow => x.powf(y),
        Binary::Concat => return Err(wrong()),
    }))
}

fn symbol(op: Binary) -> &'static str {
    match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::FloorDiv => "//",
        Binary::Rem => "%",
        Binary::Pow => "**",
        Binary::Concat => "~",
    }
}

/// `needle in haystack`.
pub(crate) fn contains(haystack: &Value, needle: &Value) -> Result<bool, Error> {
    match (haystack, needle) {
        (Value::Undefined(_), _) => Ok(false),
        (Value::Str(text), Value::Str(part)) => {
            meter::step(text.len() as u64 / 32)?;
            Ok(text.as_str().contains(part.as_str()))
        }
        (Value::Map(map), key) => Ok(map.get(key).is_some()),
        (Value::List(list), item) => {
            meter::step(list.items.len() as u64 / 4)?;
            Ok(list.items.iter().any(|known| equal(known, item)))
        }
        _ => Err(Error::operation(format!(
            "`in` with {} on the left and {} on the right",
            needle.type_name(),
            haystack.type_name()
        ))),
    }
}
