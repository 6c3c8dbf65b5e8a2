//! `recinto judge prior`: what a model answers on average is kept in a file, and answers that are
//! read with it depend on nothing that was asked before.

use crate::shell;

use std::fs;

use shell::{Ran, Shell};

const ASK: [&str; 8] = [
    "--judge-provider",
    "mock",
    "--choose",
    "¿Qué fruta?",
    "--option",
    "manzana",
    "--option",
    "piña",
];

fn with(args: &[&str]) -> Vec<String> {
    args.iter().chain(&ASK).map(|arg| (*arg).to_owned()).collect()
}

fn run(shell: &Shell, args: &[&str]) -> Ran {
    let args = with(args);
    shell.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// States of which most are about one of the options.
fn states(count: usize) -> String {
    let line = |at: usize| {
        let fruit = if at.is_multiple_of(5) { "piña" } else { "manzana" };
        format!("{{\"state\":\"una {fruit}, caso {at}\"}}\n")
    };
    (0..count).map(line).collect()
}

/// Labelled alike, all of them right.
fn labelled(count: usize) -> String {
    let label = |line: &str| if line.contains("piña") { "piña" } else { "manzana" };
    let all = states(count);
    let line = |line: &str| {
        line.replace('}', &format!(",\"labels\":{{\"choose\":\"{}\"}}}}\n", label(line)))
    };
    all.lines().map(line).collect()
}

fn kept() -> Shell {
    let shell = Shell::new();
    shell.write("s.jsonl", states(20));
    let ran = run(&shell, &["judge", "prior", "--in", "s.jsonl", "-o", "p"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().contains("manzana") && ran.out().contains("20"), "{}", ran.out());
    shell
}

#[test]
fn answers_depend_on_nothing_before_them() {
    let shell = kept();
    let ask = |state: &str, more: &[&str]| {
        shell.write("t", state);
        let ran = run(&shell, &[&["judge", "-f", "t", "--json"], more].concat());
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        ran.json()["answers"]["choose"]["answer"].clone()
    };
    let (plain, corrected) = (ask("una manzana", &[]), ask("una manzana", &["--prior", "p"]));
    let p = |answer: &serde_json::Value| answer["answer_confidence"].as_f64().unwrap();
    assert!(p(&corrected) < p(&plain), "what is said most says less: {corrected} for {plain}");
    assert_eq!((&corrected["prior_inputs"], &plain["prior_inputs"]), (&20.into(), &().into()));
    assert_ne!(corrected["identity"], plain["identity"]);
    // A run that goes on answers as one that was not stopped.
    let args = ["judge", "run", "--prior", "p", "--out", "all", "--in", "s.jsonl"];
    assert_eq!(run(&shell, &args).code, Some(0));
    shell.write("some.jsonl", states(7));
    for input in ["some.jsonl", "s.jsonl"] {
        let args = ["judge", "run", "--prior", "p", "--out", "parts", "--in", input];
        assert_eq!(run(&shell, &args).code, Some(0));
    }
    let read = |folder: &str| fs::read(shell.path().join(folder).join("person.jsonl")).unwrap();
    assert_eq!(read("all"), read("parts"));
}

#[test]
fn a_gate_holds_for_one_prior() {
    let shell = kept();
    shell.write("l.jsonl", labelled(300));
    let fit = ["gate", "fit", "--data", "l.jsonl", "--risk", "0.05", "-o", "g", "--prior", "p"];
    let ran = run(&shell, &fit);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out(), ran.err);
    shell.write("t", "una manzana");
    let judge = |more: &[&str]| run(&shell, &[&["judge", "-f", "t", "--gate", "g"], more].concat());
    assert_eq!(judge(&["--prior", "p"]).code, Some(0));
    shell.write("s.jsonl", states(30));
    assert_eq!(run(&shell, &["judge", "prior", "--in", "s.jsonl", "-o", "p2"]).code, Some(0));
    for more in [&[][..], &["--prior", "p2"]] {
        let ran = judge(more);
        assert_eq!(ran.code, Some(4), "{more:?}: {}", ran.err);
        assert!(ran.err.contains("prior"), "{more:?}: {}", ran.err);
    }
}

#[test]
fn what_cannot_be() {
    let shell = kept();
    shell.write("few.jsonl", states(7));
    shell.write("bad.jsonl", "{\"state\":\"una piña\"}\n{\"estado\":\"canario\"}\n");
    shell.write("l.jsonl", labelled(30));
    shell.write("t", "una piña");
    let cases: &[(&[&str], &str)] = &[
        (&["judge", "prior", "--in", "few.jsonl", "-o", "x"], "8 different states"),
        (&["judge", "prior", "--in", "bad.jsonl", "-o", "x"], "line 2"),
        (&["judge", "prior", "--in", "s.jsonl", "-o", "x", "--prior", "p"], "has no place"),
        (&["judge", "prior", "--in", "s.jsonl", "-o", "s.jsonl"], "s.jsonl"),
        (&["judge", "-f", "t", "--running-prior"], "takes several states"),
        (&["judge", "-f", "t", "--prior", "s.jsonl"], "not a prior"),
        (&["judge", "-f", "t", "--prior", "p", "--orders", "declared"], "orders of options differ"),
        (&["judge", "calibrate", "--running-prior", "--data", "l.jsonl", "-o", "x"], "for --prior"),
        (
            &["gate", "fit", "--running-prior", "--risk", "0.1", "--data", "l.jsonl", "-o", "x"],
            "prior",
        ),
    ];
    for (args, told) in cases {
        let ran = run(&shell, args);
        assert!(!matches!(ran.code, Some(0 | 3)), "{args:?}: {:?}", ran.code);
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("canario"), "{}", ran.err);
        assert!(!shell.path().join("x").exists(), "{args:?}");
    }
}
