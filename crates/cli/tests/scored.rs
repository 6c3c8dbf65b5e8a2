//! Receipts of scorings, and the budget of what reads and does not answer.

use crate::shell;

use std::{fs, path::Path};

use recinto_receipt::{Receipt, Record, Scored, sha256};
use serde_json::{Value, json};
use shell::{Ran, Shell};

const TEXT: &str = "¿Es una queja? Responde sí o no: «no funciona»";

/// The receipt of a scoring.
fn receipt(shell: &Shell) -> Scored {
    let bytes = fs::read(shell.path().join("r.json")).unwrap();
    match Record::from_bytes(&bytes) {
        Ok(Record::Scored(found)) => *found,
        other => panic!("{other:?}"),
    }
}

/// What a receipt and an envelope both say.
fn agree(found: &Scored, told: &Value, labels: &[&str], name: &str) {
    let digests = &told["digests"];
    let options = json!({ "mode": "chat" });
    let facts = [
        (json!(found.model.digest), &digests["weights"]),
        (json!(found.architecture.digest), &digests["architecture"]),
        (json!(found.engine.object), &digests["engine"]),
        (json!(found.template), &digests["template"]),
        (json!(found.tokenizer), &digests["tokenizer"]),
        (json!(found.usage.prompt_tokens), &told["usage"]["prompt_tokens"]),
        (json!(found.options), &options),
    ];
    for (at, (found, want)) in facts.iter().enumerate() {
        assert_eq!(found, *want, "{name}, {at}: {told}");
    }
    let mass = format!("{:?}", told["mass"].as_f64().unwrap());
    assert_eq!(json!(found.option_mass), json!(mass), "{name}");
    let texts: Vec<_> = found.labels.iter().map(|label| label.text).collect();
    assert_eq!(texts, labels.iter().map(|l| sha256(l.as_bytes())).collect::<Vec<_>>(), "{name}");
    let rows = told["scores"].as_array().or(told["labels"].as_array()).unwrap();
    let logprobs = rows.iter().map(|row| json!(format!("{:?}", row["logprob"].as_f64().unwrap())));
    let kept: Vec<Value> = found.labels.iter().map(|label| json!(label.logprob)).collect();
    assert_eq!(kept, logprobs.collect::<Vec<_>>(), "{name}");
}

