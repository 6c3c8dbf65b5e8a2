//! Tasks over records: a line for each, in order, whatever some of them are; and whose budget each
//! counts towards.

use crate::shell;

use std::{
    io::{Read, Write},
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;
use shell::{Ran, Shell};

fn lines(ran: &Ran) -> Vec<Value> {
    ran.out().lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

const RECORDS: &str = "\
{\"text\": \"¿Por qué hay dos cobros?\", \"id\": \"año-1\"}

{\"text\": \"No puedo entrar\", \"id\": 7}
canary no es JSON
{\"text\": \"\", \"id\": \"vacío\"}
{\"texto\": \"canary\"}
{\"text\": \"Otra vez\", \"data_labels\": [\"client:acme\"]}
";

/// Lines that are written into the very file that is read would be read as more lines, for ever.
#[test]
fn what_is_read_is_not_written() {
    let commands: [(&str, &[&str]); 4] = [
        ("records", &["decide", "-l", "a", "-l", "b", "--in", "r.jsonl"]),
        ("by stdin", &["score", "-l", "a", "-l", "b", "--in", "-"]),
        ("of a judge", &["judge", "run", "--whether", "¿Sí?", "--in", "r.jsonl", "--out", "o"]),
        ("a conversation", &["chat"]),
    ];
    for (name, command) in commands {
        for into in ["output", "error"] {
            let shell = Shell::new().env("RECINTO_JUDGE_PROVIDER", "mock");
            let path = shell.write("r.jsonl", RECORDS);
            let open = || std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            let provider: &[&str] =
                if command[0] == "judge" { &[] } else { &["--provider", "mock"] };
            let mut run = shell.command(&[command, provider].concat());
            run.stdin(std::fs::File::open(&path).unwrap());
            match into {
                "output" => run.stdout(open()),
                _ => run.stderr(open()),
            };
            let mut child = run.spawn().unwrap();
            let end = Instant::now() + Duration::from_secs(60);
            while child.try_wait().unwrap().is_none() {
                if Instant::now() > end {
                    child.kill().unwrap();
                    panic!("{name}, {into}: it does not end");
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let (code, err) = (shell::finish(child), std::fs::read_to_string(&path).unwrap());
            assert_eq!(code.code, Some(2), "{name}, {into}");
            let told = if into == "output" { &code.err } else { &err };
            assert!(told.contains(&format!("standard {into} goes into")), "{name}: {told}");
        }
    }
}

#[test]
fn one_line_a_record() {
    let commands: [(&[&str], &str); 4] = [
        (&["decide", "-l", "pagos", "-l", "acceso"], "label"),
        (&["score", "-l", "sí", "-l", "no"], "labels"),
        (&["extract", "--schema", "s.json"], "value"),
        (&["complete", "--regex", "[a-zñ]{3}"], "text"),
    ];
    for (command, key) in commands {
        let shell = Shell::new();
        shell.write("s.json", r#"{"type":"boolean"}"#);
        shell.write("r.jsonl", RECORDS);
        let mock = [command, &["--provider", "mock"]].concat();
        let ran = shell.run(&[&mock[..], &["--in", "r.jsonl"]].concat());
        assert_eq!(ran.code, Some(5), "{command:?}: {}", ran.err);
        let told = lines(&ran);
        let places: Vec<(u64, Option<&str>, bool)> = told
            .iter()
            .map(|row| {
                let line = row["line"].as_u64().unwrap();
                (line, row["id"].as_str(), row.get("error").is_some())
            })
            .collect();
        assert_eq!(
            places,
            [
                (1, Some("año-1"), false),
                (3, Some("7"), false),
                (4, None, true),
                (5, None, true),
                (6, None, true),
                (7, None, false),
            ]
        );
        for row in &told {
            assert_eq!(row["command"], command[0]);
            match row.get("error") {
                Some(error) => assert_eq!(error["kind"], "usage", "{row}"),
                None => assert!(row.get(key).is_some(), "{key}: {row}"),
            }
        }
        assert!(ran.err.contains("6 records: 3 answered, 0 undecided, 3 failed"), "{}", ran.err);
        assert!(!ran.err.contains("canary") && !ran.out().contains("canary"), "{}", ran.out());
        // The same answer as for one text, and by a pipe the same as from a file.
        let piped = shell.pipe(&[&mock[..], &["--in", "-", "-q"]].concat(), RECORDS.as_bytes());
        assert_eq!((piped.out(), piped.err.as_str()), (ran.out(), ""), "{command:?}");
        let one = shell.pipe(&[&mock[..], &["--json", "-"]].concat(), "No puedo entrar".as_bytes());
        assert_eq!(one.json()[key], told[1][key], "{command:?}");
        shell.write("bien.jsonl", "{\"text\": \"¿Sí?\"}");
        let ran = shell.run(&[&mock[..], &["--in", "bien.jsonl"]].concat());
        assert_eq!((ran.code, lines(&ran).len()), (Some(0), 1), "{}", ran.err);
    }
}

#[test]
fn what_cannot_be_a_batch() {
    let shell = Shell::new();
    shell.write("r.jsonl", RECORDS);
    let cases: [(&str, &[&str], &str); 5] = [
        ("a text too", &["hola", "--in", "r.jsonl"], "cannot stand together"),
        ("a file too", &["-f", "r.jsonl", "--in", "r.jsonl"], "cannot stand together"),
        ("a receipt", &["--in", "r.jsonl", "--receipt", "x"], "cannot stand together"),
        ("no file", &["--in", "nada.jsonl"], "cannot read nada.jsonl"),
        ("stdin twice", &["--in", "-", "--labels", "-"], "stdin is asked for twice"),
    ];
    for (name, args, part) in cases {
        let ran = shell.run(&[&["decide", "-l", "x", "--provider", "mock"], args].concat());
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{name}: {}", ran.err);
        assert!(ran.err.contains(part), "{name}: {}", ran.err);
    }
}

/// Each identity has its own ceiling, the process has one for all, and what is over it is an
/// outcome of its record.
#[test]
fn budgets_by_identity() {
    let record = |who: &str| format!("{{\"text\":\"uno dos tres\",\"identity\":\"{who}\"}}\n");
    let text: String = ["ana", "ana", "íñigo", "ana", "íñigo"].map(record).concat();
    let kinds = |budget: &str| {
        let shell = Shell::new();
        shell.write("r.jsonl", &text);
        shell.write("recinto.toml", format!("[budget]\n{budget}\n"));
        let args = ["score", "-l", "sí", "-l", "no", "--provider", "mock", "--in", "r.jsonl"];
        let ran = shell.run(&args);
        assert!(!ran.err.contains("íñigo") && !ran.out().contains("íñigo"), "{}", ran.out());
        let kind = |row: &Value| row["error"]["kind"].as_str().unwrap_or("-").to_owned();
        (ran.code, lines(&ran).iter().map(kind).collect::<Vec<_>>().join(" "))
    };
    // A scoring of the mock is three words and two labels.
    let cases = [
        ("", Some(0), "- - - - -"),
        ("identity = { tokens = 10 }", Some(5), "- - - budget -"),
        ("identity = { tokens = 9 }", Some(5), "- budget - budget budget"),
        ("tokens = 15", Some(5), "- - - budget budget"),
        ("tokens = 20\nidentity = { tokens = 10 }", Some(5), "- - - budget -"),
        ("identity = { seconds = 0 }", Some(5), "budget budget budget budget budget"),
        ("seconds = 100\nidentity = { seconds = 50 }", Some(0), "- - - - -"),
    ];
    for (budget, code, want) in cases {
        assert_eq!(kinds(budget), (code, want.to_owned()), "{budget}");
    }
}

#[test]
fn this_process_keeps_to_a_budget() {
    let Some(model) = shell::tiny("budget of this process", "qwen2-quant") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let with = |budget: &str| shell.write("recinto.toml", format!("[budget]\n{budget}\n"));
    let ask = |args: &[&str]| shell.run(&[&["ask", "¿Qué?", "--json"], args].concat());
    with("tokens = 1000");
    let ran = ask(&["--max-tokens", "4"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let used = &ran.json()["usage"];
    let all = used["prompt_tokens"].as_u64().unwrap() + 4;
    // To the last token of the most that it could use.
    with(&format!("tokens = {all}"));
    assert_eq!(ask(&["--max-tokens", "4"]).code, Some(0));
    with(&format!("tokens = {}", all - 1));
    let ran = ask(&["--max-tokens", "4"]);
    assert_eq!((ran.code, &ran.json()["error"]["kind"]), (Some(4), &"budget".into()));
    // Time that is over ends an answer, and says whose it was.
    with("seconds = 0.005");
    let ran = ask(&["--max-tokens", "900"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["error"]["kind"]), (Some(4), &"budget".into()), "{told}");
    // A deadline of one's own that does not fit is refused before anything is computed.
    with("seconds = 5");
    let ran = ask(&["--timeout", "6"]);
    assert!(
        ran.code == Some(4) && ran.err.contains("budget of this process is 5 s"),
        "{}",
        ran.err
    );
    assert_eq!(ask(&["--timeout", "5", "--max-tokens", "2"]).code, Some(0));
    // Lines of a conversation add up.
    with("tokens = 120");
    let args = ["chat", "--max-tokens", "8", "--json"];
    let ran = shell.pipe(&args, "uno\ndos\ntres\ncuatro\ncinco\nseis\nsiete\nocho\n".as_bytes());
    let told = lines(&ran);
    let kinds: Vec<bool> = told.iter().map(|row| row["error"]["kind"] == "budget").collect();
    assert!(!kinds[0] && kinds[kinds.len() - 1] && ran.code == Some(4), "{kinds:?} {}", ran.err);
}

/// When the weights are no longer what they were, nothing more can be answered: a batch ends there,
/// with one sentence, and does not say it of each record that is left.
#[test]
fn a_batch_ends_where_its_model_is_replaced() {
    let test = "a_batch_ends_where_its_model_is_replaced";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let cases: [(&str, &[&str]); 2] = [
        ("a task", &["score", "-l", "a", "-l", "b"]),
        ("a judge", &["judge", "run", "--whether", "¿Sí?", "--out", "o", "-v"]),
    ];
    for (name, command) in cases {
        let shell = Shell::new();
        shell.write("m.gguf", std::fs::read(&model).unwrap());
        let args = [command, &["-m", "m.gguf", "--in", "-"]].concat();
        let mut child = shell.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let key = if command[0] == "judge" { "state" } else { "text" };
        let record = format!("{{\"{key}\": \"hola\"}}\n");
        stdin.write_all(record.as_bytes()).unwrap();
        let answered = shell.path().join("o/person.jsonl");
        let mut first = [0u8; 1];
        match command[0] {
            "judge" => (0..6000).any(|_| {
                sleep(Duration::from_millis(10));
                std::fs::read(&answered).is_ok_and(|text| text.ends_with(b"\n"))
            }),
            _ => child.stdout.as_mut().unwrap().read_exact(&mut first).is_ok(),
        };
        let other = shell.write("other.gguf", std::fs::read(&model).unwrap());
        std::fs::rename(other, shell.path().join("m.gguf")).unwrap();
        // The program may have ended before it has read them all.
        let _ = stdin.write_all(record.repeat(50).replace("hola", "adiós").as_bytes());
        drop(stdin);
        let ran = shell::finish(child);
        assert_eq!(ran.code, Some(4), "{name}: {}", ran.err);
        assert_eq!(ran.err.matches("changed or was replaced").count(), 1, "{name}: {}", ran.err);
        assert!(!shell.path().join("o/bad.jsonl").exists(), "{name}");
    }
}
