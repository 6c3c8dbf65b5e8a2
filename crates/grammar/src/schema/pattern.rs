//! Regular expressions of JSON Schema, which are those of ECMA-262 with its flag `u`, as the
//! compiler reads them: every class spelled out, anchors where it understands them.
//!
//! Facts: ECMA-262, section 22.2 (patterns); what it calls white space and line ends is spelled out
//! below. Look-around, back-references and word boundaries are refused by name.

use std::{iter::Peekable, str::Chars};

use crate::error::{Error, Kind};

/// Most repetitions of one part.
const MOST: u32 = 100_000;

/// Nested groups.
const DEEPEST: usize = 100;

/// What `.` is not.
const LINE_ENDS: &str = r"\n\r\x{2028}\x{2029}";
/// What `\s` is.
const BLANKS: &str = concat!(
    r"\t\n\x0b\x0c\r \x{a0}\x{1680}\x{2000}-\x{200a}",
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}",
);
/// What `\w` is.
const WORD: &str = "0-9A-Za-z_";
/// Any text.
const ANY: &str = "(?s:.*)";

/// A part of a pattern.
#[derive(Clone, Debug)]
enum Node {
    /// A text of the compiler's own syntax that stands for one character.
    One(String),
    Start,
    End,
    Either(Vec<Vec<Node>>),
    Repeat(Box<Node>, String),
}

/// `pattern` as an expression that matches whole texts.
///
/// # Errors
///
/// A construct that is no pattern, or that cannot be kept.
pub(crate) fn whole(pattern: &str) -> Result<String, Error> {
    let mut parser = Parser { letters: pattern.chars().peekable(), depth: 0 };
    let parts = parser.either()?;
    if parser.letters.next().is_some() {
        return Err(invalid("a bracket is closed that was not opened"));
    }
    Ok(format!("^(?:{})$", wrapped(&parts, false, false)?))
}

fn unsupported(what: &str) -> Error {
    Error::new(Kind::Unsupported, format!("`pattern`: {what} cannot be kept"))
        .hint("what cannot be kept exactly is refused; a simpler pattern may do")
}

fn invalid(what: &str) -> Error {
    Error::new(Kind::Invalid, format!("`pattern`: {what}"))
}

/// Alternatives with any text before and after them, where no anchor forbids it.
fn wrapped(parts: &[Vec<Node>], start: bool, end: bool) -> Result<String, Error> {
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let (mut start, mut end, mut rest) = (start, end, &part[..]);
        while let [Node::Start, after @ ..] = rest {
            (start, rest) = (true, after);
        }
        while let [before @ .., Node::End] = rest {
            (end, rest) = (true, before);
        }
        out.push(match rest {
            // Anchors may stand in a group that is all there is.
            [Node::Either(inner)] => format!("(?:{})", wrapped(inner, start, end)?),
            _ => {
                let (before, after) = (if start { "" } else { ANY }, if end { "" } else { ANY });
                format!("{before}{}{after}", written(rest)?)
            }
        });
    }
    Ok(out.join("|"))
}

fn written(nodes: &[Node]) -> Result<String, Error> {
    let mut out = String::new();
    for node in nodes {
        match node {
            Node::One(text) => out.push_str(text),
            Node::Start | Node::End => return Err(unsupported("an anchor within it")),
            Node::Either(parts) => {
                let parts: Vec<String> =
                    parts.iter().map(|part| written(part)).collect::<Result<_, _>>()?;
                out.push_str(&format!("(?:{})", parts.join("|")));
            }
            Node::Repeat(node, times) => {
                out.push_str(&format!("(?:{}){times}", written(std::slice::from_ref(node))?));
            }
        }
    }
    Ok(out)
}

struct Parser<'a> {
    letters: Peekable<Chars<'a>>,
    depth: usize,
}

