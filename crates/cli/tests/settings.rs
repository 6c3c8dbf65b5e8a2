//! Where settings come from, and which `.env` files are believed.

mod shell;

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
    assert!(out.contains("model         not set\n.env          none read\n"), "{out}");
    assert!(err.starts_with("error: no model is set\n"), "{err}");

    let env = shell.write(".env", "OPENAI_API_KEY=sk-x\nRECINTO_MODEL=./file.gguf\n");
    let (out, _) = status(&shell, &[]);
    assert!(out.contains("provider      local (default)\n"), "a key chooses nobody: {out}");
    let shown = env.display();
    assert!(out.contains(&format!("model         ./file.gguf ({shown}, line 2)\n")), "{out}");
    assert!(out.contains(&format!(".env          {shown}\n")), "{out}");
    assert!(!out.contains("sk-x"), "{out}");

    let (out, _) = status(&shell, &["--no-env-file"]);
    assert!(out.contains("model         not set\n.env          none read\n"), "{out}");

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
