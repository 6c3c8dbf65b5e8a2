//! Why a command ended without doing what was asked: an exit code and a text for stderr.
//!
//! A text names flags, settings, files, lines and counts; never words of a prompt or a reply.

use std::io;

use recinto_backends::Kind as BackendKind;
use recinto_engine::{Facts, Kind as EngineKind};
use recinto_judge::Kind as JudgeKind;
use recinto_policy::Kind as OutsideKind;
use recinto_provider::{Finish, Kind as ProviderKind};
use recinto_store::Kind as NameKind;
use recinto_tasks::Kind as TaskKind;
use serde::Serialize;

use crate::{exit::Exit, screen};

/// Kind of a prompt that does not fit.
const OVERFLOW: &str = "overflow";
/// Kind of a model that the lock does not let run.
const LOCK: &str = "lock";
/// Kind of a fault in writing the answer: whoever reads it is gone.
const OUTPUT: &str = "output";
/// Kind of a model whose file is no longer as it was.
const CHANGED: &str = "changed";

/// Kinds that keep their name when another process told them.
const RELAYED: [&str; 11] = [
    "usage",
    "model",
    "architecture",
    "tokenizer",
    "template",
    OVERFLOW,
    "memory",
    CHANGED,
    "mismatch",
    LOCK,
    "machine",
];

/// An exit code and what to say on stderr.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// One word for programs; `docs/exit-codes.md` lists them.
    kind: &'static str,
    /// What, where; then perhaps `hint:` lines. `None` says nothing.
    pub text: Option<String>,
    /// Whether an envelope on stdout has told it already, or the answer itself stands there.
    told: bool,
}

/// A failure as it stands in an envelope.
#[derive(Debug, Serialize)]
pub struct Told {
    kind: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    exit_code: u8,
}

impl Told {
    /// What is wrong, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Failure {
    /// One with a word of its own for its kind.
    pub fn of_kind(exit: Exit, kind: &'static str, text: impl Into<String>) -> Failure {
        Failure { exit, kind, text: Some(text.into()), told: false }
    }

    /// Says nothing: it was said before, or nobody wants to know.
    pub fn silent(exit: Exit) -> Failure {
        let kind = match exit {
            Exit::Interrupted => "interrupted",
            _ => "fault",
        };
        Failure { exit, kind, text: None, told: false }
    }

    /// Wrong usage or configuration.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::of_kind(Exit::Usage, "usage", text)
    }

    /// Failed while running.
    pub fn running(text: impl Into<String>) -> Failure {
        Failure::of_kind(Exit::Failed, "failed", text)
    }

    /// A check says no.
    pub fn no(text: impl Into<String>) -> Failure {
        Failure::of_kind(Exit::No, "check", text)
    }

    /// An artefact that is bound to something else than what would use it.
    pub fn bound(text: impl Into<String>) -> Failure {
        Failure::of_kind(Exit::Failed, "mismatch", text)
    }

    /// The same with the place before the text.
    pub fn at(mut self, place: &str) -> Failure {
        self.text = self.text.map(|text| format!("{}: {text}", screen::escaped(place)));
        self
    }

    /// The reader of stdout is gone: it has what it wanted.
    pub fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => {
                Failure { exit: Exit::Done, kind: OUTPUT, text: None, told: true }
            }
            _ => {
                let what = format!("cannot write to standard output: {error}");
                Failure { told: true, ..Failure::of_kind(Exit::Failed, OUTPUT, what) }
            }
        }
    }

    /// The failure that another process of this program told in its envelope.
    pub fn relayed(envelope: &serde_json::Value) -> Option<Failure> {
        let error = &envelope["error"];
        let exit = match error["exit_code"].as_u64()? {
            1 => Exit::No,
            2 => Exit::Usage,
            _ => Exit::Failed,
        };
        let kind = RELAYED.iter().find(|kind| error["kind"] == **kind).unwrap_or(&"failed");
        let failure = Failure::of_kind(exit, kind, error["message"].as_str()?);
        Some(error["hint"].as_str().into_iter().fold(failure, Failure::hint))
    }

    /// The same with one more hint.
    pub fn hint(mut self, hint: &str) -> Failure {
        if let Some(text) = &mut self.text {
            text.push_str("\nhint: ");
            text.push_str(hint);
        }
        self
    }

    /// Notes that stdout has its envelope: there is to be one only.
    pub fn told(self) -> Failure {
        Failure { told: true, ..self }
    }

    /// Whether stdout lacks the envelope that tells it.
    pub fn is_untold(&self) -> bool {
        !self.told && self.exit != Exit::Done
    }

    /// Whether a conversation that no person leads can go on with its next line.
    pub fn leaves_the_rest(&self) -> bool {
        let ends = [OUTPUT, CHANGED].contains(&self.kind) || self.exit == Exit::Interrupted;
        self.text.is_some() && !ends
    }

    /// Where a prompt did not fit a model of this process: says which flag sets the room, and how
    /// much there can be.
    pub fn with_room(mut self, facts: Option<&Facts>) -> Failure {
        let Some(facts) = facts.filter(|_| self.kind == OVERFLOW) else { return self };
        let trained = facts.context;
        self.text = self.text.map(|text| split(&text).0.to_owned());
        match trained {
            Some(most) => self.hint(&format!(
                "shorten the text; `--context` sets the room, at most {most} positions with this \
                 model"
            )),
            None => self.hint("shorten the text, or give more room with `--context`"),
        }
    }

    /// What an envelope says of it.
    pub fn tell(&self) -> Told {
        let text = self.text.as_deref().unwrap_or(match self.exit {
            Exit::Interrupted => "interrupted",
            _ => "a fault in this program",
        });
        let (message, hint) = split(text);
        Told {
            kind: self.kind,
            message: message.to_owned(),
            hint: hint.map(ToOwned::to_owned),
            exit_code: self.exit as u8,
        }
    }
}

