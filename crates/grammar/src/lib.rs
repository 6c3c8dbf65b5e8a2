//! What an answer may be: one of some labels, a regular expression, a JSON Schema or a Lark
//! grammar, compiled to a [`Constraint`](recinto_engine::Constraint) of the engine.
//!
//! [`Grammars`] is made once a model; [`Grammars::compile`] checks a [`Shape`] before the first
//! token is spent and refuses, by name, what it could not keep exactly. Compiling and masks are the
//! crates `llguidance` and `toktrie`; the vocabulary and its forced tokens are ours.
#![forbid(unsafe_code)]

mod error;
mod grammar;
pub mod schema;
mod shape;
mod vocabulary;

pub use error::{Error, Kind};
pub use grammar::{Grammar, Grammars};
pub use shape::Shape;
