//! Nothing of the prompt stays behind: a random word goes in everywhere, every failure that can
//! be reached is forced, and the word is looked for in all that is left.

use crate::shell;

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use shell::{Ran, Shell};

/// A word nobody has written before.
fn canary() -> String {
    format!("canario{:016x}ñ", RandomState::new().hash_one(std::process::id()))
}

/// A shell whose processes may leave core files, if they let it come to that.
fn shell(word: &str) -> Shell {
    let shell = Shell::new()
        .env("OPENAI_API_KEY", word)
        .env("ANTHROPIC_API_KEY", word)
        .env("RUST_BACKTRACE", "full")
        .env("RUST_LOG", "trace")
        .wrap(&["sh", "-c", "ulimit -c unlimited 2>/dev/null; exec \"$@\"", "sh"]);
    fs::create_dir(shell.path().join("in")).unwrap();
    shell
}

/// Every file below `folder`, the inputs in `in/` apart.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("in") => {}
            true => files(&path, out),
            false => out.push(path),
        }
    }
}

/// Whether `word`, with or without its last letter, stands in `bytes`.
fn holds(bytes: &[u8], word: &str) -> bool {
    let word = word.trim_end_matches('ñ').as_bytes();
    recinto_testkit::holds(bytes, word)
}

fn nothing_is_left(name: &str, shell: &Shell, ran: &Ran, word: &str) {
    assert!(!holds(ran.err.as_bytes(), word), "{name}: on stderr: {}", ran.err);
    assert!(!ran.core, "{name}: a core was dumped");
    let mut left = Vec::new();
    files(shell.path(), &mut left);
    for path in left {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!file.starts_with("core"), "{name}: {file} is left");
        assert!(!holds(&fs::read(&path).unwrap(), word), "{name}: in {file}");
    }
}

#[test]
fn the_search_finds() {
    let word = canary();
    let shell = shell(&word);
    let ran = shell.run(&["--help"]);
    nothing_is_left("control", &shell, &ran, &word);
    assert!(holds(format!("x{word}").as_bytes(), &word));
    shell.write("left.tmp", format!("a {word} b"));
    let found = std::panic::catch_unwind(|| nothing_is_left("control", &shell, &ran, &word));
    assert!(found.is_err(), "a file with the word is found");
}

#[test]
fn errors_before_a_model_is_opened() {
    let word = canary();
    let shell = shell(&word);
    let prompt = format!("¿{word}?");
    let latin = [word.trim_end_matches('ñ').as_bytes(), b" \xf1o"].concat();
    let dashed = format!("--{word}");
    let pair = format!("temperature={word}");
    fs::write(shell.path().join("in/latin.txt"), &latin).unwrap();
    fs::write(shell.path().join("in/bad.env"), format!("RECINTO_LEVEL=avx2\n{word} {word}\n"))
        .unwrap();
    fs::write(shell.path().join("in/key.env"), format!("KEY={word}\nRECINTO_NO=1\n")).unwrap();
    fs::write(shell.path().join("in/open.env"), format!("KEY='{word}\n")).unwrap();
    shell.write("bad.gguf", "GGUF");
    let system = ["-s", prompt.as_str()];
    let cases: Vec<(&str, Vec<&str>)> = vec![
        ("question as command", vec![&prompt]),
        ("one word as command", vec![&word]),
        ("unquoted", vec!["ask", "a", &prompt]),
        ("as flag", vec!["ask", &dashed]),
        ("no model", vec!["ask", &prompt]),
        ("no file", vec!["ask", &prompt, "-m", "no.gguf"]),
        ("bad file", vec!["ask", &prompt, "-m", "bad.gguf"]),
        ("store", vec!["ask", &prompt, "-m", "qwen3:0.6b"]),
        ("provider", vec!["ask", &prompt, "--provider", "openai"]),
        ("option value", vec!["ask", &prompt, "-m", "bad.gguf", "-o", &pair]),
        ("option form", vec!["ask", &prompt, "-m", "bad.gguf", "-o", &word]),
        ("seed", vec!["ask", &prompt, "--seed", &word]),
        ("stop", vec!["ask", &prompt, "--stop", &word, "-m", "bad.gguf"]),
        ("latin-1 file", vec!["ask", "-f", "in/latin.txt", "-m", "bad.gguf"]),
        ("latin-1 system", vec!["ask", "a", "--system-file", "in/latin.txt", "-m", "bad.gguf"]),
        ("converted", vec!["ask", "-f", "in/latin.txt", "--encoding", "latin-1", "-m", "bad.gguf"]),
        ("receipt", vec!["ask", &prompt, "--receipt", "no/r", "-m", "bad.gguf"]),
        ("bad .env", vec!["ask", &prompt, "--env-file", "in/bad.env"]),
        ("unknown key", vec!["ask", &prompt, "--env-file", "in/key.env"]),
        ("open quote", vec!["ask", &prompt, "--env-file", "in/open.env"]),
        ("tokenize", vec!["tokenize", &prompt, "-m", "bad.gguf"]),
        ("render", vec!["render", &prompt, "-m", "bad.gguf"]),
        ("status", vec!["status", &prompt]),
        ("bench", vec!["bench", "--prompt", &word]),
        ("chat", vec!["chat", &prompt]),
        ("shell", vec!["completions", &word]),
        ("level", vec!["ask", &prompt, "--level", "sse"]),
        ("key as provider", vec!["ask", "a", "--provider", &word]),
        ("locked", vec!["ask", &prompt, "-m", "bad.gguf", "--lock-memory"]),
    ];
    for (name, args) in &cases {
        for more in [&[][..], &["-v"], &system] {
            let args: Vec<&str> = args.iter().chain(more).copied().collect();
            let ran = shell.run(&args);
            assert!(matches!(ran.code, Some(2 | 4)), "{name}: {:?} {}", ran.code, ran.err);
            assert!(ran.err.starts_with("error: "), "{name}: {}", ran.err);
            assert!(ran.out.is_empty(), "{name}");
            nothing_is_left(name, &shell, &ran, &word);
        }
        let ran = shell.pipe(args, &latin);
        nothing_is_left(&format!("{name}, piped"), &shell, &ran, &word);
    }
}

