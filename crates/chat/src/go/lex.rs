//! The words of a Go template: text, and what stands between braces.
//!
//! Facts: the documentation of Go's `text/template` ("Text and spaces", "Actions").

use crate::error::{Error, Kind};

/// A word and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub at: u32,
    pub kind: Word,
    /// Whether white space stands before it, inside an action.
    pub spaced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Text(String),
    Open,
    Close,
    /// A letter and more.
    Name(String),
    /// `.A`, without the dot.
    Field(String),
    Dot,
    /// With its `$`.
    Variable(String),
    Int(i64),
    Float(f64),
    Str(String),
    Pipe,
    Comma,
    Declare,
    Assign,
    ParenOpen,
    ParenClose,
}

/// White space that trim marks remove.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

fn syntax(what: impl Into<String>, at: usize) -> Error {
    Error::new(Kind::Syntax, what).at(at as u32)
}

pub(super) fn lex(source: &str) -> Result<Vec<Token>, Error> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut trim = false;
    loop {
        let open = source[at..].find("{{").map(|found| at + found);
        let mut text = &source[at..open.unwrap_or(source.len())];
        if trim {
            text = text.trim_start_matches(SPACE);
        }
        let Some(open) = open else {
            push_text(&mut out, text, at);
            return Ok(out);
        };
        let mut inside = open + 2;
        let marked = source[inside..].strip_prefix('-').is_some_and(|r| r.starts_with(SPACE));
        if marked {
            text = text.trim_end_matches(SPACE);
            inside += 2;
        }
        push_text(&mut out, text, at);
        if source[inside..].trim_start_matches(SPACE).starts_with("/*")
            && (marked || source[inside..].starts_with("/*"))
        {
            (at, trim) = comment(source, open, inside)?;
            continue;
        }
        out.push(Token { at: open as u32, kind: Word::Open, spaced: false });
        (at, trim) = action(source, open, inside, &mut out)?;
    }
}

fn push_text(out: &mut Vec<Token>, text: &str, at: usize) {
    if !text.is_empty() {
        out.push(Token { at: at as u32, kind: Word::Text(text.to_owned()), spaced: false });
    }
}

/// Where the text after a comment begins, and whether its white space is trimmed.
fn comment(source: &str, open: usize, inside: usize) -> Result<(usize, bool), Error> {
    let end = source[inside..].find("*/").ok_or_else(|| syntax("unclosed comment", open))?;
    let rest = &source[inside + end + 2..];
    let after = source.len() - rest.len();
    if rest.starts_with("}}") {
        return Ok((after + 2, false));
    }
    let closed = rest.trim_start_matches(SPACE);
    match closed.strip_prefix("-}}") {
        Some(_) if closed.len() < rest.len() => Ok((source.len() - closed.len() + 3, true)),
        _ => Err(syntax("a comment does not end its action", open)),
    }
}

