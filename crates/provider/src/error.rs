//! Why nobody answers.

use std::{fmt, time::Duration};

/// The kind of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A setting has a value it cannot have.
    Setting,
    /// The `.env` file cannot be trusted or read.
    EnvFile,
    /// The lock file cannot be trusted or read.
    LockFile,
    /// The lock does not let this model run: its name is not in it, or a file is not safe.
    Locked,
    /// A `recinto.toml` cannot be trusted or read, or has a word nobody knows.
    ConfigFile,
    /// A policy, a budget or a mapping cannot be trusted or read, or has a word nobody knows.
    Policy,
    /// A send, a log of sends, a budget or a profile; see there.
    Outside(recinto_policy::Kind),
    /// No provider has that name.
    UnknownProvider,
    /// No model is set.
    NoModel,
    /// The model's name leads to no file.
    Name(recinto_store::Kind),
    /// The model's name leads to no file of weights.
    Files,
    /// The operator's list of licences and digests does not have this model.
    Licence,
    /// What the answer must be is broken or cannot be kept exactly.
    Shape(recinto_grammar::Kind),
    /// The provider cannot do what was asked.
    Unable,
    /// This program was built without providers that answer from elsewhere.
    NotBuilt,
    /// The provider does not take the request as it is.
    Request,
    /// Prompt and answer do not fit the model's context.
    Overflow,
    /// There is no key, or the service does not take it.
    Auth,
    /// The service asks to wait; how long, where it says so.
    RateLimited(Option<Duration>),
    /// The service has no such model, or nothing at that address.
    NotFound,
    /// The model or the service will not answer this content.
    Refused,
    /// Nobody was reached, the service failed, or its answer broke off or cannot be read.
    Unavailable,
    /// Money or quota is used up.
    Budget,
    /// The caller said stop before an answer began.
    Cancelled,
    /// The deadline passed before an answer began.
    Deadline,
    /// The answer is not what it had to be.
    InvalidOutput,
    /// The engine could not open the model or carry out the request.
    Engine(recinto_engine::Kind),
}

/// A fault between a request and who answers it: kind, subject and hint.
///
/// Holds names of settings, files and lines; never a value of a key and never words of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Puts the place of the value before the text.
    pub(crate) fn of(mut self, place: &str) -> Error {
        self.what = format!("{place}: {}", self.what);
        self
    }

    /// The kind of fault.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

// The texts of the rooms below already end with their hints.
impl From<recinto_store::Error> for Error {
    fn from(error: recinto_store::Error) -> Error {
        Error::new(Kind::Name(error.kind()), error.to_string())
    }
}

impl From<recinto_grammar::Error> for Error {
    fn from(error: recinto_grammar::Error) -> Error {
        Error::new(Kind::Shape(error.kind()), error.to_string())
    }
}

impl From<recinto_policy::Error> for Error {
    fn from(error: recinto_policy::Error) -> Error {
        let kind = match error.kind() {
            recinto_policy::Kind::Policy => Kind::Policy,
            kind => Kind::Outside(kind),
        };
        Error::new(kind, error.to_string())
    }
}

impl From<recinto_policy::Refused> for Error {
    fn from(refused: recinto_policy::Refused) -> Error {
        recinto_policy::Error::from(refused).into()
    }
}

impl From<recinto_policy::Exhausted> for Error {
    fn from(exhausted: recinto_policy::Exhausted) -> Error {
        recinto_policy::Error::from(exhausted).into()
    }
}

impl From<recinto_engine::Error> for Error {
    fn from(error: recinto_engine::Error) -> Error {
        use recinto_engine::Kind as Engine;
        // What others than this process can meet too has one name.
        let kind = match error.kind() {
            Engine::Request => Kind::Request,
            Engine::Overflow { .. } => Kind::Overflow,
            Engine::Cancelled => Kind::Cancelled,
            Engine::Deadline => Kind::Deadline,
            Engine::Call => Kind::InvalidOutput,
            other => Kind::Engine(other.clone()),
        };
        Error::new(kind, error.to_string())
    }
}

#[cfg(feature = "remote")]
impl From<recinto_remote::Error> for Error {
    fn from(error: recinto_remote::Error) -> Error {
        use recinto_remote::Kind as Remote;
        let kind = match error.kind() {
            Remote::Setting => Kind::Setting,
            Remote::Auth => Kind::Auth,
            Remote::RateLimited(time) => Kind::RateLimited(time),
            Remote::NotFound => Kind::NotFound,
            Remote::Request => Kind::Request,
            Remote::Overflow => Kind::Overflow,
            Remote::Refused => Kind::Refused,
            Remote::Budget => Kind::Budget,
            Remote::Cancelled => Kind::Cancelled,
            Remote::Deadline => Kind::Deadline,
            Remote::InvalidOutput => Kind::InvalidOutput,
            Remote::Unable => Kind::Unable,
            Remote::Policy(kind) => Kind::Outside(kind),
            _ => Kind::Unavailable,
        };
        Error::new(kind, error.to_string())
    }
}
