//! Before the parser: line ends as the reference reads them, `{% generation %}`, and limits.
//!
//! The parser recurses without a bound in some places (`not not …`, `elif`, `else` inside an
//! expression) and frees long chains recursively, so hostile sources must not reach it.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use crate::error::{Error, Kind};

/// Tokens inside one pair of braces; the largest in use have a few hundred.
const MAX_TOKENS: usize = 4000;
/// Open brackets, and `not`, `-` and `else` in one pair of braces.
const MAX_OPEN: usize = 120;
/// `elif` of all the `if` that are open at once.
const MAX_ELIF: usize = 400;

/// Blocks as the reference sets them: a block takes the newline after it and the blanks before.
pub(crate) fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(parser)
}

/// A fault that the parser found. Its words speak of the template only.
pub(crate) fn parser(error: minijinja::Error) -> Error {
    let what = error.detail().unwrap_or("not a template").to_owned();
    let kind = match what.strip_prefix("unknown statement ") {
        Some(tag) => return Error::unsupported(format!("unknown tag `{tag}`")).place(&error),
        None => Kind::Syntax,
    };
    Error::new(kind, what).place(&error)
}

impl Error {
    fn place(self, error: &minijinja::Error) -> Error {
        match (error.range(), error.line()) {
            (Some(range), _) => self.at(range.start as u32),
            (None, Some(line)) => self.on_line(line),
            _ => self,
        }
    }
}

/// Every line end as `\n`.
pub(crate) fn normalize(source: &str) -> String {
    if source.contains('\r') {
        source.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        source.to_owned()
    }
}

/// Checks the limits and gives the source with `generation` blocks as plain scopes.
///
/// `{% generation %}` marks what the model wrote, for training; it renders its body.
pub(crate) fn tags(mut source: String) -> Result<String, Error> {
    let mut edits = Vec::new();
    let mut first = false;
    let (mut tokens, mut open, mut prefixes) = (0usize, 0usize, 0usize);
    let mut elifs: Vec<usize> = Vec::new();
    for item in tokenize(&source, false, syntax()?) {
        let (token, span) = item.map_err(parser)?;
        let too_much = |what: &str| Err(Error::limit(what).at(span.start_offset));
        tokens += 1;
        match token {
            Token::BlockStart | Token::VariableStart => {
                (tokens, open, prefixes) = (0, 0, 0);
                first = matches!(token, Token::BlockStart);
                continue;
            }
            Token::Ident(word) if first => match word {
                "generation" | "endgeneration" => {
                    edits.push((span.start_offset as usize, word.len()));
                }
                "if" => elifs.push(0),
                "elif" => {
                    if let Some(count) = elifs.last_mut() {
                        *count += 1;
                    }
                    if elifs.iter().sum::<usize>() > MAX_ELIF {
                        return too_much("too many `elif`");
                    }
                }
                "endif" => {
                    elifs.pop();
                }
                _ => {}
            },
            Token::Ident("not" | "else" | "if") | Token::Minus => prefixes += 1,
            Token::BracketOpen | Token::ParenOpen | Token::BraceOpen => open += 1,
            Token::BracketClose | Token::ParenClose | Token::BraceClose => {
                open = open.saturating_sub(1);
            }
            _ => {}
        }
        first = false;
        if tokens > MAX_TOKENS || prefixes > MAX_OPEN || open > MAX_OPEN {
            return too_much("an expression is too long or nested too deep");
        }
    }
    for (at, length) in edits {
        let scope = if length == "generation".len() { "with      " } else { "endwith      " };
        source.replace_range(at..at + length, scope);
    }
    Ok(source)
}
