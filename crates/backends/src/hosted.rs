//! A service elsewhere that reads typed questions. What is said on the wire is here; how it gets
//! there, and whether it may, is for the [`Door`] that the caller gives.
//!
//! Ids of questions never leave: the service sees `q1`, `q2` and so on.

mod limits;
mod wire;

use recinto_judge::{
    Abilities, Backend, Form, Model, Reading, Shown, State, Unavailable, check::Readout,
};
use serde_json::Value;

pub use limits::Limits;
pub use wire::Wire;

/// The way to a service: sends one request of `questions` questions and gives the whole answer.
pub trait Door {
    /// The answer to `body`, or why there is none.
    fn ask(&mut self, body: Value, questions: usize) -> Result<Value, Closed>;
}

/// Why a door gave no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// What an answer's place says.
    pub why: Unavailable,
    /// What and perhaps a hint, for a log; never words of a state or a question.
    pub told: String,
    /// Whether the next request cannot succeed either: no key, no money, no such model.
    pub ended: bool,
}

/// A service behind a door.
pub struct Hosted {
    door: Box<dyn Door>,
    wire: Wire,
    model: String,
    service: String,
    limits: Limits,
    trouble: Option<String>,
    ended: bool,
}

impl Hosted {
    /// The model `model` of the service that `service` names in a word, which `door` leads to and
    /// which is spoken to on `wire`.
    pub fn new(
        door: Box<dyn Door>,
        wire: Wire,
        service: &str,
        model: &str,
        limits: Limits,
    ) -> Hosted {
        let (model, service) = (model.to_owned(), service.to_owned());
        Hosted { door, wire, model, service, limits, trouble: None, ended: false }
    }

    /// Asks some of the questions in one request.
    fn ask(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        let body = self.wire.body(&self.model, state, shown);
        self.limits.whole(&body)?;
        let answer = self.door.ask(body, shown.len()).map_err(|closed| {
            self.trouble = Some(closed.told);
            self.ended = closed.ended;
            closed.why
        })?;
        Ok(self.wire.readings(&answer, shown))
    }
}

impl Backend for Hosted {
    fn model(&self) -> Model {
        Model::Hosted { name: self.model.clone() }
    }

    fn reading(&self) -> String {
        format!("{}/1 {}", self.wire.name(), self.service)
    }

    fn abilities(&self) -> Abilities {
        Abilities { options: self.limits.options, readout: Readout::Marks }
    }

    /// A service shows yes, no and levels in an order of its own.
    fn reorders(&self, form: Form) -> bool {
        form == Form::Choose
    }

    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        (self.trouble, self.ended) = (None, false);
        let mut places = Vec::with_capacity(shown.len());
        for call in self.limits.calls(state, shown) {
            match call {
                Err((at, why)) => places.push((at, Err(why))),
                Ok(call) => {
                    let asked: Vec<Shown<'_>> = call.iter().map(|at| shown[*at]).collect();
                    // What earlier requests were answered stays, whatever becomes of this one.
                    let read = match self.trouble.is_some() {
                        true => Err(Unavailable::Failed),
                        false => self.ask(state, &asked),
                    };
                    let read = read.unwrap_or_else(|why| vec![Err(why); asked.len()]);
                    places.extend(call.into_iter().zip(read));
                }
            }
        }
        places.sort_by_key(|(at, _)| *at);
        Ok(places.into_iter().map(|(_, reading)| reading).collect())
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }

    fn ended(&self) -> bool {
        self.ended
    }
}
