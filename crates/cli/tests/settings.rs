//! Where settings come from, and which `.env` files are believed.

use crate::shell;

use std::{fs, os::unix::fs::PermissionsExt};

use shell::Shell;

/// The first lines of `status`, which need no model that opens.
fn status(shell: &Shell, args: &[&str]) -> (String, String) {
    let ran = shell.run(&[&["status"], args].concat());
    assert_ne!(ran.code, Some(0), "no model here can be opened");
    (ran.out().to_owned(), ran.err)
}

#[test]
fn sources_are_shown() {
    let shell = Shell::new();
    let (out, err) = status(&shell, &[]);
    assert!(out.contains("provider      local (default)\n"), "{out}");
    let none = "model         not set\n";
    let read = ".env          none read\nrecinto.toml  none read\n";
    assert!(out.contains(none) && out.contains(read), "{out}");
    assert!(err.starts_with("error: no model is set\n"), "{err}");

    let env = shell.write(".env", "OPENAI_API_KEY=sk-x\nRECINTO_MODEL=./file.gguf\n");
    let (out, _) = status(&shell, &[]);
    assert!(out.contains("provider      local (default)\n"), "a key chooses nobody: {out}");
    let shown = env.display();
    assert!(out.contains(&format!("model         ./file.gguf ({shown}, line 2)\n")), "{out}");
    assert!(out.contains(&format!(".env          {shown}\n")), "{out}");
    assert!(!out.contains("sk-x"), "{out}");

    let secret = format!("secret        OPENAI_API_KEY is set ({shown}, line 1)");
    assert!(out.contains(&secret), "{out}");

    let (out, _) = status(&shell, &["--no-env-file"]);
    assert!(out.contains(none) && out.contains(read), "{out}");

    let shell = shell.env("RECINTO_MODEL", "./env.gguf").env("RECINTO_PROVIDER", "local");
    let (out, _) = status(&shell, &[]);
    assert!(out.contains("model         ./env.gguf (environment, RECINTO_MODEL)\n"), "{out}");
    assert!(out.contains("provider      local (environment, RECINTO_PROVIDER)\n"), "{out}");

    let (out, _) = status(&shell, &["--model", "./flag.gguf"]);
    assert!(out.contains("model         ./flag.gguf (--model)\n"), "{out}");

    let other = shell.write("other.env", "RECINTO_ARCH_DIR=archs\n");
    let (out, _) = status(&shell, &["--env-file", "other.env"]);
    assert!(out.contains(&format!(".env          {}\n", other.display())), "{out}");
    assert!(out.contains(&format!("archs ({}, line 1)", other.display())), "{out}");

    let ran = shell.run(&["status", "--json"]);
    let json = ran.json();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["can_answer"], false);
    assert_eq!(json["settings"]["model"]["source"], "environment, RECINTO_MODEL");
    assert_eq!(ran.code, Some(4));
}

#[test]
fn lines_of_recinto_toml_are_shown() {
    let shell = Shell::new();
    let text = "# año\nmodel = \"./m.gguf\"\n\n[options]\nseed = 7\nstop = [\"a\", \"b\"]\n";
    let project = shell.write("recinto.toml", text);
    std::fs::create_dir_all(shell.path().join(".config/recinto")).unwrap();
    let user = shell.write(".config/recinto/recinto.toml", "kv = \"f16\"\nthreads = 3\n");
    let (out, err) = status(&shell, &[]);
    let (project, user) = (project.display(), user.display());
    for line in [
        format!("model         ./m.gguf ({project}, line 2)\n"),
        format!("kv            f16 ({user}, line 1)\n"),
        format!("threads       3 ({user}, line 2)\n"),
        format!("seed          7 ({project}, line 5)\n"),
        format!("stop          a, b ({project}, line 6)\n"),
        format!("recinto.toml  {project}\nrecinto.toml  {user}\n"),
    ] {
        assert!(out.contains(&line), "{line} not in: {out}");
    }
    assert!(err.contains("m.gguf does not exist"), "{err}");
    let json = shell.run(&["status", "--json"]).json();
    let settings = &json["settings"];
    assert_eq!(settings["model"]["file"], project.to_string());
    assert_eq!(settings["model"]["line"], 2);
    assert_eq!(settings["options"]["seed"]["value"], "7");
    assert_eq!(settings["config_files"].as_array().unwrap().len(), 2);
    assert_eq!(settings["provider"]["value"], "local");
    assert!(settings["level"]["value"].is_null() && settings["level"]["file"].is_null());

    let (out, _) = status(&shell, &["--no-config"]);
    assert!(out.contains("model         not set\n") && !out.contains("seed"), "{out}");
    shell.write("otro.toml", "model = \"./otro.gguf\"\n");
    let (out, _) = status(&shell, &["--config", "otro.toml"]);
    assert!(out.contains("./otro.gguf (") && out.contains("otro.toml, line 1)"), "{out}");
}

