//! Pinning, known digests and resident memory, as a shell sees them.

#[path = "../../engine/tests/common/remake.rs"]
#[allow(dead_code)]
mod remake;
use crate::shell;

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

#[test]
fn a_model_in_several_files_is_shown_and_recorded_as_such() {
    let test = "a_model_in_several_files_is_shown_and_recorded_as_such";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new();
    let paths = remake::shards(&model, shell.path(), "año", 3);
    let second = paths[1].to_str().unwrap();
    let json = ask(&shell, &paths[1], &["--receipt", "r.json"]);
    let receipt = fs::read(shell.path().join("r.json")).unwrap();
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(json["digests"]["shards"].as_array().map(Vec::len), Some(3));
    assert_eq!(receipt["model"]["shards"], json["digests"]["shards"]);
    assert_eq!(receipt["tokenizer"], json["digests"]["tokenizer"]);
    let ran = shell.run(&["inspect", second]);
    assert!(ran.out().contains(" bytes in 3 files, GGUF 3)"), "{}", ran.out());
    let json = shell.run(&["inspect", second, "--json"]).json();
    assert_eq!(json["files"].as_array().map(Vec::len), Some(3));
    let ran = shell.run(&["status", "-m", second]);
    assert!(ran.out().contains(" MiB in 3 files)"), "{}", ran.out());
    assert!(ran.out().contains("256 positions as bf16"), "{}", ran.out());
    // A receipt takes the place of none of them.
    let third = paths[2].to_str().unwrap();
    let ran = shell.run(&["ask", "-m", second, "--receipt", third, "hola"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    fs::remove_file(&paths[2]).unwrap();
    let ran = shell.run(&["ask", "-m", second, "hola"]);
    assert!(ran.code != Some(0) && ran.err.contains("año-00003-of-00003.gguf"), "{}", ran.err);
}

#[test]
fn what_a_file_leaves_out_is_said() {
    let test = "what_a_file_leaves_out_is_said";
    let Some(model) = shell::tiny(test, "gemma3-1b-like") else { return };
    let shell = Shell::new();
    let bytes = remake::changed(&model, |b| b.without("gemma3.rope.freq_base"));
    let path = shell.write("poco.gguf", bytes);
    let path = path.to_str().unwrap();
    let note = "key rope.freq_base is missing; 1000000";
    let ask = ["ask", "-m", path, "--max-tokens", "1", "-v", "hola"];
    let cases: [(&str, &[&str], bool); 3] = [
        ("inspect", &["inspect", path], true),
        ("status", &["status", "-m", path], true),
        ("ask", &ask, false),
    ];
    for (name, args, out) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        assert_eq!((ran.out().contains(note), ran.err.contains(note)), (out, !out), "{name}");
    }
    let json = shell.run(&["status", "-m", path, "--json"]).json();
    let notes = json["opened"]["architecture_notes"].to_string();
    assert!(notes.contains(note), "{notes}");
    let need = &json["opened"]["facts"]["need"];
    assert!(need["weights"].as_u64() > Some(0) && need["kv"] == "bf16", "{need}");
}

#[test]
fn what_does_not_fit_is_refused_line_by_line() {
    let test = "what_does_not_fit_is_refused_line_by_line";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new();
    let context = "2000000000";
    let bytes = remake::changed(&model, |b| b.replace("qwen2.context_length", 2_000_000_000u32));
    let path = shell.write("largo.gguf", bytes);
    let ran = shell.run(&["ask", "-m", path.to_str().unwrap(), "--context", context, "hola"]);
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let lines = [
        "not enough memory: ",
        "\n  weights  ",
        "\n  keys and values  ",
        "\n  buffers  ",
        "\n  vocabulary  ",
        "\n  sum  ",
        "\n  free  ",
        "\n  limit  ",
        "\nhint: a smaller `--context`",
    ];
    assert!(lines.iter().all(|line| ran.err.contains(line)), "{}", ran.err);
    // The model alone fits; a session of that size is still refused, by its own name.
    let path = path.to_str().unwrap();
    let ran = shell.run(&["ask", "-m", path, "--context", context, "--any-size", "hola"]);
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("a context of 2000000000 positions"), "{}", ran.err);
}
