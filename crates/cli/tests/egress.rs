//! What `status`, `doctor`, `init` and `egress report` say of policies and of the log of sends.

use crate::shell;

use std::{fs, os::unix::fs::PermissionsExt};

use shell::Shell;

const TABLE: &str = "\
threads = 1

[[policy.allow]]
provider = \"anthropic\"
labels = [\"unlabelled\", \"internal\"]
";

/// The machine that runs the tests may have a policy of its own, which then holds, too.
fn machine_has_none(test: &str) -> bool {
    let none = !std::path::Path::new("/etc/recinto/policy.toml").exists();
    if !none {
        recinto_testkit::skipped(test, "this machine has a policy of its own");
    }
    none
}

#[test]
fn status_shows_what_may_leave() {
    if !machine_has_none("status_shows_what_may_leave") {
        return;
    }
    let shell = Shell::new();
    let ran = shell.run(&["status"]);
    assert!(ran.out().contains("policy        none, so nothing may leave\n"), "{}", ran.out());
    let json = shell.run(&["status", "--json"]).json();
    assert_eq!(json["settings"]["outside"]["policies"], serde_json::json!([]));

    let path = shell.write("recinto.toml", TABLE);
    let ran = shell.run(&["status"]);
    for line in [
        format!("policy        {}, line 3\n", path.display()),
        "  leaves      internal, unlabelled to anthropic at api.anthropic.com\n".into(),
        format!("  log         {}/.local/state/recinto/egress.jsonl (no", shell.path().display()),
    ] {
        assert!(ran.out().contains(&line), "{line} not in: {}", ran.out());
    }
    let json = shell.run(&["status", "--json"]).json();
    let row = &json["settings"]["outside"]["may_leave"][0];
    assert_eq!(row["labels"], serde_json::json!(["internal", "unlabelled"]));

    // Leaving the file out leaves the policy in force; a second one tightens it.
    let narrow = "[[allow]]\nprovider = \"anthropic\"\nlabels = [\"internal\"]\n";
    let narrow = shell.write("narrow.toml", narrow);
    let shell = shell.env("RECINTO_POLICY", narrow.to_str().unwrap());
    let ran = shell.run(&["status", "--no-config"]);
    let line = "  leaves      internal to anthropic at api.anthropic.com\n";
    assert!(ran.out().contains(line), "{}", ran.out());
    fs::set_permissions(&narrow, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = shell.run(&["status"]);
    assert!(ran.out().contains("policy        nothing may leave: "), "{}", ran.out());
    assert!(!ran.out().contains("  leaves"), "{}", ran.out());
}

#[test]
fn doctor_checks_policies() {
    if !machine_has_none("doctor_checks_policies") {
        return;
    }
    let checks = |shell: &Shell| -> Vec<(String, String)> {
        let json = shell.run(&["doctor", "--json"]).json();
        let all = json["checks"].as_array().unwrap().iter();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let policy = all.filter(|check| check["area"] == "policy");
        policy.map(|check| (text(&check["name"]), text(&check["state"]))).collect()
    };
    let pairs = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter().map(|(name, state)| ((*name).into(), (*state).into())).collect()
    };
    let shell = Shell::new();
    assert_eq!(checks(&shell), pairs(&[("policies", "ok")]));
    shell.write("recinto.toml", TABLE);
    let ok = [("policies", "ok"), ("egress log", "ok"), ("egress key", "note")];
    assert_eq!(checks(&shell), pairs(&ok));
    let log = shell.write("l.jsonl", "");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
    let key = shell.write("clave", "corta");
    let text = format!("egress_log = \"l.jsonl\"\negress_key = \"./clave\"\n{TABLE}");
    let more = "[tasks]\ndecide = \"nadie\"\n[budget]\nmoney = \"1 EUR\"\n";
    shell.write("recinto.toml", format!("{text}{more}"));
    let faults = [
        ("policies", "ok"),
        ("egress log", "fault"),
        ("egress key", "fault"),
        ("profiles", "fault"),
    ];
    assert_eq!(checks(&shell), pairs(&faults));
    fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, [1; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    shell.write("recinto.toml", text);
    let ok = [("policies", "ok"), ("egress log", "ok"), ("egress key", "ok")];
    assert_eq!(checks(&shell), pairs(&ok));
    let shell = shell.env("RECINTO_POLICY", "/no/hay.toml");
    assert_eq!(checks(&shell), pairs(&[("policies", "fault")]));
}

#[test]
fn staging_lets_out_what_nobody_labelled() {
    if !machine_has_none("staging_lets_out") {
        return;
    }
    let shell = Shell::new();
    assert_eq!(shell.run(&["init", "--staging"]).code, Some(0));
    let json = shell.run(&["status", "--json"]).json();
    let rows = json["settings"]["outside"]["may_leave"].as_array().unwrap();
    // The vendors, and services that decide, as far as they have a host of their own.
    assert_eq!(rows.len(), 5, "{json}");
    for row in rows {
        assert_eq!(row["labels"], serde_json::json!(["unlabelled"]), "{row}");
    }
    // Without it every row is a comment, and no policy is there.
    let shell = Shell::new();
    assert_eq!(shell.run(&["init"]).code, Some(0));
    let text = fs::read_to_string(shell.path().join("recinto.toml")).unwrap();
    assert!(text.contains("#   [[policy.allow]]"), "{text}");
    let json = shell.run(&["status", "--json"]).json();
    assert_eq!(json["settings"]["outside"]["policies"], serde_json::json!([]), "{json}");
}

fn line(day: &str, labels: &[&str], bytes: u64) -> String {
    let line = serde_json::json!({
        "egress": 1, "time": format!("{day}T10:00:00.000Z"), "pid": 7, "provider": "openai",
        "host": "api.openai.com", "model": "gpt", "bytes": bytes, "labels": labels,
        "rules": ["/etc/recinto/policy.toml:3"], "digest": null,
    });
    format!("{line}\n")
}

#[test]
fn reports() {
    let shell = Shell::new();
    let log = shell.path().join(".local/state/recinto/egress.jsonl");
    let ran = shell.run(&["egress", "report"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().contains("egress.jsonl (not there: nothing was sent)\n"), "{}", ran.out());
    assert!(!log.exists(), "looking makes nothing");

    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let text = [
        line("2026-01-30", &["phi"], 100),
        line("2026-01-31", &["client:acme", "internal"], 20),
        "{\"egress\":1,\"ti\n".into(),
        line("2026-01-31", &["internal"], 3),
        line("2026-02-01", &["internal"], 4)[..50].into(),
    ];
    fs::write(&log, text.concat()).unwrap();
    let ran = shell.run(&["egress", "report"]);
    for part in [
        "sent          3 sends, 123 bytes\n",
        "\nproviders\n  openai at api.openai.com",
        "\nlabels\n  client:acme ",
        "2026-01-31                                    2 sends, 23 bytes\n",
    ] {
        assert!(ran.out().contains(part), "{part} not in: {}", ran.out());
    }
    for part in [
        "note: 3 sends have no digest",
        "note: 1 line is damaged and does not count: line 3\n",
        "note: the last line has no end",
    ] {
        assert!(ran.err.contains(part), "{part} not in: {}", ran.err);
    }
    let json = shell.run(&["egress", "report", "--since", "2026-01-31", "--json"]).json();
    assert_eq!((&json["command"], &json["schema_version"]), (&"egress report".into(), &1.into()));
    assert_eq!(json["all"], serde_json::json!({ "sends": 2, "bytes": 23 }));
    assert_eq!(json["labels"]["internal"]["sends"], 2);
    assert_eq!((&json["damaged"], &json["cut"]), (&1.into(), &true.into()));

    let moved = shell.path().join("otro.jsonl");
    fs::rename(&log, &moved).unwrap();
    let ran = shell.run(&["egress", "report", "--egress-log", "otro.jsonl"]);
    assert!(ran.out().contains("3 sends, 123 bytes"), "{}", ran.out());
    std::os::unix::fs::symlink(&moved, &log).unwrap();
    let cases: [(&str, &[&str], i32, &str); 4] = [
        ("a link", &["egress", "report"], 4, "egress.jsonl: it is a link"),
        ("a folder", &["egress", "report", "--egress-log", "."], 4, "no regular file"),
        ("no day", &["egress", "report", "--since", "ayer"], 2, "--since: a day of the calendar"),
        ("no task", &["egress"], 2, "no command was given"),
    ];
    for (name, args, code, part) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
        assert!(ran.err.contains(part), "{name}: {part} not in: {}", ran.err);
    }
    let json = shell.run(&["egress", "report", "--json"]).json();
    assert_eq!(json["error"]["kind"], "egress", "{json}");
}
