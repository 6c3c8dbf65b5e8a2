//! What the engine's tests share: the tiny files of the repository.
#![allow(dead_code)]

pub mod remake;

use std::{ops::ControlFlow, path::PathBuf};

use recinto_engine::{
    KvType, Level, Model, OpenOptions, Piece, Session, SessionOptions, Stop, Want,
};
use recinto_kernels::Kernels;

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

/// One model of each shipped architecture, plain and quantized weights among them.
pub const ARCHITECTURES: [&str; 6] =
    ["llama-plain", "llama-quant", "qwen2-quant", "qwen3-plain", "gemma3-1b-like", "gemma3-quant"];

/// A tiny model on every level of this CPU, on one and two threads; the portable level, which is
/// slow, on one. Named.
pub fn machines(name: &str) -> Vec<(String, Model)> {
    let mut all = Vec::new();
    for kernels in Kernels::available() {
        let level = kernels.level();
        for threads in [1, 2] {
            if level == Level::Portable && threads > 1 {
                continue;
            }
            let (level, threads) = (Some(level), Some(threads));
            let options = OpenOptions { level, threads, ..OpenOptions::default() };
            let model = Model::open(&tiny(name), &options).expect(name);
            let facts = model.facts();
            all.push((format!("{name}, {}, {} threads", facts.level, facts.threads), model));
        }
    }
    all
}

/// `n` ids that differ from place to place; another `seed`, other ids.
pub fn ids(n: usize, seed: u32) -> Vec<u32> {
    (0..n as u32).map(|i| (i * 37 + 11 + seed * 101) % 250).collect()
}

/// A session that keeps keys and values as `kv`.
pub fn session(model: &Model, kv: KvType) -> Session {
    model.session(&SessionOptions { kv, ..SessionOptions::default() }).expect("a session")
}

/// Bits of the logits of the last of `ids`.
pub fn last(session: &mut Session, ids: &[u32]) -> Vec<u32> {
    bits(session.feed(ids, Want::Last, &Stop::never()).expect("logits"))
}
