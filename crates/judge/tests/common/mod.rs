//! Golden files and labelled rows for the tests of this room.
#![allow(dead_code, reason = "each test file uses its part")]

use recinto_judge::{
    Facts, Form, Identity, Row, Scored, Trial, Truncation,
    gate::{Cell, Draw},
    rows::Stream,
};
use serde_json::Value;

pub fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap()
}

/// The number at a path such as `sgr/threshold`.
pub fn number(value: &Value, path: &[&str]) -> f64 {
    let found = path.iter().fold(value, |value, key| &value[*key]);
    found.as_f64().unwrap_or_else(|| panic!("{path:?}: {found}"))
}

#[track_caller]
pub fn near(name: &str, got: f64, want: f64, within: f64) {
    let scale = want.abs().max(1.0);
    assert!((got - want).abs() <= within * scale, "{name}: {got:?}, wanted {want:?}");
}

/// The 400 rows of the published fixture.
pub fn rows() -> Vec<Row> {
    let file = golden("rows.json");
    let labels = file["labels"].as_array().unwrap().iter();
    let logits = file["logits"].as_array().unwrap().iter();
    logits
        .zip(labels)
        .map(|(z, label)| {
            let z = z.as_array().unwrap().iter().map(|z| z.as_f64().unwrap()).collect();
            Row::new(Form::Choose, z, label.as_u64().unwrap() as usize).unwrap()
        })
        .collect()
}

pub fn scored(rows: &[Row], temperature: f64) -> Vec<Scored> {
    rows.iter().map(|row| Scored::at(row, temperature)).collect()
}

pub fn trials(rows: &[Scored]) -> Vec<Trial> {
    rows.iter().map(Scored::trial).collect()
}

/// Trials of a world where the chance to be right at confidence c is `truth(c)`.
pub fn world(seed: u64, n: usize, truth: impl Fn(f64) -> f64) -> Vec<Trial> {
    let mut stream = Stream::new(seed);
    (0..n)
        .map(|_| {
            let confidence = 0.5 + stream.next() / 2.0;
            Trial { confidence, correct: stream.next() < truth(confidence) }
        })
        .collect()
}

/// What is known of an answer that `identity` read plainly.
pub fn facts(identity: &Identity, question: &[u8], state: &[u8]) -> Facts {
    Facts {
        identity: identity.digest(),
        reading: identity.reading.clone(),
        model: None,
        question: recinto_receipt::sha256(question),
        state: recinto_receipt::sha256(state),
        calibrated: None,
        temperature: None,
        prior_inputs: None,
        option_mass: Some(0.9),
        order: None,
        truncation: Truncation::default(),
    }
}

/// Trials as draws that are independent of each other, all of one question.
pub fn draws(trials: &[(Cell, Trial)], question: recinto_receipt::Digest) -> Vec<Draw> {
    let draw = |(at, (cell, trial)): (usize, &(Cell, Trial))| Draw {
        cell: *cell,
        question,
        state: recinto_receipt::sha256(&at.to_le_bytes()),
        group: 0,
        calibrated: None,
        scored: Scored { p: vec![trial.confidence, 0.0], label: usize::from(!trial.correct) },
        unmet: None,
    };
    trials.iter().enumerate().map(draw).collect()
}