#[test]
fn options_of_files_reach_the_answer() {
    let Some(model) = shell::tiny("options_of_files", "qwen2-plain") else { return };
    let shell = Shell::new().env("RECINTO_MODEL", model.to_str().unwrap());
    shell.write("recinto.toml", "[options]\nmax_tokens = 2\nstop = [\"ñ\"]\nseed = 5\n");
    let used = |args: &[&str]| {
        let ran = shell.run(&[&["ask", "hola", "--json"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let options = ran.json()["options"].clone();
        (options["max_tokens"].as_u64().unwrap(), options["stop"].to_string())
    };
    let cases: [(&str, &[&str], u64, &str); 5] = [
        ("the file", &[], 2, r#"["ñ"]"#),
        ("an option", &["-o", "max_tokens=3"], 3, r#"["ñ"]"#),
        ("a flag", &["--max-tokens", "1"], 1, r#"["ñ"]"#),
        ("a list replaces a list", &["--stop", "x", "-o", "stop=y"], 2, r#"["y","x"]"#),
        ("no file", &["--no-config", "--max-tokens", "4"], 4, "[]"),
    ];
    for (name, args, tokens, stop) in cases {
        assert_eq!(used(args), (tokens, stop.to_owned()), "{name}");
    }
    // A receipt does not replace a file of settings.
    let ran = shell.run(&["ask", "hola", "--receipt", "recinto.toml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("it is the same file as"), "{}", ran.err);
}

#[test]
fn faults_of_recinto_toml() {
    let cases = [
        (
            "key",
            "modle = \"x\"\n",
            "line 1, column 1: unknown key `modle`\nhint: the nearest is `model`",
        ),
        ("value", "\nthreads = \"dos\"\n", "line 2, column 11: threads: a number from 1 to 1024"),
        (
            "secret",
            "OPENAI_API_KEY = \"canary\"\n",
            "line 1, column 1: `OPENAI_API_KEY` is a secret",
        ),
        ("no TOML", "model = canary\n", "line 1, column"),
        (
            "options",
            "[options]\ntop_p = 7\n",
            "option `top_p` must be above 0 and at most 1, not `7`",
        ),
    ];
    for (name, text, part) in cases {
        let shell = Shell::new();
        shell.write("recinto.toml", text);
        for args in [&["status"][..], &["ask", "a"], &["arch", "list"], &["doctor"]] {
            let ran = shell.run(args);
            let doctor = args[0] == "doctor";
            assert_eq!(ran.code, Some(if doctor { 1 } else { 2 }), "{name}: {}", ran.err);
            let said = if doctor { ran.out().replace("\n", " ") } else { ran.err.clone() };
            let part = if doctor { part.split('\n').next().unwrap() } else { part };
            assert!(said.contains(part), "{name}: {part} not in: {said}");
            assert!(!said.contains("canary"), "{name}: {said}");
        }
    }
    let ran = Shell::new().env("RECINTO_TREADS", "2").run(&["status"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("unknown variable RECINTO_TREADS\nhint: the nearest is `RECINTO_THREADS`"),
        "{}",
        ran.err
    );
}

#[test]
fn init_writes_a_file_that_is_read() {
    for flags in [&[][..], &["--staging"]] {
        let shell = Shell::new();
        let ran = shell.run(&[&["init"], flags].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let path = shell.path().join("recinto.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(ran.out().starts_with(&path.display().to_string()), "{}", ran.out());
        let (out, _) = status(&shell, &[]);
        assert!(out.contains(&format!("recinto.toml  {}\n", path.display())), "{out}");
        let staging = !flags.is_empty();
        assert_eq!(out.contains("pin           memory ("), staging, "{out}");
        assert_eq!(out.contains("seed          1 ("), staging, "{out}");

        // Never again, whatever is asked.
        for again in [&["init"][..], &["init", "--staging"], &["init", "--json"]] {
            let ran = shell.run(again);
            assert_eq!(ran.code, Some(2), "{}", ran.err);
            assert!(ran.err.contains("is there and stays as it is"), "{}", ran.err);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(shell.run(&["init", "--force"]).code, Some(2));

        // Every line that is a comment now can be made a setting.
        let is_key = |line: &str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        let open: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                // A setting of another build.
                Some(inner) if inner.starts_with("trace_file") && !cfg!(feature = "otel") => {
                    format!("{line}\n")
                }
                Some(inner) if is_key(inner) => format!("{inner}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        shell.write("recinto.toml", &open);
        let json = shell.run(&["status", "--json"]).json();
        let settings = &json["settings"];
        assert_eq!(settings["threads"]["value"], "4", "{json}");
        let options = recinto_engine::Options::KEYS.len();
        assert_eq!(settings["options"].as_object().unwrap().len(), options, "{json}");
    }
    let shell = Shell::new();
    std::os::unix::fs::symlink("elsewhere.toml", shell.path().join("recinto.toml")).unwrap();
    assert_eq!(shell.run(&["init"]).code, Some(2), "a link that leads nowhere is there, too");
    assert!(!shell.path().join("elsewhere.toml").exists());
}

#[test]
fn which_files_are_believed() {
    let cases: &[(&str, &str, u32, Option<&str>)] = &[
        ("mine", "RECINTO_MODEL=./m.gguf\n", 0o600, None),
        ("mark and crlf", "\u{feff}RECINTO_MODEL=./m.gguf\r\n", 0o644, None),
        ("others may write", "RECINTO_MODEL=./m.gguf\n", 0o666, Some("others may write to it")),
        ("unknown key", "A=1\nRECINTO_MODLE=x\n", 0o600, Some("line 2: unknown key RECINTO_MODLE")),
        (
            "twice",
            "RECINTO_LEVEL=a\nRECINTO_LEVEL=b\n",
            0o600,
            Some("line 2: RECINTO_LEVEL is set"),
        ),
        (
            "no form",
            "RECINTO_MODEL=./m.gguf\nsecreto aquí\n",
            0o600,
            Some("line 2: not of the form"),
        ),
        ("bad value", "\nRECINTO_THREADS=many\n", 0o600, Some("line 2: RECINTO_THREADS: a number")),
    ];
    for (name, text, mode, refusal) in cases {
        let shell = Shell::new();
        let path = shell.write(".env", text);
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        let ran = shell.run(&["status"]);
        match refusal {
            Some(part) => {
                assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
                assert!(ran.err.contains(part), "{name}: {}", ran.err);
                assert!(!ran.err.contains("secreto"), "{name}: {}", ran.err);
                let ran = shell.run(&["status", "--no-env-file"]);
                assert!(ran.err.contains("no model is set"), "{name}: {}", ran.err);
            }
            None => {
                assert_eq!(ran.code, Some(4), "{name}: {}", ran.err);
                assert!(ran.err.contains("m.gguf does not exist"), "{name}: {}", ran.err);
            }
        }
    }
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    for key in ["sk-ant-0123456789abcdefghijkl", "clave con espacios", "a=b"] {
        let shell = Shell::new();
        shell.write(".env", format!("RECINTO_PROVIDER='{key}'\n"));
        let file = shell.run(&["status", "--json"]);
        let flag = shell.run(&["ask", "hola", "--no-env-file", "--provider", key]);
        let variable = shell.env("RECINTO_PROVIDER", key).run(&["status", "--no-env-file"]);
        for (name, ran) in [(".env", file), ("flag", flag), ("variable", variable)] {
            assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
            assert!(ran.err.contains("a value that is not a provider's name"), "{}", ran.err);
            assert!(!ran.err.contains(key) && !ran.out().contains(key), "{name}: {}", ran.err);
        }
    }
}

/// A user number that the tests do not run as.
const SOMEBODY: u32 = 64_242;

#[test]
fn a_file_of_somebody_else_is_refused() {
    let shell = Shell::new();
    let path = shell.write(".env", "RECINTO_MODEL=./m.gguf\n");
    if std::os::unix::fs::chown(&path, Some(SOMEBODY), None).is_err() {
        // Who is not root cannot give a file away; a file of root's is somebody else's then.
        fs::remove_file(&path).unwrap();
        let ran = shell.run(&["status", "--env-file", "/etc/hostname"]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("owned by another user"), "{}", ran.err);
        return;
    }
    let ran = shell.run(&["status"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("owned by another user"), "{}", ran.err);

    fs::remove_file(&path).unwrap();
    let target = shell.write("mine.env", "RECINTO_MODEL=./m.gguf\n");
    std::os::unix::fs::symlink(target, &path).unwrap();
    std::os::unix::fs::lchown(&path, Some(SOMEBODY), None).unwrap();
    let ran = shell.run(&["status"]);
    assert!(ran.err.contains("owned by another user"), "a link of theirs: {}", ran.err);
}

#[test]
fn only_the_working_directory() {
    let shell = Shell::new();
    shell.write(".env", "RECINTO_MODEL=./m.gguf\n");
    let below = shell.path().join("below");
    fs::create_dir(&below).unwrap();
    let ran = shell::finish(shell.command(&["status"]).current_dir(&below).spawn().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("no model is set"), "{}", ran.err);
}
