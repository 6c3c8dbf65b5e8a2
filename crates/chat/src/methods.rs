//! Methods of strings, lists and dicts, as Python has them; marks are kept.

use std::ops::Range;

use crate::error::Error;
use crate::format;
use crate::functions::{Arguments, integer, string};
use crate::meter;
use crate::text::{Builder, Text};
use crate::value::{Form, Loop, Value, equal};

const STRING: &[&str] = &[
    "capitalize",
    "casefold",
    "count",
    "endswith",
    "find",
    "format",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "isupper",
    "join",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];
const LIST: &[&str] = &["copy", "count", "index"];
const TUPLE: &[&str] = &["count", "index"];
const DICT: &[&str] = &["copy", "get", "items", "keys", "values"];
/// Methods that the immutable sandbox withholds from dicts.
pub(crate) const CHANGES_DICT: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];

/// The method `name` of `subject`, if its type has one.
pub(crate) fn find(subject: &Value, name: &str) -> Option<&'static str> {
    let methods = match subject {
        Value::Str(_) => STRING,
        Value::Map(_) => DICT,
        Value::List(list) => match list.form {
            Form::List => LIST,
            Form::Tuple => TUPLE,
            Form::View | Form::Iter => return None,
        },
        _ => return None,
    };
    methods.iter().copied().find(|method| *method == name)
}

pub(crate) fn call(subject: &Value, method: &'static str, args: Arguments) -> Result<Value, Error> {
    match subject {
        Value::Str(text) => string_method(text, method, args),
        Value::Map(map) => match method {
            "get" => {
                let [key, default] = args.bind("get", ["key", "default"])?;
                let key = key.ok_or_else(|| Error::operation("`get` needs a key"))?;
                Ok(map.get(&key).cloned().or(default).unwrap_or(Value::None))
            }
            "copy" => Ok(subject.clone()),
            _ => {
                args.none(method)?;
                meter::room(size_of_val(map.entries()))?;
                let entries = map.entries().iter();
                let items: Result<Vec<Value>, Error> = match method {
                    "keys" => Ok(entries.map(|(key, _)| key.clone()).collect()),
                    "values" => Ok(entries.map(|(_, value)| value.clone()).collect()),
                    _ => entries.map(|(k, v)| Value::tuple(vec![k.clone(), v.clone()])).collect(),
                };
                Value::sequence(items?, Form::View)
            }
        },
        Value::List(list) => match method {
            "copy" => Ok(subject.clone()),
            "count" => {
                let what = args.one("count")?;
                let count = list.items.iter().filter(|item| equal(item, &what)).count();
                Ok(Value::Int(count as i128))
            }
            _ => {
                let what = args.one("index")?;
                match list.items.iter().position(|item| equal(item, &what)) {
                    Some(place) => Ok(Value::Int(place as i128)),
                    None => Err(Error::operation("`index` of what is not in the list")),
                }
            }
        },
        Value::Loop(state) => loop_method(state, method, args),
        _ => Err(Error::operation(format!("{} has no `{method}`", subject.type_name()))),
    }
}

fn loop_method(state: &Loop, method: &str, args: Arguments) -> Result<Value, Error> {
    let items = args.positional;
    if method == "cycle" {
        if items.is_empty() {
            return Err(Error::operation("`cycle` needs an argument"));
        }
        return Ok(items[state.index.get() % items.len()].clone());
    }
    let mut last = state.changed.borrow_mut();
    let same = last.as_ref().is_some_and(|last| {
        last.len() == items.len() && last.iter().zip(&items).all(|(a, b)| equal(a, b))
    });
    *last = Some(items);
    Ok(Value::Bool(!same))
}

