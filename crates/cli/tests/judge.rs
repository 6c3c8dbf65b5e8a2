//! `recinto judge` and `recinto gate`: answers, exit codes, artefacts, batches.

use crate::shell;

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use shell::{Ran, Shell};

/// Words that state and option share decide; no model.
const MOCK: [&str; 2] = ["--judge-provider", "mock"];

pub(crate) const QUESTIONS: &str = r#"
[tema]
type = "choice"
instructions = "¿De qué va?"
[tema.criteria]
pagos = "cobro tarjeta factura"
"envíos" = "paquete pedido entrega"

[urgente]
type = "noul"
instructions = "queja grave urgente"
"#;

pub(crate) fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, &MOCK, more].concat()
}

pub(crate) fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("q.toml", QUESTIONS);
    shell
}

pub(crate) fn json(ran: &Ran) -> Value {
    ran.json()
}

/// Labelled records that the mock answers well; every `wrong`-th is labelled otherwise.
pub(crate) fn labelled(count: usize, wrong: usize) -> String {
    let line = |at: usize| {
        let (text, right, other) = match at % 2 {
            0 => ("cobro tarjeta factura", "pagos", "envíos"),
            _ => ("paquete pedido entrega", "envíos", "pagos"),
        };
        let label = if wrong > 0 && at.is_multiple_of(wrong) { other } else { right };
        format!("{{\"state\":\"{text}, caso {at}\",\"labels\":{{\"tema\":\"{label}\"}}}}\n")
    };
    (0..count).map(line).collect()
}

