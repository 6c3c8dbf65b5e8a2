//! Real files against an independent engine: logits after six prompts.
//!
//! The files are taken from the folder in `RECINTO_TEST_MODELS`; without it each is named as
//! skipped. What is stored and what the tolerances mean: tests/golden/README.md.

use crate::goldens;

use goldens::{
    best, completion, folder, greedy, ids, log_sum_exp, number, numbers, real, record, same_ids,
    session, within,
};
use recinto_engine::{Model, Stop, Want};
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
