//! The library inside a host program: silent, shareable, and never a panic.

use std::{ops::ControlFlow, path::PathBuf, process::Command};

use recinto::{Kind, Model, OpenOptions, Piece, Request, Stop};

fn tiny() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny/qwen2-plain.gguf")
}

fn quiet(_: Piece<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_model_can_be_shared_between_threads() {
    fn shareable<T: Send + Sync + Clone>(_: &T) {}
    fn movable<T: Send>(_: &T) {}
    let model = Model::open(&tiny(), &OpenOptions::default()).unwrap();
    shareable(&model);
    movable(&model.session(&recinto::SessionOptions::default()).unwrap());
}

/// Loads, generates, fails and drops: the work of the test below, in a process of its own.
#[test]
fn child() {
    if std::env::var_os("RECINTO_TEST_CHILD").is_none() {
        return;
    }
    let model = Model::open(&tiny(), &OpenOptions::default()).unwrap();
    let mut request = Request::user("¿Qué tal, señora Núñez?");
    request.options.max_tokens = 4;
    model.reply(&request, &Stop::never(), &mut quiet).unwrap();
    request.options.top_p = f32::NAN;
    let error = model.reply(&request, &Stop::never(), &mut quiet).err().unwrap();
    assert_eq!(*error.kind(), Kind::Request);
    drop(model);
    assert!(Model::open(&PathBuf::from("/nowhere.gguf"), &OpenOptions::default()).is_err());
}

#[test]
fn nothing_is_written_to_the_host_programs_output() {
    // EMB-01 of docs/cases.md: what is left is the test runner's own lines.
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("RECINTO_TEST_CHILD", "1")
        .output()
        .unwrap();
    assert!(out.status.success());
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
    for line in String::from_utf8_lossy(&out.stdout).lines() {
        let runner = ["running ", "test child ... ok", "test result: ok", "test "];
        assert!(line.is_empty() || runner.iter().any(|start| line.starts_with(start)), "{line}");
    }
}
