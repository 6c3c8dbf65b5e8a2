//! Why a command ended without doing what was asked: an exit code and a text for stderr.
//!
//! A text names flags, settings, files, lines and counts; never words of a prompt or a reply.

use std::io;

use recinto_engine::Kind as EngineKind;
use recinto_provider::Kind as ProviderKind;
use recinto_store::Kind as NameKind;

use crate::exit::Exit;

/// An exit code and what to say on stderr.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// What, where; then perhaps `hint:` lines. `None` says nothing.
    pub text: Option<String>,
}

impl Failure {
    pub fn new(exit: Exit, text: impl Into<String>) -> Failure {
        Failure { exit, text: Some(text.into()) }
    }

    /// Wrong usage or configuration.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, text)
    }

    /// Failed while running.
    pub fn running(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, text)
    }

    /// The reader of stdout is gone: it has what it wanted.
    pub fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { exit: Exit::Done, text: None },
            _ => Failure::running(format!("cannot write to standard output: {error}")),
        }
    }

    /// The same with one more hint.
    pub fn hint(mut self, hint: &str) -> Failure {
        if let Some(text) = &mut self.text {
            text.push_str("\nhint: ");
            text.push_str(hint);
        }
        self
    }
}

fn exit_of_engine(kind: &EngineKind) -> Exit {
    match kind {
        EngineKind::Request => Exit::Usage,
        EngineKind::Cancelled => Exit::Interrupted,
        _ => Exit::Failed,
    }
}

fn exit_of_name(kind: NameKind) -> Exit {
    match kind {
        NameKind::Invalid | NameKind::Store => Exit::Usage,
        _ => Exit::Failed,
    }
}

impl From<recinto_engine::Error> for Failure {
    fn from(error: recinto_engine::Error) -> Failure {
        Failure::new(exit_of_engine(error.kind()), error.to_string())
    }
}

impl From<recinto_store::Error> for Failure {
    fn from(error: recinto_store::Error) -> Failure {
        Failure::new(exit_of_name(error.kind()), error.to_string())
    }
}

impl From<recinto_provider::Error> for Failure {
    fn from(error: recinto_provider::Error) -> Failure {
        let exit = match error.kind() {
            ProviderKind::Name(kind) => exit_of_name(*kind),
            ProviderKind::Engine(kind) => exit_of_engine(kind),
            _ => Exit::Usage,
        };
        Failure::new(exit, error.to_string())
    }
}

/// Faults of a file that was to be read; the texts already end with their hints.
macro_rules! failed {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::running(error.to_string())
            }
        }
    )*};
}
failed!(recinto_weights::Error, recinto_arch::Error, recinto_tokenizer::Error);
