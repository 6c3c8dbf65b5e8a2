//! Runs the real binary in a folder of its own, with an environment of its own.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The binary under test.
pub const RECINTO: &str = env!("CARGO_BIN_EXE_recinto");

/// A folder to run in; nothing of the caller's environment reaches the binary.
pub struct Shell {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
    wrap: Vec<String>,
}

/// What came of a run.
pub struct Ran {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub core: bool,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.out).expect("stdout is UTF-8")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.out).expect("stdout is one JSON envelope")
    }
}

impl Shell {
    pub fn new() -> Shell {
        Shell { dir: tempfile::tempdir().unwrap(), env: Vec::new(), wrap: Vec::new() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn env(mut self, name: &str, value: &str) -> Shell {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs the binary as the last argument of another program.
    pub fn wrap(mut self, words: &[&str]) -> Shell {
        self.wrap = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = match self.wrap.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(RECINTO);
                command
            }
            None => Command::new(RECINTO),
        };
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TMPDIR", self.path())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs with nothing to read.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// Runs with `bytes` piped in.
    pub fn pipe<S: AsRef<OsStr>>(&self, args: &[S], bytes: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that is refused does not read; the pipe is then closed.
        let _ = child.stdin.take().unwrap().write_all(bytes);
        finish(child)
    }
}

/// Waits for the end of `child`.
pub fn finish(child: Child) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        signal: output.status.signal(),
        core: output.status.core_dumped(),
        out: output.stdout,
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Sends a signal, named as for `kill`.
pub fn kill(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
}

/// A tiny seeded model, stored with the repository.
pub fn tiny(test: &str, name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let path = root.join(format!("{name}.gguf"));
    match path.canonicalize() {
        Ok(path) => Some(path),
        Err(_) => {
            recinto_testkit::skipped(test, "tests/golden/tiny has no such model");
            None
        }
    }
}

/// A real model below the folder that `RECINTO_TEST_MODELS` names, by the start of its folder.
pub fn real(test: &str, folder: &str) -> Option<PathBuf> {
    let Some(root) = recinto_testkit::models() else {
        recinto_testkit::skipped(test, "RECINTO_TEST_MODELS is not set");
        return None;
    };
    let found = gguf_below(&root.join(folder));
    if found.is_none() {
        recinto_testkit::skipped(test, &format!("RECINTO_TEST_MODELS has no {folder}"));
    }
    found
}

fn gguf_below(folder: &Path) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries.into_iter().find(|path| path.extension().is_some_and(|end| end == "gguf"))
}
