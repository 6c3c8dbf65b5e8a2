//! Why nobody answered from elsewhere.

use std::{fmt, time::Duration};

/// The kind of a failure. The same words serve for the local provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A setting has a value it cannot have: an address, a key, a proxy, a file of certificates.
    Setting,
    /// There is no key, or the service does not take it.
    Auth,
    /// The service asks to wait; how long, where it says so.
    RateLimited(Option<Duration>),
    /// The service has no such model, or nothing at that address.
    NotFound,
    /// The service does not take the request as it is.
    Request,
    /// Prompt and answer do not fit the model's context, or the request is too large.
    Overflow,
    /// The model or the service will not answer this content.
    Refused,
    /// A policy does not let the request leave, or its log cannot be written.
    Policy(recinto_policy::Kind),
    /// Nobody was reached, the service failed, or its answer broke off or cannot be read.
    Unavailable,
    /// The account's money or quota is used up.
    Budget,
    /// The caller said stop before an answer began.
    Cancelled,
    /// The deadline passed before an answer began.
    Deadline,
    /// The answer is not what it had to be.
    InvalidOutput,
    /// This cannot be asked of this service.
    Unable,
}

/// A failure: who, what, and what to do about it.
///
/// Holds statuses, words of the vendor's error where they are plain (`rate_limit_exceeded`) and the
/// request's id; never a key, an address with its path, or a word of prompt or answer. A vendor's
/// own sentences quote what was sent: they are left out, and of a service that decides the words
/// that were sent are.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    provider: &'static str,
    what: String,
    hint: Option<String>,
    details: Vec<String>,
}

impl Error {
    pub(crate) fn new(provider: &'static str, kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, provider, what: what.into(), hint: None, details: Vec::new() }
    }

    /// What the policy says, in the words of its own.
    pub(crate) fn of_policy(provider: &'static str, error: &recinto_policy::Error) -> Error {
        let told = Error::new(provider, Kind::Policy(error.kind()), error.what());
        match error.what_to_do() {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a word of the service's, where it is plain enough to be repeated.
    pub(crate) fn word(mut self, front: &str, word: Option<&str>) -> Error {
        if let Some(word) = word.filter(|word| is_plain(word)) {
            self.details.push(format!("{front}{word}"));
        }
        self
    }

    /// Adds a sentence of the service's out of which everything that was sent has been taken.
    pub(crate) fn says(mut self, sentence: Option<String>) -> Error {
        self.details.extend(sentence.map(|sentence| format!("it says: {sentence}")));
        self
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The provider's name.
    pub fn provider(&self) -> &'static str {
        self.provider
    }

    /// What to do about it, where there is something.
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Whether a word of a service may stand in an error: short, and of the letters of codes and ids.
pub(crate) fn is_plain(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (1..=64).contains(&word.len()) && word.bytes().all(plain)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.provider, self.what)?;
        if !self.details.is_empty() {
            write!(f, " ({})", self.details.join(", "))?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {self})", self.kind)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_of_a_service_are_repeated() {
        let cases = [
            ("rate_limit_exceeded", true),
            ("req_011CSHoEeqs5C35K2UUqR7Fy", true),
            ("gpt-4.1", true),
            ("", false),
            ("año", false),
            ("no model named x", false),
            ("a\nb", false),
            (&"x".repeat(65), false),
        ];
        for (word, want) in cases {
            let text = Error::new("openai", Kind::Request, "qué").word("code ", Some(word));
            assert_eq!(text.to_string().contains("(code "), want, "{word:?}: {text}");
        }
        let error = Error::new("openai", Kind::Auth, "no key").hint("set one");
        assert_eq!(error.to_string(), "openai: no key\nhint: set one");
    }
}
