//! No command that answers makes a socket: watched system call by system call.

use crate::shell;

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
    // A judge of this process, whatever reads; without a gate a person looks (3).
    shell.write("t.txt", "¿Dónde está mi pedido?");
    let laya = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let laya = laya.join("../../tests/golden/laya/ckpt").display().to_string();
    let judge = |reader: &'static str, model: &'static str| -> Vec<&'static str> {
        let ask = ["--whether", "¿Es urgente?", "-f", "t.txt"];
        [&["judge", "--judge-provider", reader, "--judge-model", model][..], &ask].concat()
    };
    let laya: &'static str = laya.leak();
    let own: &'static str = model.to_owned().leak();
    let judges = [
        ("judge by letters", judge("gguf", own)),
        ("judge by an encoder", judge("laya", laya)),
        ("judge by words", judge("mock", "x")),
    ];
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
    let answers = cases.iter().map(|(name, args)| (*name, args.to_vec(), 0));
    let judges = judges.into_iter().map(|(name, args)| (name, args, 3));
    for (name, args, code) in answers.chain(judges) {
        let ran = shell.run(&args);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
        let trace = std::fs::read_to_string(shell.path().join("trace.txt")).unwrap();
        let calls: Vec<&str> =
            trace.lines().filter(|line| !line.contains("+++") && !line.contains("---")).collect();
        assert!(trace.contains(&format!("+++ exited with {code} +++")), "{name}: {trace}");
        assert!(calls.is_empty(), "{name}: {calls:?}");
    }
}
