//! Help, exit codes and usage errors: what a person meets before any model is opened.

use crate::shell;

use shell::Shell;

const COMMANDS: [&str; 23] = [
    "ask",
    "chat",
    "decide",
    "extract",
    "complete",
    "score",
    "status",
    "doctor",
    "init",
    "models",
    "inspect",
    "tokenize",
    "embed",
    "quantize",
    "render",
    "judge",
    "gate",
    "lock",
    "arch",
    "egress",
    "bench",
    "profile",
    "completions",
];

#[test]
fn help_shows_the_exit_codes_of_the_docs() {
    let help = Shell::new().run(&["--help"]);
    assert_eq!(help.code, Some(0));
    let (_, table) = help.out().split_once("Exit codes:\n").expect("a table of exit codes");
    let shown: Vec<(u8, &str)> = table
        .lines()
        .filter_map(|line| {
            let (code, meaning) = line.trim().split_once("  ")?;
            Some((code.parse().ok()?, meaning.trim()))
        })
        .collect();
    let docs = include_str!("../../../docs/exit-codes.md");
    let documented: Vec<(u8, &str)> = docs
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            Some((cells.next()?.parse().ok()?, cells.next()?))
        })
        .collect();
    assert_eq!(shown, documented);
    let codes: Vec<u8> = shown.iter().map(|row| row.0).collect();
    assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
}

#[test]
fn every_command_has_help_with_examples() {
    let shell = Shell::new();
    let help = shell.run(&["--help"]);
    for command in COMMANDS {
        assert!(help.out().lines().any(|line| line.trim().starts_with(command)), "{command}");
        for args in [vec![command, "--help"], vec![command, "-h"]] {
            let ran = shell.run(&args);
            assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
            assert!(ran.out().contains("Examples:\n"), "{command}");
            assert!(ran.out().contains(&format!("recinto {command}")), "{command}");
            assert!(ran.out().lines().all(|line| line.chars().count() <= 120), "{command}");
            assert_eq!(ran.err, "", "{command}");
        }
    }
    for command in ["ask", "render", "tokenize"] {
        let ran = shell.run(&[command, "--help"]);
        let words: Vec<&str> = ran.out().split_whitespace().collect();
        assert!(words.join(" ").contains("users of this machine can see arguments"), "{command}");
    }
    for command in ["list", "show", "check"] {
        let ran = shell.run(&["arch", command, "--help"]);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
    }
}

#[test]
fn version_names_numerics_and_level() {
    for args in [["--version"], ["-V"]] {
        let ran = Shell::new().run(&args);
        assert_eq!(ran.code, Some(0));
        let want = format!("recinto {} (numerics ", env!("CARGO_PKG_VERSION"));
        assert!(ran.out().starts_with(&want), "{}", ran.out());
        assert!(ran.out().contains(", level "), "{}", ran.out());
    }
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = Shell::new().run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}: {}", ran.err);
        assert!(COMMANDS.iter().all(|command| ran.out().contains(command)), "{shell}");
    }
    let shell = Shell::new();
    let script = shell.write("c.bash", shell.run(&["completions", "bash"]).out);
    let checked = std::process::Command::new("bash").arg("-n").arg(script).status();
    assert!(checked.is_ok_and(|status| status.success()), "bash reads it");
}

