//! Typed questions about a state, answers with calibrated probabilities, and the gate.
//!
//! Nothing here holds a model: a [`Backend`] reads, and everything else is mathematics that can be
//! tested alone. `docs/judge.md` has the formulas with their sources.
//!
//! ```
//! use recinto_judge::{Choice, Judge, Mock, Mode, Question, Questions, State};
//!
//! let team = Question::choose(
//!     "Who should read this?",
//!     [Choice::new("pagos", "cobros y tarjetas"), Choice::new("acceso", "contraseña, cuenta")],
//! );
//! let questions = Questions::new().with("team", team).expect("an id of its own");
//! let state = State::text("¿Por qué hay dos cobros en mi tarjeta?");
//! let mut judge = Judge::new(Mock::default(), Mode::default());
//! let judgement = judge.judge(&state, &questions)?;
//! let answer = judgement.answers[0].1.as_ref().expect("the mock answers");
//! assert_eq!(answer.label(), Some("pagos"));
//! assert!(answer.facts().calibrated.is_none(), "and says that nobody calibrated it");
//! # Ok::<(), recinto_judge::Error>(())
//! ```
#![forbid(unsafe_code)]

mod among;
mod answer;
mod artefact;
mod backend;
pub mod bounds;
pub mod calibrate;
pub mod check;
pub mod confidence;
pub mod debias;
mod error;
mod form;
mod fraction;
pub mod gate;
mod identity;
pub mod json;
mod judge;
pub mod metrics;
mod outcome;
pub mod prior;
pub mod question;
pub mod readout;
mod record;
pub mod report;
pub mod rows;
mod state;
pub mod tournament;

pub use among::{Among, Rounds};
pub use answer::{Answer, Facts, Rule, Share, Truncation, Value, Windows};
pub use artefact::{Artefact, Calibration, Entry, Figures, SCHEMA, Settings, Skipped};
pub use backend::{Abilities, Backend, Evidence, Mock, Reading, Shown, Usage};
pub use error::{Error, Kind};
pub use form::{Bucket, Form, Size};
pub use fraction::Fraction;
pub use gate::Gate;
pub use identity::{Identity, Model, Orders};
pub use json::shown;
pub use judge::{Judge, Judgement, Mode};
pub use outcome::{Outcome, Reason, Unavailable};
pub use prior::{Correction, Priors};
pub use question::{Ask, Choice, Question, Questions};
pub use record::Record;
pub use report::Report;
pub use rows::{Row, Scored, Trial};
pub use state::State;
