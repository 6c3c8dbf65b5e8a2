//! Real files against an independent engine over a whole text: its perplexity, and which token is
//! the most likely one at every place. How the goldens are made: tools/goldens/{perplexity,
//! agreement}.py; what the limits mean: tests/golden/README.md.

use crate::goldens;

use goldens::{best, folder, ids, log_sum_exp, number, numbers, real, record, session, within};
use recinto_engine::{Model, Request, Stop, Want};
use serde_json::Value;

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

/// Perplexity may differ by this part of the golden's.
const PERPLEXITY: f64 = 0.005;

/// The most likely ids after each position of one window, and the sum of -ln p of each of its ids
/// but the first; see tools/goldens/perplexity.py.
fn read(model: &Model, window: &[u32]) -> (Vec<u32>, f64) {
    let mut session = session(model, window.len());
    let width = model.facts().vocabulary;
    let (mut top, mut surprise) = (Vec::with_capacity(window.len()), 0.0);
    let mut following = window.iter().skip(1);
    for part in window.chunks(64) {
        let rows = session.feed(part, Want::All, &Stop::never()).expect("logits");
        for row in rows.chunks(width) {
            top.push(best(row).0);
            if let Some(next) = following.next() {
                surprise += log_sum_exp(row) - f64::from(row[*next as usize]);
            }
        }
    }
    (top, surprise)
}

/// How far from the golden's the perplexity is, as a fault when it is too far.
fn perplexity(name: &str, golden: &Value, ids: &[u32], window: usize, sum: f64) -> Option<String> {
    assert_eq!(number(&golden["settings"]["window"]) as usize, window, "{name}");
    assert_eq!(goldens::ids(&golden["ids"]), ids, "{name}: one text for both goldens");
    let predicted = ids.len() - ids.len().div_ceil(window);
    assert_eq!(predicted as f64, number(&golden["predicted"]), "{name}");
    let (ours, wanted) = ((sum / predicted as f64).exp(), number(&golden["perplexity"]));
    let part = ours / wanted - 1.0;
    println!("{name}: perplexity {ours:.4}, golden {wanted:.4} ({:+.3} %)", part * 100.0);
    let fault = format!("{name}: perplexity {ours:.4}, golden {wanted:.4}");
    (!within(part.abs(), PERPLEXITY)).then_some(fault)
}

#[test]
fn perplexity_and_likeliest_tokens_are_those_of_an_independent_engine() {
    let goldens = record(&folder().join("agreement.json"));
    let perplexities = record(&folder().join("perplexity.json"));
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
        let read: Vec<_> = ids.chunks(window).map(|part| read(&model, part)).collect();
        let sum = read.iter().map(|(_, surprise)| surprise).sum();
        faults.extend(perplexity(name, &perplexities[*name], &ids, window, sum));
        let ours: Vec<u32> = read.into_iter().flat_map(|(top, _)| top).collect();
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