fn string_method(text: &Text, method: &'static str, args: Arguments) -> Result<Value, Error> {
    let s = text.as_str();
    meter::room(s.len())?;
    let truth = |args: Arguments, holds: bool| args.none(method).map(|()| Value::Bool(holds));
    let every = |test: fn(char) -> bool| !s.is_empty() && s.chars().all(test);
    match method {
        "upper" => args.none(method).map(|()| Value::Str(upper(text))),
        "lower" | "casefold" => args.none(method).map(|()| Value::Str(lower(text))),
        "capitalize" => args.none(method).map(|()| Value::Str(capitalize(text))),
        "title" => {
            args.none(method)?;
            let mut inside = false;
            Ok(Value::Str(text.map_runs(|run| title(run, &mut inside, char::is_alphabetic))))
        }
        "swapcase" => {
            args.none(method)?;
            let swap = |c: char| -> String {
                if c.is_uppercase() {
                    c.to_lowercase().collect()
                } else {
                    c.to_uppercase().collect()
                }
            };
            Ok(Value::Str(text.map_runs(|run| run.chars().map(swap).collect())))
        }
        "islower" | "isupper" => {
            let (low, up) = (s.chars().any(char::is_lowercase), s.chars().any(char::is_uppercase));
            truth(args, if method == "islower" { low && !up } else { up && !low })
        }
        "isspace" => truth(args, every(is_space)),
        "isdigit" | "isnumeric" | "isdecimal" => truth(args, every(char::is_numeric)),
        "isalnum" => truth(args, every(char::is_alphanumeric)),
        "isalpha" => truth(args, every(char::is_alphabetic)),
        "isascii" => truth(args, s.is_ascii()),
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.bind(method, ["chars"])?;
            let chars = match chars {
                None | Some(Value::None) => None,
                some => Some(string(method, some)?),
            };
            let (left, right) = (method != "rstrip", method != "lstrip");
            Ok(Value::Str(strip(text, chars.as_ref().map(Text::as_str), left, right)))
        }
        "removeprefix" => {
            let part = string(method, Some(args.one(method)?))?;
            let from = if s.starts_with(part.as_str()) { part.len() } else { 0 };
            Ok(Value::Str(text.slice(from..s.len())))
        }
        "removesuffix" => {
            let part = string(method, Some(args.one(method)?))?;
            let cut = if s.ends_with(part.as_str()) { part.len() } else { 0 };
            Ok(Value::Str(text.slice(0..s.len() - cut)))
        }
        "startswith" | "endswith" => {
            let parts = match args.one(method)? {
                Value::List(list) if list.form == Form::Tuple => list.items.clone(),
                part => vec![part],
            };
            for part in parts {
                let part = string(method, Some(part))?;
                let starts = method == "startswith";
                if starts && s.starts_with(part.as_str()) || !starts && s.ends_with(part.as_str()) {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        "replace" => {
            let [old, new, count] = args.bind(method, ["old", "new", "count"])?;
            let (old, new) = (string(method, old)?, string(method, new)?);
            replace(text, &old, &new, integer(method, count, -1)?).map(Value::Str)
        }
        "split" | "rsplit" => {
            let [sep, most] = args.bind(method, ["sep", "maxsplit"])?;
            let most = usize::try_from(integer(method, most, -1)?).unwrap_or(usize::MAX);
            let parts = match sep {
                None | Some(Value::None) => split_blank(s, most, method == "rsplit"),
                sep => {
                    let sep = string(method, sep)?;
                    if sep.len() == 0 {
                        return Err(Error::operation(format!("`{method}` by an empty string")));
                    }
                    split_by(s, sep.as_str(), most, method == "rsplit")
                }
            };
            pieces(text, parts)
        }
        "splitlines" => {
            let [keep] = args.bind(method, ["keepends"])?;
            pieces(text, lines(s, keep.is_some_and(|keep| keep.is_true())))
        }
        "partition" | "rpartition" => {
            let sep = string(method, Some(args.one(method)?))?;
            if sep.len() == 0 {
                return Err(Error::operation(format!("`{method}` by an empty string")));
            }
            let last = method == "rpartition";
            let at = if last { s.rfind(sep.as_str()) } else { s.find(sep.as_str()) };
            let (a, b) = match at {
                Some(at) => (at, at + sep.len()),
                None if last => (0, 0),
                None => (s.len(), s.len()),
            };
            let parts = [0..a, a..b, b..s.len()];
            Value::tuple(parts.into_iter().map(|range| Value::Str(text.slice(range))).collect())
        }
        "count" => {
            let part = string(method, Some(args.one(method)?))?;
            let count = match part.len() {
                0 => s.chars().count() + 1,
                _ => s.matches(part.as_str()).count(),
            };
            Ok(Value::Int(count as i128))
        }
        "find" | "rfind" | "index" => {
            let [part, start] = args.bind(method, ["sub", "start"])?;
            let part = string(method, part)?;
            let skip = usize::try_from(integer(method, start, 0)?)
                .map_err(|_| Error::unsupported(format!("`{method}` from a negative place")))?;
            let from = match s.char_indices().nth(skip) {
                Some((at, _)) => at,
                None if s.chars().count() == skip => s.len(),
                None => return Ok(Value::Int(-1)),
            };
            let rest = &s[from..];
            let found = match method {
                "rfind" => rest.rfind(part.as_str()),
                _ => rest.find(part.as_str()),
            };
            match found {
                Some(at) => Ok(Value::Int((skip + rest[..at].chars().count()) as i128)),
                None if method == "index" => Err(Error::operation("`index` finds nothing")),
                None => Ok(Value::Int(-1)),
            }
        }
        "join" => {
            let items = args.one(method)?.items()?;
            let mut out = Builder::new();
            for (place, item) in items.iter().enumerate() {
                let Value::Str(item) = item else {
                    return Err(Error::operation(format!("`join` of {}", item.type_name())));
                };
                if place > 0 {
                    out.push_text(text);
                }
                out.push_text(item);
                meter::step((text.len() + item.len()) as u64 / 32)?;
                meter::fits(out.len())?;
            }
            Ok(Value::Str(out.finish()))
        }
        "format" => format::braces(text, args).map(Value::Str),
        "zfill" => {
            let width = integer(method, Some(args.one(method)?), 0)?.clamp(0, 10_000) as usize;
            let sign = usize::from(s.starts_with(['-', '+']));
            let mut out = Builder::new();
            out.push_range(text, 0..sign);
            out.push_plain(&"0".repeat(width.saturating_sub(s.chars().count())));
            out.push_range(text, sign..s.len());
            Ok(Value::Str(out.finish()))
        }
        _ => Err(Error::unsupported(format!("method `{method}` of a string"))),
    }
}

/// Python's idea of a blank character.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub(crate) fn upper(text: &Text) -> Text {
    text.map_runs(str::to_uppercase)
}

pub(crate) fn lower(text: &Text) -> Text {
    text.map_runs(str::to_lowercase)
}

pub(crate) fn capitalize(text: &Text) -> Text {
    let mut first = true;
    text.map_runs(|run| {
        let mut out = String::with_capacity(run.len());
        let mut rest = run;
        if let (true, Some(c)) = (first, run.chars().next()) {
            out.extend(c.to_uppercase());
            rest = &run[c.len_utf8()..];
            first = false;
        }
        out + &rest.to_lowercase()
    })
}

/// The first letter of every word upper, the others lower; `letter` says what is inside a word.
pub(crate) fn title(run: &str, inside: &mut bool, letter: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(run.len());
    for c in run.chars() {
        match *inside {
            true => out.extend(c.to_lowercase()),
            false => out.extend(c.to_uppercase()),
        }
        *inside = letter(c);
    }
    out
}

pub(crate) fn strip(text: &Text, chars: Option<&str>, left: bool, right: bool) -> Text {
    let s = text.as_str();
    let cut = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let from = if left { s.len() - s.trim_start_matches(cut).len() } else { 0 };
    let kept = if right { s[from..].trim_end_matches(cut).len() } else { s.len() - from };
    text.slice(from..from + kept)
}

pub(crate) fn replace(text: &Text, old: &Text, new: &Text, count: i128) -> Result<Text, Error> {
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut out = Builder::new();
    let mut done = 0;
    // An empty `old` stands before every character and at the end, as in Python.
    for (at, part) in text.as_str().match_indices(old.as_str()).take(most) {
        out.push_range(text, done..at);
        out.push_text(new);
        done = at + part.len();
        meter::step(1 + new.len() as u64 / 32)?;
        meter::fits(out.len())?;
    }
    out.push_range(text, done..text.len());
    Ok(out.finish())
}

fn pieces(text: &Text, parts: Vec<Range<usize>>) -> Result<Value, Error> {
    meter::room(parts.len().saturating_mul(128))?;
    Value::list(parts.into_iter().map(|range| Value::Str(text.slice(range))).collect())
}

fn split_by(s: &str, sep: &str, most: usize, from_right: bool) -> Vec<Range<usize>> {
    let mut places: Vec<usize> = if from_right {
        let mut places: Vec<usize> = s.rmatch_indices(sep).take(most).map(|(at, _)| at).collect();
        places.reverse();
        places
    } else {
        s.match_indices(sep).take(most).map(|(at, _)| at).collect()
    };
    let mut parts = Vec::with_capacity(places.len() + 1);
    let mut start = 0;
    for at in places.drain(..) {
        parts.push(start..at);
        start = at + sep.len();
    }
    parts.push(start..s.len());
    parts
}

fn split_blank(s: &str, most: usize, from_right: bool) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in s.char_indices() {
        match (is_space(c), start) {
            (true, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    words.extend(start.map(|from| from..s.len()));
    if words.len() > most {
        // What is left over stays one piece, blanks and all; only its inner end is cut.
        let extra = words.len() - most;
        if from_right {
            let rest = 0..words[extra - 1].end;
            words.splice(..extra, [rest]);
        } else {
            let rest = words[most].start..s.len();
            words.splice(most.., [rest]);
        }
    }
    words
}

/// The lines of `s`, with their ends if they are to be kept.
pub(crate) fn lines(s: &str, keep: bool) -> Vec<Range<usize>> {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut parts = Vec::new();
    let mut start = 0;
    while start < s.len() {
        let Some(found) = s[start..].find(ends) else {
            parts.push(start..s.len());
            break;
        };
        let at = start + found;
        let length = if s[at..].starts_with("\r\n") {
            2
        } else {
            s[at..].chars().next().map_or(1, char::len_utf8)
        };
        parts.push(start..if keep { at + length } else { at });
        start = at + length;
    }
    parts
}