#[test]
fn scorings_leave_receipts() {
    let Some(model) = shell::tiny("receipts of scorings", "qwen2-quant") else { return };
    let model = model.display().to_string();
    // Digests of each run, so that records can be compared whole.
    let shell = Shell::new().env("RECINTO_MODEL", &model).env("RECINTO_VERIFY", "always");
    let ran = shell.run(&["ask", TEXT, "--max-tokens", "1", "--receipt", "ask.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let asked = Receipt::from_bytes(&fs::read(shell.path().join("ask.json")).unwrap()).unwrap();
    let more = ["--json", "--receipt", "r.json"];
    let run = |args: &[&str]| -> Ran {
        let _ = fs::remove_file(shell.path().join("r.json"));
        shell.run(&[args, &more].concat())
    };
    // The same words make the same prompt, whether they are answered or scored.
    let ran = run(&["score", TEXT, "-l", "sí", "-l", "no"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let found = receipt(&shell);
    agree(&found, &ran.json(), &["sí", "no"], "score");
    assert_eq!(found.input, asked.input);
    assert_eq!(found.engine, asked.engine);
    assert_eq!((&found.model, &found.architecture), (&asked.model, &asked.architecture));
    // A replay has the same numbers, and another text another prompt.
    let again = {
        run(&["score", TEXT, "-l", "sí", "-l", "no"]);
        receipt(&shell)
    };
    assert_eq!((again.labels, again.input), (found.labels, found.input));
    run(&["score", "¿Otra?", "-l", "sí", "-l", "no"]);
    assert_ne!(receipt(&shell).input, asked.input);
    // Labels are recorded as they are read: sorted, nothing last, by the words that stand for it.
    let decide = [
        "decide",
        TEXT,
        "-l",
        "queja",
        "-l",
        "elogio",
        "--nothing-as",
        "otro",
        "--method",
        "score",
    ];
    let ran = run(&decide);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    agree(&receipt(&shell), &ran.json(), &["elogio", "queja", "otro"], "decide");
    // A cascade: of what answered, and of the first where nothing was decided.
    let tables = |below: &str, mass: &str| {
        let text = format!(
            "[profiles]\na = \"local/{model}\"\nb = \"openai-compatible/m\"\n\
             [cascade]\nx = {{ first = \"a\", below = {below}, option_mass = {mass}, then = \"b\" }}\n"
        );
        shell.write("recinto.toml", format!("base_url = \"http://localhost:1/v1\"\n{text}"));
    };
    let decide = ["decide", TEXT, "-l", "a", "-l", "b", "--profile", "x"];
    for (name, below, mass, code) in
        [("holds", "1e-12", "0", 0), ("undecided", "2", "0", 3), ("no mass", "1e-12", "0.9", 3)]
    {
        tables(below, mass);
        let ran = run(&decide);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
        agree(&receipt(&shell), &ran.json(), &["a", "b"], name);
    }
    let bytes = fs::read_to_string(shell.path().join("r.json")).unwrap();
    assert!(!bytes.contains("queja") && !bytes.contains("funciona"), "no words: {bytes}");
}

fn bert() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed/tiny-bert");
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn budgets_count_what_is_read() {
    let Some(model) = shell::tiny("budgets of readers", "qwen2-quant") else { return };
    let shell = Shell::new();
    let lines: String = (0..130).map(|n| format!("where is order {n}?\n")).collect();
    shell.write("textos", lines);
    let states = "{\"state\":\"cobro doble\"}\n".repeat(3);
    shell.write("estados.jsonl", states);
    let (bert, model) = (bert(), model.display().to_string());
    let embed = ["embed", "where is my order?", "-m", &bert];
    let many = ["embed", "--lines", "-f", "textos", "-m", &bert];
    let judge = ["judge", "--whether", "¿Es grave?", "-f", "textos.md", "-m", &model];
    let mock = ["judge", "--whether", "¿Es grave?", "-f", "textos.md", "--judge-provider", "mock"];
    shell.write("textos.md", "Un cobro doble.");
    let identity = ["--identity", "íñigo"];
    // A budget, a command, and whether it holds.
    type Case<'a> = (&'a str, &'a str, Vec<&'a str>, bool);
    let cases: Vec<Case<'_>> = vec![
        ("none", "", embed.to_vec(), true),
        ("room", "tokens = 1000\nseconds = 600", embed.to_vec(), true),
        ("a token", "tokens = 1", embed.to_vec(), false),
        ("no time", "seconds = 0", embed.to_vec(), false),
        ("money is no matter here", "money = \"1 EUR\"", embed.to_vec(), true),
        ("room for a part of them", "tokens = 500", many.to_vec(), false),
        ("room for all", "tokens = 5000", many.to_vec(), true),
        ("of an identity", "identity = { tokens = 1 }", [&embed[..], &identity].concat(), false),
        ("of nobody", "identity = { tokens = 1 }", embed.to_vec(), false),
        ("a judge", "tokens = 100000", judge.to_vec(), true),
        ("a judge, nothing", "tokens = 0", judge.to_vec(), false),
        ("a judge, no time", "seconds = 0", judge.to_vec(), false),
        (
            "a judge, for somebody",
            "identity = { tokens = 0 }",
            [&judge[..], &identity].concat(),
            false,
        ),
        ("a mock", "tokens = 0", mock.to_vec(), false),
        ("a mock, room", "tokens = 10", mock.to_vec(), true),
    ];
    for (name, budget, args, holds) in cases {
        shell.write("recinto.toml", format!("[budget]\n{budget}\n"));
        let ran = shell.run(&args);
        let judges = args[0] == "judge";
        if holds {
            // A judge without a gate leaves its answer to a person.
            let want = if judges { 3 } else { 0 };
            assert_eq!(ran.code, Some(want), "{name}: {}", ran.err);
            continue;
        }
        assert_eq!(ran.code, Some(4), "{name}: {} {}", ran.out(), ran.err);
        assert!(ran.err.contains("the budget of this"), "{name}: {}", ran.err);
        assert!(!ran.err.contains("íñigo"), "{name}: {}", ran.err);
    }
    // What was read counts: a batch goes on while something is left, and not after.
    shell.write("q.toml", "[q]\ntype = \"noul\"\ninstructions = \"¿Es grave?\"\n");
    shell.write("recinto.toml", "[budget]\ntokens = 1\n");
    let args =
        ["judge", "run", "-Q", "q.toml", "--in", "estados.jsonl", "--out", "o", "-m", &model];
    let ran = shell.run(&args);
    assert!(matches!(ran.code, Some(4 | 5)), "{:?} {}", ran.code, ran.err);
    assert!(
        ran.err.contains("the budget of this process is 1 tokens, and 0 are left"),
        "{}",
        ran.err
    );
}