/// A shell with a gate that the mock's sure answers pass.
fn gated() -> Shell {
    let shell = shell();
    shell.write("l.jsonl", labelled(120, 0));
    let args = ["gate", "fit", "--risk", "0.1", "-Q", "q.toml", "--data", "l.jsonl", "-o", "g"];
    let ran = shell.run(&with(&args, &[]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    shell
}

#[test]
fn answers_of_each_form() {
    let shell = shell();
    let args = with(
        &["judge", "--json"],
        &[
            "--whether",
            "cobro doble",
            "--whether",
            "¿Llegó el paquete?",
            "--choose",
            "¿De qué va?",
            "--option",
            "pagos=cobro tarjeta",
            "--option",
            "envíos",
            "--or-nothing",
            "--rate",
            "¿Cuánto enojo?",
            "--step",
            "calma",
            "--step",
            "mucho enojo",
        ],
    );
    let ran = shell.pipe(&args, "Un cobro doble en mi tarjeta, ¡mucho enojo!".as_bytes());
    assert_eq!(ran.code, Some(3), "no gate, so nothing passes: {}", ran.err);
    let body = json(&ran);
    assert_eq!(body["command"], "judge");
    assert_eq!((&body["outcome"], &body["exit_code"]), (&"review".into(), &3.into()));
    assert_eq!(body["reader"]["calibration"], Value::Null, "it is said that nobody calibrated it");
    let answers = &body["answers"];
    let ids: Vec<&String> = answers.as_object().unwrap().keys().collect();
    assert_eq!(ids, ["whether", "whether-2", "choose", "rate"]);
    let whether = &answers["whether"]["answer"];
    assert!(whether["value"]["yes"].as_f64().unwrap() > 0.9, "{whether}");
    for key in ["answer_confidence", "confidence", "option_mass"] {
        assert!(whether[key].is_f64(), "{key}: {whether}");
    }
    for key in ["identity", "question", "state"] {
        let digest = whether[key].as_str().unwrap().trim_start_matches("sha256:");
        assert_eq!(digest.len(), 64, "{key}: {whether}");
    }
    assert_eq!(whether["order"]["readings"], 2, "two orders");
    let labels: Vec<&str> = answers["choose"]["answer"]["probabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|share| share["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["pagos", "envíos", "none"], "in the declared order");
    assert_eq!(answers["choose"]["answer"]["value"]["index"], 0);
    assert_eq!(answers["rate"]["answer"]["value"]["likeliest"], 1);
    assert_eq!(answers["rate"]["gate"]["reasons"][0]["why"], "no-gate");
    // The same for people.
    let args: Vec<&str> = args.into_iter().filter(|arg| *arg != "--json").collect();
    let ran = shell.pipe(&args, "Un cobro doble en mi tarjeta, ¡mucho enojo!".as_bytes());
    let head = ran.out().lines().next().unwrap();
    assert!(head.starts_with("QUESTION") && head.contains("ANSWER"), "{head}");
    assert!(ran.out().contains("pagos") && ran.out().contains("review"), "{}", ran.out());
    assert!(ran.err.contains("no gate was given"), "{}", ran.err);
}

#[test]
fn exit_codes() {
    let shell = gated();
    let judge = |more: &[&str], state: &str| {
        let one = ["judge", "--gate", "g", "-Q", "one.toml"];
        shell.pipe(&with(&one, more), state.as_bytes())
    };
    let only = QUESTIONS.split("[urgente]").next().unwrap();
    shell.write("one.toml", only);
    let sure = "cobro tarjeta factura, otra vez";
    let unsure = "cobro tarjeta, paquete pedido";
    let cases: [(&str, &[&str], &str, i32); 8] = [
        ("pass", &[], sure, 0),
        ("pass, whatever the answer", &[], "paquete pedido entrega", 0),
        ("as expected", &["--expect", "pagos"], sure, 0),
        ("by its id", &["--expect", "tema=pagos"], sure, 0),
        ("a confident other answer", &["--expect", "envíos"], sure, 1),
        ("for a person", &[], unsure, 3),
        ("for a person, expected or not", &["--expect", "envíos"], unsure, 3),
        ("no such answer", &["--expect", "bajas"], sure, 2),
    ];
    for (name, more, state, code) in cases {
        let ran = judge(more, state);
        assert_eq!(ran.code, Some(code), "{name}: {} {}", ran.out(), ran.err);
        assert!(!ran.err.contains(state), "{name}: {}", ran.err);
    }
    // A question that the gate has no threshold for is one for a person.
    let ran = shell.pipe(&with(&["judge", "--gate", "g", "-Q", "q.toml"], &[]), sure.as_bytes());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out().contains("no threshold is certified for noul:2"), "{}", ran.out());
    // Nothing to read: too long for the mock, which has room for 4096 words.
    let ran = judge(&[], &"cobro ".repeat(5000));
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.out().contains("5000 tokens, and room for 4096"), "{}", ran.out());
    let body = json(&judge(&["--json", "--expect", "envíos"], sure));
    assert_eq!((&body["outcome"], &body["exit_code"]), (&"other".into(), &1.into()));
    assert_eq!(body["answers"]["tema"]["expected"], false);
}

