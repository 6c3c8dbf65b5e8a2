//! `recinto judge selftest` on the tiny checkpoint: it passes with the answers of that checkpoint,
//! and differs from those of a real one.

use crate::shell;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use shell::Shell;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/laya")
}

/// Requests with the reference's answers for the tiny checkpoint, out of its golden.
fn requests() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("cases.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let one = |case: &Value| -> Option<Value> {
        let state: Value = serde_json::from_str(case["state"].as_str()?).ok()?;
        let questions = case["questions"].as_object()?;
        // Budgets and orders of their own have no place in the published form.
        let own = case.get("options").and_then(Value::as_object).is_some_and(|o| !o.is_empty());
        let plain = |q: &Value| q.get("option_order").is_none() && q["instructions"].is_string();
        if own || !questions.values().all(plain) {
            return None;
        }
        let (mut answers, mut tokens) = (Map::new(), 0);
        for (row, question) in case["rows"].as_array()?.iter().zip(questions.values()) {
            let p = row["probabilities"].as_array()?;
            tokens += row["token_ids"].as_array()?.len();
            let labels: Vec<String> = match (&question["type"], &question["criteria"]) {
                (kind, _) if kind == "noul" => vec!["false".into(), "true".into()],
                (kind, Value::Object(map)) if kind == "choice" => map.keys().cloned().collect(),
                (kind, Value::Array(_)) if kind == "score" => {
                    (0..p.len()).map(|level| level.to_string()).collect()
                }
                _ => return None,
            };
            let shares: Map<String, Value> = labels.into_iter().zip(p.iter().cloned()).collect();
            let answer = match &question["type"] {
                kind if kind == "noul" => json!({"type": "noul", "noul": shares["true"]}),
                kind => json!({"type": kind, "probabilities": shares}),
            };
            answers.insert(row["id"].as_str()?.to_owned(), answer);
        }
        let result = json!({"answers": answers, "usage": {"input_tokens": tokens}});
        Some(json!({"question_set": "x", "state": state, "questions": questions, "result": result}))
    };
    let reads = |request: &Value| recinto_judge::State::new(request["state"].clone()).is_ok();
    // This one is about how numbers are written, which a value does not keep.
    let cases = all["cases"].as_object().unwrap().iter().filter(|c| c.0 != "json_state_all_kinds");
    cases.map(|case| case.1).filter_map(one).filter(reads).collect()
}

const TEST: [&str; 4] = ["judge", "selftest", "--golden", "g.json"];

fn shell() -> Shell {
    Shell::new().env("RECINTO_JUDGE_MODEL", folder().join("ckpt").to_str().unwrap())
}

#[test]
fn the_answers_of_the_checkpoint_pass() {
    let (shell, all) = (shell(), requests());
    assert!(all.len() >= 8, "only {} requests of the golden are plain", all.len());
    shell.write("g.json", Value::from(all.clone()).to_string());
    let args = [&TEST[..], &["--tolerance", "0.00001"]].concat();
    let ran = shell.run(&args);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out(), ran.err);
    assert!(ran.out().starts_with("REQUEST"), "{}", ran.out());
    assert!(!ran.out().contains("differs"), "{}", ran.out());
    assert!(ran.err.contains("the largest difference is 0.00000"), "{}", ran.err);
    let told = shell.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!((&told["off"], &told["exit_code"]), (&json!(0), &json!(0)));
    assert_eq!(told["requests"], all.len());
    assert_eq!(told["reading"], "markers/1", "as the reference reads");
    // One number that is off is found, and so is a count of tokens.
    for (name, path, value) in [
        ("a probability", "/0/result/answers", json!(0.5)),
        ("tokens", "/0/result/usage/input_tokens", json!(1)),
    ] {
        let mut other = Value::from(all.clone());
        match other.pointer_mut(path).unwrap() {
            Value::Object(answers) => {
                let answer = answers.values_mut().next().unwrap();
                match answer.get_mut("noul") {
                    Some(noul) => *noul = json!(noul.as_f64().unwrap() * 0.5 + 0.2),
                    None => {
                        let shares = answer["probabilities"].as_object_mut().unwrap();
                        let first = shares.values_mut().next().unwrap();
                        *first = json!(first.as_f64().unwrap() * 0.5);
                    }
                }
            }
            number => *number = value,
        }
        shell.write("g.json", other.to_string());
        let ran = shell.run(&TEST);
        assert_eq!(ran.code, Some(1), "{name}: {} {}", ran.out(), ran.err);
        let marks = ran.out().matches("differs").count();
        assert_eq!(marks, usize::from(name == "a probability"), "{name}: {}", ran.out());
    }
}

