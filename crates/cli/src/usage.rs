//! What is wrong with a command line, without showing what was typed.
//!
//! An argument that is out of place is often a prompt that lacks its quotes, so only flags of
//! our own are named; the rest is counted.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::failure::Failure;

const QUOTES: &str =
    "a text of several words needs quotes, one that begins with `-` goes after `--`";
/// How the parser calls the place of the `-` after a text.
const THEN_STDIN: &str = "[-]";

/// The fault in our own words.
pub fn explain(error: &Error, arguments: &[OsString]) -> Failure {
    let flag = text(error, ContextKind::InvalidArg);
    let what = match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command was given".into()
        }
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("{} is no command", position(&word, arguments))
        }
        ErrorKind::UnknownArgument => {
            let word = flag.unwrap_or_default();
            let place = position(&word, arguments);
            match is_like_a_flag(&word) {
                true => format!("{word} ({place}) is no flag of this command"),
                false => format!("{place} is not expected here"),
            }
        }
        // The one place where only `-` may stand after a text.
        ErrorKind::ValueValidation if flag.as_deref() == Some(THEN_STDIN) => {
            let word = text(error, ContextKind::InvalidValue).unwrap_or_default();
            return Failure::usage(format!("{} is not expected here", position(&word, arguments)))
                .hint(QUOTES)
                .hint("a lone `-` after the text adds what stdin has");
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match flag {
            Some(flag) if text(error, ContextKind::InvalidValue).is_some_and(|v| v.is_empty()) => {
                format!("{flag} needs a value")
            }
            Some(flag) => format!("the value of {flag} cannot be read"),
            None => "a value cannot be read".into(),
        },
        ErrorKind::ArgumentConflict => {
            let prior = text(error, ContextKind::PriorArg);
            match (flag, prior) {
                (Some(flag), Some(prior)) if flag != prior => {
                    format!("{flag} and {prior} cannot stand together")
                }
                (Some(flag), _) => format!("{flag} is given twice"),
                _ => "two flags cannot stand together".into(),
            }
        }
        ErrorKind::MissingRequiredArgument => match flag {
            Some(flag) => format!("{flag} is missing"),
            None => "an argument is missing".into(),
        },
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".into(),
        _ => "the command line cannot be read".into(),
    };
    let failure = Failure::usage(what);
    match hint(error) {
        Some(hint) => failure.hint(&hint),
        None => failure,
    }
}

/// Whether a word has the form of our flags' names, which are safe to show: no prompt is written
/// so.
fn is_like_a_flag(word: &str) -> bool {
    word.len() <= 24
        && word.strip_prefix("--").is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
        })
}

/// What a value of `flag` is, by the word that stands for it in the help.
fn expected(flag: &str) -> Option<&'static str> {
    let (_, value) = flag.split_once(" <")?;
    match value.trim_end_matches('>') {
        "N" | "R" => Some("a whole number is expected, not below 0"),
        "T" | "SECONDS" => Some("a number is expected, such as 0.5"),
        _ => None,
    }
}

/// Which argument it is: by its number, never by its words.
fn position(word: &str, arguments: &[OsString]) -> String {
    let is = |argument: &OsStr| {
        let bytes = argument.as_encoded_bytes();
        let word = word.as_bytes();
        bytes == word
            || bytes.strip_prefix(word).is_some_and(|rest| rest.starts_with(b"="))
            // A cluster of short flags is reported by the one at fault.
            || (word.len() == 2 && bytes.starts_with(b"-") && !bytes.starts_with(b"--"))
                && bytes.contains(&word[1])
    };
    match arguments.iter().skip(1).position(|argument| is(argument)) {
        Some(index) => format!("argument {}", index + 1),
        None => "an argument".into(),
    }
}

fn hint(error: &Error) -> Option<String> {
    for kind in [
        ContextKind::ValidValue,
        ContextKind::SuggestedSubcommand,
        ContextKind::ValidSubcommand,
        ContextKind::SuggestedArg,
    ] {
        if let Some(known) = text(error, kind) {
            return Some(match kind {
                ContextKind::ValidValue => format!("one of: {known}"),
                ContextKind::ValidSubcommand => format!("commands: {known}"),
                _ => format!("did you mean `{known}`?"),
            });
        }
    }
    let flag = text(error, ContextKind::InvalidArg).unwrap_or_default();
    Some(match error.kind() {
        ErrorKind::UnknownArgument if is_like_a_flag(&flag) => {
            "`recinto COMMAND --help` lists the flags; a text that begins with `-` goes after `--`"
                .into()
        }
        ErrorKind::UnknownArgument => QUOTES.into(),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation if expected(&flag).is_some() => {
            expected(&flag).unwrap_or_default().into()
        }
        ErrorKind::InvalidSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "`recinto --help` lists the commands; a question goes after `recinto ask`".into()
        }
        _ => "`recinto COMMAND --help` shows how it is used".into(),
    })
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        _ => None,
    }
}
