//! What a model computes: a flat text file, checked against the tensors, compiled to a program.
#![forbid(unsafe_code)]

mod program;

pub use program::{
    Activation, Cache, Instruction, Map, NormKind, Op, Origin, Output, OutputKind, Pairs, Program,
    Rope, Slot, TensorId,
};
