//! `recinto gate fit`: what a gate is bound to, which labels it counts, and prediction sets.

use std::fs;

use crate::{
    judge::{QUESTIONS, json, labelled, shell, with},
    shell::Ran,
};

/// What a gate is bound to: its calibration where that has a map, and the questions with labels.
#[test]
fn a_gate_passes_what_it_was_fitted_on() {
    let shell = shell();
    let two = format!(
        "{QUESTIONS}[otra]\ntype = \"choice\"\ninstructions = \"¿Qué es?\"\n\
         [otra.criteria]\npagos = \"cobro tarjeta factura\"\n\"envíos\" = \"paquete pedido\"\n"
    );
    shell.write("two.toml", two);
    shell.write("l.jsonl", labelled(200, 5));
    let args = ["judge", "calibrate", "-Q", "q.toml", "--data", "l.jsonl", "-o", "c"];
    let ran = shell.run(&with(&args, &[]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The calibration has no map for yes or no; the gate is fitted on that, and used with that.
    let line = |at: usize| {
        format!("{{\"state\":\"queja grave urgente {at}\",\"labels\":{{\"urgente\":true}}}}\n")
    };
    shell.write("u.jsonl", (0..120).map(line).collect::<String>());
    let fit = ["gate", "fit", "--risk", "0.1", "-Q", "q.toml", "-o", "g"];
    let ran = shell.run(&with(&fit, &["--data", "u.jsonl", "--calibration", "c"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("question `tema` has no label"), "{}", ran.err);
    let judge = |more: &[&str], state: &str| {
        shell.pipe(&with(&["judge", "--json", "--gate", "g"], more), state.as_bytes())
    };
    let of = |ran: &Ran, id: &str| json(ran)["answers"][id]["gate"].clone();
    let asked = judge(&["-Q", "q.toml", "--calibration", "c"], "queja grave urgente");
    assert_eq!(of(&asked, "urgente")["outcome"], "pass", "{}", asked.out());
    assert_eq!(of(&asked, "tema")["reasons"][0]["why"], "other-question", "{}", asked.out());
    assert_eq!(judge(&["-Q", "q.toml"], "queja grave urgente").code, Some(4), "none given");
    // Two questions of one form, of which one has labels.
    shell.write("l.jsonl", labelled(120, 0));
    let fit = ["gate", "fit", "--risk", "0.1", "-Q", "two.toml", "--data", "l.jsonl", "--json"];
    for (any, want) in [(false, "review"), (true, "pass")] {
        let more = if any { vec!["-o", "g", "--any-question"] } else { vec!["-o", "g"] };
        let ran = shell.run(&with(&fit, &more));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(json(&ran)["unlabelled"], serde_json::json!(["urgente", "otra"]));
        assert_eq!(ran.err.contains("question `otra` has no label"), !any, "{}", ran.err);
        let asked = judge(&["-Q", "two.toml"], "cobro tarjeta factura");
        assert_eq!(of(&asked, "tema")["outcome"], "pass", "{}", asked.out());
        let other = of(&asked, "otra");
        assert_eq!(other["outcome"], want, "{other}");
        if !any {
            let why = json(&asked)["answers"]["otra"]["why"].as_str().unwrap().to_owned();
            assert!(why.contains("label some records of it"), "{why}");
        }
    }
    // A gate of an earlier version.
    let text = fs::read_to_string(shell.path().join("g")).unwrap();
    shell.write("g", text.replace("\"schema\":2", "\"schema\":1"));
    let old = judge(&["-Q", "two.toml"], "cobro");
    assert_eq!(old.code, Some(2), "{}", old.err);
    assert!(old.err.contains("a gate of schema 1; this version reads 2"), "{}", old.err);
}

/// Labels that depend on each other, labels that may not pass, and another promise.
#[test]
fn what_a_gate_counts() {
    let shell = shell();
    let copies = labelled(6, 0).repeat(10);
    let group = |text: String| text.replace("{\"state\"", "{\"group\":\"cliente ñ\",\"state\"");
    let cases: [(&str, String, &[&str], &[&str]); 4] = [
        ("six states", copies, &[], &["6 independent ones of 60 labels are counted"]),
        ("one group", group(labelled(80, 0)), &[], &["1 independent ones of 80 labels"]),
        (
            "kept out",
            labelled(60, 0),
            &["--least-mass", "1"],
            &["none of 60 labels may pass", "60 by option mass"],
        ),
        (
            "another promise",
            labelled(80, 0),
            &[],
            &["`--promise fixed-sequence` says the same and finds a threshold with these labels"],
        ),
    ];
    for (name, data, more, parts) in cases {
        shell.write("l.jsonl", data);
        let fit = ["gate", "fit", "--risk", "0.05", "-Q", "q.toml", "--data", "l.jsonl", "-o", "g"];
        let ran = shell.run(&with(&fit, more));
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{name}: {part} not in: {}", ran.err);
        }
        let ran = shell.run(&with(&fit, &[more, &["--json"]].concat()));
        let cell = &json(&ran)["cells"]["choice:2"];
        let left_out = cell["labels"].as_u64().unwrap() - cell["repeated"].as_u64().unwrap();
        let want = [("six states", 6), ("one group", 1), ("kept out", 60), ("another promise", 80)];
        assert!(want.contains(&(name, left_out)), "{name}: {cell}");
        let kept = &cell["kept_out"]["option-mass"];
        assert_eq!(kept.as_u64(), (name == "kept out").then_some(60), "{name}: {cell}");
    }
    shell.write("l.jsonl", labelled(80, 0));
    let fit = ["gate", "fit", "--risk", "0.05", "--promise", "fixed-sequence"];
    let more = ["-Q", "q.toml", "--data", "l.jsonl", "-o", "g"];
    assert_eq!(shell.run(&with(&fit, &more)).code, Some(0), "and so it does");
}

/// Prediction sets: one option left passes, and the set is told.
#[test]
fn a_gate_by_sets() {
    let shell = shell();
    shell.write("one.toml", QUESTIONS.split("[urgente]").next().unwrap());
    shell.write("l.jsonl", labelled(120, 0));
    let fit = ["gate", "fit", "--promise", "sets", "--risk", "0.1", "-Q", "one.toml"];
    let ran = shell.run(&with(&fit, &["--data", "l.jsonl", "-o", "g", "--report", "r"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().contains("choice:2"), "{}", ran.out());
    let page = fs::read_to_string(shell.path().join("r-choice.html")).unwrap();
    assert!(page.contains("its option alone is left"), "{page}");
    let judge = |more: &[&str], state: &str| {
        let args = ["judge", "--gate", "g", "-Q", "one.toml"];
        shell.pipe(&with(&args, more), state.as_bytes())
    };
    let sure = judge(&["--json"], "cobro tarjeta factura");
    assert_eq!(sure.code, Some(0), "{}", sure.err);
    let told = &json(&sure)["answers"]["tema"];
    assert_eq!(
        (&told["set"], &told["gate"]["outcome"]),
        (&serde_json::json!(["pagos"]), &"pass".into())
    );
    assert!(judge(&[], "cobro tarjeta factura").out().contains("only pagos stays possible"));
    let open = judge(&["--json"], "cobro, paquete");
    assert_eq!(open.code, Some(3), "{}", open.err);
    assert!(json(&open)["answers"]["tema"]["set"].is_array(), "{}", open.out());
    assert!(judge(&[], "cobro, paquete").out().contains("possible: "), "in the table too");
    shell.write(
        "in.jsonl",
        "{\"state\": \"cobro tarjeta factura\"}\n{\"state\": \"cobro, paquete\"}\n",
    );
    let run = ["judge", "run", "-Q", "one.toml", "--gate", "g", "--in", "in.jsonl", "--out", "o"];
    let ran = shell.run(&with(&run, &["--json"]));
    let records = &json(&ran)["records"];
    assert_eq!((&records["decided"], &records["person"]), (&1.into(), &1.into()), "{}", ran.out());
    let line = fs::read_to_string(shell.path().join("o/decided.jsonl")).unwrap();
    assert!(line.contains("\"set\":[\"pagos\"]"), "{line}");
    // Too few for a set that leaves anything out.
    shell.write("l.jsonl", labelled(5, 0));
    let ran = shell.run(&with(&fit, &["--data", "l.jsonl", "-o", "h"]));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("5 labels, and about 4 more"), "{}", ran.err);
}
