//! Filters, what stands after `|`: one row each.

use std::cmp::Ordering;

use crate::error::Error;
use crate::functions::{Arguments, integer, string};
use crate::run::Run;
use crate::text::{Builder, Text};

use crate::value::{Form, Value, compare, equal};
use crate::{format, json, meter, methods, ops, predicates};

/// A named filter.
pub(crate) struct Filter {
    pub name: &'static str,
    pub run: fn(&mut Run, Value, Arguments) -> Result<Value, Error>,
}

const fn row(
    name: &'static str,
    run: fn(&mut Run, Value, Arguments) -> Result<Value, Error>,
) -> Filter {
    Filter { name, run }
}

const FILTERS: &[Filter] = &[
    row("abs", absolute),
    row("attr", attr),
    row("capitalize", |_, v, args| text("capitalize", v, args, methods::capitalize)),
    row("count", length),
    row("d", default),
    row("default", default),
    row("dictsort", dictsort),
    row("e", escape),
    row("escape", escape),
    row("first", |run, v, args| end(run, v, args, false)),
    row("float", float),
    row("format", percent),
    row("indent", indent),
    row("int", int),
    row("items", items),
    row("join", join),
    row("last", |run, v, args| end(run, v, args, true)),
    row("length", length),
    row("list", list),
    row("lower", |_, v, args| text("lower", v, args, methods::lower)),
    row("map", map),
    row("max", |run, v, args| extreme(run, v, args, Ordering::Greater)),
    row("min", |run, v, args| extreme(run, v, args, Ordering::Less)),
    row("reject", |run, v, args| select(run, v, args, false, false)),
    row("rejectattr", |run, v, args| select(run, v, args, true, false)),
    row("replace", replace),
    row("reverse", reverse),
    row("round", round),
    row("safe", |_, v, args| {
        args.none("safe")?;
        Ok(Value::Str(format::display(&v)?.with_markup(true)))
    }),
    row("select", |run, v, args| select(run, v, args, false, true)),
    row("selectattr", |run, v, args| select(run, v, args, true, true)),
    row("sort", sort),
    row("string", |_, v, args| {
        args.none("string")?;
        Ok(Value::Str(format::display(&v)?))
    }),
    row("sum", sum),
    row("title", title),
    row("tojson", json::dump),
    row("trim", trim),
    row("unique", unique),
    row("upper", |_, v, args| text("upper", v, args, methods::upper)),
    row("wordcount", wordcount),
];

pub(crate) fn find(name: &str) -> Option<&'static Filter> {
    FILTERS.iter().find(|row| row.name == name)
}

fn text(
    name: &str,
    subject: Value,
    args: Arguments,
    change: fn(&Text) -> Text,
) -> Result<Value, Error> {
    args.none(name)?;
    let text = format::display(&subject)?;
    meter::room(text.len())?;
    Ok(Value::Str(change(&text)))
}