impl Parser<'_> {
    fn eat(&mut self, letter: char) -> bool {
        self.letters.next_if_eq(&letter).is_some()
    }

    /// Alternatives up to the end or a bracket that closes.
    fn either(&mut self) -> Result<Vec<Vec<Node>>, Error> {
        let mut parts = vec![Vec::new()];
        while let Some(letter) = self.letters.peek().copied() {
            if letter == ')' {
                break;
            }
            if self.eat('|') {
                parts.push(Vec::new());
                continue;
            }
            let node = self.atom()?;
            let node = self.repeated(node)?;
            if let Some(part) = parts.last_mut() {
                part.push(node);
            }
        }
        Ok(parts)
    }

    fn atom(&mut self) -> Result<Node, Error> {
        let Some(letter) = self.letters.next() else { return Err(invalid("it ends too soon")) };
        Ok(match letter {
            '^' => Node::Start,
            '$' => Node::End,
            '.' => Node::One(format!("[^{LINE_ENDS}]")),
            '(' => self.group()?,
            '[' => Node::One(self.class()?),
            '\\' => match self.escape(false)? {
                Escaped::Letter(letter) => Node::One(one(written_as(letter)?)),
                Escaped::Class(class) => Node::One(format!("[{class}]")),
            },
            '*' | '+' | '?' => return Err(invalid("nothing stands before a repetition")),
            letter => Node::One(one(written_as(letter)?)),
        })
    }

    fn group(&mut self) -> Result<Node, Error> {
        if self.eat('?') {
            match self.letters.next() {
                Some(':') => {}
                Some('<') if !matches!(self.letters.peek(), Some('=' | '!')) => {
                    // A name; nothing can refer to it.
                    loop {
                        match self.letters.next() {
                            Some('>') => break,
                            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => {}
                            _ => return Err(invalid("a group has no name that can be read")),
                        }
                    }
                }
                Some('=' | '!' | '<') => return Err(unsupported("look-around")),
                _ => return Err(unsupported("a flag in a group")),
            }
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            let what = format!("`pattern`: groups are nested more than {DEEPEST} deep");
            return Err(Error::new(Kind::TooLarge, what));
        }
        let parts = self.either()?;
        self.depth -= 1;
        match self.eat(')') {
            true => Ok(Node::Either(parts)),
            false => Err(invalid("a bracket is not closed")),
        }
    }

    /// The repetitions after a part. Lazy or greedy matters to what is found, not to what matches.
    fn repeated(&mut self, node: Node) -> Result<Node, Error> {
        let times = match self.letters.peek() {
            Some('*' | '+' | '?') => self.letters.next().map(String::from).unwrap_or_default(),
            Some('{') => match self.braces()? {
                Some(times) => times,
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        self.eat('?');
        if matches!(node, Node::Start | Node::End) {
            return Err(unsupported("a repeated anchor"));
        }
        if matches!(self.letters.peek(), Some('*' | '+' | '?')) {
            return Err(invalid("nothing stands before a repetition"));
        }
        Ok(Node::Repeat(Box::new(node), times))
    }

    /// `{2}`, `{2,}` or `{2,5}`; `None` where the brace is a letter.
    fn braces(&mut self) -> Result<Option<String>, Error> {
        let mut ahead = self.letters.clone();
        ahead.next();
        let mut inside = String::new();
        loop {
            match ahead.next() {
                Some('}') => break,
                Some(c) if c.is_ascii_digit() || c == ',' => inside.push(c),
                _ => return Ok(None),
            }
        }
        let (low, high) = inside.split_once(',').unwrap_or((&inside, &inside));
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= MOST);
        if low.is_empty() || high.contains(',') {
            return Ok(None);
        }
        let too_many = || {
            let what = format!("`pattern`: a part is repeated more than {MOST} times");
            Error::new(Kind::TooLarge, what)
        };
        let least = number(low).ok_or_else(too_many)?;
        let most = match high {
            "" => None,
            high => Some(number(high).ok_or_else(too_many)?),
        };
        if most.is_some_and(|most| most < least) {
            return Err(invalid("a repetition has its bounds the wrong way round"));
        }
        self.letters = ahead;
        Ok(Some(match most {
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        }))
    }

    /// A class, its bracket opened already.
    fn class(&mut self) -> Result<String, Error> {
        let negated = self.eat('^');
        let mut inside = String::new();
        loop {
            let Some(letter) = self.letters.next() else {
                return Err(invalid("a class is not closed"));
            };
            let first = match letter {
                ']' => break,
                '\\' => self.escape(true)?,
                letter => Escaped::Letter(letter),
            };
            let mut ahead = self.letters.clone();
            let range = ahead.next() == Some('-') && !matches!(ahead.next(), Some(']') | None);
            match (first, range) {
                (Escaped::Class(class), false) => inside.push_str(&format!("[{class}]")),
                (Escaped::Letter(letter), false) => inside.push_str(&one(letter)),
                (Escaped::Class(_), true) => {
                    return Err(invalid("a range begins with a class"));
                }
                (Escaped::Letter(low), true) => {
                    self.letters.next();
                    let high = match self.letters.next() {
                        Some('\\') => self.escape(true)?,
                        Some(letter) => Escaped::Letter(letter),
                        None => return Err(invalid("a class is not closed")),
                    };
                    let Escaped::Letter(high) = high else {
                        return Err(invalid("a range ends with a class"));
                    };
                    if high < low {
                        return Err(invalid("a range has its ends the wrong way round"));
                    }
                    inside.push_str(&format!("{}-{}", one(low), one(high)));
                }
            }
        }
        match (inside.is_empty(), negated) {
            (true, true) => Ok("(?s:.)".into()),
            (true, false) => Err(unsupported("a class without a character")),
            (false, true) => Ok(format!("[^{inside}]")),
            (false, false) => Ok(format!("[{inside}]")),
        }
    }

    /// What a backslash stands before.
    fn escape(&mut self, in_class: bool) -> Result<Escaped, Error> {
        let Some(letter) = self.letters.next() else {
            return Err(invalid("it ends with a backslash"));
        };
        Ok(match letter {
            'd' => Escaped::Class("0-9".into()),
            'D' => Escaped::Class("^0-9".into()),
            'w' => Escaped::Class(WORD.into()),
            'W' => Escaped::Class(format!("^{WORD}")),
            's' => Escaped::Class(BLANKS.into()),
            'S' => Escaped::Class(format!("^{BLANKS}")),
            't' => Escaped::Letter('\t'),
            'n' => Escaped::Letter('\n'),
            'v' => Escaped::Letter('\x0b'),
            'f' => Escaped::Letter('\x0c'),
            'r' => Escaped::Letter('\r'),
            'b' if in_class => Escaped::Letter('\x08'),
            'b' | 'B' => return Err(unsupported("a word boundary")),
            '0' if !self.letters.peek().is_some_and(char::is_ascii_digit) => Escaped::Letter('\0'),
            '0'..='9' | 'k' => return Err(unsupported("a back-reference")),
            'c' => match self.letters.next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    Escaped::Letter(char::from(letter as u8 % 32))
                }
                _ => return Err(invalid("`\\c` needs a letter")),
            },
            'x' => Escaped::Letter(self.scalar(2)?),
            'u' => Escaped::Letter(self.scalar(4)?),
            'p' | 'P' => Escaped::Class(self.property(letter)?),
            letter if letter.is_ascii_alphanumeric() => {
                return Err(invalid("an escape that nobody knows"));
            }
            letter => Escaped::Letter(letter),
        })
    }

    fn digits(&mut self, count: usize) -> Result<u32, Error> {
        let mut value = 0;
        for _ in 0..count {
            let digit = self.letters.next().and_then(|letter| letter.to_digit(16));
            value = value * 16 + digit.ok_or_else(|| invalid("an escape lacks its digits"))?;
        }
        Ok(value)
    }

    /// The character of `\xHH`, `\uHHHH`, two of these or `\u{H…}`.
    fn scalar(&mut self, count: usize) -> Result<char, Error> {
        let none = || unsupported("half of a surrogate pair");
        if count == 4 && self.eat('{') {
            let mut value: u32 = 0;
            loop {
                match self.letters.next() {
                    Some('}') => break,
                    Some(letter) if value < 0x11_0000 => {
                        let digit = letter.to_digit(16);
                        value = value * 16
                            + digit.ok_or_else(|| invalid("an escape lacks its digits"))?;
                    }
                    _ => return Err(invalid("an escape is no character")),
                }
            }
            return char::from_u32(value).ok_or_else(none);
        }
        let value = self.digits(count)?;
        if (0xd800..0xdc00).contains(&value) && self.eat('\\') && self.eat('u') {
            let low = self.digits(4)?;
            let pair = (0xdc00..0xe000).contains(&low);
            let pair = pair.then(|| 0x1_0000 + ((value - 0xd800) << 10) + (low - 0xdc00));
            return pair.and_then(char::from_u32).ok_or_else(none);
        }
        char::from_u32(value).ok_or_else(none)
    }

    /// `\p{…}`, by a name that both syntaxes know.
    fn property(&mut self, letter: char) -> Result<String, Error> {
        let mut name = String::new();
        if !self.eat('{') {
            return Err(invalid("`\\p` needs a name in braces"));
        }
        loop {
            match self.letters.next() {
                Some('}') => break,
                Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '=') => name.push(c),
                _ => return Err(invalid("`\\p` has a name that cannot be read")),
            }
        }
        Ok(format!("\\{letter}{{{name}}}"))
    }
}

