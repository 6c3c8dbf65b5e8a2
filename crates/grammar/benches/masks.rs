//! What a shape costs: compiling it, and the mask of one token. `cargo bench -p recinto-grammar`
//! takes the vocabulary of the model that `RECINTO_BENCH_MODEL` names, or else a tiny one.
//!
//! A mask is taken at every token of an answer; divan's median is over all of them.

use std::{
    path::PathBuf,
    sync::OnceLock,
    sync::atomic::{AtomicUsize, Ordering},
};

use divan::Bencher;
use recinto_engine::{Constraint, Mask, Model, OpenOptions};
use recinto_grammar::{Grammar, Grammars, Shape};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn world() -> &'static (Model, Grammars) {
    static WORLD: OnceLock<(Model, Grammars)> = OnceLock::new();
    WORLD.get_or_init(|| {
        let tiny = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/golden/tiny/qwen2-quant.gguf");
        let path = std::env::var_os("RECINTO_BENCH_MODEL").map_or(tiny, PathBuf::from);
        let options = OpenOptions { threads: Some(1), any_size: true, ..OpenOptions::default() };
        let model = Model::open(&path, &options).expect("a model");
        let grammars = Grammars::new(&model).expect("a vocabulary");
        (model, grammars)
    })
}

fn schema() -> Shape {
    Shape::Schema(json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 60},
            "kind": {"enum": ["person", "company", "other"]},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "mails": {"type": "array", "items": {"type": "string", "format": "email"}},
            "born": {"type": "string", "format": "date"}
        },
        "required": ["name", "kind", "age", "mails", "born"],
        "additionalProperties": false
    }))
}

fn labels() -> Shape {
    Shape::Labels((0..20).map(|n| format!("intent_number_{n}")).collect())
}

/// The grammar before each token of `answer`, which must keep to it.
fn steps(shape: &Shape, answer: &str) -> Vec<Grammar> {
    let (model, grammars) = world();
    let mut grammar = grammars.compile(shape).expect("a grammar");
    let ids = model.tokenizer().encode_plain(answer).expect("ids");
    let mut steps = Vec::new();
    let mut forced: Vec<u32> = Vec::new();
    for token in ids.iter() {
        // What is forced needs no mask.
        if forced.first() == Some(&token.id) {
            forced.remove(0);
            continue;
        }
        steps.push(grammar.fresh());
        forced = grammar.commit(token.id).expect("the answer keeps to the shape").forced;
    }
    steps
}

fn masks(bencher: Bencher<'_, '_>, shape: &Shape, answer: &str) {
    let steps = steps(shape, answer);
    let vocabulary = world().0.program().vocabulary;
    let next = AtomicUsize::new(0);
    bencher
        .with_inputs(|| {
            let at = next.fetch_add(1, Ordering::Relaxed) % steps.len();
            (steps[at].fresh(), Mask::new(vocabulary))
        })
        .bench_refs(|(grammar, mask)| grammar.allowed(mask).expect("a mask"));
}

#[divan::bench(sample_count = 400, sample_size = 1)]
fn mask_of_a_schema(bencher: Bencher<'_, '_>) {
    let answer: Value = json!({
        "name": "Íñigo Núñez de Cárdenas",
        "kind": "person",
        "age": 43,
        "mails": ["inigo@example.com", "nunez@example.org"],
        "born": "1983-02-28"
    });
    masks(bencher, &schema(), &answer.to_string());
}

#[divan::bench(sample_count = 400, sample_size = 1)]
fn mask_of_labels(bencher: Bencher<'_, '_>) {
    masks(bencher, &labels(), "intent_number_17");
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn compile_a_schema(bencher: Bencher<'_, '_>) {
    let (_, grammars) = world();
    bencher.with_inputs(schema).bench_refs(|shape| grammars.compile(shape).expect("a grammar"));
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn compile_labels(bencher: Bencher<'_, '_>) {
    let (_, grammars) = world();
    bencher.with_inputs(labels).bench_refs(|shape| grammars.compile(shape).expect("a grammar"));
}
