//! What the engine's tests share: the tiny files of the repository.
#![allow(dead_code)]

use std::{ops::ControlFlow, path::PathBuf};

use recinto_engine::{Model, OpenOptions, Piece};

/// The path of a tiny seeded model.
pub fn tiny(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(format!("../../tests/golden/tiny/{name}.gguf"))
}

/// A tiny model on `threads` threads.
pub fn open(name: &str, threads: usize) -> Model {
    let options = OpenOptions { threads: Some(threads), ..OpenOptions::default() };
    Model::open(&tiny(name), &options).expect(name)
}

/// A sink that wants everything and keeps nothing.
pub fn sink() -> impl FnMut(Piece<'_>) -> ControlFlow<()> {
    |_| ControlFlow::Continue(())
}

/// The bits of values, for comparisons that NaN cannot pass.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}
