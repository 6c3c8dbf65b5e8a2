//! Answers of tiny seeded models, whose words mean nothing: what is printed, where, and how a
//! command ends.

use crate::shell;

use std::{fs, process::Stdio, thread, time::Duration};

use shell::Shell;

/// Architectures with a tiny model each.
const TINY: [&str; 4] = ["llama-plain", "qwen2-plain", "qwen3-plain", "gemma3-1b-like"];

#[test]
fn the_envelope_is_whole() {
    for name in TINY {
        let Some(model) = shell::tiny("the_envelope_is_whole", name) else { return };
        let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
        let args = ["ask", "--json", "--receipt", "r.json", "--max-tokens", "5", "¿Qué año es?"];
        let ran = shell.run(&args);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let json = ran.json();
        assert_eq!(json["schema_version"], 1, "{name}");
        assert_eq!(json["command"], "ask", "{name}");
        assert_eq!(json["provider"], "local", "{name}");
        assert!(json["text"].is_string() && json["reasoning"].is_string(), "{name}");
        assert!(json["usage"]["prompt_tokens"].as_u64() > Some(0), "{name}");
        assert!(json["usage"]["output_tokens"].as_u64() <= Some(5), "{name}");
        assert!(json["options"]["seed"].is_u64(), "{name}: the effective seed");
        assert_eq!(json["options"]["max_tokens"], 5, "{name}");
        for digest in ["weights", "architecture", "engine"] {
            let text = json["digests"][digest].as_str().unwrap_or_default();
            assert_eq!(text.trim_start_matches("sha256:").len(), 64, "{name}: {digest}: {text}");
        }
        assert_eq!(sum(&model), hex(&json["digests"]["weights"]), "{name}: of the file");
        let code = sum(std::path::Path::new(shell::RECINTO));
        assert_eq!(code, hex(&json["digests"]["engine"]), "{name}: of the executable");
        for key in ["version", "numerics", "level", "threads"] {
            assert!(!json["engine"][key].is_null(), "{name}: {key}");
        }
        for key in ["load_ms", "prefill_ms", "decode_ms", "cpu_seconds", "peak_memory_bytes"] {
            assert!(json["times"][key].as_f64() > Some(0.0), "{name}: {key}");
        }
        let receipt = fs::read(shell.path().join("r.json")).unwrap();
        let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
        assert_eq!(receipt["model"]["digest"], json["digests"]["weights"], "{name}");
    }
}

fn hex(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().trim_start_matches("sha256:").to_owned()
}

/// SHA-256 of a file, by another program.
fn sum(path: &std::path::Path) -> String {
    let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).split_whitespace().next().unwrap_or_default().into()
}

