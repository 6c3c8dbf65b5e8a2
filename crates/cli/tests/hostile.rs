//! What a hostile or hurried caller does: targets that are no files, signals at bad moments,
//! files that shrink, names that forge lines.

use crate::shell;

use std::{
    fs,
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use shell::Shell;

/// Names in `folder`, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn only_files_become_receipts() {
    let test = "only_files_become_receipts";
    let Some(model) = shell::tiny(test, "llama-plain") else { return };
    let shell = Shell::new();
    let at = |name: &str| shell.path().join(name);
    fs::copy(&model, at("m.gguf")).unwrap();
    shell.write(".env", "RECINTO_MODEL=./m.gguf\n");
    shell.write("q.txt", "hola");
    shell.write("s.txt", "Sé breve.");
    fs::hard_link(at("m.gguf"), at("same.gguf")).unwrap();
    symlink("m.gguf", at("link.gguf")).unwrap();
    symlink("missing/r.json", at("lost")).unwrap();
    symlink("round", at("round")).unwrap();
    symlink("real.json", at("to_file")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    // Copies of devices, where the user may make them: never the real ones.
    for (name, minor) in [("null", "3"), ("full", "7")] {
        let made = Command::new("mknod").arg(at(name)).args(["c", "1", minor]).output().unwrap();
        if !made.status.success() {
            recinto_testkit::skipped(test, "devices need root");
        }
    }
    let before = names(shell.path());
    let model_bytes = fs::read(at("m.gguf")).unwrap();
    let cases = [
        ("pipe", "is not a regular file"),
        ("socket", "is not a regular file"),
        ("null", "is not a regular file"),
        ("full", "is not a regular file"),
        ("folder", "it is a folder"),
        ("new/", "it is a folder"),
        ("no/r.json", "the folder no is missing"),
        ("lost", "missing"),
        ("round", "cannot write round"),
        ("m.gguf", "the same file as"),
        ("same.gguf", "the same file as"),
        ("link.gguf", "the same file as"),
        (".env", "the same file as"),
        ("q.txt", "the same file as"),
        ("s.txt", "the same file as"),
    ];
    for (target, part) in cases.iter().filter(|(target, _)| {
        target.ends_with('/') || {
            at(target).exists() || at(target).is_symlink() || target.starts_with("no")
        }
    }) {
        let ask = ["ask", "-f", "q.txt", "--system-file", "s.txt", "--receipt", target];
        let chat = ["chat", "--system-file", "s.txt", "--receipt", target];
        let status = ["status", "--receipt", target];
        let bench = ["bench", "--csv", target];
        for args in [&ask[..], &chat, &status, &bench] {
            // A text is refused where it is read.
            let reads = args.iter().filter(|arg| *arg == target).count() > 1;
            if target.ends_with(".txt") && !reads {
                continue;
            }
            let ran = shell.run(args);
            assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
            assert!(ran.err.contains(part), "{args:?}: {part} not in: {}", ran.err);
            assert_eq!(names(shell.path()), before, "{args:?}");
        }
    }
    assert_eq!(fs::read(at("m.gguf")).unwrap(), model_bytes);
    // What stdin reads from and what stdout writes to are not replaced either.
    let ran = shell::finish(
        shell
            .command(&["ask", "-", "--max-tokens", "1", "--receipt", "q.txt"])
            .stdin(fs::File::open(at("q.txt")).unwrap())
            .spawn()
            .unwrap(),
    );
    assert!(ran.code == Some(2) && ran.err.contains("standard input"), "{}", ran.err);
    let ask = ["ask", "hola", "--max-tokens", "1", "--receipt"];
    let ran = shell.run(&[&ask[..], &["to_file"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(at("to_file").is_symlink() && at("real.json").is_file(), "where the link leads");
    // Nothing is left beside the place, whether it went well or not.
    let ran = shell.run(&[&ask[..], &["fail.json", "--context", "2"]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(!names(shell.path()).iter().any(|name| name.contains("tmp")), "nothing is left");
    assert!(!at("fail.json").exists());
}

#[test]
fn a_folder_without_permission_is_noticed_first() {
    let shell = Shell::new();
    shell.write("m.gguf", "GGUF");
    fs::create_dir(shell.path().join("closed")).unwrap();
    let closed = fs::Permissions::from_mode(0o555);
    fs::set_permissions(shell.path().join("closed"), closed).unwrap();
    // Permissions do not bind root; the kernel's own folder takes files from nobody.
    let root = fs::write(shell.path().join("closed/x"), "").is_ok();
    let target = if root { "/proc/r.json" } else { "closed/r.json" };
    let ran = shell.run(&["ask", "x", "-m", "m.gguf", "--receipt", target]);
    assert_eq!(ran.code, Some(2), "before the model is opened: {}", ran.err);
}

/// Waits for the end; how long it took. A child that lives on is ended and `None`.
fn ends_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn a_blocked_write_can_be_ended() {
    let Some(model) = shell::tiny("a_blocked_write_can_be_ended", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    shell.write("long.txt", "uno dos tres ".repeat(20_000));
    let commands: [&[&str]; 4] = [
        &["tokenize", "-f", "long.txt"],
        &["tokenize", "--json", "-f", "long.txt"],
        &["render", "--completion", "-f", "long.txt"],
        &["render", "--json", "--completion", "-f", "long.txt"],
    ];
    for args in commands {
        for signal in ["TERM", "INT"] {
            let mut child = shell.command(args).spawn().unwrap();
            // Once something has come, the pipe is filled and not read any more.
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 16]).unwrap();
            thread::sleep(Duration::from_millis(100));
            assert!(child.try_wait().unwrap().is_none(), "{args:?} fills a pipe");
            shell::kill(&child, signal);
            let code = ends_within(&mut child, Duration::from_secs(5));
            assert_eq!(code, Some(130), "{args:?}, {signal}");
        }
    }
}

#[test]
fn the_second_request_to_end_ends_an_answer() {
    let test = "the_second_request_to_end_ends_an_answer";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    // Every line is answered by a line of JSON that nobody reads.
    let mut child =
        shell.command(&["chat", "--json", "--max-tokens", "1"]).stdin(Stdio::piped()).spawn();
    let child = child.as_mut().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = thread::spawn(move || {
        use std::io::Write;
        while stdin.write_all(b"/reset\nhola\n").is_ok() {}
    });
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 16]).unwrap();
    thread::sleep(Duration::from_millis(1500));
    shell::kill(child, "TERM");
    thread::sleep(Duration::from_millis(200));
    if child.try_wait().unwrap().is_none() {
        shell::kill(child, "TERM");
    }
    assert_eq!(ends_within(child, Duration::from_secs(5)), Some(130));
    feeder.join().unwrap();
}

#[test]
fn a_model_cut_short_ends_with_a_sentence() {
    let test = "a_model_cut_short_ends_with_a_sentence";
    let Some(model) = shell::tiny(test, "llama-plain") else { return };
    let mut missed = 0;
    // Two threads may lose a page at the same moment, or not.
    for threads in ["1", "2", "2", "2"] {
        let shell = Shell::new();
        let copy = shell.path().join("copy.gguf");
        fs::copy(&model, &copy).unwrap();
        // Reads all weights again and again, and asks nobody in between whether they are there.
        let args = ["bench", "-m", "copy.gguf", "--no-start", "--prompt", "8", "--generate", "8"];
        let args = [&args[..], &["--repeat", "1000000", "--threads", threads]].concat();
        let child = shell.command(&args).spawn().unwrap();
        let maps = format!("/proc/{}/maps", child.id());
        for _ in 0..1000 {
            if fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("copy.gguf")) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(500));
        fs::File::options().write(true).open(&copy).unwrap().set_len(0).unwrap();
        let ran = shell::finish(child);
        assert_eq!((ran.code, ran.signal), (Some(4), None), "{threads}: {}", ran.err);
        // A machine that is slow enough notices before a page is missed.
        let noticed = ran.err.contains("changed or was replaced while it was in use");
        missed += usize::from(!noticed);
        let want = "error: the model file was cut short while it was in use\n";
        assert!(noticed || ran.err == want, "{threads}: {}", ran.err);
        assert_eq!(ran.out(), "", "{threads}");
    }
    assert!(missed > 0, "no run has missed a page");
}

#[test]
fn env_files_that_are_no_files() {
    for (name, part) in [("folder", "it is a folder"), ("link", "leads to nothing")] {
        let shell = Shell::new();
        let path = shell.path().join(".env");
        match name {
            "folder" => fs::create_dir(&path).unwrap(),
            _ => symlink("none.env", &path).unwrap(),
        }
        for args in [&["status"][..], &["status", "--env-file", ".env"], &["arch", "list"]] {
            let ran = shell.run(args);
            assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
            assert!(ran.err.contains(".env") && ran.err.contains(part), "{name}: {}", ran.err);
        }
        let ran = shell.run(&["arch", "list", "--no-env-file"]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
    }
}

#[test]
fn a_loop_keeps_its_lines() {
    let Some(model) = shell::tiny("a_loop_keeps_its_lines", "qwen2-plain") else { return };
    let shell = Shell::new();
    let line = format!(
        "printf 'uno\\ndos\\ntres\\n' | while read -r x; do '{}' render --plain --completion \
         \"$x;\"; done",
        shell::RECINTO
    );
    let mut bash = Command::new("bash");
    bash.args(["-c", &line]).env("RECINTO_MODEL", &model).current_dir(shell.path());
    let output = bash.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "uno;dos;tres;");
    // An open pipe that never ends is not waited for.
    let model = model.to_str().unwrap();
    let args = ["render", "--plain", "--completion", "-m", model, "x"];
    let mut child = shell.command(&args).stdin(Stdio::piped()).spawn().unwrap();
    assert_eq!(ends_within(&mut child, Duration::from_secs(10)), Some(0));
}

#[test]
fn marks_are_never_the_text() {
    let Some(model) = shell::tiny("marks_are_never_the_text", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let ran = shell.run(&["render", "a ⟧ b ⟦ c"]);
    assert!(ran.out().contains("⦃a ⟧ b ⟦ c⦄"), "{}", ran.out());
    assert!(ran.err.contains("note: data stands between ⦃ and ⦄"), "{}", ran.err);
    let help = shell.run(&["render", "--help"]);
    assert!(help.out().contains("--json is exact"), "{}", help.out());
}

/// The bytes of a GGUF file in which the string `key` has 32 bytes more, which leaves the tensors
/// where the alignment wants them.
fn longer(bytes: &[u8], key: &str, more: &str) -> Vec<u8> {
    let at = bytes.windows(key.len()).position(|window| window == key.as_bytes()).unwrap();
    let at = at + key.len() + 4;
    let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let end = at + 8 + length as usize;
    let (head, value, rest) = (&bytes[..at], &bytes[at + 8..end], &bytes[end..]);
    let more = format!("{more:_<32}");
    [head, &(length + 32).to_le_bytes(), value, more.as_bytes(), rest].concat()
}

#[test]
fn names_forge_no_line() {
    let Some(model) = shell::tiny("names_forge_no_line", "qwen2-plain") else { return };
    let shell = Shell::new();
    let bytes = fs::read(&model).unwrap();
    let keys =
        ["general.architecture", "general.name", "tokenizer.ggml.pre", "tokenizer.ggml.model"];
    for key in keys {
        shell.write("f.gguf", longer(&bytes, key, "\nerror: forged\nnote: forged"));
        let ask = ["ask", "-v", "-m", "f.gguf", "hola", "--max-tokens", "1"];
        let tokenize = ["tokenize", "-v", "-m", "f.gguf", "hola"];
        let bench = ["bench", "-m", "f.gguf", "--prompt", "2", "--generate", "1", "--repeat", "1"];
        let status = ["status", "-m", "f.gguf"];
        for args in [&["inspect", "f.gguf", "--tensors"][..], &ask, &tokenize, &status, &bench] {
            let ran = shell.run(args);
            for line in ran.out().lines().chain(ran.err.lines()) {
                let forged = ["error: forged", "note: forged"].iter().any(|f| line.starts_with(f));
                assert!(!forged, "{key}, {args:?}: {} {}", ran.out(), ran.err);
            }
        }
        let ran = shell.run(&["inspect", "f.gguf"]);
        assert_eq!(ran.code, Some(0), "{key}: {}", ran.err);
        assert!(ran.out().contains("\\nerror: forged"), "{key}: {}", ran.out());
    }
}

#[test]
fn failures_have_envelopes() {
    let Some(model) = shell::tiny("failures_have_envelopes", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new();
    shell.write("bad.arch", "no arch file\n");
    let cases: &[(&[&str], &str, &str, i32)] = &[
        (&["ask", "--json", "x"], "ask", "usage", 2),
        (&["ask", "--json", "x", "--seed", "y"], "ask", "usage", 2),
        (&["ask", "--json", "x", "--nada"], "ask", "usage", 2),
        (&["ask", "--json", "x", "-m", "no.gguf"], "ask", "model", 4),
        (&["ask", "--json", "x", "-m", model, "--context", "1"], "ask", "overflow", 4),
        (&["ask", "--json", "x", "-m", model, "--timeout", "0.0000001"], "ask", "deadline", 4),
        (&["tokenize", "--json", "x", "-m", "no.gguf"], "tokenize", "model", 4),
        (&["inspect", "--json", "no.gguf"], "inspect", "model", 4),
        (&["arch", "list", "--json", "--arch-dir", "no"], "arch list", "usage", 2),
        (&["arch", "check", "--json", "bad.arch"], "arch check", "check", 1),
        (&["status", "--json", "-m", "no.gguf"], "status", "model", 4),
        (&["status", "--json"], "status", "usage", 2),
        (&["bench", "--json", "--repeat", "0"], "bench", "usage", 2),
        (&["bench", "--json", "--sequences", "1000"], "bench", "usage", 2),
        (&["bench", "--json", "-m", "no.gguf", "--against", "true"], "bench", "model", 4),
        (&["profile", "--json", "no.gguf"], "profile", "model", 4),
    ];
    for (args, command, kind, code) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(*code), "{args:?}: {}", ran.err);
        let json = ran.json();
        assert_eq!((&json["schema_version"], &json["command"]), (&1.into(), &(*command).into()));
        let error = &json["error"];
        assert_eq!(error["kind"], *kind, "{args:?}: {json}");
        assert_eq!(error["exit_code"], *code, "{args:?}");
        let message = error["message"].as_str().unwrap();
        assert!(ran.err.starts_with(&format!("error: {message}\n")), "{args:?}: {}", ran.err);
        if let Some(hint) = error["hint"].as_str() {
            assert!(ran.err.contains(&format!("hint: {hint}")), "{args:?}: {}", ran.err);
        }
    }
    let ran = shell.run(&["ask", "x", "-m", "no.gguf", "-s", "--json"]);
    assert_eq!(ran.out(), "", "`--json` was a text here");
}

#[test]
fn absurd_sizes_are_refused_before_anything_is_measured() {
    let test = "absurd_sizes_are_refused_before_anything_is_measured";
    let Some(model) = shell::tiny(test, "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    let most = usize::MAX.to_string();
    let huge = ["1000000", &most[..]];
    let flags = [
        ("bench", "--prompt"),
        ("bench", "--generate"),
        ("bench", "--context"),
        ("profile", "--prompt"),
        ("profile", "--generate"),
    ];
    for (command, flag) in flags {
        for size in huge {
            let size = format!("{flag}={size}");
            let ran = shell.run(&[command, &size, "--json"]);
            assert_eq!(ran.code, Some(2), "{command} {size}: {}", ran.err);
            let said = ran.err.contains("positions; the model knows ");
            assert!(said, "{command} {size}: {}", ran.err);
            assert_eq!(ran.json()["error"]["kind"], "usage", "{command} {size}");
        }
    }
    // The process that stands beside a peer says what is wrong, not only that it ended.
    for size in huge {
        let size = format!("--context={size}");
        let ran = shell.run(&["bench", "--no-start", &size, "--against", "echo '{}'"]);
        assert_eq!(ran.code, Some(2), "{size}: {}", ran.err);
        assert!(ran.err.contains("positions; the model knows "), "{size}: {}", ran.err);
    }
}

#[test]
fn a_script_of_lines_goes_on() {
    let Some(model) = shell::tiny("a_script_of_lines_goes_on", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let shell = Shell::new();
    let long = "palabra ".repeat(400);
    let args = ["chat", "-m", model, "--max-tokens", "2", "--json"];
    for (name, text, code, ends) in [
        ("unknown command", "/nada\nhola\n".to_owned(), 2, &["error", "text"][..]),
        ("too long", format!("{long}\nhola\n"), 4, &["error", "text"]),
        ("both", format!("{long}\n/nada\nhola\n/exit\n"), 4, &["error", "error", "text"]),
        ("the worst stays", format!("/nada\n{long}\n/nada\n"), 4, &["error"; 3]),
        ("none", "hola\nhola\n".to_owned(), 0, &["text", "text"]),
    ] {
        let ran = shell.pipe(&[&args[..], &["--context", "200"]].concat(), text.as_bytes());
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
        let lines: Vec<serde_json::Value> =
            ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), ends.len(), "{name}: {}", ran.out());
        for (line, key) in lines.iter().zip(ends) {
            assert!(!line[*key].is_null(), "{name}: {line}");
        }
        let said = ran.err.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(said, ends.iter().filter(|key| **key == "error").count(), "{name}: {}", ran.err);
        if name == "too long" {
            assert!(ran.err.contains("`--context`"), "{}", ran.err);
        }
    }
}
