//! Real files against an independent engine: logits after six prompts, and perplexity.
//!
//! The files are taken from the folder in `RECINTO_TEST_MODELS`; without it each is named as
//! skipped. What is stored and what the tolerances mean: tests/golden/README.md.

mod goldens;

use goldens::{
    best, completion, folder, greedy, ids, log_sum_exp, number, numbers, real, record, same_ids,
    session, within,
};
use recinto_engine::{Model, Request, Stop, Want};
use serde_json::Value;

/// A file and the differences allowed to two engines that round activations to 8 bits, each in its
/// own way; as parts of the row's standard deviation.
struct Case {
    name: &'static str,
    /// Of the 64 largest logits, the largest difference.
    most: f64,
    /// And the root mean square.
    rms: f64,
    /// Of the log-sum-exp of the whole row.
    log_sum_exp: f64,
}

const CASES: &[Case] = &[
    Case { name: "smollm2", most: 0.30, rms: 0.16, log_sum_exp: 0.14 },
    Case { name: "gemma3", most: 0.20, rms: 0.10, log_sum_exp: 0.09 },
    Case { name: "qwen05", most: 0.15, rms: 0.06, log_sum_exp: 0.05 },
    Case { name: "qwen15", most: 0.18, rms: 0.08, log_sum_exp: 0.08 },
];

/// A margin, in standard deviations of the row, below which another top-1 is a near-tie.
const TIE: f64 = 0.15;

/// Perplexity may differ by this part of the golden's.
const PERPLEXITY: f64 = 0.005;

fn check(case: &Case, model: &Model, golden: &Value, faults: &mut Vec<String>) -> String {
    let prompt = ids(&golden["ids"]);
    faults.extend(same_ids(model, completion(golden), golden).err());
    let mut session = session(model, 512);
    let row = match session.feed(&prompt, Want::Last, &Stop::never()) {
        Ok(row) => row.to_vec(),
        Err(error) => {
            faults.push(error.to_string());
            return String::new();
        }
    };
    let std = number(&golden["std"]);
    let (mut most, mut sum) = (0.0f64, 0.0);
    let (top_ids, top) = (ids(&golden["top_ids"]), numbers(&golden["top"]));
    for (id, value) in top_ids.iter().zip(&top) {
        let d = (f64::from(row[*id as usize]) - value).abs() / std;
        most = if d.is_nan() { d } else { most.max(d) };
        sum += d * d;
    }
    let rms = (sum / top.len() as f64).sqrt();
    let whole = (log_sum_exp(&row) - number(&golden["logsumexp"])).abs() / std;
    if !(within(most, case.most) && within(rms, case.rms)) {
        faults.push(format!("the largest logits differ by {most:.4} std, rms {rms:.4} std"));
    }
    if !within(whole, case.log_sum_exp) {
        faults.push(format!("log-sum-exp differs by {whole:.4} std"));
    }
    let margin = top[0] - top[1];
    let ours = best(&row).0;
    if ours != top_ids[0] && !within(margin, TIE * std) {
        faults.push(format!("id {ours}, golden {} by {margin:.3}", top_ids[0]));
    }
    greedy(&mut session, row, golden, TIE * std, faults);
    format!("most {most:.4}, rms {rms:.4}, log-sum-exp {whole:.4} (parts of std {std:.2})")
}

#[test]
fn real_files_say_what_an_independent_engine_says() {
    let mut all = Vec::new();
    for case in CASES {
        let name = case.name;
        let golden = record(&folder().join("real").join(format!("{name}.json")));
        let file = golden["file"].as_str().expect("the file");
        let Some(model) = real("real_files", name, file, &golden) else { continue };
        let prompts = golden["prompts"].as_object().expect("prompts");
        assert_eq!(prompts.len(), 6, "{name}");
        for (prompt, golden) in prompts {
            let mut faults = Vec::new();
            let numbers = check(case, &model, golden, &mut faults);
            println!("{name}/{prompt}: {numbers}");
            all.extend(faults.into_iter().map(|fault| format!("{name}/{prompt}: {fault}")));
        }
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

/// Sum of -ln p of each id of a window but the first; see tools/goldens/perplexity.py.
fn surprise(model: &Model, window: &[u32]) -> f64 {
    let mut session = session(model, window.len());
    let mut sum = 0.0;
    let width = model.facts().vocabulary;
    for (n, ids) in window.chunks(64).enumerate() {
        let rows = session.feed(ids, Want::All, &Stop::never()).expect("logits");
        let following = window.iter().skip(n * 64 + 1);
        for (row, next) in rows.chunks(width).zip(following) {
            sum += log_sum_exp(row) - f64::from(row[*next as usize]);
        }
    }
    sum
}

#[test]
fn perplexity_is_that_of_an_independent_engine() {
    let goldens = record(&folder().join("perplexity.json"));
    let text = std::fs::read_to_string(folder().join("perplexity.txt")).expect("the text");
    let mut all = Vec::new();
    for Case { name, .. } in CASES {
        let golden = &goldens[name];
        let file = record(&folder().join("real").join(format!("{name}.json")));
        let file = file["file"].as_str().expect("the file");
        let Some(model) = real("perplexity", name, file, golden) else { continue };
        let ids = ids(&golden["ids"]);
        let request = Request { completion: true, ..Request::user(&*text) };
        match model.prompt(&request) {
            Ok(prompt) if prompt.ids[..] == ids[..] => {}
            _ => all.push(format!("{name}: other ids than the golden's")),
        }
        let window = number(&golden["settings"]["window"]) as usize;
        let sum: f64 = ids.chunks(window).map(|window| surprise(&model, window)).sum();
        let predicted = ids.len() - ids.len().div_ceil(window);
        assert_eq!(predicted as f64, number(&golden["predicted"]), "{name}");
        let (ours, wanted) = ((sum / predicted as f64).exp(), number(&golden["perplexity"]));
        let part = ours / wanted - 1.0;
        println!("{name}: perplexity {ours:.4}, golden {wanted:.4} ({:+.3} %)", part * 100.0);
        if !within(part.abs(), PERPLEXITY) {
            all.push(format!("{name}: perplexity {ours:.4}, golden {wanted:.4}"));
        }
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}
