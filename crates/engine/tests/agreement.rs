//! Real files against an independent engine: which token is the most likely one, at a thousand
//! places of a text. How the goldens are made: tools/goldens/agreement.py.

mod goldens;

use goldens::{best, folder, ids, number, numbers, open, record, session, within};
use recinto_engine::{Model, OpenOptions, Request, Stop, Want};

/// At least this part of the places must have the golden's token.
const AGREEMENT: f64 = 0.98;

/// Another token is a fault, whatever the sum says, where the golden's margin is above this part
/// of the row's standard deviation.
const CLEAR: f64 = 0.5;

const NAMES: &[&str] = &["smollm2", "gemma3", "qwen05", "qwen15"];

/// The most likely ids after each position of one window.
fn tops(model: &Model, window: &[u32]) -> Vec<u32> {
    let mut session = session(model, window.len());
    let width = model.facts().vocabulary;
    let mut top = Vec::with_capacity(window.len());
    for part in window.chunks(64) {
        let rows = session.feed(part, Want::All, &Stop::never()).expect("logits");
        top.extend(rows.chunks(width).map(|row| best(row).0));
    }
    top
}

#[test]
fn the_most_likely_token_is_that_of_an_independent_engine() {
    let goldens = record(&folder().join("agreement.json"));
    let text = std::fs::read_to_string(folder().join("perplexity.txt")).expect("the text");
    let mut faults = Vec::new();
    for name in NAMES {
        let skip = |reason: &str| recinto_testkit::skipped(&format!("agreement/{name}"), reason);
        let golden = &goldens[*name];
        let (Some(models), Some(file)) = (recinto_testkit::models(), golden["file"].as_str())
        else {
            skip("RECINTO_TEST_MODELS is not set");
            continue;
        };
        // The golden has the file's name; its folder is that of the other goldens.
        let place = record(&folder().join("real").join(format!("{name}.json")));
        let path = models.join(place["file"].as_str().unwrap_or(file));
        if !path.exists() {
            skip(&format!("{} is not there", path.display()));
            continue;
        }
        let model = open(&path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        if let Err(reason) = goldens::same_file(&model, golden) {
            skip(&reason);
            continue;
        }
        let (ids, top, margins) = (ids(&golden["ids"]), ids(&golden["top"]), &golden["margins"]);
        let margins = numbers(margins);
        let positions = number(&golden["positions"]) as usize;
        assert!(positions >= 1000, "{name}");
        assert_eq!((ids.len(), top.len(), margins.len()), (positions, positions, positions));
        let request = Request { completion: true, ..Request::user(&*text) };
        let whole = model.prompt(&request).unwrap_or_else(|e| panic!("{name}: {e}")).ids;
        assert_eq!(whole[..positions], ids[..], "{name}: other ids than the golden's");
        let window = number(&golden["settings"]["window"]) as usize;
        let ours: Vec<u32> = ids.chunks(window).flat_map(|part| tops(&model, part)).collect();
        let others: Vec<usize> = (0..positions).filter(|at| ours[*at] != top[*at]).collect();
        let agreed = 1.0 - others.len() as f64 / positions as f64;
        let most = others.iter().map(|at| margins[*at]).fold(0.0, f64::max);
        println!("{name}: {:.1} % agree; the largest margin missed {most:.3} std", agreed * 100.0);
        if agreed < AGREEMENT || agreed.is_nan() {
            faults.push(format!("{name}: only {:.1} % agree", agreed * 100.0));
        }
        if !within(most, CLEAR) {
            faults.push(format!("{name}: another token where the margin is {most:.3} std"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
