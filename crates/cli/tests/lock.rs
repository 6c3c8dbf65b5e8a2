//! The lock file, files that others may change, and files that change, as a shell sees them.

use crate::shell;

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
    thread,
    time::Duration,
};

use shell::{Ran, Shell};

/// A user number that the tests do not run as.
const SOMEBODY: u32 = 64_242;

/// Something that happens to a file, named.
type Change<'c> = (&'c str, &'c dyn Fn(&Path));

/// A shell with `model` as `modelo.gguf` in its folder.
fn with(test: &str, model: &str) -> Option<Shell> {
    let model = shell::tiny(test, model)?;
    let shell = Shell::new();
    fs::copy(model, shell.path().join("modelo.gguf")).unwrap();
    Some(shell)
}

fn ask(shell: &Shell, more: &[&str]) -> Ran {
    let args = ["ask", "--max-tokens", "2", "--seed", "7", "¿Qué tal?"];
    let named = more.contains(&"-m");
    let model: &[&str] = if named { &[] } else { &["-m", "./modelo.gguf"] };
    shell.run(&[&args, model, more].concat())
}

fn lock(shell: &Shell, args: &[&str]) -> Ran {
    let ran = shell.run(&[&["lock"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

/// Flips one bit of the last byte, which is a weight's.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all(&bytes).unwrap();
}

fn digest(path: &Path) -> String {
    let ran = std::process::Command::new("sha256sum").arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    text.trim_start_matches('\\').split_whitespace().next().unwrap().to_owned()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_changed_byte_does_not_start() {
    let Some(shell) = with("a_changed_byte_does_not_start", "qwen2-plain") else { return };
    let model = shell.path().join("modelo.gguf");
    let file = shell.path().join("recinto.lock");
    let ran = lock(&shell, &["./modelo.gguf"]);
    assert!(ran.out().contains("recinto.lock: 1 model\n  ./modelo.gguf"), "{}", ran.out());
    assert!(ran.out().ends_with(" new\n"), "{}", ran.out());
    let text = fs::read_to_string(&file).unwrap();
    let good = digest(&model);
    assert!(text.contains(&format!("\"digest\": \"sha256:{good}\"")), "{text}");
    assert!(lock(&shell, &["./modelo.gguf"]).out().ends_with(" as it was\n"));
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "the same bytes again");

    let ran = ask(&shell, &["--json", "--receipt", "r.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    assert_eq!(json["digests"]["weights_origin"], "computed");
    let claims = json["digests"]["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 4, "{json}");
    assert!(claims.iter().all(|claim| claim["by"] == "lock" && claim["match"] == true), "{json}");
    assert_eq!(claims[0]["digest"], format!("sha256:{good}"));
    let receipt = fs::read(shell.path().join("r.json")).unwrap();
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(receipt["model"]["claims"], json["digests"]["claims"]);
    let json = ask(&shell, &["--json"]).json();
    assert_eq!(json["digests"]["weights_origin"], "computed", "a lock does not take a known one");
    let json = ask(&shell, &["--json", "--verify", "cached"]).json();
    assert_eq!(json["digests"]["claims"][0]["match"], true);
    let ran = shell.run(&["status", "-m", "./modelo.gguf"]);
    let shown = file.display();
    assert!(ran.out().contains(&format!("verify        always ({shown})\n")), "{}", ran.out());
    assert!(ran.out().contains(&format!("lock          {shown} (default)\n")), "{}", ran.out());
    assert!(ran.out().contains("claims        weights matches (lock), tokenizer"), "{}", ran.out());

    flip(&model);
    let bad = digest(&model);
    for more in [&[][..], &["--pin", "memory"], &["--allow-mismatch"], &["-m", "modelo.gguf"]] {
        let ran = ask(&shell, more);
        assert_eq!((ran.code, ran.out()), (Some(4), ""), "{more:?}: {}", ran.err);
        let both = format!("weights sha256:{bad}, and the lock file says sha256:{good}");
        assert!(ran.err.contains(&both), "{more:?}: {}", ran.err);
    }
    let ran = ask(&shell, &["--json"]);
    assert_eq!(ran.json()["error"]["kind"], "mismatch");
    assert!(ran.json().get("text").is_none());
    let ran = shell.pipe(&["chat", "-m", "./modelo.gguf", "--max-tokens", "2"], b"hola\nhola\n");
    assert_eq!((ran.code, ran.out()), (Some(4), ""), "{}", ran.err);
    for command in [&["status"][..], &["bench", "--no-start", "--prompt", "4", "--generate", "2"]] {
        let ran = shell.run(&[command, &["-m", "./modelo.gguf"]].concat());
        assert_eq!(ran.code, Some(4), "{command:?}: {}", ran.err);
        assert!(ran.err.contains("is not what it should be"), "{command:?}: {}", ran.err);
    }
    let ran = shell.run(&["lock", "--check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out().contains("NOT as it is locked\n  weights       "), "{}", ran.out());
    assert!(ran.out().contains(&bad) && ran.out().contains(&good), "{}", ran.out());
    let json = shell.run(&["lock", "--check", "--json"]).json();
    assert_eq!((&json["ok"], &json["error"]["kind"]), (&false.into(), &"check".into()));
    let parts = json["models"][0]["parts"].as_array().unwrap();
    let changed = parts.iter().filter(|part| part["match"] == false);
    assert_eq!(changed.map(|part| part["part"].clone()).collect::<Vec<_>>(), ["weights"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "nothing is changed by a check");
    assert_eq!(ask(&shell, &["--no-lock"]).code, Some(0));
    let none = Shell::new().env("RECINTO_LOCK", "none");
    assert_eq!(ask(&none, &["-m", model.to_str().unwrap()]).code, Some(0));

    assert!(lock(&shell, &["./modelo.gguf"]).out().ends_with(" changed\n"));
    assert_eq!(ask(&shell, &[]).code, Some(0), "the change is accepted");
    assert_eq!(shell.run(&["lock", "--check"]).code, Some(0));
    assert_eq!(shell.run(&["lock", "--check", "--json"]).json()["ok"], true);
}

/// A copy of `model` in which `from` is `to`, of the same length.
fn changed(model: &Path, from: &str, to: &str) {
    let mut bytes = fs::read(model).unwrap();
    let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).expect(from);
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    fs::write(model, bytes).unwrap();
}

#[test]
fn the_part_that_changed_is_named() {
    let Some(shell) = with("the_part_that_changed_is_named", "qwen2-plain") else { return };
    let model = shell.path().join("modelo.gguf");
    fs::create_dir(shell.path().join("archs")).unwrap();
    let text = shell.run(&["arch", "show", "qwen2"]).out;
    let arch = shell.write("archs/qwen2.arch", &text);
    let dir = ["--arch-dir", "archs"];
    lock(&shell, &[&["./modelo.gguf"], &dir[..]].concat());
    assert_eq!(ask(&shell, &dir).code, Some(0));
    let good = fs::read(&model).unwrap();
    let comment = [&text[..], "# ñ\n".as_bytes()].concat();
    let cases: [(&str, &dyn Fn()); 3] = [
        ("architecture", &|| fs::write(&arch, &comment).unwrap()),
        ("template", &|| changed(&model, "{%- endfor -%}", "{%-  endfor-%}")),
        ("tokenizer", &|| changed(&model, "tokenizer.ggml.pre", "tokenizer.ggml.prx")),
    ];
    for (part, change) in cases {
        fs::write(&arch, &text).unwrap();
        fs::write(&model, &good).unwrap();
        change();
        let ran = ask(&shell, &dir);
        assert_eq!((ran.code, ran.out()), (Some(4), ""), "{part}: {}", ran.err);
        assert!(ran.err.contains(&format!("{part} sha256:")), "{part}: {}", ran.err);
        let json = shell.run(&[&["lock", "--check", "--json"], &dir[..]].concat()).json();
        let parts = json["models"][0]["parts"].as_array().unwrap();
        let changed = parts.iter().filter(|row| row["match"] == false);
        let changed: Vec<_> = changed.map(|row| row["part"].as_str().unwrap()).collect();
        assert!(changed.contains(&part), "{part}: {changed:?}");
        assert_eq!(changed.contains(&"weights"), part != "architecture", "{changed:?}");
    }
}

#[test]
fn names_that_are_not_in_it() {
    let Some(shell) = with("names_that_are_not_in_it", "qwen2-plain") else { return };
    let other = shell::tiny("names_that_are_not_in_it", "llama-plain").unwrap();
    fs::copy(other, shell.path().join("otro.gguf")).unwrap();
    lock(&shell, &["./modelo.gguf"]);
    let ran = ask(&shell, &["-m", "otro.gguf"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("note: otro.gguf is not in "), "{}", ran.err);
    let json = ask(&shell, &["-m", "otro.gguf", "--json"]).json();
    assert!(json["warnings"][0].as_str().unwrap().contains("otro.gguf is not in "), "{json}");
    assert_eq!(ask(&shell, &["--json"]).json()["warnings"], serde_json::json!([]));

    lock(&shell, &["./modelo.gguf", "--strict"]);
    let ran = ask(&shell, &["-m", "otro.gguf"]);
    assert_eq!((ran.code, ran.out()), (Some(4), ""), "{}", ran.err);
    assert!(ran.err.contains("otro.gguf is not in ") && ran.err.contains("which is strict"));
    assert_eq!(ask(&shell, &["-m", "otro.gguf", "--json"]).json()["error"]["kind"], "lock");
    assert_eq!(ask(&shell, &[]).code, Some(0));
    let json = ask(&shell, &["--json", "--verify", "cached"]).json();
    assert_eq!(json["digests"]["weights_origin"], "computed", "a strict lock computes");
    assert_eq!(ask(&shell, &["-m", "otro.gguf", "--no-lock"]).code, Some(0));

    let ran = lock(&shell, &["./modelo.gguf", "./otro.gguf", "--json"]);
    assert_eq!(ran.json()["strict"], true, "it stays strict");
    assert_eq!(ran.json()["models"].as_object().unwrap().len(), 2);
    assert_eq!(ask(&shell, &["-m", "otro.gguf"]).code, Some(0));
    lock(&shell, &["--remove", "./otro.gguf"]);
    let ran = shell.run(&["lock", "--remove", "./otro.gguf"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("is not in ") && ran.err.contains("in it: ./modelo.gguf"));
    let ran = lock(&shell, &["--no-strict"]);
    assert!(ran.out().contains("recinto.lock: 1 model\n"), "{}", ran.out());
    assert_eq!(ask(&shell, &["-m", "otro.gguf"]).code, Some(0));
    fs::remove_file(shell.path().join("modelo.gguf")).unwrap();
    let ran = shell.run(&["lock", "--check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out().contains("cannot be opened\n"), "{}", ran.out());
}

#[test]
fn locks_that_are_not_believed() {
    let Some(shell) = with("locks_that_are_not_believed", "qwen2-plain") else { return };
    let file = shell.path().join("recinto.lock");
    lock(&shell, &["./modelo.gguf"]);
    let good = fs::read_to_string(&file).unwrap();
    let cases = [
        ("for everybody", good.clone(), 0o666, "others may write to it (mode 0666)"),
        ("another file", "hola canary\n".into(), 0o644, "not a lock file (line 1"),
        ("edited", good.replace(": false", ":false"), 0o644, "not as `recinto lock` writes it"),
        ("newer", good.replace("lock\": 1", "lock\": 2"), 0o644, "a lock file of version 2"),
    ];
    for (name, text, mode, part) in cases {
        fs::write(&file, text).unwrap();
        chmod(&file, mode);
        for args in [&["ask", "hola"][..], &["status"], &["lock"], &["lock", "--check"]] {
            let ran = shell.run(&[args, &["-m", "./modelo.gguf"]].concat());
            assert_eq!(ran.code, Some(2), "{name}, {args:?}: {}", ran.err);
            assert!(ran.err.contains(part) && !ran.err.contains("canary"), "{name}: {}", ran.err);
        }
        assert_eq!(ask(&shell, &["--no-lock"]).code, Some(0), "{name}");
        chmod(&file, 0o644);
    }
    fs::write(&file, &good).unwrap();
    let elsewhere = Shell::new().env("RECINTO_LOCK", file.to_str().unwrap());
    let model = shell.path().join("modelo.gguf");
    let ran = ask(&elsewhere, &["--json", "-m", model.to_str().unwrap()]);
    assert_eq!(ran.json()["digests"]["claims"][0]["by"], "lock", "another name of the file");
    let ran = ask(&elsewhere, &["--lock", "none.lock", "-m", model.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "one that is named must be there: {}", ran.err);
    let ran = elsewhere.run(&["lock", "--no-lock", "-m", model.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    if std::os::unix::fs::chown(&file, Some(SOMEBODY), None).is_ok() {
        let ran = ask(&shell, &[]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("owned by another user"), "{}", ran.err);
    }
}

#[test]
fn files_that_others_may_change() {
    let Some(shell) = with("files_that_others_may_change", "qwen2-plain") else { return };
    fs::create_dir(shell.path().join("archs")).unwrap();
    let text = shell.run(&["arch", "show", "qwen2"]).out;
    let arch = shell.write("archs/qwen2.arch", text);
    let (model, folder) = (shell.path().join("modelo.gguf"), shell.path().join("archs"));
    let dir = ["--arch-dir", "archs"];
    lock(&shell, &[&["./modelo.gguf", "--strict"], &dir[..]].concat());
    let cases = [
        (&model, 0o666, 0o644, "modelo.gguf: everybody may write to it (mode 0666)"),
        (&arch, 0o646, 0o644, "qwen2.arch: everybody may write to it (mode 0646)"),
        (&folder, 0o777, 0o755, "archs: everybody may replace what is in this folder (mode 0777)"),
    ];
    for (path, open, closed, part) in cases {
        assert_eq!(ask(&shell, &dir).code, Some(0), "{part}");
        chmod(path, open);
        let ran = ask(&shell, &dir);
        assert_eq!((ran.code, ran.out()), (Some(4), ""), "{part}: {}", ran.err);
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
        let json = shell.run(&[&["lock", "--check", "--json"], &dir[..]].concat()).json();
        assert_eq!(json["ok"], false, "{part}");
        let more = [&dir[..], &["--no-lock"]].concat();
        let ran = ask(&shell, &more);
        assert_eq!(ran.code, Some(0), "{part}: {}", ran.err);
        assert!(
            ran.err.lines().any(|l| l.starts_with("note: ") && l.contains(part)),
            "{}",
            ran.err
        );
        let json = ask(&shell, &[&more[..], &["--json"]].concat()).json();
        assert!(json["warnings"][0].as_str().unwrap().contains(part), "{json}");
        let status = [&["status", "-m", "./modelo.gguf", "--no-lock"], &dir[..]].concat();
        let ran = shell.run(&status);
        assert!(
            ran.out().contains("\nwarning       ") && ran.out().contains(part),
            "{}",
            ran.out()
        );
        let json = shell.run(&[&status[..], &["--json"]].concat()).json();
        assert!(json["opened"]["warnings"][0].as_str().unwrap().contains(part), "{json}");
        chmod(path, closed);
    }
}

/// Texts and ids that a changed part makes are not shown either.
#[test]
fn what_computes_nothing_is_held_to_the_lock_too() {
    let test = "what_computes_nothing_is_held_to_the_lock_too";
    let Some(shell) = with(test, "qwen2-plain") else { return };
    let model = shell.path().join("modelo.gguf");
    lock(&shell, &["./modelo.gguf"]);
    let good = fs::read(&model).unwrap();
    let commands: [&[&str]; 3] =
        [&["render", "¿Qué tal?"], &["render", "--json", "hola"], &["tokenize", "¿Qué tal?"]];
    let run = |command: &[&str], more: &[&str]| {
        shell.run(&[command, &["-m", "modelo.gguf"], more].concat())
    };
    for command in commands {
        assert_eq!(run(command, &[]).code, Some(0), "{command:?}");
    }
    let changes: [(&str, &str, &str, &[&str]); 2] = [
        ("template", "{%- endfor -%}", "{%-  endfor-%}", &["render"]),
        ("tokenizer", "tokenizer.ggml.merges", "tokenizer.ggml.mergez", &["tokenize"]),
    ];
    for (part, from, to, held) in changes {
        fs::write(&model, &good).unwrap();
        changed(&model, from, to);
        for command in commands.iter().filter(|command| held.contains(&command[0])) {
            let ran = run(command, &[]);
            assert_eq!(ran.code, Some(4), "{part}, {command:?}: {}", ran.err);
            let text = format!("{}{}", ran.out(), ran.err);
            assert!(text.contains(&format!("{part} sha256:")), "{part}, {command:?}: {text}");
            assert!(!ran.out().contains("Qu\u{e9} tal"), "{part}, {command:?}: {}", ran.out());
        }
    }
    fs::write(&model, &good).unwrap();
    fs::copy(&model, shell.path().join("otro.gguf")).unwrap();
    lock(&shell, &["--strict"]);
    let ran = shell.run(&["tokenize", "-m", "otro.gguf", "hola"]);
    assert_eq!((ran.code, ran.out()), (Some(4), ""), "{}", ran.err);
    assert!(ran.err.contains("which is strict"), "{}", ran.err);
    assert_eq!(shell.run(&["tokenize", "-m", "otro.gguf", "--no-lock", "hola"]).code, Some(0));
}

/// What to do where there is no lock, or none is wanted, fits what was said and where.
#[test]
fn hints_fit_the_source() {
    let Some(shell) = with("hints_fit_the_source", "qwen2-plain") else { return };
    let refused = |shell: &Shell, args: &[&str], parts: &[&str]| {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        parts.iter().for_each(|part| assert!(ran.err.contains(part), "{args:?}: {}", ran.err));
    };
    refused(&shell, &["lock", "--check"], &["there is no lock file", "`recinto lock NAME` makes"]);
    refused(&shell, &["lock", "--remove", "x"], &["there is no lock file"]);
    let away = ["no lock file is wanted: `none` (--lock)", "leave `--no-lock`"];
    refused(&shell, &["lock", "--check", "--no-lock"], &away);
    let gone = ["--lock: ", "nada.lock: cannot read it", "`--no-lock` runs without it"];
    refused(&shell, &["ask", "-m", "modelo.gguf", "--lock", "nada.lock", "hola"], &gone);
    shell.write(".env", "RECINTO_LOCK=none\n");
    refused(&shell, &["lock"], &["(", ".env, line 1)", "take it out of ", "`--lock FILE`"]);
    shell.write(".env", "RECINTO_LOCK=nada.lock\n");
    let ask = ["ask", "-m", "modelo.gguf", "hola"];
    refused(&shell, &ask, &[".env, line 1: ", "nada.lock: cannot read it"]);
    let other = Shell::new().env("RECINTO_LOCK", "none");
    refused(&other, &["lock"], &["(environment, RECINTO_LOCK)", "unset RECINTO_LOCK"]);
    fs::remove_file(shell.path().join(".env")).unwrap();

    lock(&shell, &["./modelo.gguf"]);
    lock(&shell, &["--remove", "./modelo.gguf"]);
    let ran = lock(&shell, &["--strict"]);
    assert!(ran.out().contains("recinto.lock: strict, no models\n"), "{}", ran.out());
    assert!(ran.err.contains("nothing runs under a strict lock without models"), "{}", ran.err);
    let ran = shell.run(&["lock", "--check"]);
    assert!(ran.out().contains("no models in it, and it is strict"), "{}", ran.out());
    let ran = shell.run(&ask);
    assert_eq!((ran.code, ran.out()), (Some(4), ""), "{}", ran.err);
    assert!(ran.err.contains("is strict and has no model in it"), "{}", ran.err);
}

/// PRV-01: a blob whose name is its SHA-256.
#[test]
fn a_blob_must_be_what_its_name_says() {
    let test = "a_blob_must_be_what_its_name_says";
    let Some(source) = shell::tiny(test, "qwen2-plain") else { return };
    let good = digest(&source);
    for name in [format!("sha256-{good}"), good.clone()] {
        let shell = Shell::new();
        fs::create_dir(shell.path().join("blobs")).unwrap();
        let blob = shell.path().join("blobs").join(&name);
        fs::copy(&source, &blob).unwrap();
        let link = shell.path().join("snapshot.gguf");
        std::os::unix::fs::symlink(&blob, &link).unwrap();
        let shown = format!("sha256:{good}");
        for model in [&blob, &link] {
            let json = ask(&shell, &["-m", model.to_str().unwrap(), "--json"]).json();
            let want = serde_json::json!([
                {"by": "store", "part": "weights", "digest": shown, "match": true}
            ]);
            assert_eq!(json["digests"]["claims"], want, "{name}");
        }
        flip(&blob);
        let bad = digest(&blob);
        let model = link.to_str().unwrap();
        let ran = ask(&shell, &["-m", model]);
        assert_eq!((ran.code, ran.out()), (Some(4), ""), "{name}: {}", ran.err);
        assert!(ran.err.contains(&good) && ran.err.contains(&bad), "{name}: {}", ran.err);
        assert!(ran.err.contains("`--allow-mismatch` uses it as it is"), "{}", ran.err);
        let ran = ask(&shell, &["-m", model, "--allow-mismatch", "--receipt", "r.json"]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        assert!(ran.err.contains("note: let pass although it does not match"), "{}", ran.err);
        let receipt = fs::read(shell.path().join("r.json")).unwrap();
        let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
        assert_eq!(receipt["model"]["claims"][0]["match"], false);
        assert_eq!(receipt["model"]["digest"], format!("sha256:{bad}"));
    }
}

#[test]
fn a_file_that_changes_under_way_ends_with_an_error() {
    let test = "a_file_that_changes_under_way_ends_with_an_error";
    let Some(source) = shell::tiny(test, "qwen2-plain") else { return };
    let changes: [Change<'_>; 4] = [
        ("written to", &flip),
        ("cut by a byte", &|path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }),
        ("cut to nothing", &|path| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
        }),
        ("replaced", &|path| {
            let next = path.with_extension("new");
            fs::copy(path, &next).unwrap();
            fs::rename(next, path).unwrap();
        }),
    ];
    for (name, change) in changes {
        for json in [false, true] {
            let shell = Shell::new();
            let copy = shell.path().join("modelo.gguf");
            fs::copy(&source, &copy).unwrap();
            let args = ["chat", "-m", "modelo.gguf", "--max-tokens", "3", "--seed", "7"];
            let args = [&args[..], if json { &["--json"] } else { &[] }].concat();
            let mut child = shell.command(&args).stdin(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all("¿hola?\n".as_bytes()).unwrap();
            // The answer is there: the model is open and has been read.
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
            thread::sleep(Duration::from_millis(300));
            change(&copy);
            stdin.write_all("¿sigues ahí?\n".as_bytes()).unwrap();
            drop(stdin);
            let ran = shell::finish(child);
            assert_eq!((ran.code, ran.signal), (Some(4), None), "{name}: {}", ran.err);
            let cut = "error: the model file was cut short while it was in use\n";
            let said = ran.err.contains("changed or was replaced while it was in use")
                || ran.err.ends_with(cut);
            assert!(said, "{name}: {}", ran.err);
            // What is left on stdout is the rest of the first answer, and no second one.
            let out = String::from_utf8_lossy(&ran.out);
            let answers = out.lines().filter(|line| line.contains("\"finish\"")).count();
            assert!(answers <= usize::from(json), "{name}: {out}");
        }
    }
}

/// Copies the folder `from` of the golden files, with what is in it.
fn copy(from: &str, to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(from);
    let mut folders = vec![(from, to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(&from).unwrap() {
            let path = entry.unwrap().path();
            let target = to.join(path.file_name().unwrap());
            match path.is_dir() {
                true => folders.push((path, target)),
                false => fs::write(target, fs::read(path).unwrap()).unwrap(),
            }
        }
    }
}

/// Makes a change of one byte that leaves the file readable: white space, or a weight's last bit.
fn touch(path: &Path) {
    match path.extension().is_some_and(|end| end == "json") {
        true => {
            let mut bytes = fs::read(path).unwrap();
            let last = bytes.iter().rposition(|byte| *byte == b'}').unwrap();
            bytes.insert(last, b' ');
            fs::write(path, bytes).unwrap();
        }
        false => flip(path),
    }
}

#[test]
fn encoders_and_judges_are_locked() {
    let shell = Shell::new();
    copy("embed/tiny-bert", &shell.path().join("bert"));
    copy("laya/ckpt", &shell.path().join("laya"));
    let text = shell.write("texto", "Está roto");
    let text = text.to_str().unwrap();
    let embed = ["embed", "-m", "./bert", "¿Dónde está?"];
    let laya = ["--judge-provider", "laya", "--judge-model", "./laya"];
    let judge = [&["judge"][..], &laya, &["--whether", "¿Es urgente?", "-f", text]].concat();
    let runs: [(&str, &[&str], &[&str]); 2] = [
        ("./bert", &embed, &["model.safetensors", "tokenizer.json", "config.json", "modules.json"]),
        ("./laya", &judge, &["model.safetensors", "rl_agent_config.json", "encoder/config.json"]),
    ];
    // A strict lock lets nothing run that is not in it.
    let before = runs.map(|(_, command, _)| shell.run(command));
    for ((name, command, files), before) in runs.into_iter().zip(before) {
        lock(&shell, &[name, "--strict"]);
        let written = fs::read_to_string(shell.path().join("recinto.lock")).unwrap();
        for file in files {
            let last = Path::new(file).file_name().unwrap().to_str().unwrap();
            assert!(written.contains(&format!("\"file\": \"{last}\"")), "{name}: {file}");
        }
        let ran = shell.run(command);
        assert_eq!(ran.code, before.code, "{name}: {}", ran.err);
        assert_eq!(ran.out(), before.out(), "{name}: the same under the lock");
        assert_eq!(shell.run(&["lock", "--check"]).code, Some(0), "{name}");
        for file in files {
            let path = shell.path().join(name).join(file);
            let (good, sound) = (digest(&path), fs::read(&path).unwrap());
            touch(&path);
            let bad = digest(&path);
            let ran = shell.run(command);
            assert_eq!((ran.code, ran.out()), (Some(4), ""), "{name}: {file}: {}", ran.err);
            // The vocabulary is compared before the files' digests are there.
            let both = match *file {
                "tokenizer.json" => "tokenizer sha256:".to_owned(),
                _ => format!("sha256:{bad}, and the lock file says sha256:{good}"),
            };
            assert!(ran.err.contains(&both), "{name}: {file}: {}", ran.err);
            assert!(ran.err.contains(", and the lock file says sha256:"), "{name}: {}", ran.err);
            let ran = shell.run(&["lock", "--check", name]);
            assert_eq!(ran.code, Some(1), "{name}: {file}: {}", ran.err);
            let shown = ran.out();
            assert!(shown.contains(&bad) && shown.contains(&good), "{name}: {file}: {shown}");
            fs::write(&path, sound).unwrap();
        }
        assert_eq!(shell.run(command).code, before.code, "{name}");
    }
    let json = shell.run(&["lock", "--check", "--json"]).json();
    assert_eq!((&json["ok"], json["models"].as_array().unwrap().len()), (&true.into(), 2));
}

/// Relative names in a lock begin at its folder, wherever a command runs.
#[test]
fn a_lock_in_another_folder_holds() {
    let Some(shell) = with("a_lock_in_another_folder_holds", "qwen2-plain") else { return };
    let other = shell::tiny("a_lock_in_another_folder_holds", "llama-plain").unwrap();
    let at = |name: &str| shell.path().join(name);
    fs::create_dir_all(at("sub/más hondo")).unwrap();
    fs::create_dir(at("junto")).unwrap();
    std::os::unix::fs::symlink("sub/más hondo", at("atajo")).unwrap();
    std::os::unix::fs::symlink("../sub", at("junto/enlace")).unwrap();
    fs::copy(&other, at("sub/n.gguf")).unwrap();
    fs::copy(&other, at("sub/más hondo/h.gguf")).unwrap();
    // The same name means another file there.
    fs::copy(&other, at("sub/modelo.gguf")).unwrap();
    lock(&shell, &["./modelo.gguf", "--strict"]);
    let within = |folder: &str, args: &[&str]| {
        let mut command = shell.command(args);
        command.current_dir(at(folder)).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        shell::finish(command.spawn().unwrap())
    };
    // Folder, lock, name as it is typed there, name in the lock.
    let cases = [
        ("sub", "../recinto.lock", "./n.gguf", "./sub/n.gguf"),
        ("sub", "../recinto.lock", "n.gguf", "./sub/n.gguf"),
        ("sub", "../recinto.lock", "path:n.gguf", "path:./sub/n.gguf"),
        ("junto", "../recinto.lock", "../sub/n.gguf", "./sub/n.gguf"),
        ("junto", "../recinto.lock", "enlace/../sub/n.gguf", "./sub/n.gguf"),
        ("junto/enlace", "../recinto.lock", "./n.gguf", "./sub/n.gguf"),
        ("atajo", "../../recinto.lock", "h.gguf", "./sub/más hondo/h.gguf"),
        (".", "junto/enlace/recinto.lock", "./modelo.gguf", "../modelo.gguf"),
        (".", "sub/recinto.lock", "./sub/n.gguf", "./n.gguf"),
        (".", "recinto.lock", "junto/../sub/n.gguf", "junto/../sub/n.gguf"),
    ];
    for (folder, file, typed, want) in cases {
        let case = format!("{typed} in {folder}");
        let ran = within(folder, &["lock", "--lock", file, typed, "--strict", "--json"]);
        assert_eq!(ran.code, Some(0), "{case}: {}", ran.err);
        let names: Vec<String> =
            ran.json()["models"].as_object().unwrap().keys().cloned().collect();
        assert!(names.iter().any(|name| name == want), "{case}: {names:?}");
        let whole = at(folder).join(typed.trim_start_matches("path:"));
        for folder in [folder, "junto", "sub"] {
            let lock = at(cases.iter().find(|row| row.1 == file).unwrap().0).join(file);
            let lock = lock.to_str().unwrap();
            let ran = within(folder, &["lock", "--check", "--lock", lock]);
            assert_eq!(ran.code, Some(0), "{case}: check from {folder}: {}", ran.out());
            let model = whole.to_str().unwrap();
            let args = ["ask", "--lock", lock, "-m", model, "--max-tokens", "1", "hola"];
            let ran = within(folder, &args);
            assert_eq!(ran.code, Some(0), "{case}: ask from {folder}: {}", ran.err);
        }
        let args = ["ask", "--lock", file, "-m", typed, "--max-tokens", "1", "hola"];
        let ran = within(folder, &args);
        assert_eq!(ran.code, Some(0), "{case}: {}", ran.err);
    }
    // The bytes count, by whichever name.
    let args = ["ask", "--lock", "../recinto.lock", "--max-tokens", "1", "hola", "-m"];
    let ran = within("sub", &[&args[..], &["modelo.gguf"]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("modelo.gguf is not in "), "{}", ran.err);
    flip(&at("sub/n.gguf"));
    for name in ["n.gguf", "./n.gguf", at("sub/n.gguf").to_str().unwrap(), "../sub/n.gguf"] {
        let ran = within("sub", &[&args[..], &[name]].concat());
        assert_eq!((ran.code, ran.out()), (Some(4), ""), "{name}: {}", ran.err);
        assert!(ran.err.contains("and the lock file says"), "{name}: {}", ran.err);
    }
    assert_eq!(within("sub", &["lock", "--check", "--lock", "../recinto.lock"]).code, Some(1));
    let ran = within("sub", &["lock", "--lock", "../recinto.lock", "--remove", "./n.gguf"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out().contains("  ./sub/n.gguf"), "{}", ran.out());
}

#[test]
fn a_damaged_lock_in_the_way_of_a_new_one() {
    let Some(shell) = with("a_damaged_lock_in_the_way_of_a_new_one", "qwen2-plain") else { return };
    let cases = [("cut", "{"), ("nothing", ""), ("newer", "{\"recinto_lock\": 9}\n")];
    for (name, text) in cases {
        shell.write("recinto.lock", text);
        chmod(&shell.path().join("recinto.lock"), 0o644);
        for args in [&["lock", "./modelo.gguf"][..], &["lock", "--check"]] {
            let ran = shell.run(args);
            assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
            assert!(!ran.err.contains("--no-lock"), "{name}: {}", ran.err);
            assert!(ran.err.contains("hint: move the file away"), "{name}: {}", ran.err);
        }
        assert!(ask(&shell, &[]).err.contains("--no-lock"), "{name}: which helps there");
    }
}
