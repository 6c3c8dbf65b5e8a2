//! Real files against an independent engine: which token is the most likely one, at every place of
//! a text. How the goldens are made: tools/goldens/agreement.py; what the limits mean:
//! tests/golden/README.md.

mod goldens;

use goldens::{best, folder, ids, number, numbers, real, record, session, within};
use recinto_engine::{Model, Request, Stop, Want};

/// Least number of positions of the text, whatever the vocabulary.
const POSITIONS: usize = 1000;

/// At least this part of the positions that are no near-ties must have the golden's token.
const AGREEMENT: f64 = 0.98;

/// A margin, in standard deviations of the row, below which another top-1 is a near-tie: the rule
/// of `golden_real.rs`.
const TIE: f64 = 0.15;

/// Over all positions, near-ties included, the part may be this much below the golden engine's
/// agreement with itself.
const BELOW_OWN: f64 = 0.03;

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
        let golden = &goldens[*name];
        let Some(file) = golden["file"].as_str() else {
            recinto_testkit::skipped(&format!("agreement/{name}"), "the golden has no record");
            continue;
        };
        // The golden has the file's name; its folder is that of the other goldens.
        let place = record(&folder().join("real").join(format!("{name}.json")));
        let file = place["file"].as_str().unwrap_or(file);
        let Some(model) = real("agreement", name, file, golden) else { continue };
        let (ids, top, margins) = (ids(&golden["ids"]), ids(&golden["top"]), &golden["margins"]);
        let margins = numbers(margins);
        let positions = ids.len();
        assert_eq!((top.len(), margins.len()), (positions, positions), "{name}");
        assert!(positions >= POSITIONS, "{name}: {positions} positions");
        let request = Request { completion: true, ..Request::user(&*text) };
        let whole = model.prompt(&request).unwrap_or_else(|e| panic!("{name}: {e}")).ids;
        assert_eq!(whole[..], ids[..], "{name}: other ids than the golden's");
        let window = number(&golden["settings"]["window"]) as usize;
        let ours: Vec<u32> = ids.chunks(window).flat_map(|part| tops(&model, part)).collect();
        let same = |at: &usize| ours[*at] == top[*at];
        let part = |places: &[usize]| {
            places.iter().filter(|at| same(at)).count() as f64 / places.len() as f64
        };
        let all: Vec<usize> = (0..positions).collect();
        let decided: Vec<usize> = all.iter().copied().filter(|at| margins[*at] >= TIE).collect();
        assert!(decided.len() > positions / 3, "{name}: {} decided positions", decided.len());
        let (raw, agreed, own) = (part(&all), part(&decided), number(&golden["own_agreement"]));
        println!(
            "{name}: {:.1} % of {} decided positions agree, {:.1} % of all {positions} (golden \
             with itself {:.1} %)",
            agreed * 100.0,
            decided.len(),
            raw * 100.0,
            own * 100.0
        );
        if !within(AGREEMENT, agreed) {
            faults.push(format!("{name}: only {:.1} % of the decided agree", agreed * 100.0));
        }
        if !within(own - BELOW_OWN, raw) {
            faults.push(format!("{name}: only {:.1} % of all agree", raw * 100.0));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