/// The words of one action.
fn action(
    source: &str,
    open: usize,
    inside: usize,
    out: &mut Vec<Token>,
) -> Result<(usize, bool), Error> {
    let mut at = inside;
    loop {
        let rest = source[at..].trim_start_matches(SPACE);
        let spaced = rest.len() < source.len() - at;
        at = source.len() - rest.len();
        if rest.is_empty() {
            return Err(syntax("unclosed action", open));
        }
        let trimmed = spaced && rest.starts_with("-}}");
        if trimmed || rest.starts_with("}}") {
            out.push(Token { at: at as u32, kind: Word::Close, spaced });
            return Ok((at + if trimmed { 3 } else { 2 }, trimmed));
        }
        let (kind, length) = word(rest, at)?;
        out.push(Token { at: at as u32, kind, spaced });
        at += length;
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Bytes of the name at the beginning.
fn name(text: &str) -> usize {
    text.find(|c| !is_name(c)).unwrap_or(text.len())
}

fn word(rest: &str, at: usize) -> Result<(Word, usize), Error> {
    let first = rest.chars().next().unwrap_or(' ');
    let second = rest[first.len_utf8()..].chars().next().unwrap_or(' ');
    let short = [
        (":=", Word::Declare),
        ("=", Word::Assign),
        ("|", Word::Pipe),
        (",", Word::Comma),
        ("(", Word::ParenOpen),
        (")", Word::ParenClose),
    ];
    if let Some((text, kind)) = short.into_iter().find(|(text, _)| rest.starts_with(text)) {
        return Ok((kind, text.len()));
    }
    match first {
        '"' | '`' => string(rest, first, at),
        '\'' => character(rest, at),
        '.' if second.is_ascii_digit() => number(rest, at),
        '.' => match name(&rest[1..]) {
            0 => Ok((Word::Dot, 1)),
            length => Ok((Word::Field(rest[1..=length].to_owned()), 1 + length)),
        },
        '$' => {
            let length = 1 + name(&rest[1..]);
            Ok((Word::Variable(rest[..length].to_owned()), length))
        }
        '0'..='9' | '+' | '-' => number(rest, at),
        c if is_name(c) => {
            let length = name(rest);
            Ok((Word::Name(rest[..length].to_owned()), length))
        }
        _ => Err(syntax("a character that no action has", at)),
    }
}

fn number(rest: &str, at: usize) -> Result<(Word, usize), Error> {
    let mut length = 0;
    let mut before = ' ';
    for c in rest.chars() {
        let sign = matches!(c, '+' | '-') && (length == 0 || matches!(before, 'e' | 'E'));
        if !(sign || c == '.' || is_name(c)) {
            break;
        }
        (before, length) = (c, length + c.len_utf8());
    }
    let text = rest[..length].replace('_', "");
    let wrong = || syntax("a number that is none, or is too large", at);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let radix = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)];
    let based = radix.into_iter().find_map(|(mark, radix)| {
        digits.strip_prefix(mark).map(|digits| i64::from_str_radix(digits, radix))
    });
    let octal = digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_digit());
    let int = match based {
        Some(int) => int.map_err(|_| wrong())?,
        None if digits.starts_with('0') && octal => {
            i64::from_str_radix(digits, 8).map_err(|_| wrong())?
        }
        None => match digits.parse::<i64>() {
            Ok(int) => int,
            Err(_)
                if digits.contains(['.', 'e', 'E'])
                    && digits
                        .starts_with(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) =>
            {
                let float: f64 = digits.parse().map_err(|_| wrong())?;
                return Ok((Word::Float(float * f64::from(sign as i32)), length));
            }
            Err(_) => return Err(wrong()),
        },
    };
    Ok((Word::Int(sign * int), length))
}

fn character(rest: &str, at: usize) -> Result<(Word, usize), Error> {
    let wrong = || syntax("a character in quotes that is none", at);
    let mut chars = rest.char_indices().skip(1);
    let (_, c) = chars.next().ok_or_else(wrong)?;
    let c = match c {
        '\\' => escape(&mut chars, '\'').and_then(char::from_u32).ok_or_else(wrong)?,
        '\'' | '\n' => return Err(wrong()),
        c => c,
    };
    match chars.next() {
        Some((end, '\'')) => Ok((Word::Int(i64::from(u32::from(c))), end + 1)),
        _ => Err(wrong()),
    }
}

fn string(rest: &str, quote: char, at: usize) -> Result<(Word, usize), Error> {
    let wrong = || syntax("a string that does not end, or has an escape that is none", at);
    if quote == '`' {
        let end = rest[1..].find('`').ok_or_else(wrong)?;
        return Ok((Word::Str(rest[1..=end].replace('\r', "")), end + 2));
    }
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return Ok((Word::Str(out), place + 1)),
            '\n' => break,
            '\\' => {
                let code = escape(&mut chars, '"').ok_or_else(wrong)?;
                out.push(char::from_u32(code).ok_or_else(wrong)?);
            }
            c => out.push(c),
        }
    }
    Err(wrong())
}

/// The character of an escape, behind its backslash.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>, quote: char) -> Option<u32> {
    let (_, code) = chars.next()?;
    let (count, radix, first) = match code {
        'a' => return Some(7),
        'b' => return Some(8),
        'f' => return Some(12),
        'n' => return Some(10),
        'r' => return Some(13),
        't' => return Some(9),
        'v' => return Some(11),
        '\\' => return Some(u32::from('\\')),
        c if c == quote => return Some(u32::from(c)),
        'x' => (2, 16, 0),
        'u' => (4, 16, 0),
        'U' => (8, 16, 0),
        '0'..='7' => (2, 8, code.to_digit(8)?),
        _ => return None,
    };
    let mut value = first;
    for _ in 0..count {
        let (_, digit) = chars.next()?;
        value = value.checked_mul(radix)?.checked_add(digit.to_digit(radix)?)?;
    }
    // Bytes beyond ASCII would be parts of a character.
    let byte = matches!(code, 'x' | '0'..='7');
    (!byte || value < 128).then_some(value)
}