#[test]
fn a_pipe_gets_the_answer_and_nothing_else() {
    let Some(model) = shell::tiny("a_pipe_gets_the_answer", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let json = shell.run(&["ask", "--json", "--max-tokens", "6", "hola"]).json();
    let ran = shell.run(&["ask", "--max-tokens", "6", "hola"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = json["text"].as_str().unwrap();
    let want = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    assert_eq!(ran.out(), want);
    assert!(ran.err.lines().all(|line| line.starts_with("note: ")), "{}", ran.err);
    let ran = shell.run(&["ask", "-q", "--max-tokens", "6", "hola"]);
    assert_eq!((ran.out(), ran.err.as_str()), (want.as_str(), ""));
    let ran = shell.run(&["ask", "-v", "--max-tokens", "6", "hola"]);
    assert!(ran.err.contains("tokens") && ran.err.contains(" threads, level "), "{}", ran.err);
}

#[test]
fn texts_come_from_anywhere() {
    let Some(model) = shell::tiny("texts_come_from_anywhere", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    shell.write("utf8.txt", "\u{feff}¿Qué\r\naño?");
    shell.write("latin.txt", b"\xbfQu\xe9\r\na\xf1o?");
    shell.write("nfd.txt", "an\u{303}o");
    let render = ["render", "--plain", "--completion"];
    let plain = |args: &[&str], stdin: Option<&[u8]>| {
        let args = [&render, args].concat();
        let ran = match stdin {
            Some(bytes) => shell.pipe(&args, bytes),
            None => shell.run(&args),
        };
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.out().to_owned()
    };
    let text = "¿Qué\r\naño?";
    let latin = b"\xbfQu\xe9\r\na\xf1o?";
    assert_eq!(plain(&["a ñ"], None), "a ñ", "argument");
    assert_eq!(plain(&["-f", "utf8.txt"], None), text, "file, mark left out, line ends kept");
    assert_eq!(plain(&["-f", "nfd.txt"], None), "an\u{303}o", "two characters stay two");
    assert_eq!(plain(&["-f", "latin.txt", "--encoding", "latin-1"], None), text);
    assert_eq!(plain(&["--encoding", "windows-1252"], Some(latin)), text, "stdin, converted");
    assert_eq!(plain(&[], Some(b"hola")), "hola", "piped");
    assert_eq!(plain(&["-"], Some(b"hola")), "hola", "asked for");
    let both = "Resume:\n\nhola\n";
    assert_eq!(plain(&["Resume:", "-"], Some(b"hola\n")), both, "argument, then stdin");
    assert_eq!(plain(&["Resume:", "-"], Some(b"")), "Resume:", "nothing piped in");
    assert_eq!(plain(&["Resume:"], Some(b"hola\n")), "Resume:", "stdin is left alone");
    assert_eq!(plain(&["Resume:", "-f", "nfd.txt"], None), "Resume:\n\nan\u{303}o");
    assert_eq!(plain(&["--", "-x"], None), "-x", "after a double dash");
}

#[test]
fn content_is_data() {
    let Some(model) = shell::tiny("content_is_data", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new();
    let json = shell.run(&["inspect", model, "--json"]).json();
    let specials = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<eos>", "</s>"];
    let special = specials.iter().find(|piece| {
        let ran = shell.run(&["tokenize", "-m", model, "--special", "--json", piece]);
        ran.json()["count"] == 1
    });
    let Some(special) = special else { panic!("no special piece found: {}", json["tokenizer"]) };
    let ran = shell.run(&["tokenize", "-m", model, "--json", special]).json();
    assert!(ran["count"].as_u64() > Some(1), "as content it is text: {ran}");
    let ran = shell.run(&["tokenize", "-m", model, "--json", "año"]).json();
    let mut end = 0;
    for token in ran["tokens"].as_array().unwrap() {
        assert_eq!(token["bytes"][0], end, "ranges follow one another: {ran}");
        end = token["bytes"][1].as_u64().unwrap();
    }
    assert_eq!(end, 4, "all bytes of the text");
    let ran = shell.run(&["render", "-m", model, "-s", "Sé breve.", "¿Qué?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().contains("⟦¿Qué?⟧"), "{}", ran.out());
    let json = shell.run(&["render", "-m", model, "--json", "¿Qué?"]).json();
    let text = json["text"].as_str().unwrap();
    let range = &json["content"][0];
    let (start, end) = (range[0].as_u64().unwrap() as usize, range[1].as_u64().unwrap() as usize);
    assert_eq!(&text[start..end], "¿Qué?");
}

#[test]
fn status_says_yes() {
    let Some(model) = shell::tiny("status_says_yes", "llama-plain") else { return };
    let shell = Shell::new();
    let env = shell.write(".env", format!("RECINTO_MODEL={}\n", model.display()));
    let ran = shell.run(&["status", "--threads", "1", "--level", "portable"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in [
        "provider      local (default)\n",
        &format!("({}, line 1)\n", env.display()),
        "level         portable (--level)\n",
        "threads       1 (--threads)\n",
        &sum(&model),
        "answers       yes",
    ] {
        assert!(ran.out().contains(part), "{part} not in: {}", ran.out());
    }
    let ran = shell.run(&["status", "--json"]);
    assert_eq!(ran.json()["can_answer"], true, "{}", ran.err);
    let ran = shell.run(&["status", "-q"]);
    assert_eq!((ran.code, ran.out(), ran.err.as_str()), (Some(0), "", ""));
}

#[test]
fn bench_writes_csv_and_json() {
    let Some(model) = shell::tiny("bench_writes_csv_and_json", "llama-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let sizes = ["--prompt", "32", "--generate", "4", "--repeat", "2"];
    let more = ["--context", "20", "--sequences", "3"];
    let ran = shell.run(&[&["bench", "--json", "--csv", "b.csv"][..], &sizes, &more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    for digest in ["weights", "architecture", "engine"] {
        assert_eq!(hex(&json["digests"][digest]).len(), 64, "{digest}: {}", json["digests"]);
    }
    assert_eq!(sum(&model), hex(&json["digests"]["weights"]));
    let names: Vec<&str> =
        json["measures"].as_array().unwrap().iter().filter_map(|m| m["measure"].as_str()).collect();
    let wanted = "first_token load session_first_token prefill decode decode_context \
                  decode_sequences file kv start_peak resident_peak resident int8_rate read_rate \
                  int8_rate_1_thread read_rate_1_thread";
    for name in wanted.split(' ') {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let measure = |name: &str| {
        let all = json["measures"].as_array().unwrap();
        all.iter().find(|m| m["measure"] == name).unwrap().clone()
    };
    for (name, limit) in [("prefill", "int8_rate"), ("decode", "read_rate")] {
        let m = measure(name);
        assert!(m["min"].as_f64() <= m["median"].as_f64(), "{m}");
        assert_eq!(m["repeats"], 2, "{m}");
        let part = m["share"]["part"].as_f64().unwrap();
        assert!(part > 0.0 && part < 10.0, "{m}");
        // Where both are near, either may be the one that is named.
        let cost = &m["per_token"];
        let (operations, bytes) = (&cost["operations"], &cost["bytes"]);
        assert!(operations.as_f64() > Some(1e4) && bytes.as_f64() > Some(100.0), "{limit}: {m}");
    }
    let bytes = |name: &str| measure(name)["per_token"]["bytes"].as_f64().unwrap();
    assert!(bytes("decode_sequences") < 0.5 * bytes("decode"), "one pass serves three");
    assert!(measure("kv").get("share").is_none());
    let csv = fs::read_to_string(shell.path().join("b.csv")).unwrap();
    assert_eq!(csv.lines().count(), names.len() + 1);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
}

#[test]
fn bench_compares_with_peers() {
    let Some(model) = shell::tiny("bench_compares_with_peers", "llama-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let peer = r#"
        test "$RECINTO_BENCH_MODEL" -ef "$RECINTO_MODEL" || exit 9
        echo "un ruido" >&2
        echo "$RECINTO_BENCH_WHAT $RECINTO_BENCH_THREADS $RECINTO_BENCH_PROMPT" \
             "$RECINTO_BENCH_GENERATE $RECINTO_BENCH_CONTEXT $RECINTO_BENCH_SEQUENCES" >> seen
        echo '{"name": "señal", "prefill": 1, "decode": 4, "load": null}'
    "#;
    let sizes = ["--prompt", "8", "--generate", "2", "--repeat", "2", "--threads", "1"];
    let against = ["bench", "--against", peer, "--against", "echo '{\"decode\": 1}'"];
    let ran = shell.run(&[&against[..], &sizes, &["--json", "--csv", "b.csv"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "", "a peer's own words are not shown");
    let seen = fs::read_to_string(shell.path().join("seen")).unwrap();
    let runs: Vec<&str> = seen.lines().collect();
    assert_eq!(runs, ["start 1 8 1 0 1", "speed 1 8 2 0 1"].repeat(2), "rounds");
    let json = ran.json();
    let engines = json["engines"].as_array().unwrap();
    let names: Vec<&str> = engines.iter().filter_map(|e| e["name"].as_str()).collect();
    assert_eq!(names, ["recinto", "señal", "peer 2"]);
    let number = |engine: usize, name: &str, what: &str| {
        let rows = engines[engine]["measures"].as_array().unwrap();
        rows.iter().find(|m| m["measure"] == name).and_then(|m| m[what].as_f64())
    };
    assert_eq!(number(1, "decode", "median"), Some(4.0));
    assert_eq!(number(1, "load", "median"), None);
    assert!(number(1, "first_token", "median") > Some(0.1), "its whole time");
    assert!(number(1, "resident_peak", "median") > Some(100_000.0));
    let ratios = engines[1]["ratios"].as_array().unwrap();
    let decode = ratios.iter().find(|r| r["measure"] == "decode").unwrap();
    let want = number(0, "decode", "median").unwrap() / 4.0;
    assert!((decode["ratio"].as_f64().unwrap() - want).abs() < 1e-6 * want, "{decode}");
    let csv = fs::read_to_string(shell.path().join("b.csv")).unwrap();
    assert!(csv.lines().any(|line| line.contains(",señal,decode,tokens/s,4.000,")), "{csv}");
    let bad = [
        ("exit 3", 4, "peer 1 ended with exit status: 3"),
        ("echo hola", 4, "peer 1: the last line of its output is no JSON object"),
        ("echo '{\"speed\": 1}'", 4, "known keys: name, prefill, decode"),
        (" ", 2, "--against needs a command line"),
    ];
    for (command, code, part) in bad {
        let ran = shell.run(&[&["bench", "--no-start", "--against", command], &sizes[..]].concat());
        assert_eq!(ran.code, Some(code), "{command}: {}", ran.err);
        assert!(ran.err.contains(part), "{command}: {}", ran.err);
    }
    // An interrupt ends a peer that would go on, and all it started.
    let began = std::time::Instant::now();
    let slow = ["bench", "--no-start", "--against", "sleep 300 | sleep 300"];
    let child = shell.command(&[&slow[..], &sizes].concat()).spawn().unwrap();
    thread::sleep(Duration::from_millis(3000));
    shell::kill(&child, "INT");
    let ran = shell::finish(child);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn profile_times_the_lines_of_the_arch_file() {
    let test = "profile_times_the_lines_of_the_arch_file";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new();
    let sizes = ["--prompt", "20", "--generate", "3"];
    let ran = shell.run(&[&["profile", model, "--json", "--sort", "time"][..], &sizes].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    for (part, tokens, calls) in [("prefill", 20, 1), ("decode", 3, 3)] {
        let part = &json[part];
        assert_eq!(part["tokens"], tokens);
        let lines = part["lines"].as_array().unwrap();
        let number = |line: &serde_json::Value, key: &str| line[key].as_f64().unwrap();
        assert!(lines.is_sorted_by(|a, b| number(a, "ms") >= number(b, "ms")), "{part}");
        let shares: f64 = lines.iter().map(|line| number(line, "share")).sum();
        assert!((shares - 1.0).abs() < 1e-6, "{shares}");
        let head =
            lines.iter().find(|line| line["text"].as_str().unwrap().starts_with("logits = linear"));
        let head = head.unwrap();
        assert_eq!((&head["calls"], &head["layers"]), (&calls.into(), &0.into()));
        assert!(number(head, "gb_per_s") > 0.0 && number(head, "gop_per_s") > 0.0, "{head}");
        let layered = lines.iter().find(|line| line["text"] == "x = add    x a").unwrap();
        assert_eq!(layered["calls"], number(layered, "layers") as u64 * calls as u64);
        assert!(layered["gop_per_s"].is_null(), "{layered}");
    }
    let ran = shell.run(&[&["profile", "-m", model][..], &sizes].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in ["prefill: 20 tokens", "decode: 3 tokens", "q = linear h attn_q", "nothing fused"] {
        assert!(ran.out().contains(part), "{part}: {}", ran.out());
    }
    let cases: [(&[&str], &str); 3] = [
        (&["profile"], "no model is set"),
        (&["profile", model, "--generate", "0"], "--generate must be 1 or more"),
        (&["profile", model, "-m", model], "cannot stand together"),
    ];
    for (args, part) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let Some(model) = shell::tiny("a_reader_that_leaves", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    for args in ["--max-tokens 400", "--max-tokens 400 --json"] {
        let line = format!("{} ask hola {args} | true; echo ${{PIPESTATUS[0]}}", shell::RECINTO);
        let output = std::process::Command::new("bash")
            .args(["-c", &line])
            .env("RECINTO_MODEL", &model)
            .env("HOME", shell.path())
            .env_remove("XDG_CACHE_HOME")
            .current_dir(shell.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{args}");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("error"), "{args}: {err}");
    }
}

#[test]
fn chat_keeps_the_conversation() {
    let Some(model) = shell::tiny("chat_keeps_the_conversation", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let args = ["chat", "--json", "--max-tokens", "3"];
    let ran = shell.pipe(&args, "hola\n\n¿qué?\n/reset\nhola\n/exit\nnunca\n".as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let replies: Vec<serde_json::Value> =
        ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), 3, "{}", ran.out());
    let cached: Vec<u64> =
        replies.iter().map(|r| r["usage"]["cached_tokens"].as_u64().unwrap()).collect();
    assert!(cached[0] == 0 && cached[1] > 0 && cached[2] == 0, "{cached:?}");
    assert_eq!(replies[0]["text"], replies[2]["text"], "the same question anew");
    let names = |shell: &Shell| -> Vec<_> {
        fs::read_dir(shell.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    // The cache of the model's digest, see loading.rs, and nothing with it.
    assert_eq!(names(&shell), [".cache"], "no history file");
    let shell = shell.env("RECINTO_VERIFY", "always");
    fs::remove_dir_all(shell.path().join(".cache")).unwrap();
    assert_eq!(shell.pipe(&args, b"hola\n").code, Some(0));
    assert!(names(&shell).is_empty(), "no file at all");
    let ran = shell.pipe(&["chat"], b"/nada\n");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

#[test]
fn an_interrupt_stops_cleanly() {
    let test = "an_interrupt_stops_cleanly";
    let Some(model) = shell::tiny(test, "llama-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    // Millions of positions: only the interrupt ends it in time.
    let sizes = ["--prompt", "30", "--generate", "30", "--repeat", "1000000"];
    let child = shell.command(&[&["bench"][..], &sizes].concat()).spawn().unwrap();
    thread::sleep(Duration::from_millis(700));
    shell::kill(&child, "INT");
    let began = std::time::Instant::now();
    let ran = shell::finish(child);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
}

#[test]
fn a_person_is_stopped_with_what_was_said() {
    let test = "a_person_is_stopped_with_what_was_said";
    let Some(model) = shell::real(test, "smollm2-135m-instruct") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let args = ["ask", "--json", "--max-tokens", "4000", "Write a long story about a house."];
    // On a slow machine the prompt may still be read after the first wait: then nothing was said.
    let ran = [4, 15, 60].into_iter().find_map(|seconds| {
        let child = shell.command(&args).stdin(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_secs(seconds));
        shell::kill(&child, "INT");
        let ran = shell::finish(child);
        assert_eq!(ran.code, Some(130), "{}", ran.err);
        (!ran.out.is_empty()).then_some(ran)
    });
    let json = ran.expect("an answer begins within a minute").json();
    assert_eq!(json["finish"], "cancelled");
    assert!(!json["text"].as_str().unwrap().is_empty(), "what was said is kept");
}

#[test]
fn limits_end_with_their_codes() {
    let Some(model) = shell::tiny("limits_end_with_their_codes", "llama-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let long = "uno dos tres ".repeat(2000);
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("too long", &[&long], 4, "positions"),
        ("small context", &["hola", "--context", "1"], 4, "positions"),
        ("no context", &["hola", "--context", "0"], 2, "context"),
        ("no tokens", &["hola", "--max-tokens", "0"], 2, "max_tokens"),
        ("temperature", &["hola", "--temperature", "-1"], 2, "temperature"),
        ("not a number", &["hola", "--temperature", "nan"], 2, "temperature"),
        ("bias", &["hola", "-o", "logit_bias=99999999:1"], 2, "logit_bias"),
        ("level", &["hola", "--level", "portable"], 0, ""),
    ];
    for (name, args, code, part) in cases {
        let args = [&["ask", "--max-tokens", "3"][..], args].concat();
        let args = if *name == "no tokens" { [&["ask"][..], &args[3..]].concat() } else { args };
        let ran = shell.run(&args);
        assert_eq!(ran.code, Some(*code), "{name}: {}", ran.err);
        assert!(ran.err.contains(part), "{name}: {}", ran.err);
        assert!(*code == 0 || ran.out().is_empty(), "{name}: {}", ran.out());
    }
}

#[test]
fn architectures() {
    let Some(model) = shell::tiny("architectures", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new();
    let list = shell.run(&["arch", "list"]);
    assert_eq!(list.code, Some(0), "{}", list.err);
    for name in ["gemma3", "llama", "qwen2", "qwen3"] {
        assert!(list.out().lines().any(|line| line.starts_with(name)), "{name}: {}", list.out());
    }
    let text = shell.run(&["arch", "show", "qwen2"]);
    assert!(text.out().starts_with("recinto-arch 1\n"), "{}", text.out());
    shell.write("good.arch", text.out());
    fs::create_dir(shell.path().join("archs")).unwrap();
    shell.write("archs/qwen2.arch", text.out().replace("output logits", "output logit"));
    let ran = shell.run(&["arch", "list", "--arch-dir", "archs"]);
    assert!(ran.out().contains("replaces the built-in one, not available: "), "{}", ran.out());
    let ran = shell.run(&["ask", "-m", model, "--arch-dir", "archs", "hola"]);
    assert_eq!(ran.code, Some(4), "a broken one never falls back: {}", ran.err);
    let cases: &[(&str, &[&str], i32)] = &[
        ("good", &["check", "good.arch"], 0),
        ("fits", &["check", "good.arch", "--model", model], 0),
        ("broken", &["check", "archs/qwen2.arch"], 1),
        ("no file", &["check", "no.arch"], 2),
        ("no model", &["check", "good.arch", "--model", "no.gguf"], 4),
        ("unknown", &["show", "qwen9"], 2),
        ("broken text", &["show", "qwen2", "--arch-dir", "archs"], 4),
    ];
    for (name, args, code) in cases {
        let ran = shell.run(&[&["arch"][..], args].concat());
        assert_eq!(ran.code, Some(*code), "{name}: {}", ran.err);
    }
    if let Some(other) = shell::tiny("architectures", "llama-plain") {
        let ran = shell.run(&["arch", "check", "good.arch", "--model", other.to_str().unwrap()]);
        assert_eq!(ran.code, Some(1), "another architecture: {}", ran.err);
    }
}

/// A beginning for an architecture that nobody knows: to stdout or a new file, never over another.
#[test]
fn an_architecture_is_begun() {
    let Some(model) = shell::tiny("an_architecture_is_begun", "qwen3-plain") else { return };
    let shell = Shell::new();
    let mut bytes = fs::read(model).unwrap();
    for at in 0..bytes.len() - 5 {
        if bytes[at..].starts_with(b"qwen3") {
            bytes[at..at + 5].copy_from_slice(b"olmo9");
        }
    }
    shell.write("olmo.gguf", bytes);
    let ran = shell.run(&["ask", "-m", "./olmo.gguf", "hola"]);
    assert!(ran.err.contains("`recinto arch new` writes a beginning"), "{}", ran.err);
    fs::create_dir(shell.path().join("archs")).unwrap();
    let ran = shell.run(&["arch", "new", "./olmo.gguf"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out().starts_with("recinto-arch 1\n"), "{}", ran.out());
    assert!(ran.out().contains("\narch olmo9\n"), "{}", ran.out());
    assert!(ran.err.contains("note: like `qwen3`: "), "{}", ran.err);
    let text = ran.out().to_owned();
    let file = ["arch", "new", "./olmo.gguf", "-o", "archs/olmo9.arch"];
    let ran = shell.run(&file);
    assert_eq!((ran.code, ran.out()), (Some(0), ""), "{}", ran.err);
    assert_eq!(fs::read_to_string(shell.path().join("archs/olmo9.arch")).unwrap(), text);
    let ran = shell.run(&file);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("is there and stays as it is"), "{}", ran.err);
    let ran = shell.run(&["arch", "check", "archs/olmo9.arch", "--model", "./olmo.gguf"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let args = ["ask", "-m", "./olmo.gguf", "--arch-dir", "archs", "--max-tokens", "2", "hola"];
    assert_eq!(shell.run(&args).code, Some(0));
    let ran = shell.run(&["arch", "new", "./olmo.gguf", "--arch-dir", "archs"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("`olmo9` serves this model already"), "{}", ran.err);
}
