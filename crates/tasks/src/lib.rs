//! Tasks with a typed answer: one of some labels, a value of a JSON Schema, a text of a regular
//! expression or a grammar. What comes back is a value of that type or an outcome that says why
//! there is none; never free text in its place.
//!
//! [`decide`], [`extract`], [`extract_as`] and [`complete`] take any
//! [`Provider`](recinto_provider::Provider) that can do what they need. The text is data: it stands
//! alone in the user's message, and what is asked of it stands before it, in words that have a
//! version ([`WORDING`]). `docs/tasks.md` has examples.
//!
//! ```no_run
//! use recinto_provider::{Settings, open};
//! use recinto_tasks::{Input, Label, Labels, Method, Stop, decide};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::resolve(&Default::default())?;
//! let provider = open(&settings, Default::default())?;
//! let labels = Labels::new([
//!     Label::new("pagos").described("cobros, tarjetas, transferencias"),
//!     Label::new("acceso").described("contraseña, cuenta bloqueada"),
//! ])?;
//! let input = Input::new("¿Por qué hay dos cobros en mi tarjeta?");
//! let decided = decide(&*provider, &input, &labels, Method::Generate, &Stop::never())?;
//! assert_eq!(decided.value()?.label.as_deref(), Some("pagos"));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cascade;
mod complete;
mod decide;
mod error;
mod extract;
mod input;
mod labels;
mod outcome;
mod typed;
mod wording;

pub use complete::complete;
pub use decide::{Decision, Leg, Method, Scored, decide};
pub use error::{Error, Kind};
pub use extract::{extract, extract_as};
pub use input::{Input, THOUGHT};
pub use labels::{Label, Labels, Nothing};
pub use outcome::{Answer, Incomplete, Outcome, Undecided};
pub use recinto_engine::Stop;
pub use recinto_provider::{Lack, Shape};
pub use schemars::{self, JsonSchema};
pub use typed::schema_of;
pub use wording::WORDING;
