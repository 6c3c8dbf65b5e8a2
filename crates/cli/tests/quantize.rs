//! `recinto quantize`: a judge's checkpoint as one file in bytes, and what reads it afterwards.

use crate::shell;

use std::path::Path;

use shell::Shell;

fn checkpoint(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_judge_in_bytes() {
    let (shell, laya) =
        (Shell::new().env("RECINTO_JUDGE_PROVIDER", "laya"), checkpoint("laya/ckpt"));
    let out = shell.write("año.gguf", "");
    let out = out.to_str().unwrap();
    let made = shell.run(&["quantize", &laya, "-o", out, "--json"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let made = made.json();
    assert_eq!((&made["command"], &made["matrices"]), (&"quantize".into(), &28.into()));
    assert_eq!(made["bytes"], std::fs::metadata(out).unwrap().len());
    let inspected = shell.run(&["inspect", out]);
    assert!(inspected.out().contains(made["source"].as_str().unwrap()), "{}", inspected.out());

    let judge = |model: &str| {
        let args = ["judge", "-m", model, "--whether", "¿Es urgente?", "--json", "-f"];
        let state = shell.write("correo", "No puedo entrar desde ayer");
        let ran = shell.run(&[&args[..], &[state.to_str().unwrap()]].concat());
        assert_eq!(ran.code, Some(3), "{model}: {}", ran.err);
        ran.json()
    };
    let (floats, bytes) = (judge(&laya), judge(out));
    for (envelope, precision) in [(&floats, "f32"), (&bytes, "int8")] {
        let text = envelope.to_string();
        assert!(text.contains(&format!("\"precision\":\"{precision}\"")), "{text}");
        assert!(text.contains(&format!("\"dtype\":\"{precision}\"")), "{text}");
    }
}

#[test]
fn what_is_refused() {
    let (shell, laya, bert) =
        (Shell::new(), checkpoint("laya/ckpt"), checkpoint("embed/tiny-bert"));
    let out = shell.write("a.gguf", "kept");
    let (out, gguf) = (out.to_str().unwrap(), checkpoint("tiny/qwen2-plain.gguf"));
    let weights = format!("{laya}/model.safetensors");
    let cases: [(&str, Vec<&str>, i32, &str); 6] = [
        ("no model", vec!["quantize", "-o", out], 2, "no model is set"),
        ("nowhere", vec!["quantize", &laya], 2, "--out"),
        ("stdout", vec!["quantize", &laya, "-o", "-"], 2, "it has to be a file"),
        ("over itself", vec!["quantize", &laya, "-o", &weights], 2, "the same file"),
        ("a model that writes", vec!["quantize", &gguf, "-o", out], 4, "is no encoder"),
        ("rows of 24", vec!["quantize", &bert, "-o", out], 2, "no matrix of its layers"),
    ];
    for (name, args, code, says) in cases {
        let ran = shell.run(&args);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
        assert!(ran.err.contains(says), "{name}: {}", ran.err);
        assert_eq!(std::fs::read_to_string(out).unwrap(), "kept", "{name}");
    }
}

/// What cannot be written ends with an error that names the file, and leaves nothing behind.
#[test]
fn no_half_file_is_left() {
    let laya = checkpoint("laya/ckpt");
    let shell = Shell::new().wrap(&["sh", "-c", "ulimit -f 100; exec \"$0\" \"$@\""]);
    let ran = shell.run(&["quantize", &laya, "-o", "pequeño.gguf"]);
    assert_eq!((ran.code, ran.signal), (Some(4), None), "{}", ran.err);
    assert!(ran.err.contains("cannot write pequeño.gguf: File too large"), "{}", ran.err);
    let left: Vec<_> = std::fs::read_dir(shell.path()).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().contains("gguf")));
}