/// What is wrong, and the hints.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once("\nhint: ") {
        Some((what, hint)) => (what, Some(hint)),
        None => (text, None),
    }
}

/// A text whose subject may be a name from a file: what comes before the hint is one line.
fn one_line(text: &str) -> String {
    let (what, hint) = match text.rsplit_once("\nhint: ") {
        Some((what, hint)) => (what, Some(hint)),
        None => (text, None),
    };
    let what = screen::escaped(what);
    match hint {
        Some(hint) => format!("{what}\nhint: {hint}"),
        None => what.into_owned(),
    }
}

fn of_engine(kind: &EngineKind, text: String) -> Failure {
    let (exit, word) = match kind {
        EngineKind::Request => (Exit::Usage, "usage"),
        EngineKind::Cancelled => (Exit::Interrupted, "interrupted"),
        EngineKind::Open => (Exit::Failed, "model"),
        EngineKind::Architecture => (Exit::Failed, "architecture"),
        EngineKind::Tokenizer => (Exit::Failed, "tokenizer"),
        EngineKind::Template => (Exit::Failed, "template"),
        EngineKind::Overflow { .. } => (Exit::Failed, OVERFLOW),
        EngineKind::Deadline => (Exit::Failed, "deadline"),
        EngineKind::Memory => (Exit::Failed, "memory"),
        EngineKind::Changed => (Exit::Failed, CHANGED),
        EngineKind::Mismatch => (Exit::Failed, "mismatch"),
        EngineKind::Machine => (Exit::Failed, "machine"),
        _ => (Exit::Failed, "failed"),
    };
    // Faults of an arch file show its line below; memory that is short is told line by line.
    let lines = ["architecture", "memory"].contains(&word);
    let text = if lines { text } else { one_line(&text) };
    Failure::of_kind(exit, word, text)
}

fn of_provider(kind: &ProviderKind, text: String) -> Failure {
    match kind {
        ProviderKind::Name(kind) => of_name(*kind, text),
        ProviderKind::Engine(kind) => of_engine(kind, text),
        ProviderKind::Locked => Failure::of_kind(Exit::Failed, LOCK, one_line(&text)),
        ProviderKind::Files => Failure::of_kind(Exit::Failed, "model", one_line(&text)),
        ProviderKind::Licence => Failure::of_kind(Exit::Failed, "licence", one_line(&text)),
        ProviderKind::Outside(kind) => of_outside(*kind, &text),
        kind => match KINDS.iter().find(|row| (row.0)(kind)) {
            Some((_, exit, word)) => Failure::of_kind(*exit, word, one_line(&text)),
            None => Failure::usage(text),
        },
    }
}

fn of_outside(kind: OutsideKind, text: &str) -> Failure {
    let (exit, word) = match kind {
        OutsideKind::Refused => (Exit::Failed, "refused"),
        OutsideKind::Exhausted => (Exit::Failed, "budget"),
        OutsideKind::Egress => (Exit::Failed, "egress"),
        _ => (Exit::Usage, "usage"),
    };
    Failure::of_kind(exit, word, one_line(text))
}

fn of_name(kind: NameKind, text: String) -> Failure {
    match kind {
        NameKind::Invalid | NameKind::Ambiguous => Failure::usage(one_line(&text)),
        _ => Failure::of_kind(Exit::Failed, "model", one_line(&text)),
    }
}

impl From<recinto_engine::Error> for Failure {
    fn from(error: recinto_engine::Error) -> Failure {
        of_engine(error.kind(), error.to_string())
    }
}

impl From<recinto_policy::Error> for Failure {
    fn from(error: recinto_policy::Error) -> Failure {
        recinto_provider::Error::from(error).into()
    }
}

impl From<recinto_store::Error> for Failure {
    fn from(error: recinto_store::Error) -> Failure {
        of_name(error.kind(), error.to_string())
    }
}

impl From<recinto_provider::Error> for Failure {
    fn from(error: recinto_provider::Error) -> Failure {
        of_provider(error.kind(), error.to_string())
    }
}

