//! Cuts one line of an arch file into tokens.

use crate::error::{Error, Kind, Span};

/// Limits on the text, far above any real file.
pub(crate) const MAX_BYTES: usize = 256 << 10;
pub(crate) const MAX_LINES: usize = 4000;
pub(crate) const MAX_LINE: usize = 1000;

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub span: Span,
    pub kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// Letters, digits, `_` and `.`, starting with a letter or `_`.
    Word(String),
    Whole(i64),
    Float(f64),
    /// `'…'`: a literal name.
    Quote(String),
    /// `"…"`: a text value.
    Text(String),
    Symbol(char),
}

impl Token {
    pub fn word(&self) -> Option<&str> {
        if let TokenKind::Word(word) = &self.kind { Some(word) } else { None }
    }

    pub fn is(&self, symbol: char) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }

    /// How an error names it.
    pub fn show(&self) -> String {
        match &self.kind {
            TokenKind::Word(v) => format!("`{v}`"),
            TokenKind::Whole(v) => format!("`{v}`"),
            TokenKind::Float(v) => format!("`{v}`"),
            TokenKind::Quote(v) => format!("`'{v}'`"),
            TokenKind::Text(v) => format!("`\"{v}\"`"),
            TokenKind::Symbol(v) => format!("`{v}`"),
        }
    }
}

/// The text with its name: makes errors that show a line of it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub fn error(&self, kind: Kind, span: Span, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(self.file, self.text, span)
    }
}

/// The tokens of `line`, which is line `number`; nothing after `#`.
pub(crate) fn line(source: Source, number: u32, line: &str) -> Result<Vec<Token>, Error> {
    let bytes = line.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        let run = |from: usize, keep: fn(&u8) -> bool| {
            from + bytes[from..].iter().take_while(|b| keep(b)).count()
        };
        let span = |end: usize| Span { line: number, start: start as u32, end: end as u32 };
        let kind = match byte {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'#' => break,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = run(at, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
                TokenKind::Word(line[start..at].to_owned())
            }
            b'0'..=b'9' => {
                at = run(at, |b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
                let exponent = matches!(bytes[at - 1], b'e' | b'E');
                if exponent && matches!(bytes.get(at), Some(b'-' | b'+')) {
                    at = run(at + 1, u8::is_ascii_digit);
                }
                number_kind(&line[start..at]).ok_or_else(|| {
                    let what = format!("`{}` is not a number", &line[start..at]);
                    source.error(Kind::Syntax, span(at), what)
                })?
            }
            b'\'' | b'"' => {
                let Some(len) = bytes[at + 1..].iter().position(|b| *b == byte) else {
                    let what = "a quote without its end";
                    return Err(source.error(Kind::Syntax, span(bytes.len()), what));
                };
                at += len + 2;
                let inside = line[start + 1..at - 1].to_owned();
                if byte == b'"' { TokenKind::Text(inside) } else { TokenKind::Quote(inside) }
            }
            b'=' | b'+' | b'-' | b'*' | b'/' | b'(' | b')' | b',' | b'|' | b'?' | b':' => {
                at += 1;
                TokenKind::Symbol(char::from(byte))
            }
            _ => {
                let c = line[at..].chars().next().unwrap_or('\u{fffd}');
                let shown: String =
                    if c.is_control() { c.escape_default().collect() } else { c.to_string() };
                let what = format!("the character `{shown}` has no meaning here");
                return Err(source.error(Kind::Syntax, span(at + c.len_utf8()), what));
            }
        };
        out.push(Token { span: span(at), kind });
    }
    Ok(out)
}

fn number_kind(text: &str) -> Option<TokenKind> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(TokenKind::Whole);
    }
    let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+');
    let value: f64 = text.bytes().all(plain).then(|| text.parse().ok())??;
    value.is_finite().then_some(TokenKind::Float(value))
}
