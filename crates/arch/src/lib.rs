//! What a model computes: a flat text file, checked against the tensors, compiled to a program.
//!
//! [`Archs::find`] chooses the arch file for a model, [`compile`] binds it. The format is described
//! in `docs/arch-format.md`.
#![forbid(unsafe_code)]

mod archs;
mod bind;
mod check;
mod compile;
mod error;
mod eval;
mod expr;
mod keys;
mod lex;
mod math;
mod near;
mod op;
mod parse;
mod program;
mod rope;
mod slots;

pub use archs::{ArchFile, Archs, Listed, check};
pub use compile::{Options, compile};
pub use error::{Error, Kind, Span};
pub use near::Nearest;
pub use op::{Operation, operations};
pub use program::{
    Activation, By, Cache, Instruction, Map, NormKind, Op, Origin, Output, OutputKind, Pairs,
    Program, Rope, Slot, TensorId,
};
