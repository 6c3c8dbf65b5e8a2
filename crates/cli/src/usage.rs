//! What is wrong with a command line, without showing what was typed.
//!
//! An argument that is out of place is often a prompt that lacks its quotes, so only flags of
//! our own are named; the rest is counted.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::failure::Failure;

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
            format!("{} is not expected here", position(&flag.unwrap_or_default(), arguments))
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
    Some(match error.kind() {
        ErrorKind::UnknownArgument => {
            "a text of several words needs quotes, one that begins with `-` goes after `--`".into()
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