#[test]
fn panics_and_aborts() {
    if !cfg!(debug_assertions) {
        return recinto_testkit::skipped("panics_and_aborts", "needs debug assertions");
    }
    let word = canary();
    for (fault, code, signal) in
        [("panic", Some(4), None), ("thread", Some(4), None), ("abort", None, Some(6))]
    {
        let shell = shell(&word).env("RECINTO_TEST_FAULT", fault);
        shell.write("bad.gguf", "GGUF");
        for more in [&[][..], &["-v"], &["-s", &word]] {
            let args: Vec<&str> =
                ["ask", "-m", "bad.gguf", &word].iter().chain(more).copied().collect();
            let ran = shell.run(&args);
            assert_eq!((ran.code, ran.signal), (code, signal), "{fault}: {}", ran.err);
            nothing_is_left(fault, &shell, &ran, &word);
            if signal.is_none() {
                assert!(ran.err.contains("error: a fault in this program, at "), "{}", ran.err);
            }
        }
    }
}

/// Signals that end a process, with the numbers that Linux gives them on every CPU.
const DEADLY: [(&str, u32); 5] = [("ABRT", 6), ("QUIT", 3), ("INT", 2), ("TERM", 15), ("KILL", 9)];
const RESET: &str = "--default-signal=ABRT,QUIT,INT,TERM";
/// More than a process needs to die, on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn killed_while_it_holds_the_text() {
    // A shell starts `job &`, and some CI a whole run, with SIGQUIT or SIGINT ignored, and every
    // process below inherits that. `env` of coreutils 8.31 or newer puts them back.
    let resets = Command::new("env").args([RESET, "true"]).stderr(Stdio::null()).status();
    let resets = resets.is_ok_and(|status| status.success());
    let ignored = mask("self", "SigIgn:");
    let word = canary();
    for (signal, number) in DEADLY {
        if !resets && ignored >> (number - 1) & 1 == 1 {
            let why = format!("SIG{signal} is ignored here and `env` cannot put it back");
            recinto_testkit::skipped("killed_while_it_holds_the_text", &why);
            continue;
        }
        let mut shell = shell(&word);
        if resets {
            let limit = "ulimit -c unlimited 2>/dev/null; exec \"$@\"";
            shell = shell.wrap(&["env", RESET, "sh", "-c", limit, "sh"]);
        }
        shell.write("bad.gguf", "GGUF");
        let mut child = shell
            .command(&["ask", "-m", "bad.gguf", "-s", &word, "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(format!("{word} ").repeat(1000).as_bytes()).unwrap();
        let ready = wait_until_it_reads(child.id());
        thread::sleep(Duration::from_millis(100));
        if ready {
            shell::kill(&child, signal);
        }
        let dead = ready && wait_for_end(&mut child);
        if !dead {
            child.kill().unwrap();
        }
        // Held open until here: at its end the text would be whole, and the model opened.
        drop(stdin);
        let ran = shell::finish(child);
        assert!(ready, "{signal}: it never came to read stdin: {}", ran.err);
        assert!(dead, "{signal}: alive after {DEADLINE:?}: {}", ran.err);
        match signal {
            "INT" | "TERM" => assert_eq!(ran.code, Some(130), "{signal}: {}", ran.err),
            _ => assert_eq!(ran.signal, Some(number as i32), "{signal}: {:?}", ran.code),
        }
        nothing_is_left(signal, &shell, &ran, &word);
    }
}

/// Whether `child` ends before the deadline.
fn wait_for_end(child: &mut Child) -> bool {
    let began = Instant::now();
    while began.elapsed() < DEADLINE {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

/// A mask of signals in `/proc/PID/status`, which all may read; signal 1 is its lowest bit.
fn mask(pid: &str, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(field));
    mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap())
}

/// Whether the process comes to have a core limit of 0, set before anything else, and a handler
/// for SIGINT, set before anything is read. The shell that starts it has none.
fn wait_until_it_reads(pid: u32) -> bool {
    let pid = pid.to_string();
    let began = Instant::now();
    while began.elapsed() < DEADLINE {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let core = limits.lines().find(|line| line.starts_with("Max core file size"));
        let none = core.is_some_and(|l| l.split_whitespace().filter(|w| *w == "0").count() == 2);
        if none && mask(&pid, "SigCgt:") & 0b10 != 0 {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn replies_and_their_failures() {
    let Some(model) = shell::tiny("replies_and_their_failures", "qwen2-plain") else { return };
    let model = model.to_str().unwrap();
    let word = canary();
    let shell = shell(&word);
    let many = format!("{word} ").repeat(4000);
    let cases: Vec<(&str, Vec<&str>, Option<i32>)> = vec![
        ("reply", vec!["--receipt", "r.json", "--max-tokens", "4"], Some(0)),
        ("json", vec!["--json", "--receipt", "r.json", "--max-tokens", "4"], Some(0)),
        ("stop", vec!["--stop", &word, "--receipt", "r.json", "--max-tokens", "4"], Some(0)),
        ("quiet", vec!["-q", "--max-tokens", "4"], Some(0)),
        ("locked", vec!["--lock-memory", "--max-tokens", "4"], Some(0)),
        ("bias", vec!["-o", "logit_bias=99999999:1"], Some(2)),
        ("temperature", vec!["--temperature", "-1"], Some(2)),
        ("context", vec!["--context", "2"], Some(4)),
        ("time", vec!["--timeout", "0.000001"], Some(4)),
        ("long", vec![&many], Some(4)),
    ];
    for (name, more, code) in &cases {
        for verbose in [&[][..], &["-v"]] {
            if more.contains(&"-q") && !verbose.is_empty() {
                continue;
            }
            let mut args = vec!["ask", "-m", model, "-s", &word];
            args.extend(more.iter().chain(verbose));
            if *name != "long" {
                args.push(&word);
            }
            let ran = shell.run(&args);
            assert_eq!(ran.code, *code, "{name}: {}", ran.err);
            nothing_is_left(name, &shell, &ran, &word);
        }
    }
    assert!(shell.path().join("r.json").exists(), "a receipt was searched");
    let talk = format!("{word}\n/{word}\n");
    for (name, text, code) in [
        ("chat", format!("{word}\n"), 0),
        ("chat, unknown command", talk, 2),
        ("chat, system", format!("/system {word}\n{word}\n/exit\n"), 0),
        ("chat, too long", format!("{many}\n"), 4),
    ] {
        for more in ["-v", "--json"] {
            let args = ["chat", "-m", model, "-s", &word, "--max-tokens", "3", more];
            let ran = shell.pipe(&args, text.as_bytes());
            assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
            nothing_is_left(name, &shell, &ran, &word);
        }
    }
}

#[test]
fn a_template_that_refuses() {
    let Some(model) = shell::tiny("a_template_that_refuses", "qwen2-plain") else { return };
    let word = canary();
    let shell = shell(&word);
    // The same file with a template that raises what it was given, then one that is broken.
    let bytes = fs::read(&model).unwrap();
    for (name, template) in [
        ("raises", "{{ raise_exception('no: ' + messages[0].content) }}"),
        ("unknown filter", "{{ messages[0].content | frobnicate }}"),
        ("wrong type", "{{ messages[0].content + 1 }}"),
    ] {
        let changed = with_template(&bytes, template).expect("the model has a template");
        shell.write("t.gguf", changed);
        for more in [&[][..], &["-v"], &["--json"]] {
            let args: Vec<&str> =
                ["ask", "-m", "t.gguf", &word].iter().chain(more).copied().collect();
            let ran = shell.run(&args);
            assert_eq!(ran.code, Some(4), "{name}: {}", ran.err);
            assert!(!ran.err.contains("another template"), "{name}: {}", ran.err);
            nothing_is_left(name, &shell, &ran, &word);
        }
    }
}

/// The bytes of a GGUF file with its chat template overwritten in place, blanks after it.
fn with_template(bytes: &[u8], template: &str) -> Option<Vec<u8>> {
    let key = b"tokenizer.chat_template";
    let at = bytes.windows(key.len()).position(|window| window == key)? + key.len() + 4;
    let length = u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?) as usize;
    let mut out = bytes.to_vec();
    let place = out.get_mut(at + 8..at + 8 + length)?;
    place.fill(b' ');
    place.get_mut(..template.len())?.copy_from_slice(template.as_bytes());
    Some(out)
}

/// Questions whose instructions and descriptions hold the word; labels are answers, and shown.
fn questions(word: &str) -> String {
    serde_json::json!({
        "tema": {"type": "choice", "instructions": format!("¿De qué va {word}?"),
            "criteria": {"pagos": format!("cobro {word}"), "envíos": word}},
        "urgente": {"type": "noul", "instructions": word, "criteria": {"true": word}},
        "enojo": {"type": "score", "instructions": word, "criteria": [word, format!("{word} más")]},
    })
    .to_string()
}

/// Labelled records that the mock answers well, each with the word.
fn records(word: &str, labelled: bool) -> String {
    let line = |at: usize| {
        let text = ["cobro", "paquete"][at % 2];
        let mut record = serde_json::json!({
            "id": at.to_string(), "state": format!("{text} {word} {at}"),
            "questions": {"tema": {"type": "choice", "instructions": word,
                "criteria": {"cobro": null, "paquete": null}}},
        });
        if labelled {
            record["labels"] = serde_json::json!({"tema": text});
        }
        format!("{record}\n")
    };
    (0..120).map(line).collect()
}

#[test]
fn judges_leave_nothing() {
    let word = canary();
    let shell = shell(&word);
    fs::write(shell.path().join("in/q.json"), questions(&word)).unwrap();
    fs::write(shell.path().join("in/bad.json"), format!("{{\"{word}\":")).unwrap();
    fs::write(shell.path().join("in/key.json"), format!("{{\"q\":{{\"{word}\":1}}}}")).unwrap();
    let laya = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/laya/ckpt");
    let laya = laya.display().to_string();
    let state = format!("Un cobro {word} y un paquete. ¿{word}?");
    let long = format!("{word} ").repeat(2000);
    let json = format!("{{\"nota\": \"{word}\"");
    let mut readers: Vec<(&str, Vec<&str>)> = vec![
        ("mock", vec!["--judge-provider", "mock"]),
        ("laya", vec!["--judge-provider", "laya", "--judge-model", &laya]),
        (
            "laya, windows",
            vec!["--judge-provider", "laya", "--judge-model", &laya, "--long", "windows"],
        ),
        ("laya, strict", vec!["--judge-provider", "laya", "--judge-model", &laya, "--strict"]),
    ];
    let model = shell::tiny("judges_leave_nothing", "qwen2-plain");
    let model = model.map(|path| path.display().to_string());
    if let Some(model) = &model {
        readers.push(("gguf", vec!["--judge-model", model]));
        readers.push(("gguf, windows", vec!["--judge-model", model, "--long", "windows"]));
    }
    let question = ["-Q", "in/q.json"];
    let cases: [(&str, &[&str], &str); 6] = [
        ("answers", &question, &state),
        ("too long", &question, &long),
        ("a state that is no JSON", &["-Q", "in/q.json", "--json-state"], &json),
        ("questions that are no JSON", &["-Q", "in/bad.json"], &state),
        ("an unknown key", &["-Q", "in/key.json"], &state),
        ("a path that leads nowhere", &["--whether", "¿Está `a.b` ahí?"], &state),
    ];
    for (reader, own) in &readers {
        for (name, args, text) in &cases {
            for more in [&[][..], &["-v"], &["--json"]] {
                let args = [&["judge"][..], own, args, more].concat();
                let ran = shell.pipe(&args, text.as_bytes());
                let name = format!("{reader}, {name}, {more:?}");
                assert!(matches!(ran.code, Some(2..=4)), "{name}: {:?} {}", ran.code, ran.err);
                nothing_is_left(&name, &shell, &ran, &word);
                assert!(!holds(ran.out().as_bytes(), &word), "{name}: {}", ran.out());
            }
        }
    }
}

#[test]
fn artefacts_and_batches_of_judges_hold_no_text() {
    let word = canary();
    let shell = shell(&word);
    fs::write(shell.path().join("in/l.jsonl"), records(&word, true)).unwrap();
    fs::write(shell.path().join("in/r.jsonl"), records(&word, false)).unwrap();
    let bad = format!("{{\"state\": \"{word}\"\n{{\"state\": 3, \"{word}\": 1}}\n");
    fs::write(shell.path().join("in/bad.jsonl"), bad).unwrap();
    let mock = ["--judge-provider", "mock"];
    let cases: [(&str, &[&str], &[i32]); 5] = [
        ("gate", &["gate", "fit", "--risk", "0.1", "--data", "in/l.jsonl", "-o", "g"], &[0]),
        (
            "calibration",
            &["judge", "calibrate", "--data", "in/l.jsonl", "-o", "c", "--report", "r"],
            &[0, 1],
        ),
        ("batch", &["judge", "run", "--gate", "g", "--in", "in/r.jsonl", "--out", "out"], &[0]),
        (
            "bad lines",
            &["judge", "run", "--gate", "g", "--in", "in/bad.jsonl", "--out", "o2"],
            &[5],
        ),
        (
            "bad labels",
            &["gate", "fit", "--risk", "0.1", "--data", "in/bad.jsonl", "-o", "h"],
            &[2],
        ),
    ];
    for (name, args, codes) in cases {
        let ran = shell.run(&[args, &mock].concat());
        assert!(
            codes.iter().any(|code| ran.code == Some(*code)),
            "{name}: {:?} {}",
            ran.code,
            ran.err
        );
        nothing_is_left(name, &shell, &ran, &word);
        assert!(!holds(ran.out().as_bytes(), &word), "{name}: {}", ran.out());
    }
    assert!(shell.path().join("out/decided.jsonl").exists(), "a batch was searched");
}

/// A service that tells everything it was sent leaves no word of it here either.
#[cfg(feature = "remote")]
#[test]
fn a_service_that_tells_all_it_was_sent() {
    use recinto_testkit::service::{Act, Service};

    let word = canary();
    let page = |status: u16, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} X\r\nconnection: close\r\nretry-after-ms: 1\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let said = [
        (400, format!("{{\"message\":\"the value {word} of the state is too long\"}}")),
        (401, format!("{{\"error\":\"the key {word} is not allowed\"}}")),
        (422, format!("{{\"detail\":[{{\"loc\":[\"body\",\"{word}\"],\"msg\":\"bad {word}\"}}]}}")),
        (500, word.clone()),
        (200, format!("{{\"answers\":{{\"q1\":{{\"type\":\"{word}\"}}}},\"model\":\"{word}\"}}")),
        (200, word.clone()),
    ];
    for (status, body) in said {
        let service = Service::start(vec![Act::Send(page(status, &body).into_bytes())]);
        let shell = shell(&word)
            .env("RECINTO_JUDGE_PROVIDER", "hosted")
            .env("RECINTO_JUDGE_MODEL", "jev-1.13.0")
            .env("RECINTO_JUDGE_BASE_URL", &format!("http://{}", service.host()))
            .env("RECINTO_JUDGE_API_KEY", &word.replace('ñ', "n"));
        shell.write("recinto.toml", service.policy("typesafe"));
        fs::write(shell.path().join("in/q.json"), questions(&word)).unwrap();
        for more in [&[][..], &["-v"], &["--json"]] {
            let args = [&["judge", "-Q", "in/q.json"][..], more].concat();
            let ran = shell.pipe(&args, format!("¿{word}?").as_bytes());
            let name = format!("{status} {more:?}");
            assert_eq!(ran.code, Some(4), "{name}: {}", ran.err);
            nothing_is_left(&name, &shell, &ran, &word);
            assert!(!holds(ran.out().as_bytes(), &word), "{name}: {}", ran.out());
        }
        assert!(!service.seen().is_empty(), "it was asked");
    }
}