/// Labels, descriptions and levels that are numbers or booleans, asked from a file.
#[test]
fn numbers_and_booleans_of_the_reference() {
    let shell = shell();
    let text = std::fs::read_to_string(folder().join("cases.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    for name in ["choice_scalar_labels", "choice_description_kinds", "score_levels_kinds"] {
        let case = &all["cases"][name];
        shell.write("q.json", case["questions"].to_string());
        let args = ["judge", "--judge-provider", "laya", "--strict", "--json", "--json-state"];
        let state = case["state"].as_str().unwrap();
        let ran = shell.pipe(&[&args[..], &["-Q", "q.json"]].concat(), state.as_bytes());
        assert_eq!(ran.code, Some(3), "{name}: no gate: {}", ran.err);
        let body = ran.json();
        let shares = body["answers"]["q"]["answer"]["probabilities"].as_array().unwrap();
        let want = case["rows"][0]["probabilities"].as_array().unwrap();
        assert_eq!(shares.len(), want.len(), "{name}");
        for (share, want) in shares.iter().zip(want) {
            let far = share["p"].as_f64().unwrap() - want.as_f64().unwrap();
            assert!(far.abs() < 3e-6, "{name}: {share}, wanted {want}");
        }
        let labels = case["answers"]["q"]["probabilities"].as_object().unwrap().keys();
        let own = shares.iter().map(|share| share["label"].as_str().unwrap());
        assert!(own.eq(labels.map(String::as_str)), "{name}: {shares:?}");
        assert_eq!(
            body["usage"]["input_tokens"],
            case["rows"][0]["token_ids"].as_array().unwrap().len()
        );
    }
    // The reference refuses what has no instructions, however well it is described.
    shell.write("q.json", r#"{"q":{"type":"choice","criteria":{"a":"es rojo","b":"es azul"}}}"#);
    let args = ["judge", "--judge-provider", "laya", "--json", "-Q", "q.json"];
    let ran = shell.pipe(&args, "año".as_bytes());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("no-instructions"), "{}", ran.err);
}

/// Answers of the published checkpoint (its authors' figures for these two texts) are not those of
/// a tiny random one.
#[test]
fn another_checkpoint_differs() {
    let shell = shell();
    let question = json!({"type": "noul", "instructions": "Does the customer ask for money back?"});
    let request = |text: &str, yes: f64| {
        json!({
            "state": text, "questions": {"refund_requested": question},
            "result": {"answers": {"refund_requested": {"type": "noul", "noul": yes}}},
        })
    };
    let all = [
        request("I was charged twice this month and I'm furious. Refund me now.", 0.947),
        request("Can you help me reset my password?", 0.0495),
    ];
    shell.write("g.json", Value::from(all.to_vec()).to_string());
    let ran = shell.run(&TEST);
    assert_eq!(ran.code, Some(1), "{} {}", ran.out(), ran.err);
    assert!(ran.out().contains("differs") && ran.out().contains("0.9470"), "{}", ran.out());
    assert!(!ran.out().contains("charged") && !ran.err.contains("charged"), "no word of a state");
}

#[test]
fn what_is_missing_is_said() {
    let bare = Shell::new();
    let ran = bare.run(&["judge", "selftest", "--golden", "g.json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    for part in ["no checkpoint of Laya", "rl_agent_config.json", "RECINTO_JUDGE_MODEL"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let shell = shell();
    shell.write("bad.json", "{\"canary\":");
    shell.write("map.json", "{\"canary\": 1}");
    shell.write("none.json", "[]");
    shell.write(
        "short.json",
        r#"[{"state": "canary", "questions": {"q": {"type": "noul",
        "instructions": "canary"}}, "result": {"answers": {}}}]"#,
    );
    let cases: [(&str, &[&str], &str); 8] = [
        ("no requests", &["judge", "selftest"], "tests/golden_e2e"),
        ("no file", &["judge", "selftest", "--golden", "no.json"], "no.json"),
        ("not JSON", &["judge", "selftest", "--golden", "bad.json"], "bad.json: not JSON"),
        ("a map", &["judge", "selftest", "--golden", "map.json"], "no list of requests"),
        ("empty", &["judge", "selftest", "--golden", "none.json"], "no list of requests"),
        (
            "no answer",
            &["judge", "selftest", "--golden", "short.json"],
            "request 1: no whole answer",
        ),
        ("tolerance", &["judge", "selftest", "--tolerance", "NaN"], "from 0 to 1"),
        ("gguf", &["judge", "selftest", "--judge-provider", "gguf"], "the selftest is of laya"),
    ];
    for (name, args, words) in cases {
        let ran = shell.run(args);
        assert!(matches!(ran.code, Some(2 | 4)), "{name}: {:?} {}", ran.code, ran.err);
        assert!(ran.err.contains(words), "{name}: {}", ran.err);
        assert!(!ran.err.contains("canary"), "{name}: {}", ran.err);
    }
}