impl From<recinto_tasks::Error> for Failure {
    fn from(error: recinto_tasks::Error) -> Failure {
        let text = error.to_string();
        match error.kind() {
            TaskKind::Provider(kind) => of_provider(kind, text),
            TaskKind::Task | TaskKind::Unable => Failure::usage(text),
            TaskKind::Incomplete(Finish::Cancelled) => Failure::silent(Exit::Interrupted),
            TaskKind::Incomplete(Finish::Deadline) => {
                Failure::of_kind(Exit::Failed, "deadline", text)
            }
            TaskKind::Undecided => Failure::of_kind(Exit::Person, "undecided", one_line(&text)),
            TaskKind::Incomplete(_) => Failure::of_kind(Exit::Failed, "incomplete", text),
            _ => Failure::running(text),
        }
    }
}

type Row = (fn(&ProviderKind) -> bool, Exit, &'static str);

/// Kinds that every provider has, this process and others.
const KINDS: &[Row] = &[
    (|kind| matches!(kind, ProviderKind::Request), Exit::Usage, "usage"),
    (|kind| matches!(kind, ProviderKind::Unable), Exit::Usage, "unable"),
    (|kind| matches!(kind, ProviderKind::NotBuilt), Exit::Usage, "not-built"),
    (|kind| matches!(kind, ProviderKind::Overflow), Exit::Failed, OVERFLOW),
    (|kind| matches!(kind, ProviderKind::Auth), Exit::Failed, "auth"),
    (|kind| matches!(kind, ProviderKind::RateLimited(_)), Exit::Failed, "rate-limited"),
    (|kind| matches!(kind, ProviderKind::NotFound), Exit::Failed, "not-found"),
    (|kind| matches!(kind, ProviderKind::Refused), Exit::Failed, "refused"),
    (|kind| matches!(kind, ProviderKind::Unavailable), Exit::Failed, "unavailable"),
    (|kind| matches!(kind, ProviderKind::Budget), Exit::Failed, "budget"),
    (|kind| matches!(kind, ProviderKind::Cancelled), Exit::Interrupted, "interrupted"),
    (|kind| matches!(kind, ProviderKind::Deadline), Exit::Failed, "deadline"),
    (|kind| matches!(kind, ProviderKind::InvalidOutput), Exit::Failed, "invalid-output"),
];

impl From<recinto_weights::Error> for Failure {
    fn from(error: recinto_weights::Error) -> Failure {
        Failure::of_kind(Exit::Failed, "model", one_line(&error.to_string()))
    }
}

impl From<recinto_tokenizer::Error> for Failure {
    fn from(error: recinto_tokenizer::Error) -> Failure {
        Failure::of_kind(Exit::Failed, "tokenizer", one_line(&error.to_string()))
    }
}

impl From<recinto_arch::Error> for Failure {
    fn from(error: recinto_arch::Error) -> Failure {
        Failure::of_kind(Exit::Failed, "architecture", error.to_string())
    }
}

impl From<recinto_judge::Error> for Failure {
    fn from(error: recinto_judge::Error) -> Failure {
        let text = error.to_string();
        match error.kind() {
            JudgeKind::OtherModel => Failure::bound(text),
            JudgeKind::NotDetermined => Failure::no(text),
            JudgeKind::Picture => Failure::running(text),
            _ => Failure::usage(text),
        }
    }
}

impl From<recinto_backends::Error> for Failure {
    fn from(error: recinto_backends::Error) -> Failure {
        let text = error.to_string();
        match error.kind() {
            BackendKind::Engine(kind) => of_engine(kind, text),
            _ => Failure::of_kind(Exit::Failed, "model", one_line(&text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_forge_no_line() {
        let cases = [
            ("key `a` is missing", "key `a` is missing"),
            ("key `a\nerror: b` is missing", "key `a\\nerror: b` is missing"),
            ("key `a\nb`\nhint: look", "key `a\\nb`\nhint: look"),
            ("key `a\nhint: b`\nhint: look", "key `a\\nhint: b`\nhint: look"),
        ];
        for (text, want) in cases {
            assert_eq!(one_line(text), want);
        }
    }

    #[test]
    fn what_an_envelope_told_is_told_again() {
        let cases = [
            Failure::usage("qué"),
            Failure::usage("qué").hint("uno").hint("dos"),
            Failure::of_kind(Exit::Failed, "memory", "no hay"),
            Failure::no("no"),
        ];
        for failure in cases {
            let envelope = serde_json::json!({ "error": failure.tell() });
            let again = Failure::relayed(&envelope).unwrap();
            assert_eq!((again.exit, &again.text), (failure.exit, &failure.text));
            assert!(again.kind == failure.kind || failure.exit == Exit::No, "{envelope}");
        }
        for broken in [serde_json::json!({}), serde_json::json!({ "error": { "exit_code": 4 } })] {
            assert!(Failure::relayed(&broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn envelopes_split_off_the_hint() {
        let told = Failure::usage("qué pasa").hint("uno").hint("dos").tell();
        assert_eq!((told.kind, told.message.as_str()), ("usage", "qué pasa"));
        assert_eq!((told.hint.as_deref(), told.exit_code), (Some("uno\nhint: dos"), 2));
        assert_eq!(Failure::silent(Exit::Interrupted).tell().message, "interrupted");
        assert!(Failure::silent(Exit::Interrupted).is_untold());
        assert!(!Failure::output(&io::ErrorKind::BrokenPipe.into()).is_untold());
    }
}
