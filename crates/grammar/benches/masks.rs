//! What a shape costs: compiling it, and the mask of one token. `cargo bench -p recinto-grammar`
//! takes the vocabulary of the model that `RECINTO_BENCH_MODEL` names, or else a tiny one.
//!
//! A mask is taken at every token of an answer that is not forced; their median is over all of them.

use std::{
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use divan::Bencher;
use recinto_engine::{Constraint, Mask, Model, OpenOptions};
use recinto_grammar::{Grammars, Shape};
use serde_json::{Value, json};

fn main() {
    divan::main();
    masks();
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

fn texts() -> Shape {
    Shape::Schema(json!({
        "type": "object",
        "properties": {
            "topic": {"enum": ["cobros", "acceso", "envíos"]},
            "summary": {"type": "string"},
            "urgent": {"type": "boolean"}
        },
        "required": ["topic", "summary", "urgent"],
        "additionalProperties": false
    }))
}

fn labels() -> Shape {
    Shape::Labels((0..20).map(|n| format!("intent_number_{n}")).collect())
}

/// Times of the masks of one answer, token by token, as a session asks for them: by a shape that
/// was just compiled, and none for a token that is forced.
fn answer(shape: &Shape, answer: &str) -> Vec<Duration> {
    let (model, grammars) = world();
    let mut grammar = grammars.compile(shape).expect("a grammar");
    let ids = model.tokenizer().encode_plain(answer).expect("ids");
    let (mut times, mut forced) = (Vec::new(), Vec::new());
    for token in ids.iter() {
        if forced.first() == Some(&token.id) {
            forced.remove(0);
            continue;
        }
        let mut mask = Mask::new(model.program().vocabulary);
        let began = Instant::now();
        grammar.allowed(&mut mask).expect("a mask");
        times.push(began.elapsed());
        forced = grammar.commit(token.id).expect("the answer keeps to the shape").forced;
    }
    times
}

/// Prints, for each shape, the median of all its masks over some answers, the ninth tenth, the
/// slowest, and how many masks an answer takes.
fn masks() {
    let person: Value = json!({
        "name": "Íñigo Núñez de Cárdenas",
        "kind": "person",
        "age": 43,
        "mails": ["inigo@example.com", "nunez@example.org"],
        "born": "1983-02-28"
    });
    let line = json!({
        "topic": "cobros",
        "summary": "Al cliente se le cobró dos veces la misma compra y pide que se le devuelva.",
        "urgent": true
    });
    let cases = [
        ("labels", labels(), "intent_number_17".to_owned()),
        ("schema with formats", schema(), person.to_string()),
        ("schema of texts", texts(), line.to_string()),
        ("regex", Shape::Regex("[0-9]{4}-[0-9]{2}-[0-9]{2}".into()), "2026-11-30".into()),
    ];
    println!("shape,masks_of_an_answer,median_us,ninth_tenth_us,slowest_us");
    for (name, shape, text) in cases {
        let mut all: Vec<Duration> = Vec::new();
        for _ in 0..20 {
            all.extend(answer(&shape, &text));
        }
        all.sort();
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
        println!("{name},{},{:.1},{:.1},{:.1}", all.len() / 20, at(0.5), at(0.9), at(1.0));
    }
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
