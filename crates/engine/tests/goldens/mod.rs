//! Reads the goldens of tests/golden and measures how far logits are from them.
#![allow(dead_code)] // each test binary uses its own part

use std::path::{Path, PathBuf};

use recinto_engine::{
    Digest, Error, Model, OpenOptions, Request, Session, SessionOptions, Stop, Want,
};
use serde_json::Value;

/// The folder of the goldens.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// A record of the scripts under tools/goldens.
pub fn record(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Little-endian floats of a file.
pub fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

pub fn ids(value: &Value) -> Vec<u32> {
    let list = value.as_array().expect("a list of ids");
    list.iter().map(|v| v.as_u64().expect("an id") as u32).collect()
}

pub fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list of numbers");
    list.iter().map(number).collect()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Refuses a file other than the one the golden was made of.
pub fn same_file(model: &Model, golden: &Value) -> Result<(), String> {
    let weights: Digest = model.digests().map_err(|e| e.to_string())?.weights;
    let wanted = golden["sha256"].as_str().unwrap_or("");
    match weights.to_string().ends_with(wanted) && wanted.len() == 64 {
        true => Ok(()),
        false => Err(format!("the file is {weights}, the golden is of {wanted}")),
    }
}

pub fn open(path: &Path, options: &OpenOptions) -> Result<Model, String> {
    Model::open(path, options).map_err(|e| e.to_string())
}

/// The opened real file of a golden, or the line that says why it is skipped.
pub fn real(test: &str, name: &str, file: &str, golden: &Value) -> Option<Model> {
    let skip = |reason: &str| {
        recinto_testkit::skipped(&format!("{test}/{name}"), reason);
        None
    };
    let Some(models) = recinto_testkit::models() else {
        return skip("RECINTO_TEST_MODELS is not set");
    };
    let path = models.join(file);
    if !path.exists() {
        return skip(&format!("{file} is not in RECINTO_TEST_MODELS"));
    }
    let model = open(&path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    match same_file(&model, golden) {
        Ok(()) => Some(model),
        Err(reason) => skip(&reason),
    }
}

/// Whether the engine makes the golden's ids of a plain text, or of a conversation.
pub fn same_ids(model: &Model, request: Request, golden: &Value) -> Result<(), String> {
    let prompt = model.prompt(&request).map_err(|e| e.to_string())?;
    let (text, wanted) = (golden["text"].as_str().expect("the text"), ids(&golden["ids"]));
    if *prompt.text != *text {
        return Err(format!("rendered {:?}, golden {text:?}", prompt.text));
    }
    match prompt.ids[..] == wanted[..] {
        true => Ok(()),
        false => Err(format!("ids {:?}, golden {wanted:?}", prompt.ids)),
    }
}

/// A text to continue as it stands.
pub fn completion(golden: &Value) -> Request {
    let text = golden["text"].as_str().expect("the text");
    Request { completion: true, ..Request::user(text) }
}

pub fn session(model: &Model, context: usize) -> Session {
    model
        .session(&SessionOptions { context: Some(context), ..SessionOptions::default() })
        .expect("a session")
}

/// All rows of `ids`, fed in pieces of the given sizes (the last one repeats).
pub fn rows(session: &mut Session, ids: &[u32], pieces: &[usize]) -> Result<Vec<f32>, Error> {
    let mut out = Vec::new();
    let (mut rest, mut sizes) = (ids, pieces.iter());
    let mut size = ids.len();
    while !rest.is_empty() {
        size = sizes.next().copied().unwrap_or(size).min(rest.len());
        let (now, later) = rest.split_at(size);
        out.extend_from_slice(session.feed(now, Want::All, &Stop::never())?);
        rest = later;
    }
    Ok(out)
}

/// Index of the largest value, the first of equals, and its margin over the second.
pub fn best(row: &[f32]) -> (u32, f64) {
    let (mut first, mut second) = (0, f32::NEG_INFINITY);
    for (i, value) in row.iter().enumerate().skip(1) {
        if *value > row[first] {
            second = row[first];
            first = i;
        } else if *value > second {
            second = *value;
        }
    }
    (first as u32, f64::from(row[first]) - f64::from(second))
}

/// Largest and root-mean-square difference. NaN where a value is not a number.
pub fn gap(ours: &[f32], golden: &[f32]) -> (f64, f64) {
    assert_eq!(ours.len(), golden.len(), "numbers of logits");
    let (mut most, mut sum) = (0.0f64, 0.0);
    for (a, b) in ours.iter().zip(golden) {
        let d = (f64::from(*a) - f64::from(*b)).abs();
        if d.is_nan() {
            return (f64::NAN, f64::NAN);
        }
        most = most.max(d);
        sum += d * d;
    }
    (most, (sum / ours.len() as f64).sqrt())
}

/// Whether a value is in its limit; a NaN is not.
pub fn within(value: f64, limit: f64) -> bool {
    value <= limit
}

/// ln Σ exp of a row.
pub fn log_sum_exp(row: &[f32]) -> f64 {
    let top = f64::from(row[best(row).0 as usize]);
    row.iter().map(|v| (f64::from(*v) - top).exp()).sum::<f64>().ln() + top
}

/// Checks a greedy continuation, feeding the golden's ids whatever came out: at each step the
/// largest logit must be the golden's, unless its margin there was below `tie`.
pub fn greedy(
    session: &mut Session,
    mut row: Vec<f32>,
    golden: &Value,
    tie: f64,
    faults: &mut Vec<String>,
) {
    let (wanted, margins) = (ids(&golden["greedy"]), numbers(&golden["margins"]));
    assert_eq!(wanted.len(), margins.len());
    for (step, (id, margin)) in wanted.iter().zip(margins).enumerate() {
        let ours = best(&row).0;
        if ours != *id && !within(margin, tie) {
            faults.push(format!("greedy step {step}: id {ours}, golden {id} by {margin:.3}"));
        }
        if step + 1 < wanted.len() {
            match session.feed(&[*id], Want::Last, &Stop::never()) {
                Ok(logits) => row = logits.to_vec(),
                Err(error) => return faults.push(format!("greedy step {step}: {error}")),
            }
        }
    }
}
