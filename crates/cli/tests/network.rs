//! No command that answers makes a socket: watched system call by system call.

mod shell;

use recinto_testkit::stores::Repository;
use shell::Shell;

fn has_strace() -> bool {
    let ran = std::process::Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    ran.is_ok_and(|output| output.status.success())
}

#[test]
fn no_network_call() {
    if !has_strace() {
        return recinto_testkit::skipped("no_network_call", "strace is missing or may not trace");
    }
    let shell = Shell::new().wrap(&["strace", "-f", "-e", "trace=network", "-o", "trace.txt"]);
    // The trace shows calls at all.
    let control = std::process::Command::new("strace")
        .args(["-f", "-e", "trace=network", "-o"])
        .arg(shell.path().join("control.txt"))
        .args(["bash", "-c", "exec 3<>/dev/udp/127.0.0.1/9"])
        .status();
    assert!(control.is_ok());
    let control = std::fs::read_to_string(shell.path().join("control.txt")).unwrap();
    assert!(control.contains("socket("), "the control makes a socket: {control}");
    let model = shell::tiny("no_network_call", "qwen2-plain")
        .or_else(|| shell::real("no_network_call", "smollm2-135m-instruct"));
    let Some(model) = model else { return };
    // A repository of the cache, by its name.
    let bytes = std::fs::read(&model).unwrap();
    let commit = "1".repeat(40);
    Repository::new(&shell.path().join(".cache/huggingface/hub"), "o/n")
        .reference("main", &commit)
        .file(&commit, "m.gguf", &bytes);
    let model = model.to_str().unwrap();
    let cases: [(&str, &[&str]); 10] = [
        ("ask", &["ask", "-m", model, "¿Qué tal?", "--max-tokens", "3"]),
        ("ask, json", &["ask", "-m", model, "hola", "--json", "--max-tokens", "3"]),
        ("status", &["status", "-m", model]),
        ("render", &["render", "-m", model, "hola"]),
        ("tokenize", &["tokenize", "-m", model, "hola"]),
        ("inspect", &["inspect", model]),
        ("ask by name", &["ask", "-m", "o/n", "hola", "--max-tokens", "3"]),
        ("inspect by name", &["inspect", "o/n"]),
        ("models", &["models"]),
        ("arch", &["arch", "list"]),
    ];
    for (name, args) in cases {
        let ran = shell.run(args);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let trace = std::fs::read_to_string(shell.path().join("trace.txt")).unwrap();
        let calls: Vec<&str> =
            trace.lines().filter(|line| !line.contains("+++") && !line.contains("---")).collect();
        assert!(trace.contains("+++ exited with 0 +++"), "{name}: {trace}");
        assert!(calls.is_empty(), "{name}: {calls:?}");
    }
}