#[test]
fn wrong_usage() {
    let shell = Shell::new();
    shell.write("m.gguf", "GGUF");
    shell.write("latin.txt", b"El ni\xf1o");
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("no command", &[], &["error: no command was given\nhint: `recinto --help`"]),
        ("unknown command", &["statu"], &["argument 1 is no command", "did you mean `status`?"]),
        ("question as command", &["¿Qué es?"], &["argument 1 is no command", "recinto ask"]),
        ("unquoted", &["ask", "uno", "dos"], &["argument 3 is not expected", "needs quotes"]),
        (
            "unknown flag",
            &["ask", "--modle", "x"],
            &["--modle (argument 2)", "did you mean `--model`?"],
        ),
        ("dash", &["ask", "-pregunta"], &["is not expected here"]),
        ("flag", &["ask", "--frobnicate"], &["--frobnicate (argument 2) is no flag", "--help`"]),
        ("not shown", &["ask", "--modle2"], &["error: argument 2 is not expected here"]),
        ("negative", &["ask", "a", "--seed", "-1"], &["--seed <N>", "whole number", "not below 0"]),
        ("negative", &["ask", "a", "--threads", "-1"], &["--threads: a number from 1 to 1024"]),
        ("negative", &["ask", "a", "--max-tokens", "-1"], &["--max-tokens <N>", "not below 0"]),
        ("negative", &["bench", "--repeat", "-1"], &["--repeat <R>", "not below 0"]),
        ("a number", &["ask", "a", "--temperature", "x"], &["--temperature <T>", "a number"]),
        ("stdin", &["ask", "-", "-", "-m", "m.gguf"], &["stdin is asked for twice"]),
        ("address", &["ask", "a", "-m", "https://u:p@h/m.gguf"], &["nothing is downloaded"]),
        ("address", &["inspect", "https://h/m.gguf"], &["nothing is downloaded", "the path"]),
        ("stdin", &["ask", "a", "-m", "-"], &["cannot be read from standard input"]),
        ("context", &["ask", "a", "-m", "m.gguf", "-o", "context=9"], &["`--context VALUE`"]),
        ("time", &["ask", "a", "-m", "m.gguf", "-o", "timeout=9"], &["`--timeout VALUE`"]),
        ("threads", &["ask", "a", "-m", "m.gguf", "-o", "threads=9"], &["`--threads VALUE`"]),
        ("setting", &["ask", "a", "-m", "m.gguf", "-o", "arch_dir=9"], &["`--arch-dir VALUE`"]),
        ("config", &["ask", "a", "--config", "no.toml"], &["no.toml: cannot read it"]),
        ("config", &["ask", "a", "--config", "x", "--no-config"], &["cannot stand together"]),
        ("eternity", &["ask", "a", "-m", "m.gguf", "--timeout", "1e30"], &["(a year)"]),
        ("eternity", &["ask", "a", "-m", "m.gguf", "--timeout", "inf"], &["(a year)"]),
        ("no value", &["ask", "a", "--seed"], &["error: --seed <N> needs a value"]),
        ("bad value", &["ask", "a", "--seed", "x"], &["the value of --seed <N> cannot be read"]),
        ("bad encoding", &["ask", "a", "--encoding", "x"], &["--encoding", "one of: utf-8"]),
        ("conflict", &["ask", "a", "-q", "-v"], &["cannot stand together"]),
        ("twice", &["ask", "a", "--seed", "1", "--seed", "2"], &["is given twice"]),
        ("two systems", &["ask", "a", "-s", "x", "--system-file", "y"], &["cannot stand"]),
        (
            "no model",
            &["ask", "a"],
            &["error: no model is set\nhint: ", "\nRECINTO_PROVIDER=local\nRECINTO_MODEL=/"],
        ),
        (
            "provider",
            &["ask", "a", "--provider", "opnai"],
            &["error: --provider: unknown provider `opnai`\nhint: known: local, mock, anthropic"],
        ),
        ("no name", &["ask", "-m", "a b", "a"], &["`a b` cannot be the name of", "recinto models"]),
        ("licences", &["ask", "a", "--licenses", "mit, a b"], &["--licenses: ids of licences"]),
        ("option", &["ask", "-m", "m.gguf", "a", "-o", "temp=1"], &["unknown option `temp`"]),
        ("option form", &["ask", "-m", "m.gguf", "a", "-o", "x"], &["-o needs KEY=VALUE"]),
        ("timeout", &["ask", "-m", "m.gguf", "a", "--timeout", "0"], &["--timeout must be"]),
        ("empty", &["ask", "-m", "m.gguf", ""], &["error: the text is empty"]),
        ("no file", &["ask", "-m", "m.gguf", "-f", "no.txt"], &["cannot read no.txt"]),
        ("folder", &["ask", "-m", "m.gguf", "-f", "."], &["it is a folder"]),
        (
            "latin-1",
            &["ask", "-m", "m.gguf", "-f", "latin.txt"],
            &["error: latin.txt: not UTF-8, at byte 5\nhint: `--encoding windows-1252`"],
        ),
        ("system", &["ask", "-m", "m.gguf", "a", "--system-file", "latin.txt"], &["byte 5"]),
        ("completion", &["ask", "-m", "m.gguf", "a", "-s", "b", "--completion"], &["no place"]),
        ("receipt", &["ask", "-m", "m.gguf", "a", "--receipt", "no/r"], &["no is missing"]),
        ("threads", &["ask", "a", "--threads", "0"], &["--threads: a number from 1 to 1024"]),
        ("level", &["ask", "a", "--level", "sse"], &["unknown level `sse`\nhint: known: portable"]),
        ("env file", &["ask", "a", "--env-file", "no.env"], &["no.env: cannot read it"]),
        ("bench", &["bench", "-m", "m.gguf", "--repeat", "0"], &["--repeat must be 1 or more"]),
        ("shell", &["completions", "tcsh"], &["one of: bash"]),
        ("arch", &["arch"], &["no command was given"]),
    ];
    for (name, args, parts) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
        assert_eq!(ran.out(), "", "{name}");
        assert!(ran.err.starts_with("error: "), "{name}: {}", ran.err);
        for part in *parts {
            assert!(ran.err.contains(part), "{name}: {part} not in: {}", ran.err);
        }
    }
}

#[test]
fn unavailable() {
    let shell = Shell::new();
    shell.write("short.gguf", "GGUF");
    shell.write("text.gguf", "hola");
    shell.write(
        "pointer.gguf",
        "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n",
    );
    let cases = [
        ("missing", "no.gguf", "does not exist\nhint: in that folder: "),
        (
            "bare name",
            "qwen3:0.6b",
            "`qwen3:0.6b`\nhint: nothing is downloaded; looked in\n  Ollama",
        ),
        ("folder", ".", "is a folder, not a .gguf file\nhint: its .gguf files: pointer.gguf"),
        ("truncated", "short.gguf", "truncated header"),
        ("not gguf", "text.gguf", "not a GGUF file"),
        ("pointer", "pointer.gguf", "this is a pointer, not the model"),
    ];
    for (name, model, part) in cases {
        let commands =
            ["ask", "status", "tokenize", "render", "chat", "bench", "inspect", "profile"];
        for command in commands {
            let args = match command {
                "inspect" | "profile" => vec![command, model],
                "status" | "chat" | "bench" => vec![command, "-m", model],
                _ => vec![command, "-m", model, "hola"],
            };
            let ran = shell.run(&args);
            assert_eq!(ran.code, Some(4), "{name}, {command}: {}", ran.err);
            assert!(ran.err.contains(part), "{name}, {command}: {part} not in: {}", ran.err);
        }
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let line = format!("{} --help | true; echo ${{PIPESTATUS[0]}}", shell::RECINTO);
    for _ in 0..5 {
        let ran = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "0");
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    }
}