enum Escaped {
    Letter(char),
    Class(String),
}

/// A character that must come; of the control characters only some can be written in JSON without
/// its numbers.
fn written_as(letter: char) -> Result<char, Error> {
    match super::unwritable(letter) {
        true => Err(unsupported("a control character")),
        false => Ok(letter),
    }
}

/// One character in the compiler's syntax.
fn one(letter: char) -> String {
    match letter.is_ascii_alphanumeric() {
        true => letter.to_string(),
        false => format!("\\x{{{:x}}}", u32::from(letter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_spelled_out() {
        let cases = [
            ("a", format!("^(?:{ANY}a{ANY})$")),
            ("^a$", "^(?:a)$".into()),
            ("^a|b$", format!("^(?:a{ANY}|{ANY}b)$")),
            ("^(a|b)$", "^(?:(?:a|b))$".into()),
            ("(^a$)|(^b$)", "^(?:(?:a)|(?:b))$".into()),
            ("^\\d{2,}?$", "^(?:(?:[0-9]){2,})$".into()),
            ("^[^\\n\\]]$", "^(?:[^\\x{a}\\x{5d}])$".into()),
            ("^ñ\\/\\u00f1\\ud83d\\ude00\\u{1f600}$", {
                "^(?:\\x{f1}\\x{2f}\\x{f1}\\x{1f600}\\x{1f600})$".into()
            }),
            ("^a{,2}{$", "^(?:a\\x{7b}\\x{2c}2\\x{7d}\\x{7b})$".into()),
            ("", format!("^(?:{ANY}{ANY})$")),
        ];
        for (pattern, want) in cases {
            assert_eq!(whole(pattern).as_deref(), Ok(want.as_str()), "{pattern}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_named() {
        let cases = [
            ("(?=a)", Kind::Unsupported, "look-around"),
            ("(?<!a)b", Kind::Unsupported, "look-around"),
            ("(?i)a", Kind::Unsupported, "flag"),
            ("(a)\\1", Kind::Unsupported, "back-reference"),
            ("\\bsí\\b", Kind::Unsupported, "word boundary"),
            ("a$b", Kind::Unsupported, "anchor"),
            ("(^a)?b", Kind::Unsupported, "anchor"),
            ("\\ud83d", Kind::Unsupported, "surrogate"),
            ("[]", Kind::Unsupported, "class"),
            ("^\\cC$", Kind::Unsupported, "control character"),
            ("a\0", Kind::Unsupported, "control character"),
            ("a(", Kind::Invalid, "not closed"),
            ("a)", Kind::Invalid, "not opened"),
            ("[a", Kind::Invalid, "not closed"),
            ("*", Kind::Invalid, "before a repetition"),
            ("a**", Kind::Invalid, "before a repetition"),
            ("a{3,2}", Kind::Invalid, "wrong way round"),
            ("[z-a]", Kind::Invalid, "wrong way round"),
            ("a\\", Kind::Invalid, "backslash"),
            ("\\q", Kind::Invalid, "nobody knows"),
            ("a{999999999}", Kind::TooLarge, "100000"),
        ];
        for (pattern, kind, part) in cases {
            let error = whole(pattern).expect_err(pattern);
            assert_eq!(error.kind(), kind, "{pattern}: {error}");
            assert!(error.to_string().contains(part), "{pattern}: {error}");
        }
        let deep = format!("{}a{}", "(".repeat(101), ")".repeat(101));
        assert_eq!(whole(&deep).map_err(|error| error.kind()), Err(Kind::TooLarge));
    }
}
