//! How keys and values are stored is a setting: of answers, conversations, measures and profiles.

use crate::shell;

use std::fs;

use shell::Shell;

/// Prompt and answer of a measure.
const SIZES: [&str; 5] = ["--no-start", "--prompt=8", "--generate=2", "--repeat=1", "--json"];

#[test]
fn answers_and_receipts_name_the_type() {
    let Some(model) = shell::tiny("answers_and_receipts_name_the_type", "qwen2-plain") else {
        return;
    };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    shell.write(".env", "RECINTO_KV=f16\n");
    let cases: [(&str, &[&str], Option<&str>, &str); 4] = [
        ("a .env file", &[], Some("f16"), ".env, line 1)"),
        ("a flag", &["--kv", "q8_0"], Some("q8_0"), "(--kv)"),
        ("the default, said", &["--kv=bf16"], None, "(--kv)"),
        ("the default", &["--no-env-file"], None, "(default)"),
    ];
    for (name, flags, want, source) in cases {
        let kv = want.unwrap_or("bf16");
        let ran = shell.run(&[&["status"], flags].concat());
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let line = ran.out().lines().find(|line| line.starts_with("kv ")).unwrap();
        assert!(line.starts_with(&format!("kv            {kv} (")), "{name}: {line}");
        assert!(line.ends_with(source), "{name}: {line}");
        let json = shell.run(&[&["status", "--json"], flags].concat()).json();
        assert_eq!(json["settings"]["kv"]["value"], kv, "{name}");

        let ran = shell.run(&[&["ask", "x", "--max-tokens=1", "--json"], flags].concat());
        assert_eq!(ran.json()["kv"], kv, "{name}: a reply");

        let commands: [(&[&str], &[u8]); 3] = [
            (&["ask", "¿Qué tal?", "--max-tokens=2", "--receipt=r.json"], b""),
            (&["chat", "--max-tokens=2", "--receipt=r.json"], "¿Qué tal?\n".as_bytes()),
            (&["status", "--receipt=r.json"], b""),
        ];
        for (command, input) in commands {
            let ran = shell.pipe(&[command, flags].concat(), input);
            assert_eq!(ran.code, Some(0), "{name}, {command:?}: {}", ran.err);
            let receipt = fs::read(shell.path().join("r.json")).unwrap();
            let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
            let found = receipt["options"]["kv"].as_str();
            assert_eq!(found, want, "{name}, {command:?}: {receipt}");
        }
    }
    for args in [&["ask", "x", "--kv", "q4_0"][..], &["status", "--kv", "Q8_0"]] {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.err.contains("--kv: one of bf16, f16, q8_0 is needed"), "{}", ran.err);
    }
    for name in ["kv", "pin", "verify"] {
        let ran = shell.run(&["ask", "x", "-o", &format!("{name}=q8_0")]);
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.err.contains(&format!("give it as `--{name} VALUE`")), "{}", ran.err);
    }
}

#[test]
fn measures_are_those_of_the_type() {
    let Some(model) = shell::tiny("measures_are_those_of_the_type", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let measured = |args: &[&str]| {
        let ran = shell.run(&[&["bench"], args, &SIZES].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.json()
    };
    let find = |json: &serde_json::Value, name: &str| {
        let all = json["measures"].as_array().unwrap();
        all.iter().find(|m| m["measure"] == name).unwrap().clone()
    };
    let (wide, narrow) = (measured(&[]), measured(&["--kv=q8_0", "--csv=b.csv"]));
    assert_eq!((&wide["kv"], &narrow["kv"]), (&"bf16".into(), &"q8_0".into()));
    let kv = |json| find(json, "kv")["median"].as_f64().unwrap();
    assert!(kv(&narrow) < 0.7 * kv(&wide), "{} {}", kv(&narrow), kv(&wide));
    let read = |json| find(json, "decode")["per_token"]["bytes"].as_f64().unwrap();
    assert!(read(&narrow) < read(&wide), "{} {}", read(&narrow), read(&wide));
    let csv = fs::read_to_string(shell.path().join("b.csv")).unwrap();
    let column = csv.lines().next().unwrap().split(',').position(|name| name == "kv").unwrap();
    for line in csv.lines().skip(1) {
        assert_eq!(line.split(',').nth(column), Some("q8_0"), "{line}");
    }
    // The process that stands beside a peer is told as well.
    let both = measured(&["--kv=q8_0", "--against", "echo '{\"decode\": 1}'"]);
    let ours = &both["engines"][0];
    assert_eq!(both["kv"], "q8_0");
    assert_eq!(kv(ours), kv(&narrow));

    let profile = |flags: &[&str]| {
        let command = ["profile", "--json", "--prompt=8", "--generate=2"];
        let ran = shell.run(&[&command[..], flags].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let json = ran.json();
        let lines = json["decode"]["lines"].as_array().unwrap();
        let sum: f64 = lines.iter().map(|line| line["cost"]["bytes"].as_f64().unwrap()).sum();
        (json["kv"].as_str().unwrap().to_owned(), sum)
    };
    let (wide, narrow) = (profile(&[]), profile(&["--kv=q8_0"]));
    assert_eq!((wide.0.as_str(), narrow.0.as_str()), ("bf16", "q8_0"));
    assert!(narrow.1 < wide.1, "{narrow:?} {wide:?}");
}
