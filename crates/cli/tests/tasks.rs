//! `decide`, `extract`, `complete`, `score` on tiny models: what is printed, and how they end.

use crate::shell;

use std::fs;

use serde_json::{Value, json};
use shell::Shell;

fn shell(test: &str) -> Option<Shell> {
    let model = shell::tiny(test, "qwen2-quant")?;
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    shell.write("labels.txt", "pagos = cobros y tarjetas\n\nacceso\r\n");
    shell.write("labels.json", r#"{"pagos": "cobros", "acceso": "contraseñas"}"#);
    shell.write("two.json", r#"["pagos", "acceso"]"#);
    shell.write("ok.json", r#"{"type": "boolean"}"#);
    shell.write("long.json", r#"{"type": "string", "minLength": 300}"#);
    shell.write("unique.json", r#"{"type": "array", "uniqueItems": true}"#);
    shell.write("broken.json", "{");
    shell.write("g.lark", "start: \"sí\" | \"no\"");
    shell.write("texto.txt", "¿Por qué hay dos cobros?");
    Some(shell)
}

#[test]
fn a_label_is_an_answer() {
    let Some(shell) = shell("a_label_is_an_answer") else { return };
    let labels = ["pagos", "acceso"];
    let ways: [&[&str]; 6] = [
        &["decide", "¿Qué?", "--label", "pagos", "-l", "acceso=entrar"],
        &["decide", "-f", "texto.txt", "--labels", "labels.txt"],
        &["decide", "¿Qué?", "--labels", "labels.json", "--instructions", "En español."],
        &["decide", "¿Qué?", "--labels", "two.json", "--method", "score"],
        &["decide", "¿Qué?", "--labels", "two.json", "--data-label", "client:acme"],
        &["decide", "¿Qué?", "-l", "acceso", "--labels", "two.json", "--nothing"],
    ];
    for args in ways {
        let ran = shell.run(args);
        if args.contains(&"--nothing") {
            assert_eq!(ran.code, Some(2), "twice: {}", ran.err);
            assert!(ran.err.contains("twice"), "{}", ran.err);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        assert!(labels.contains(&ran.out().trim_end()), "{args:?}: {}", ran.out());
        assert_eq!(ran.out().lines().count(), 1, "{args:?}");
    }
    for seed in 0..6 {
        let seed = seed.to_string();
        let args = ["decide", "¿Qué?", "-l", "pagos", "--nothing-as", "otro=lo demás", "--json"];
        let args = [&args[..], &["--seed", &seed, "--temperature", "5"]].concat();
        let told = shell.run(&args).json();
        assert!(told["label"] == "pagos" || told["label"].is_null(), "{told}");
        assert_eq!((&told["method"], &told["wording"]), (&json!("generate"), &json!(1)));
        assert_eq!(told["finish"], "end");
        assert_eq!(told["digests"]["weights"].as_str().map(str::len), Some(71), "{told}");
    }
    let told =
        shell.run(&["decide", "¿Qué?", "--labels", "two.json", "--method", "score", "--json"]);
    let told = told.json();
    let rows = told["scores"].as_array().expect("scores");
    let sum: f64 = rows.iter().filter_map(|row| row["probability"].as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{told}");
    assert_eq!(rows[0]["label"], "acceso", "sorted");
    // What scored is known by its bytes, as what wrote is.
    let wrote = shell.run(&["decide", "¿Qué?", "--labels", "two.json", "--json"]).json();
    let scored = shell.run(&["score", "¿Qué?", "-l", "sí", "--json"]).json();
    for part in ["weights", "architecture", "engine", "template", "tokenizer"] {
        let digest = &wrote["digests"][part];
        assert!(digest.is_string(), "{part}: {wrote}");
        assert_eq!((&told["digests"][part], &scored["digests"][part]), (digest, digest), "{part}");
    }
}

#[test]
fn values_and_texts_keep_their_shape() {
    let Some(shell) = shell("values_and_texts_keep_their_shape") else { return };
    let ran = shell.run(&["extract", "¿Sí?", "--schema", "ok.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(["true\n", "false\n"].contains(&ran.out()), "{}", ran.out());
    let args = ["extract", "¿Sí?", "--schema", "ok.json", "--json", "--receipt", "r.json"];
    let told = shell.run(&args).json();
    assert!(told["value"].is_boolean() && told["command"] == "extract", "{told}");
    let receipt: Value =
        serde_json::from_slice(&fs::read(shell.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(receipt["model"]["digest"], told["digests"]["weights"]);
    let ran = shell.run(&["complete", "¿Cuándo?", "--regex", "[0-9]{4}-[0-9]{2}"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (year, month) = ran.out().trim_end().split_once('-').expect("a date");
    assert!(year.len() == 4 && month.len() == 2, "{}", ran.out());
    let told = shell.run(&["complete", "¿Sí?", "--lark", "g.lark", "--json"]).json();
    assert!(told["text"] == "sí" || told["text"] == "no", "{told}");
    let ran = shell.pipe(&["score", "-", "-l", "sí", "-l", "no"], "¿Sí?".as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows: Vec<&str> = ran.out().lines().collect();
    assert!(rows.len() == 2 && rows[0].ends_with("sí") && rows[1].ends_with("no"), "{rows:?}");
    let told = shell.run(&["score", "¿Sí?", "-l", "sí", "-l", "no", "--json"]).json();
    let parts = told["labels"][0]["parts"].as_array().expect("parts");
    let sum: f64 = parts.iter().filter_map(Value::as_f64).sum();
    assert!((sum - told["labels"][0]["logprob"].as_f64().unwrap()).abs() < 1e-9, "{told}");
}

#[test]
fn what_is_no_value_says_so() {
    let Some(shell) = shell("what_is_no_value_says_so") else { return };
    let cut: &[&str] = &[
        "extract",
        "¿Sí?",
        "--schema",
        "long.json",
        "--max-tokens",
        "3",
        "-o",
        "thinking_tokens=0",
    ];
    let ran = shell.run(cut);
    assert_eq!((ran.code, ran.out()), (Some(4), ""), "{}", ran.err);
    assert!(ran.err.contains("no value yet") && ran.err.contains("max_tokens"), "{}", ran.err);
    let ran = shell.run(&[cut, &["--json", "--receipt", "cut.json"]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert_eq!(ran.json()["error"]["kind"], "incomplete");
    assert!(shell.path().join("cut.json").exists(), "what ran is on record");
    let refused: [(&str, &[&str], &str); 11] = [
        ("no label", &["decide", "a"], "no label was given"),
        ("twice", &["decide", "a", "-l", "x", "-l", "x"], "twice"),
        ("empty", &["decide", "a", "-l", "x", "-l", ""], "label 2 is empty"),
        ("nothing", &["decide", "a", "-l", "nothing", "--nothing"], "wording of `nothing`"),
        ("method", &["decide", "a", "-l", "x", "--method", "guess"], "one of: generate"),
        ("no schema", &["extract", "a"], "--schema"),
        ("no JSON", &["extract", "a", "--schema", "broken.json"], "broken.json: not a schema"),
        ("a keyword", &["extract", "a", "--schema", "unique.json"], "`uniqueItems`"),
        ("no shape", &["complete", "a"], "--regex"),
        ("two shapes", &["complete", "a", "--regex", "a", "--lark", "g.lark"], "cannot stand"),
        ("no regex", &["complete", "a", "--regex", "a("], ""),
    ];
    for (name, args, part) in refused {
        let ran = shell.run(args);
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{name}: {}", ran.err);
        assert!(ran.err.contains(part), "{name}: {}", ran.err);
    }
    let ran = shell.run(&["decide", "a", "-l", "x", "--data-label", "dos palabras"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