#[test]
fn wrong_usage() {
    let shell = shell();
    shell.write("m.txt", "hola");
    shell.write("bad.toml", "[q]\ntype = 'nuol'\n");
    shell.write("bad.json", "{\"q\": {\"type\": \"noul\", \"secreto\": 1}}");
    shell.write("bad.jsonl", "{\"state\": \"x\"}\n{\"state\": 3, \"labels\": {}}\n");
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("nothing asked", &["judge", "-f", "m.txt"], &["nothing is asked", "--whether"]),
        ("no options", &["judge", "-f", "m.txt", "--choose", "x"], &["--option"]),
        ("option alone", &["judge", "-f", "m.txt", "--option", "x"], &["--choose"]),
        ("step alone", &["judge", "-f", "m.txt", "--step", "x"], &["--rate"]),
        (
            "one option",
            &["judge", "-f", "m.txt", "--choose", "x", "--option", "a"],
            &["fewer than two options (one-option)"],
        ),
        ("empty", &["judge", "-f", "m.txt", "--whether", " "], &["empty-instructions"]),
        (
            "path",
            &["judge", "-f", "m.txt", "--whether", "¿Está `ticket.text` vacío?"],
            &["missing-path"],
        ),
        ("type", &["judge", "-f", "m.txt", "-Q", "bad.toml"], &["bad.toml: question `q`"]),
        ("key", &["judge", "-f", "m.txt", "-Q", "bad.json"], &["unknown key"]),
        ("no file", &["judge", "-f", "m.txt", "-Q", "no.toml"], &["cannot read no.toml"]),
        ("no state", &["judge", "-f", "no.txt", "-Q", "q.toml"], &["cannot read no.txt"]),
        ("json", &["judge", "-f", "m.txt", "-Q", "q.toml", "--json-state"], &["not a state"]),
        ("group", &["judge", "-f", "m.txt", "-Q", "q.toml", "--group", "1"], &["from 2 to 255"]),
        ("gate", &["judge", "-f", "m.txt", "-Q", "q.toml", "--gate", "q.toml"], &["a gate"]),
        (
            "expect",
            &["judge", "-f", "m.txt", "-Q", "q.toml", "--expect", "yes"],
            &["--expect names no question", "ID=ANSWER"],
        ),
        (
            "risk",
            &["gate", "fit", "--risk", "2", "--data", "bad.jsonl", "-o", "g", "-Q", "q.toml"],
            &["between 0 and 1"],
        ),
        (
            "mass, before a line is read",
            &[
                "gate",
                "fit",
                "--risk",
                "0.1",
                "--least-mass",
                "2",
                "--data",
                "bad.jsonl",
                "-o",
                "g",
            ],
            &["--least-mass must be from 0 to 1"],
        ),
        (
            "no mass",
            &["gate", "fit", "--risk", "0.1", "--least-mass", "NaN", "--data", "no", "-o", "g"],
            &["--least-mass must be from 0 to 1"],
        ),
        (
            "sides of sets",
            &[
                "gate",
                "fit",
                "--risk",
                "0.1",
                "--promise",
                "sets",
                "--sides",
                "--data",
                "no",
                "-o",
                "g",
            ],
            &["--sides is for thresholds"],
        ),
        (
            "bad labels",
            &["gate", "fit", "--risk", "0.1", "--data", "bad.jsonl", "-o", "g", "-Q", "q.toml"],
            &["bad.jsonl: line 1: no labels; line 2: a state that is null, a number"],
        ),
        (
            "calibration twice",
            &["judge", "calibrate", "--data", "bad.jsonl", "-o", "c", "--calibration", "c"],
            &["no place where one is made"],
        ),
        (
            "locked",
            &["judge", "-f", "m.txt", "--whether", "x", "--lock-memory"],
            &["not for a judge"],
        ),
        ("no command", &["gate"], &["no command"]),
        (
            "no gate",
            &["judge", "run", "--in", "bad.jsonl", "--out", "o", "--gate", "q.toml"],
            &["a gate"],
        ),
    ];
    for (name, args, parts) in cases {
        let args = if args.len() > 1 { with(args, &[]) } else { args.to_vec() };
        let ran = shell.run(&args);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
        assert!(ran.err.starts_with("error: ") && ran.out().is_empty(), "{name}: {}", ran.err);
        assert!(!ran.err.contains("secreto"), "{name}: {}", ran.err);
        for part in *parts {
            assert!(ran.err.contains(part), "{name}: {part} not in: {}", ran.err);
        }
    }
    // A service's model is named, or there is none: the model of this process is no business of its.
    if cfg!(feature = "remote") {
        let hosted = ["judge", "--judge-provider", "hosted", "-m", "m.gguf", "--whether", "x"];
        let ran = shell.pipe(&hosted, b"x");
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("typesafe: no model is set that could judge"), "{}", ran.err);
    }
    let ran = shell.pipe(&["judge", "--whether", "x"], b"x");
    assert!(ran.err.contains("no model is set that could judge"), "{}", ran.err);
    assert_eq!(ran.code, Some(2));
}

