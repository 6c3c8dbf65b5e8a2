//! `recinto judge calibrate`: what is fitted on what, and what it is compared with.

use crate::shell;

use std::{fs, path::Path};

use recinto_judge::{Form, Row, metrics::log_loss, rows::split};
use serde_json::{Map, Value, json};
use shell::Shell;

fn number(value: &Value) -> f64 {
    value.as_str().map_or(value.as_f64(), |s| s.parse().ok()).expect("a number")
}

const OF_TWO: &str = r#"{"tema":{"type":"choice","instructions":"¿De qué va?",
    "criteria":{"pagos":"cobro tarjeta factura","envíos":"paquete pedido entrega"}}}"#;

/// The figures before are those of answers that nobody calibrated: of a Laya checkpoint, those with
/// its own temperature. A record's labels stay in one part.
#[test]
fn before_is_what_a_user_sees() {
    let ckpt = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/laya/ckpt");
    let shell = Shell::new().env("RECINTO_JUDGE_MODEL", ckpt.to_str().unwrap());
    let questions: Map<String, Value> = (0..6)
        .map(|at| {
            let text = format!("¿Va de la factura {at}?");
            (format!("q{at}"), json!({"type": "noul", "instructions": text}))
        })
        .collect();
    shell.write("q.json", Value::from(questions).to_string());
    let states: Vec<String> = (0..24).map(|at| format!("el cobro del año {at}")).collect();
    let lines: Vec<String> = states.iter().map(|s| json!({ "state": s }).to_string()).collect();
    shell.write("in.jsonl", lines.join("\n"));
    let reader = ["--judge-provider", "laya", "--strict"];
    let run = ["judge", "run", "-Q", "q.json", "--in", "in.jsonl", "--out", "seen"];
    let ran = shell.run(&[&run[..], &reader].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let seen = fs::read_to_string(shell.path().join("seen/person.jsonl")).unwrap();
    let seen: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(seen.len(), states.len());
    // Labels are the model's own answers but for every fourth, so that there is something to fit.
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (at, (line, state)) in seen.iter().zip(&states).enumerate() {
        let mut labels = Map::new();
        for (place, (id, judged)) in line["answers"].as_object().unwrap().iter().enumerate() {
            let answer = &judged["answer"];
            assert_ne!(number(&answer["temperature"]), 1.0, "the checkpoint has its own");
            let yes = answer["value"]["yes"].as_f64().unwrap();
            let label = (yes > 0.5) != (6 * at + place).is_multiple_of(4);
            labels.insert(id.clone(), label.into());
            let row = Row::from_probabilities(Form::Whether, &[1.0 - yes, yes], usize::from(label));
            rows.push(row.unwrap().of_record(at as u64 + 1));
        }
        lines.push(json!({"state": state, "labels": labels}).to_string());
    }
    shell.write("l.jsonl", lines.join("\n"));
    let fit = ["judge", "calibrate", "-Q", "q.json", "--data", "l.jsonl", "-o", "c", "--json"];
    let ran = shell.run(&[&fit[..], &reader].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let map = &told["maps"]["noul"];
    let (fitted, measured) = split(&rows, 0.5, 0);
    assert_eq!((&map["rows"], &map["measured"]), (&fitted.len().into(), &measured.len().into()));
    let plain: Vec<_> = measured.iter().map(Row::plain).collect();
    let (want, got) = (log_loss(&plain), number(&map["before"]["loss"]));
    assert!((got - want).abs() < 1e-6, "{got}, and users see {want}");
}

/// One record with forty labels is about one state: it is fitted on or measured on, never both.
#[test]
fn a_record_is_not_parted() {
    let shell = Shell::new();
    let one: Value = serde_json::from_str(OF_TWO).unwrap();
    let ids = (0..40).map(|at| format!("tema {at}"));
    let questions: Map<String, Value> = ids.clone().map(|id| (id, one["tema"].clone())).collect();
    shell.write("q.json", Value::from(questions).to_string());
    let label = |at: usize| if at.is_multiple_of(5) { "envíos" } else { "pagos" };
    let labels: Map<String, Value> =
        ids.enumerate().map(|(at, id)| (id, label(at).into())).collect();
    shell.write("l.jsonl", json!({"state": "cobro tarjeta", "labels": labels}).to_string());
    let mut sides = [false; 2];
    for seed in 0..12 {
        let seed = seed.to_string();
        let args = ["judge", "calibrate", "-Q", "q.json", "--data", "l.jsonl", "-o", "c", "--json"];
        let more = ["--judge-provider", "mock", "--split-seed", &seed];
        let ran = shell.run(&[&args[..], &more].concat());
        if ran.code == Some(0) {
            let map = &ran.json()["maps"]["choice"];
            assert_eq!((&map["rows"], &map["measured"]), (&json!(40), &json!(0)), "{map}");
            assert!(map.get("before").is_none(), "{map}");
        } else {
            assert!(ran.err.contains("0 labelled rows"), "seed {seed}: {}", ran.err);
        }
        sides[usize::from(ran.code == Some(0))] = true;
    }
    assert_eq!(sides, [true; 2], "the record falls on either side");
}

/// A map of two options says nothing of sixty.
#[test]
fn other_counts_of_options_stay_uncalibrated() {
    let shell = Shell::new();
    shell.write("q.json", OF_TWO);
    let line = |at: usize| {
        let label = if at.is_multiple_of(5) { "envíos" } else { "pagos" };
        format!("{{\"state\":\"cobro tarjeta, caso {at}\",\"labels\":{{\"tema\":\"{label}\"}}}}\n")
    };
    shell.write("l.jsonl", (0..120).map(line).collect::<String>());
    let mock = ["--judge-provider", "mock"];
    let fit = ["judge", "calibrate", "-Q", "q.json", "--data", "l.jsonl", "-o", "c"];
    let ran = shell.run(&[&fit[..], &mock].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (head, row) = ran.out().split_once('\n').expect("a table");
    assert!(head.contains("OPTIONS") && row.starts_with("choice  2 "), "{}", ran.out());
    let mut many = OF_TWO.to_owned();
    let more: Vec<String> = (0..58).map(|at| format!("\"opción {at:02}\":null")).collect();
    many.insert_str(many.rfind("}}}").unwrap(), &format!(",{}", more.join(",")));
    shell.write("many.json", &many);
    for (questions, calibrated) in [("q.json", true), ("many.json", false)] {
        let args = ["judge", "--json", "-Q", questions, "--calibration", "c"];
        let ran = shell.pipe(&[&args[..], &mock].concat(), "un cobro".as_bytes());
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        let body = ran.json();
        let answer = &body["answers"]["tema"]["answer"];
        assert_eq!(answer.get("calibrated").is_some(), calibrated, "{questions}: {answer}");
        let note = ran.err.contains("tema: not calibrated");
        assert_eq!(note, !calibrated, "{questions}: {}", ran.err);
    }
}