fn truth(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

fn absolute(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("abs")?;
    run.defined(&subject)?;
    match subject {
        Value::Float(float) => Ok(Value::Float(float.abs())),
        value if value.as_int().is_some_and(|int| int < 0) => ops::negate(&value),
        value if value.as_int().is_some() => Ok(value),
        value => Err(Error::operation(format!("`abs` of {}", value.type_name()))),
    }
}

fn attr(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let name = string("attr", Some(args.one("attr")?))?;
    run.defined(&subject)?;
    match subject {
        // Only attributes, never the items of a dict.
        Value::Map(_) => Ok(methods::find(&subject, name.as_str())
            .map_or(Value::Undefined(None), |method| {
                Value::Method(std::rc::Rc::new((subject.clone(), method)))
            })),
        _ => run.attribute(&subject, name.as_str(), None),
    }
}

fn default(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [value, boolean] = args.bind("default", ["default_value", "boolean"])?;
    let missing = matches!(subject, Value::Undefined(_));
    if missing || (truth(boolean) && !subject.is_true()) {
        return Ok(value.unwrap_or_else(|| Value::plain("")));
    }
    Ok(subject)
}

fn dictsort(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [case, by, reverse] = args.bind("dictsort", ["case_sensitive", "by", "reverse"])?;
    run.defined(&subject)?;
    let Value::Map(map) = &subject else {
        return Err(Error::operation(format!("`dictsort` of {}", subject.type_name())));
    };
    let place = match &by {
        None => 0,
        Some(Value::Str(by)) if by.as_str() == "key" => 0,
        Some(Value::Str(by)) if by.as_str() == "value" => 1,
        Some(_) => return Err(Error::operation("`dictsort` is by key or value")),
    };
    let case = truth(case);
    let keyed = map.entries().iter().map(|(key, value)| {
        let chosen = if place == 0 { key } else { value };
        Ok((fold(chosen, case), Value::tuple(vec![key.clone(), value.clone()])?))
    });
    Value::list(sorted(keyed.collect::<Result<_, Error>>()?, truth(reverse))?)
}

/// A value as sorting without regard to case sees it.
fn fold(value: &Value, case_sensitive: bool) -> Value {
    match value {
        Value::Str(text) if !case_sensitive => Value::Str(methods::lower(text)),
        value => value.clone(),
    }
}

/// The values in the order of their keys; equal ones keep theirs, also in reverse.
fn sorted(mut keyed: Vec<(Value, Value)>, reverse: bool) -> Result<Vec<Value>, Error> {
    meter::step(keyed.len() as u64 * 8)?;
    let mut failed = None;
    keyed.sort_by(|(a, _), (b, _)| match compare(a, b) {
        Ok(order) => {
            let order = order.unwrap_or(Ordering::Equal);
            if reverse { order.reverse() } else { order }
        }
        Err(error) => {
            failed.get_or_insert(error);
            Ordering::Equal
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(keyed.into_iter().map(|(_, value)| value).collect()),
    }
}

fn escape(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("escape")?;
    let text = format::display(&subject)?;
    if text.is_markup() {
        return Ok(Value::Str(text));
    }
    Ok(Value::Str(format::escape(&text)?.with_markup(true)))
}

fn end(_: &mut Run, subject: Value, args: Arguments, last: bool) -> Result<Value, Error> {
    args.none("first")?;
    let mut items = subject.items()?.into_iter();
    let found = if last { items.next_back() } else { items.next() };
    Ok(found.unwrap_or(Value::Undefined(None)))
}

fn percent(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let pattern = format::display(&subject)?;
    let values = match args.named.is_empty() {
        true => Value::tuple(args.positional)?,
        false => Value::map(
            args.named.into_iter().map(|(name, value)| (Value::plain(&name), value)).collect(),
        )?,
    };
    Ok(Value::Str(format::percent(&pattern, &values)?))
}

fn indent(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"])?;
    let text = format::display(&subject)?;
    let blanks = match width {
        Some(Value::Str(text)) => text,
        width => Text::plain(&" ".repeat(integer("indent", width, 4)?.clamp(0, 10_000) as usize)),
    };
    let (first, blank) = (truth(first), truth(blank));
    let s = text.as_str();
    let mut lines = methods::lines(s, false);
    let last = lines.last().map_or(0, |line| line.end);
    if lines.is_empty() || last < s.len() {
        // What follows the last line end is a line too.
        lines.push(s.len()..s.len());
    }
    let mut out = Builder::new();
    let mut end = 0;
    for (place, line) in lines.into_iter().enumerate() {
        if place > 0 {
            // Every kind of line end becomes a newline, of the same provenance.
            out.push("\n", text.is_data(end));
        }
        let indented = if place == 0 { first } else { blank || !line.is_empty() };
        if indented {
            out.push_text(&blanks);
        }
        end = line.end;
        out.push_range(&text, line);
        meter::step(1 + blanks.len() as u64 / 32)?;
        meter::fits(out.len())?;
    }
    Ok(Value::Str(out.finish()))
}

fn float(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [default] = args.bind("float", ["default"])?;
    run.defined(&subject)?;
    let found = match &subject {
        Value::Str(text) => text.as_str().trim().parse().ok(),
        value => value.as_float(),
    };
    Ok(found.map_or_else(|| default.unwrap_or(Value::Float(0.0)), Value::Float))
}

fn int(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [default, base] = args.bind("int", ["default", "base"])?;
    run.defined(&subject)?;
    let base = u32::try_from(integer("int", base, 10)?).ok().filter(|b| (2..=36).contains(b));
    let base = base.ok_or_else(|| Error::operation("`int` has bases from 2 to 36"))?;
    let found = match &subject {
        Value::Str(text) => {
            let s = text.as_str().trim();
            let digits = match base {
                16 => s.trim_start_matches("0x"),
                8 => s.trim_start_matches("0o"),
                2 => s.trim_start_matches("0b"),
                _ => s,
            };
            let whole = i128::from_str_radix(digits, base).ok();
            whole.or_else(|| s.parse::<f64>().ok().filter(|f| f.is_finite()).map(|f| f as i128))
        }
        Value::Float(float) if float.is_finite() => Some(*float as i128),
        value => value.as_int(),
    };
    Ok(found.map_or_else(|| default.unwrap_or(Value::Int(0)), Value::Int))
}

fn items(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("items")?;
    match &subject {
        Value::Undefined(_) => Value::sequence(Vec::new(), Form::Iter),
        Value::Map(_) => methods::call(&subject, "items", Arguments::default()),
        _ => Err(Error::operation(format!("`items` of {}", subject.type_name()))),
    }
}

fn join(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [separator, attribute] = args.bind("join", ["d", "attribute"])?;
    let separator = match separator {
        Some(value) => format::display(&value)?,
        None => Text::plain(""),
    };
    let mut out = Builder::new();
    for (place, item) in subject.items()?.into_iter().enumerate() {
        let item = match &attribute {
            Some(path) => along(run, &item, path)?,
            None => item,
        };
        if place > 0 {
            out.push_text(&separator);
        }
        let text = format::display(&item)?;
        out.push_text(&text);
        meter::step((text.len() + separator.len()) as u64 / 32)?;
        meter::fits(out.len())?;
    }
    Ok(Value::Str(out.finish()))
}

fn length(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("length")?;
    let length = match &subject {
        Value::Undefined(_) => 0,
        Value::Str(text) => {
            meter::step(text.len() as u64 / 64)?;
            text.as_str().chars().count()
        }
        Value::List(list) if list.form != Form::Iter => list.items.len(),
        Value::Map(map) => map.entries().len(),
        _ => return Err(Error::operation(format!("{} has no length", subject.type_name()))),
    };
    Ok(Value::Int(length as i128))
}

fn list(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("list")?;
    Value::list(subject.items()?)
}

/// The items for `map`, `select` and the like, which take anything false as nothing.
fn lenient(subject: &Value) -> Result<Vec<Value>, Error> {
    if subject.is_true() { subject.items() } else { Ok(Vec::new()) }
}

/// The item at a path such as `function.name`, or at an index.
fn along(run: &Run, value: &Value, path: &Value) -> Result<Value, Error> {
    let Value::Str(path) = path else { return run.item(value, path) };
    let mut value = value.clone();
    for part in path.as_str().split('.') {
        let key = match part.parse::<i128>() {
            Ok(index) if part.bytes().all(|b| b.is_ascii_digit()) => Value::Int(index),
            _ => Value::plain(part),
        };
        value = run.item(&value, &key)?;
    }
    Ok(value)
}

fn map(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let Arguments { positional, mut named } = args;
    let mut out = Vec::new();
    if positional.is_empty() {
        let mut take = |name: &str| {
            let place = named.iter().position(|(known, _)| &**known == name)?;
            Some(named.swap_remove(place).1)
        };
        let (path, default) = (take("attribute"), take("default"));
        let path = path.ok_or_else(|| Error::operation("`map` needs a filter or an attribute"))?;
        for item in lenient(&subject)? {
            meter::step(1)?;
            let found = along(run, &item, &path)?;
            out.push(match (&found, &default) {
                (Value::Undefined(_), Some(default)) => default.clone(),
                _ => found,
            });
        }
    } else {
        let mut rest = positional.into_iter();
        let name = string("map", rest.next())?;
        let rest: Vec<Value> = rest.collect();
        let filter = find(name.as_str()).ok_or_else(|| unknown("filter", &name))?;
        for item in lenient(&subject)? {
            meter::step(1)?;
            let args = Arguments { positional: rest.clone(), named: named.clone() };
            out.push((filter.run)(run, item, args)?);
        }
    }
    Value::sequence(out, Form::Iter)
}

fn unknown(what: &str, name: &Text) -> Error {
    match name.has_data() {
        true => Error::unsupported(format!("unknown {what}")),
        false => Error::unsupported(format!("unknown {what} `{}`", name.as_str())),
    }
}

fn select(
    run: &mut Run,
    subject: Value,
    args: Arguments,
    by_attribute: bool,
    keep: bool,
) -> Result<Value, Error> {
    let mut rest = args.positional.into_iter();
    let path = if by_attribute {
        let path = rest.next();
        Some(path.ok_or_else(|| Error::operation("`selectattr` needs an attribute"))?)
    } else {
        None
    };
    let test = match rest.next() {
        Some(name) => {
            let name = string("select", Some(name))?;
            Some(predicates::find(name.as_str()).ok_or_else(|| unknown("test", &name))?)
        }
        None => None,
    };
    let rest: Vec<Value> = rest.collect();
    let mut out = Vec::new();
    for item in lenient(&subject)? {
        meter::step(1)?;
        let looked_at = match &path {
            Some(path) => along(run, &item, path)?,
            None => item.clone(),
        };
        let holds = match test {
            Some(test) => {
                let args = Arguments { positional: rest.clone(), named: args.named.clone() };
                (test.holds)(run, &looked_at, args)?
            }
            None => looked_at.is_true(),
        };
        if holds == keep {
            out.push(item);
        }
    }
    Value::sequence(out, Form::Iter)
}

fn extreme(
    run: &mut Run,
    subject: Value,
    args: Arguments,
    wanted: Ordering,
) -> Result<Value, Error> {
    let [case, attribute] = args.bind("max", ["case_sensitive", "attribute"])?;
    let case = truth(case);
    let mut best: Option<(Value, Value)> = None;
    for item in subject.items()? {
        let key = match &attribute {
            Some(path) => along(run, &item, path)?,
            None => item.clone(),
        };
        let key = fold(&key, case);
        let better = match &best {
            Some((known, _)) => compare(&key, known)? == Some(wanted),
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::Undefined(None), |(_, item)| item))
}

fn replace(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [old, new, count] = args.bind("replace", ["old", "new", "count"])?;
    let text = format::display(&subject)?;
    let need = || Error::operation("`replace` needs two strings");
    let old = format::display(&old.ok_or_else(need)?)?;
    let new = format::display(&new.ok_or_else(need)?)?;
    let count = match count {
        Some(Value::None) => None,
        count => count,
    };
    methods::replace(&text, &old, &new, integer("replace", count, -1)?).map(Value::Str)
}

fn reverse(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("reverse")?;
    let mut items = subject.items()?;
    items.reverse();
    if matches!(subject, Value::Str(_)) {
        let whole = Value::list(items)?;
        return join(run, whole, Arguments::default());
    }
    Value::sequence(items, Form::Iter)
}

fn round(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [precision, method] = args.bind("round", ["precision", "method"])?;
    run.defined(&subject)?;
    let number = subject.as_float().ok_or_else(|| Error::operation("`round` of no number"))?;
    let precision = integer("round", precision, 0)?.clamp(-300, 300) as i32;
    let method = match &method {
        Some(Value::Str(text)) => text.as_str().to_owned(),
        None => "common".to_owned(),
        Some(_) => return Err(Error::operation("`round` is common, ceil or floor")),
    };
    let factor = 10f64.powi(precision);
    Ok(Value::Float(match (method.as_str(), precision) {
        ("ceil", _) => (number * factor).ceil() / factor,
        ("floor", _) => (number * factor).floor() / factor,
        // Decimal digits round correctly, halves to even, as Python's `round`.
        ("common", 0..) => format!("{number:.*}", precision as usize).parse().unwrap_or(number),
        ("common", _) => (number * factor).round_ties_even() / factor,
        _ => return Err(Error::operation("`round` is common, ceil or floor")),
    }))
}

fn sort(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [reverse, case, attribute] =
        args.bind("sort", ["reverse", "case_sensitive", "attribute"])?;
    let case = truth(case);
    let mut keyed = Vec::new();
    for item in subject.items()? {
        let key = match &attribute {
            Some(Value::Str(paths)) if paths.as_str().contains(',') => {
                let parts = paths.as_str().split(',');
                let keys = parts.map(|p| Ok(fold(&along(run, &item, &Value::plain(p))?, case)));
                Value::list(keys.collect::<Result<_, Error>>()?)?
            }
            Some(path) => fold(&along(run, &item, path)?, case),
            None => fold(&item, case),
        };
        keyed.push((key, item));
    }
    Value::list(sorted(keyed, truth(reverse))?)
}

fn sum(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [attribute, start] = args.bind("sum", ["attribute", "start"])?;
    let mut total = start.unwrap_or(Value::Int(0));
    for item in subject.items()? {
        let item = match &attribute {
            Some(path) => along(run, &item, path)?,
            None => item,
        };
        total = ops::binary(crate::tree::Binary::Add, &total, &item)?;
    }
    Ok(total)
}

fn title(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("title")?;
    let text = format::display(&subject)?;
    meter::room(text.len())?;
    // Unlike the method, words end only at blanks, hyphens and opening brackets.
    let letter = |c: char| !(methods::is_space(c) || "-({[<".contains(c));
    let mut inside = false;
    Ok(Value::Str(text.map_runs(|run| methods::title(run, &mut inside, letter))))
}

fn trim(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [chars] = args.bind("trim", ["chars"])?;
    let text = format::display(&subject)?;
    meter::step(text.len() as u64 / 32)?;
    let chars = match chars {
        None | Some(Value::None) => None,
        some => Some(string("trim", some)?),
    };
    Ok(Value::Str(methods::strip(&text, chars.as_ref().map(Text::as_str), true, true)))
}

fn unique(run: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    let [case, attribute] = args.bind("unique", ["case_sensitive", "attribute"])?;
    let case = truth(case);
    let mut seen: Vec<Value> = Vec::new();
    let mut out = Vec::new();
    for item in subject.items()? {
        let key = match &attribute {
            Some(path) => along(run, &item, path)?,
            None => item.clone(),
        };
        let key = fold(&key, case);
        meter::step(1 + seen.len() as u64 / 4)?;
        if !seen.iter().any(|known| equal(known, &key)) {
            seen.push(key);
            out.push(item);
        }
    }
    Value::sequence(out, Form::Iter)
}

fn wordcount(_: &mut Run, subject: Value, args: Arguments) -> Result<Value, Error> {
    args.none("wordcount")?;
    let text = format::display(&subject)?;
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let words = text.as_str().split(|c| !letter(c)).filter(|word| !word.is_empty());
    Ok(Value::Int(words.count() as i128))
}