#[test]
fn warnings_of_checks() {
    let shell = shell();
    let args = with(
        &["judge", "--json", "--whether", "¿No es urgente y cuántos cobros hay?"],
        &["--choose", "¿Cuál?", "--option", "pago", "--option", "pagos"],
    );
    let ran = shell.pipe(&args, "dos cobros".as_bytes());
    let body = json(&ran);
    let codes: Vec<&str> =
        body["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    for code in ["negation", "arithmetic", "prefix-label"] {
        assert!(codes.contains(&code), "{code} not in {codes:?}");
        assert!(ran.err.contains(&format!("({code})")), "{code} not on stderr: {}", ran.err);
    }
    assert!(!ran.err.contains("cobros"), "no words of a question: {}", ran.err);
}

#[test]
fn many_options_go_by_rounds() {
    let shell = shell();
    let mut words: Vec<String> = (0..300).map(|at| format!("opción{at}")).collect();
    words[217] = "paquete".into();
    let criteria: Vec<String> = words.iter().map(|word| format!("\"{word}\": null")).collect();
    let text = format!(
        "{{\"cual\": {{\"type\": \"choice\", \"instructions\": \"¿Cuál?\", \"criteria\": {{{}}}}}}}",
        criteria.join(", ")
    );
    shell.write("many.json", text);
    let judge = |more: &[&str]| {
        shell.pipe(&with(&["judge", "--json", "-Q", "many.json"], more), "un paquete".as_bytes())
    };
    let ran = judge(&[]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("too-many-options") && ran.err.contains("--group"), "{}", ran.err);
    let ran = judge(&["--group", "16", "--expect", "paquete"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let cual = &json(&ran)["answers"]["cual"];
    assert_eq!(cual["rounds"]["options"], 300);
    assert_eq!(cual["rounds"]["rounds"], 3);
    assert_eq!(cual["expected"], true, "{cual}");
    assert!(cual["answer"]["probabilities"].as_array().unwrap().len() <= 16);
}

#[test]
fn a_calibration_and_a_gate() {
    let shell = shell();
    shell.write("l.jsonl", labelled(200, 5));
    let args = ["judge", "calibrate", "-Q", "q.toml", "--data", "l.jsonl", "-o", "c", "--json"];
    let ran = shell.run(&with(&args, &["--report", "r"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let body = json(&ran);
    let map = &body["maps"]["choice"];
    let (before, after) = (&map["before"]["loss"], &map["after"]["loss"]);
    let number = |v: &Value| v.as_str().map_or(v.as_f64(), |s| s.parse().ok()).unwrap();
    assert!(number(after) < number(before), "{map}");
    let page = fs::read_to_string(shell.path().join("r-choice.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"));
    let picture = fs::read(shell.path().join("r-choice.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    assert!(!shell.path().join("r-noul.html").exists(), "no rows, no page");
    let judge = |more: &[&str]| {
        let args = with(&["judge", "--json", "-Q", "q.toml"], more);
        shell.pipe(&args, "cobro tarjeta factura".as_bytes())
    };
    let p = |ran: &Ran| json(ran)["answers"]["tema"]["answer"]["answer_confidence"].clone();
    let (plain, fitted) = (judge(&[]), judge(&["--calibration", "c"]));
    assert!(number(&p(&fitted)) < number(&p(&plain)), "one in five is wrong");
    let digest = json(&fitted)["reader"]["calibration"].clone();
    assert!(digest.is_string());
    assert_eq!(json(&fitted)["answers"]["tema"]["answer"]["calibrated"], digest);
    assert!(json(&plain)["answers"]["tema"]["answer"].get("calibrated").is_none());
    // Another way to read is another reader.
    let other = judge(&["--calibration", "c", "--orders", "declared"]);
    assert_eq!(other.code, Some(4), "{}", other.err);
    assert!(other.err.contains("orders of options differ"), "{}", other.err);
    assert_eq!(json(&other)["error"]["kind"], "mismatch");
    // An edited one is noticed.
    let text = fs::read_to_string(shell.path().join("c")).unwrap();
    shell.write("edited", text.replace("\"schema\":1", "\"schema\": 1"));
    let edited = judge(&["--calibration", "edited"]);
    assert_eq!(edited.code, Some(2), "{}", edited.err);
    assert!(edited.err.contains("canonical"), "{}", edited.err);
    // The gate is bound to the calibration too.
    shell.write("more.jsonl", labelled(120, 0));
    let fit = ["gate", "fit", "--risk", "0.1", "-Q", "q.toml", "--data", "more.jsonl", "-o", "g"];
    let ran = shell.run(&with(&fit, &["--calibration", "c"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().contains("choice:2"), "{}", ran.out());
    let without = judge(&["--gate", "g"]);
    assert_eq!(without.code, Some(4), "{}", without.err);
    assert!(without.err.contains("fitted with another calibration"), "{}", without.err);
    let passed = judge(&["--gate", "g", "--calibration", "c"]);
    assert_eq!(json(&passed)["answers"]["tema"]["gate"]["outcome"], "pass", "{}", passed.err);
}

#[test]
fn what_cannot_be_certified_says_how_many_are_missing() {
    let shell = shell();
    let fit = |data: &str| {
        shell.write("l.jsonl", data);
        let args = ["gate", "fit", "--risk", "0.02", "-Q", "q.toml", "--data", "l.jsonl"];
        let ran = shell.run(&with(&args, &["-o", "g"]));
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(!shell.path().join("g").exists(), "no gate is written");
        ran.err
    };
    let few = fit(&labelled(30, 0));
    let (_, rest) = few.split_once("30 labels, and about ").expect(&few);
    let missing: u64 = rest.split(' ').next().unwrap().parse().expect(&few);
    assert!((100..1000).contains(&missing), "{few}");
    let wrong = fit(&labelled(400, 2));
    assert!(wrong.contains("more labels will not help"), "{wrong}");
    shell.write("l.jsonl", labelled(60, 1));
    let ran = shell.run(&with(
        &["judge", "calibrate", "-Q", "q.toml", "--data", "l.jsonl", "-o", "c"],
        &["--bucket-rows", "5000"],
    ));
    assert_eq!(ran.code, Some(1), "labels against the logits: {}", ran.err);
}

const RECORDS: &str = "\
{\"id\": \"a\", \"state\": \"cobro tarjeta factura, enero\"}

no es JSON
{\"id\": \"b\", \"state\": \"cobro tarjeta, paquete pedido\"}
{\"id\": 3, \"state\": {\"texto\": \"paquete pedido entrega\"}}
{\"state\": null}
";

#[test]
fn a_batch() {
    let shell = gated();
    shell.write("one.toml", QUESTIONS.split("[urgente]").next().unwrap());
    let long = format!("{{\"id\": \"largo\", \"state\": \"{}\"}}\n", "cobro ".repeat(5000));
    shell.write("in.jsonl", format!("{RECORDS}{long}"));
    let run = |more: &[&str]| {
        let args = ["judge", "run", "-Q", "one.toml", "--gate", "g", "--in", "in.jsonl"];
        shell.run(&with(&args, &[&["--out", "salida", "--json"], more].concat()))
    };
    let ids = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(shell.path().join("salida").join(name)).unwrap_or_default();
        let id = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            format!("{}:{}", record["line"], record["id"].as_str().unwrap())
        };
        text.lines().map(id).collect()
    };
    let ran = run(&[]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("line 3: not a record"), "{}", ran.err);
    assert!(ran.err.contains("line 6: a record without a state"), "{}", ran.err);
    let want = serde_json::json!({
        "decided": 2, "person": 1, "unavailable": 1, "skipped": 0, "others": 0, "bad": 2
    });
    assert_eq!(json(&ran)["records"], want);
    assert_eq!(ids("decided.jsonl"), ["1:a", "5:3"]);
    assert_eq!(ids("person.jsonl"), ["4:b"]);
    assert_eq!(ids("unavailable.jsonl"), ["7:largo"]);
    let bad = fs::read_to_string(shell.path().join("salida/bad.jsonl")).unwrap();
    assert_eq!(bad.lines().count(), 2, "{bad}");
    // Again: nothing is judged twice, and what was half written is made whole.
    let again = json(&run(&[]));
    assert_eq!(again["records"]["skipped"], 4);
    assert_eq!(again["usage"]["input_tokens"], 0);
    let decided = shell.path().join("salida/decided.jsonl");
    let whole = fs::read(&decided).unwrap();
    fs::write(&decided, &whole[..whole.len() - 20]).unwrap();
    let mended = json(&run(&[]));
    assert_eq!(
        (&mended["records"]["skipped"], &mended["records"]["decided"]),
        (&3.into(), &1.into())
    );
    assert_eq!(fs::read(&decided).unwrap(), whole, "byte for byte");
    // Without a bad line the end is a good one, and other questions are another judgement.
    shell.write("in.jsonl", RECORDS.lines().next().unwrap());
    let ran = run(&[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!shell.path().join("salida/bad.jsonl").exists());
    shell.write("one.toml", QUESTIONS.split("[urgente]").next().unwrap().replace("va?", "trata?"));
    let other = run(&[]);
    let counts = &json(&other)["records"];
    assert_eq!((&counts["skipped"], &counts["others"]), (&0.into(), &4.into()));
    assert!(
        other.err.contains("4 records in salida were judged by other questions"),
        "{}",
        other.err
    );
    // A state with nothing at the end of a question's path is its record's fault alone.
    shell.write(
        "one.toml",
        QUESTIONS.split("[urgente]").next().unwrap().replace("¿De qué va?", "¿Y `a.b`?"),
    );
    let records = "{\"state\":{\"a\":{\"c\":1}}}\n{\"state\":{\"a\":{\"b\":\"cobro\"}}}\n";
    shell.write("in.jsonl", records);
    let ran = run(&[]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("line 1: ") && ran.err.contains("missing-path"), "{}", ran.err);
}

#[test]
fn a_batch_without_a_gate_decides_nothing() {
    let shell = gated();
    shell.write("one.toml", QUESTIONS.split("[urgente]").next().unwrap());
    shell.write("in.jsonl", RECORDS.lines().next().unwrap());
    let run = |out: &str, more: &[&str]| {
        let args = ["judge", "run", "-Q", "one.toml", "--in", "in.jsonl", "--json"];
        json(&shell.run(&with(&args, &[&["--out", out], more].concat())))
    };
    assert_eq!(run("gated", &["--gate", "g"])["records"]["decided"], 1);
    let told = run("open", &[]);
    assert_eq!((&told["records"]["person"], &told["gate"]), (&1.into(), &Value::Null));
    let line = fs::read_to_string(shell.path().join("open/person.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    let p = line["answers"]["tema"]["answer"]["probabilities"].as_array().unwrap();
    let sum: f64 = p.iter().map(|share| share["p"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{line}");
}

/// BAT-01 (simonw/llm#1029, ollama/ollama#6437): killed hard on the way, a batch goes on where it
/// was: each id once, and the same lines as in one run.
#[test]
fn a_batch_that_was_killed() {
    let shell = gated();
    shell.write("one.toml", QUESTIONS.split("[urgente]").next().unwrap());
    let texts =
        ["cobro tarjeta factura", "paquete pedido entrega", "cobro tarjeta, paquete pedido"];
    let line =
        |at: usize| format!("{{\"id\": \"n{at}\", \"state\": \"{}, caso {at}\"}}\n", texts[at % 3]);
    let lines: Vec<String> = (0..100).map(line).collect();
    shell.write("in.jsonl", lines.concat());
    let run = |input: &str, out: &str| {
        let args = ["judge", "run", "-Q", "one.toml", "--gate", "g", "--in", input, "--out", out];
        shell.command(&with(&args, &["-q"]))
    };
    let read = |out: &str| -> Vec<String> {
        let files = ["decided.jsonl", "person.jsonl", "unavailable.jsonl"];
        let text = |file: &str| fs::read_to_string(shell.path().join(out).join(file));
        let texts: String = files.iter().map(|file| text(file).unwrap_or_default()).collect();
        texts.lines().map(str::to_owned).collect()
    };
    let whole = shell::finish(run("in.jsonl", "whole").spawn().unwrap());
    assert_eq!(whole.code, Some(0), "{}", whole.err);
    let mut child = run("-", "killed").stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(lines[..40].concat().as_bytes()).unwrap();
    pipe.write_all(&lines[40].as_bytes()[..20]).unwrap();
    pipe.flush().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while read("killed").len() < 40 {
        assert!(Instant::now() < end, "40 records are judged in time");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    assert_eq!(shell::finish(child).signal, Some(9));
    assert_eq!(read("killed").len(), 40);
    let again = shell::finish(run("in.jsonl", "killed").spawn().unwrap());
    assert_eq!(again.code, Some(0), "{}", again.err);
    let (mut want, mut found) = (read("whole"), read("killed"));
    assert_eq!(found.len(), 100);
    want.sort();
    found.sort();
    assert_eq!(found, want);
}

/// A file of records that waits, or that never ends, and what a folder of somebody else holds.
#[test]
fn records_that_are_no_plain_file() {
    let shell = gated();
    shell.write("one.toml", QUESTIONS.split("[urgente]").next().unwrap());
    let pipe = shell.path().join("tubo");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = ["judge", "run", "-Q", "one.toml"];
    // Nobody has opened the other end; nobody writes; the lines are bad and there is no end.
    type Case<'a> = (&'a str, &'a str, Stdio, Option<&'a [u8]>);
    let cases: [Case; 3] = [
        ("a pipe without a writer", "tubo", Stdio::null(), None),
        ("stdin that waits", "-", Stdio::piped(), Some(b"")),
        ("half a line", "-", Stdio::piped(), Some(b"{}\n{\"state\": \"")),
    ];
    for (signal, (name, input, stdin, bytes)) in ["INT", "TERM", "INT"].into_iter().zip(cases) {
        let mut command = shell.command(&with(&args, &["--in", input, "--out", "o"]));
        let mut child = command.stdin(stdin).spawn().unwrap();
        let mut held = child.stdin.take();
        if let (Some(pipe), Some(bytes)) = (&mut held, bytes) {
            pipe.write_all(bytes).unwrap();
        }
        std::thread::sleep(Duration::from_millis(500));
        shell::kill(&child, signal);
        let end = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "{name}: it hears {signal}");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(held);
        assert_eq!(shell::finish(child).code, Some(130), "{name}");
    }
    let fits = with(&["judge", "calibrate", "-Q", "one.toml", "-o", "c"], &["--data", "tubo"]);
    let ran = shell.run(&fits);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("it is read twice"), "{}", ran.err);
    fs::create_dir(shell.path().join("ajena")).unwrap();
    let theirs = shell.write("ajena/person.jsonl", "{\"nota\": \"ñ\"}");
    shell.write("in.jsonl", RECORDS);
    let ran = shell.run(&with(&args, &["--in", "in.jsonl", "--out", "ajena"]));
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert_eq!(fs::read_to_string(theirs).unwrap(), "{\"nota\": \"ñ\"}", "it stays as it is");
}

#[test]
fn letters_of_a_model() {
    let Some(model) = shell::tiny("letters_of_a_model", "qwen2-quant") else { return };
    let shell = Shell::new()
        .env("RECINTO_JUDGE_PROVIDER", "gguf")
        .env("RECINTO_JUDGE_MODEL", model.to_str().unwrap());
    let args = ["judge", "--json", "--whether", "¿Es urgente?"];
    let ran = shell.pipe(&args, "Mi paquete no llegó".as_bytes());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let body = json(&ran);
    assert_eq!(body["reader"]["identity"]["reading"], "letters/1");
    let answer = &body["answers"]["whether"]["answer"];
    assert!(answer["option_mass"].as_f64().unwrap() < 1.0, "{answer}");
    assert_eq!(answer["truncation"]["dropped"], 0);
    assert!(answer["truncation"]["state_tokens"].as_u64().unwrap() > 3);
    assert_eq!(
        json(&shell.pipe(&args, "Mi paquete no llegó".as_bytes()))["answers"],
        body["answers"],
        "the same again"
    );
    // What is too long is refused with numbers.
    let long =
        shell.pipe(&[&args[..], &["--context", "60"]].concat(), "ñandú ".repeat(90).as_bytes());
    assert_eq!(long.code, Some(4), "{}", long.err);
    let why = json(&long)["answers"]["whether"]["why"].clone();
    assert!(why.as_str().unwrap().ends_with("and room for 60"), "{why}");
    // A calibration holds for its model, and for no other. Labels are the model's own answers but
    // for every fourth, so that there is something to fit.
    let line = |at: usize| {
        let state = format!("caso {at}");
        let body = json(&shell.pipe(&args, state.as_bytes()));
        let yes = body["answers"]["whether"]["answer"]["value"]["yes"].as_f64().unwrap() > 0.5;
        let label = yes != at.is_multiple_of(4);
        format!("{{\"state\":\"{state}\",\"labels\":{{\"whether\":{label}}}}}\n")
    };
    shell.write("l.jsonl", (0..48).map(line).collect::<String>());
    let calibrate = ["judge", "calibrate", "--whether", "¿Es urgente?", "--data", "l.jsonl"];
    let ran = shell.run(&[&calibrate[..], &["-o", "c", "--json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // A model of random weights would hardly have said a letter, and a gate lets no such answer
    // pass.
    assert_eq!(json(&ran)["low_mass"], 48, "{}", ran.err);
    assert!(ran.err.contains("48 of 48 rows") && ran.err.contains("less than 0.5"), "{}", ran.err);
    let args = [&args[..], &["--calibration", "c"]].concat();
    let ran = shell.pipe(&args, b"x");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(json(&ran)["reader"]["calibration"].is_string());
    let Some(other) = shell::tiny("letters_of_a_model", "qwen3-plain") else { return };
    let args = [&args[..], &["--judge-model", other.to_str().unwrap()]].concat();
    let ran = shell.pipe(&args, b"x");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("made for another model: its weights differ"), "{}", ran.err);
}

#[test]
fn a_real_model() {
    let Some(model) = shell::real("a_real_model", "qwen2.5-coder-0.5b-instruct") else { return };
    let shell = Shell::new().env("RECINTO_JUDGE_MODEL", model.to_str().unwrap());
    let args = [
        "judge",
        "--json",
        "--choose",
        "What is the text about?",
        "--option",
        "food",
        "--option",
        "sports",
        "--option",
        "weather",
        "--orders",
        "cyclic",
    ];
    let cases = [
        ("Add two eggs and a cup of flour, then bake it for an hour.", 0),
        ("The striker scored twice and the team won the cup.", 1),
    ];
    for (state, want) in cases {
        let ran = shell.pipe(&args, state.as_bytes());
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        let answer = &json(&ran)["answers"]["choose"]["answer"];
        assert_eq!(answer["value"]["index"], want, "{answer}");
        assert!(answer["option_mass"].as_f64().unwrap() > 0.5, "{answer}");
        assert!(!ran.err.contains(state), "{}", ran.err);
    }
    // A small model of another kind: its letters are there, whatever it knows.
    let Some(small) = shell::real("a_real_model", "smollm2-135m-instruct") else { return };
    let args = [&args[..], &["--judge-model", small.to_str().unwrap()]].concat();
    let ran = shell.pipe(&args, "Mañana lloverá en el norte.".as_bytes());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let answer = &json(&ran)["answers"]["choose"]["answer"];
    assert_eq!(answer["order"]["readings"], 3, "{answer}");
    assert!(answer["option_mass"].as_f64().unwrap() > 0.0, "{answer}");
}
