//! Scores of labels: sums of token probabilities, whatever the order of the labels.

use crate::common;

use std::sync::{Arc, atomic::AtomicBool};

use common::{machines, open};
use recinto_engine::{
    Kind, LabelScore, Model, Request, Scores, Session, SessionOptions, Stop, Want,
};

const LABELS: [&str; 6] = ["sí", "sí, claro", "no", "n", "quizá mañana", "¿por qué?"];

fn session(model: &Model) -> Session {
    model.session(&SessionOptions::default()).expect("a session")
}

fn request(text: &str) -> Request {
    Request { completion: true, ..Request::user(text) }
}

fn bits(score: &LabelScore) -> Vec<u64> {
    let parts = score.parts.iter();
    [score.probability, score.logprob, score.mean]
        .iter()
        .chain(parts)
        .map(|v| v.to_bits())
        .collect()
}

fn scored(model: &Model, labels: &[&str]) -> Scores {
    session(model).score(&request("¿Vienes?\n"), labels, &Stop::never()).expect("scores")
}

#[test]
fn a_label_is_the_sum_of_its_tokens_and_an_end() {
    let model = open("qwen2-quant", 1);
    let scores = scored(&model, &LABELS);
    let prompt = model.prompt(&request("¿Vienes?\n")).expect("a prompt");
    for (label, score) in LABELS.iter().zip(&scores.labels) {
        // The slow way: one token after another, in f64 with the library's functions.
        let with = model.prompt(&request(&format!("¿Vienes?\n{label}"))).expect("a prompt");
        let mut one = session(&model);
        let rows = one.feed(&with.ids, Want::All, &Stop::never()).expect("logits").to_vec();
        let width = rows.len() / with.ids.len();
        let row = |at: usize| &rows[at * width..(at + 1) * width];
        let log = |row: &[f32], ids: &[u32]| {
            let sum =
                |of: &mut dyn Iterator<Item = f32>| of.map(|l| f64::from(l).exp()).sum::<f64>();
            let some = sum(&mut ids.iter().map(|id| row[*id as usize]));
            (some / sum(&mut row.iter().copied())).ln()
        };
        let mut want: Vec<f64> = (prompt.ids.len()..with.ids.len())
            .map(|at| log(row(at - 1), &with.ids[at..=at]))
            .collect();
        want.push(log(row(with.ids.len() - 1), model.tokenizer().ends()));
        assert_eq!(score.parts.len(), want.len(), "{label}");
        for (got, want) in score.parts.iter().zip(&want) {
            assert!((got - want).abs() < 1e-5, "{label}: {got} for {want}");
        }
        assert!((score.logprob - want.iter().sum::<f64>()).abs() < 1e-4, "{label}");
        assert!((score.mean * want.len() as f64 - score.logprob).abs() < 1e-9, "{label}");
    }
    let sum: f64 = scores.labels.iter().map(|l| l.probability).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    let mass: f64 = scores.labels.iter().map(|l| l.logprob.exp()).sum();
    assert!((mass / scores.mass - 1.0).abs() < 1e-9 && mass < 1.0, "{mass}");
}

#[test]
fn the_order_of_labels_and_the_machine_change_no_bit() {
    let mut seen: Option<Vec<Vec<u64>>> = None;
    for (name, model) in machines("qwen2-quant") {
        let forward: Vec<Vec<u64>> = scored(&model, &LABELS).labels.iter().map(bits).collect();
        let mut turned = LABELS;
        turned.reverse();
        turned.swap(1, 4);
        let other = scored(&model, &turned);
        for (label, score) in turned.iter().zip(&other.labels) {
            let at = LABELS.iter().position(|l| l == label).expect("a label");
            assert_eq!(bits(score), forward[at], "{name}, {label}");
        }
        assert_eq!(seen.get_or_insert_with(|| forward.clone()), &forward, "{name}");
    }
}

#[test]
fn a_label_that_begins_another_gains_nothing_by_it() {
    let model = open("llama-plain", 1);
    let both = scored(&model, &["sí", "sí, claro"]);
    let alone = scored(&model, &["sí", "no"]);
    assert_eq!(both.labels[0].logprob.to_bits(), alone.labels[0].logprob.to_bits());
    // The two are told apart by what follows what they share.
    assert!(both.labels[0].parts[0] == both.labels[1].parts[0]);
}

#[test]
fn many_labels_and_a_used_session_give_the_same() {
    let model = open("gemma3-1b-like", 2);
    let labels: Vec<String> = (0..90).map(|i| format!("categoría {i}, número {}", i * 7)).collect();
    let mut used = session(&model);
    let first = used.score(&request("¿Cuál es?"), &labels, &Stop::never()).expect("scores");
    let again = used.score(&request("¿Cuál es?"), &labels, &Stop::never()).expect("scores");
    assert_eq!(first.labels, again.labels);
    assert!(again.usage.cached_tokens + 1 >= again.usage.prompt_tokens, "{:?}", again.usage);
    for (at, label) in labels.iter().enumerate().step_by(17) {
        let one = session(&model).score(&request("¿Cuál es?"), &[label, "x"], &Stop::never());
        assert_eq!(one.expect("scores").labels[0].parts, first.labels[at].parts, "{label}");
    }
}

#[test]
fn what_cannot_be_scored_is_an_error() {
    let model = open("qwen2-quant", 1);
    let long = "palabra ".repeat(4000);
    let cases: [(&str, &[&str], &str); 4] = [
        ("no label", &[], "no label"),
        ("an empty one", &["a", ""], "label 2 is empty"),
        ("twice the same", &["b", "a", "b"], "labels 1 and 3 are the same"),
        ("too long", &["a", &long], "positions"),
    ];
    for (name, labels, want) in cases {
        let result = session(&model).score(&request("¿?"), labels, &Stop::never());
        let error = result.expect_err(name);
        assert!(error.to_string().contains(want), "{name}: {error}");
    }
    let stopped = Stop::new(Arc::new(AtomicBool::new(true)), None);
    let error = session(&model).score(&request("¿?"), &LABELS, &stopped).unwrap_err();
    assert_eq!(*error.kind(), Kind::Cancelled);
}
