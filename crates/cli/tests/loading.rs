//! Pinning, known digests and resident memory, as a shell sees them.

mod shell;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use shell::Shell;

fn ask(shell: &Shell, model: &Path, more: &[&str]) -> serde_json::Value {
    let args = ["ask", "--json", "--max-tokens", "1", "-m", model.to_str().unwrap(), "¿Qué tal?"];
    let ran = shell.run(&[&args, more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.json()
}

#[test]
fn a_digest_is_computed_once_and_then_known() {
    let test = "a_digest_is_computed_once_and_then_known";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new();
    let cache = shell.path().join(".cache/recinto");
    let cases: [(&str, &[&str], &str, &str); 5] = [
        ("not remembered", &["--verify", "always"], "computed", "mapped"),
        ("the first time", &[], "computed", "mapped"),
        ("the second time", &["--receipt", "r.json"], "cached", "mapped"),
        ("always", &["--verify", "always"], "computed", "mapped"),
        ("pinned", &["--pin", "memory", "--receipt", "p.json"], "computed", "pinned"),
    ];
    let mut digests = Vec::new();
    for (name, more, origin, held) in cases {
        let json = ask(&shell, &model, more);
        assert_eq!(json["digests"]["weights_origin"], origin, "{name}");
        assert_eq!(json["digests"]["weights_held"], held, "{name}");
        digests.push(json["digests"]["weights"].clone());
        assert_eq!(cache.exists(), name != "not remembered", "{name}");
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "one digest, however it came to be");
    for (file, origin, held) in [("r.json", "cached", "mapped"), ("p.json", "computed", "pinned")] {
        let receipt = fs::read(shell.path().join(file)).unwrap();
        let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
        assert_eq!(receipt["model"]["digest"], digests[0], "{file}");
        assert_eq!(receipt["model"]["digest_origin"], origin, "{file}");
        assert_eq!(receipt["model"]["weights"], held, "{file}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&cache), mode(&cache.join("digests"))), (0o700, 0o600));
    let names: Vec<_> = fs::read_dir(&cache).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["digests"], "nothing else is left");
    let text = fs::read_to_string(cache.join("digests")).unwrap();
    assert!(!text.contains("qwen2") && !text.contains('/'), "no name of a file: {text}");

    let always = Shell::new().env("RECINTO_VERIFY", "always");
    ask(&always, &model, &[]);
    assert!(!always.path().join(".cache").exists(), "the variable switches it off");
    let elsewhere = shell.path().join("otra caché");
    let moved = Shell::new().env("XDG_CACHE_HOME", elsewhere.to_str().unwrap());
    ask(&moved, &model, &[]);
    assert!(elsewhere.join("recinto/digests").exists());
    assert!(!moved.path().join(".cache").exists());
}

#[test]
fn status_and_inspect_show_the_settings() {
    let Some(model) = shell::tiny("status_and_inspect", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new();
    let out = |shell: &Shell, args: &[&str]| {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out().to_owned()
    };
    let text = out(&shell, &["status", "-m", model]);
    let three =
        ["pin           off", "verify        cached", "kv            bf16"].join(" (default)\n");
    assert!(text.contains(&format!("{three} (default)\n")), "{text}");
    assert!(text.contains(" (computed, mapped)\n"), "{text}");
    let text = out(&shell, &["status", "-m", model]);
    assert!(text.contains(" (cached, mapped)\n"), "{text}");
    shell.write(".env", "RECINTO_VERIFY=always\n");
    let text = out(&shell, &["status", "-m", model, "--pin", "memory"]);
    assert!(text.contains("pin           memory (--pin)\nverify        always ("), "{text}");
    assert!(text.contains(".env, line 1)\n"), "{text}");
    assert!(text.contains(" (computed, pinned)\n"), "{text}");
    let text = out(&shell, &["inspect", model]);
    assert!(text.contains("pin           off (default)\nverify        always ("), "{text}");
    let json = shell.run(&["inspect", "--json", model]).json();
    assert_eq!(json["settings"]["verify"]["value"], "always");
    assert_eq!(json["settings"]["pin"]["source"], "default");
    let json = shell.run(&["status", "--json", "-m", model]).json();
    assert_eq!(json["settings"]["pin"]["value"], "off");
    for (flag, value) in [("--pin", "disk"), ("--verify", "never")] {
        let ran = shell.run(&["status", "-m", model, flag, value]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(&format!("{flag}: one of ")), "{}", ran.err);
    }
}

#[test]
fn resident_memory_is_about_the_file_once() {
    for folder in ["smollm2-135m-instruct", "qwen2.5-coder-0.5b-instruct"] {
        let Some(model) = shell::real("resident_memory_is_about_the_file_once", folder) else {
            continue;
        };
        let shell = Shell::new();
        let json = shell.run(&["status", "--json", "-m", model.to_str().unwrap()]).json();
        let facts = &json["opened"]["facts"];
        let number = |value: &serde_json::Value| value.as_u64().expect("a whole number");
        let (file, each) = (number(&facts["bytes"]), number(&facts["kv_bytes_per_position"]));
        for more in [&["--verify", "always"][..], &["--pin", "memory"]] {
            let json = ask(&shell, &model, more);
            let positions = number(&json["usage"]["prompt_tokens"]) + 1;
            // Keys and values come in pages of 256 positions.
            let kv = positions.next_multiple_of(256) * each;
            let peak = number(&json["times"]["peak_memory_bytes"]);
            let most = file + file / 20 + kv + (64 << 20);
            let mib = |bytes: u64| bytes >> 20;
            println!("{folder} {more:?}: {} MiB, file {}", mib(peak), mib(file));
            assert!(peak <= most, "{folder} {more:?}: {} MiB of {}", mib(peak), mib(most));
            assert!(peak > file / 2, "{folder} {more:?}: the weights were not even touched");
        }
    }
}
