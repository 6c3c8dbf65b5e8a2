//! `recinto doctor`: what it says of this machine, and that it leaves no trace.

use crate::shell;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use shell::{Ran, Shell};

/// The check called `name` in the envelope.
fn check(ran: &Ran, name: &str) -> serde_json::Value {
    let json = ran.json();
    let checks = json["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {json}")).clone()
}

/// Every path below `folder`.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            out.extend(below(&entry));
        }
        out.push(entry);
    }
    out.sort();
    out
}

#[test]
fn a_table_for_people_and_an_envelope_for_programs() {
    let shell = Shell::new();
    let ran = shell.run(&["doctor"]);
    let areas = ["cpu", "threads", "memory", "settings", "policy", "models", "sandbox", "process"];
    let heads: Vec<&str> = ran.out().lines().filter(|line| areas.contains(line)).collect();
    assert_eq!(heads, areas, "{}", ran.out());
    for name in ["level", "portable", "avx512-vnni", "quota", "available", "large pages"] {
        let row = |line: &str| line.contains(&format!(" {name} ")) || line.ends_with(name);
        assert!(ran.out().lines().any(row), "{name}: {}", ran.out());
    }
    let json = shell.run(&["doctor", "--json"]);
    assert_eq!(json.code, ran.code);
    let envelope = json.json();
    assert_eq!(envelope["command"], "doctor");
    let checks = envelope["checks"].as_array().unwrap();
    let of = |state: &str| checks.iter().filter(|check| check["state"] == state).count();
    assert_eq!(of("ok") + of("note") + of("fault"), checks.len());
    assert_eq!(envelope["ok"], of("fault") == 0);
    assert_eq!(ran.code, Some(i32::from(of("fault") > 0)), "{envelope}");
    for check in checks {
        assert_eq!(check["hint"].is_string(), check["state"] != "ok", "{check}");
    }
    let quiet = shell.run(&["doctor", "-q"]);
    assert_eq!((quiet.code, quiet.out()), (ran.code, ""));
}

/// A strict lock with no model in it.
const EMPTY: &str = "{\n  \"recinto_lock\": 1,\n  \"strict\": true,\n  \"models\": {}\n}\n";

#[test]
fn faults_have_hints_and_a_code() {
    let shell = Shell::new();
    type Pairs<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, Pairs<'_>, &[&str], &str, &str); 13] = [
        ("no store there", &[("OLLAMA_MODELS", ".")], &[], "Ollama", "OLLAMA_MODELS"),
        ("no cache there", &[("HF_HUB_CACHE", ".")], &[], "Hugging Face", "HF_HUB_CACHE"),
        ("a store that is gone", &[("OLLAMA_MODELS", "/nothing/there")], &[], "Ollama", "OLLAMA_"),
        ("the hub", &[("HF_HUB_CACHE", "/nothing")], &[], "Hugging Face", "HF_HUB_CACHE"),
        ("no model", &[], &["-m", "./no.gguf"], "model", "in that folder"),
        ("a level nobody knows", &[("RECINTO_LEVEL", "avx9")], &[], "settings", "known: portable"),
        ("threads", &[], &["--threads", "0"], "settings", "recinto status"),
        ("an arch folder", &[], &["--arch-dir", "no"], "arch_dir", ".arch files are in"),
        ("by a variable", &[("RECINTO_ARCH_DIR", "m.gguf")], &[], "arch_dir", "take the setting"),
        ("a lock", &[("RECINTO_LOCK", "no.lock")], &[], "lock", "--no-lock"),
        ("no lock", &[], &["--lock", "m.gguf"], "lock", "--no-lock"),
        ("a strict lock of nothing", &[], &["--lock", "none.lock"], "lock", "recinto lock NAME"),
        ("a file of settings", &[("RECINTO_CONFIG", "no.toml")], &[], "settings", "--no-config"),
    ];
    for (name, variables, args, check_name, hint) in cases {
        let mut shell = Shell::new();
        shell.write("m.gguf", "");
        shell.write("none.lock", EMPTY);
        for (variable, value) in variables {
            shell = shell.env(variable, value);
        }
        let ran = shell.run(&[&["doctor", "--json"], args].concat());
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.err);
        let check = check(&ran, check_name);
        assert_eq!(check["state"], "fault", "{name}: {check}");
        assert!(check["hint"].as_str().unwrap().contains(hint), "{name}: {check}");
        assert_eq!(ran.json()["error"]["kind"], "check", "{name}");
    }
    // SYS-07 of docs/cases.md: the plainest level is always usable, and a note says it is slow.
    let shell = shell.env("RECINTO_LEVEL", "portable");
    let level = check(&shell.run(&["doctor", "--json"]), "level");
    let found = level["found"].as_str().unwrap();
    assert!(found.starts_with("portable asked for (environment, RECINTO_LEVEL)"), "{found}");
    assert_ne!(level["state"], "fault");
}

#[test]
fn stores_and_cache_of_a_home() {
    let shell = Shell::new();
    let hub = ".cache/huggingface/hub/models--o--n/snapshots";
    for folder in [".ollama/models/manifests", ".ollama/models/blobs", hub, ".cache/recinto"] {
        fs::create_dir_all(shell.path().join(folder)).unwrap();
    }
    let cache = shell.path().join(".cache/recinto");
    let chmod = |mode| fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o700);
    let ran = shell.run(&["doctor", "--json"]);
    for name in ["Ollama", "Hugging Face"] {
        let found = check(&ran, name)["found"].as_str().unwrap().to_owned();
        assert!(found.ends_with("(this user's): readable"), "{found}");
    }
    assert_eq!(check(&ran, "digest cache")["state"], "ok");
    chmod(0o777);
    let ran = shell.run(&["doctor", "--json"]);
    assert_eq!((ran.code, &check(&ran, "digest cache")["state"]), (Some(1), &"fault".into()));
}

#[test]
fn it_leaves_no_trace() {
    let shell = Shell::new();
    shell.write("recinto.toml", "threads = 1\n");
    shell.write(".env", "ANTHROPIC_API_KEY=canary\n");
    let before = below(shell.path());
    let ran = shell.run(&["doctor"]);
    assert!(!ran.out().contains("canary"), "{}", ran.out());
    assert_eq!(below(shell.path()), before);
    let traced = std::process::Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return recinto_testkit::skipped(
            "it_leaves_no_trace",
            "strace is missing or may not trace",
        );
    }
    let calls = "trace=network,openat,open,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat2";
    let shell = Shell::new().wrap(&["strace", "-f", "-e", calls, "-o", "trace.txt"]);
    shell.run(&["doctor"]);
    let trace = fs::read_to_string(shell.path().join("trace.txt")).unwrap();
    assert!(trace.contains("/proc/self/cgroup"), "the trace shows what is read: {trace}");
    let writes =
        ["O_WRONLY", "O_RDWR", "O_CREAT", "socket(", "mkdir", "unlink", "rename", "creat("];
    let found: Vec<&str> =
        trace.lines().filter(|line| writes.iter().any(|word| line.contains(word))).collect();
    assert!(found.is_empty(), "{found:?}");
}
