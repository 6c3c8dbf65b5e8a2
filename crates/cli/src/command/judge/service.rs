//! The door to a service that decides: a request goes out as every other one does, and what comes
//! of it is put into a judge's words.

use recinto_backends::{
    Hosted,
    hosted::{Closed, Door, Limits, Wire},
};
use recinto_engine::Stop;
use recinto_judge::Unavailable;
use recinto_provider::{Decisions, Error, Kind, Settings};
use serde_json::Value;

use crate::failure::Failure;

/// A service that is opened.
pub struct Opened {
    pub backend: Hosted,
    pub host: String,
    pub warnings: Vec<String>,
}

/// Opens the service that `settings` name. What the policies would not let leave is an error here,
/// before a question is looked at.
pub fn open(settings: &Settings, identity: Option<&str>, stop: Stop) -> Result<Opened, Failure> {
    let decisions = Decisions::open(settings)?.counted_for(identity.unwrap_or_default());
    decisions.may_leave(&[])?;
    let decider = decisions.decider();
    let (service, model) = (decider.config().service, decider.config().model.clone());
    let (host, warnings) = (decider.host().to_owned(), decider.warnings());
    let wire = Wire::from_name(service.wire)
        .ok_or_else(|| Failure::running(format!("{}: a wire nobody speaks", service.name)))?;
    // The same model's name means another model at another host.
    let name = match decider.is_own() {
        true => service.name.to_owned(),
        false => format!("{} at {host}", service.name),
    };
    let limits =
        Limits { options: service.options, questions: service.questions, tokens: service.tokens };
    let door = Box::new(Way { decisions, stop });
    Ok(Opened { backend: Hosted::new(door, wire, &name, &model, limits), host, warnings })
}

struct Way {
    decisions: Decisions,
    stop: Stop,
}

impl Door for Way {
    fn ask(&mut self, body: Value, questions: usize) -> Result<Value, Closed> {
        match self.decisions.ask(body, questions, &[], &self.stop) {
            Ok(decided) => Ok(decided.body().clone()),
            Err(error) => {
                Err(Closed { why: why(&error), told: error.to_string(), ended: ends(error.kind()) })
            }
        }
    }
}

/// Whether every further request would be refused alike.
fn ends(kind: &Kind) -> bool {
    matches!(kind, Kind::Auth | Kind::Budget | Kind::NotFound | Kind::Outside(_))
}

/// What an answer's place says of an error; the error itself is told beside it.
fn why(error: &Error) -> Unavailable {
    match error.kind() {
        Kind::Refused => Unavailable::Refused,
        Kind::Overflow => Unavailable::NoRoom,
        Kind::Unavailable | Kind::RateLimited(_) | Kind::Deadline => Unavailable::Offline,
        _ => Unavailable::Failed,
    }
}
