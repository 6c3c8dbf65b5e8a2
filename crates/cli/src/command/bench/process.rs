//! New processes: this program from its start to its first token, and a peer's command line.

use std::{ffi::OsString, process::Command, process::Stdio};

use recinto_os::child::{self, Ended};

use crate::{exit::Exit, failure::Failure, interrupt::Interrupt, open::ModelArgs};

/// The short prompt of a start.
pub const TEXT: &str = "The capital of Peru is";

/// Bytes of output that a process may write.
const MOST: usize = 1 << 20;

/// A fresh process of this program.
pub fn own(command: &str, model: &ModelArgs) -> Result<Command, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::running(format!("cannot find this program: {e}")))?;
    let mut own = Command::new(program);
    own.arg(command).args(model.flags()).stderr(Stdio::null());
    Ok(own)
}

/// This program, asked for one token after a short prompt.
pub fn start(model: &ModelArgs) -> Result<Command, Failure> {
    let mut own = own("ask", model)?;
    own.args(["-q", "--completion", "--max-tokens", "1", "--"]).arg(TEXT);
    Ok(own)
}

/// Runs `command` to its end; an interrupt ends it too.
pub fn run(what: &str, command: Command, interrupt: &Interrupt) -> Result<Ended, Failure> {
    let failed = |e: std::io::Error| Failure::running(format!("{what}: {e}"));
    let running = child::start(command).map_err(failed)?;
    let group = running.group();
    match interrupt.wait_for(move || running.wait(MOST)) {
        Ok(ended) => ended.map_err(failed),
        Err(interrupted) => {
            if let Some(group) = group {
                group.end();
            }
            Err(interrupted)
        }
    }
}

/// Refuses a process that did not end well.
pub fn well(what: &str, ended: Ended, interrupt: &Interrupt) -> Result<Ended, Failure> {
    if interrupt.is_set() {
        return Err(Failure::silent(Exit::Interrupted));
    }
    match ended.status.success() {
        true => Ok(ended),
        false => Err(Failure::running(format!("{what} ended with {}", ended.status))),
    }
}

impl ModelArgs {
    /// The same flags for another process; settings of the environment reach it by themselves.
    pub fn flags(&self) -> Vec<OsString> {
        // Every field by name: a new flag that is forgotten here does not compile.
        let ModelArgs {
            model,
            provider,
            env_file,
            no_env_file,
            arch_dir,
            allow_key,
            threads,
            level,
            lock_memory,
            pin,
            verify,
            kv,
            licenses,
        } = self;
        let mut out: Vec<OsString> = Vec::new();
        let mut give = |flag: &str, value: OsString| {
            let mut word = OsString::from(format!("{flag}="));
            word.push(value);
            out.push(word);
        };
        let texts = [
            ("--model", model),
            ("--provider", provider),
            ("--arch-dir", arch_dir),
            ("--threads", threads),
            ("--level", level),
            ("--pin", pin),
            ("--verify", verify),
            ("--kv", kv),
            ("--licenses", licenses),
        ];
        for (flag, value) in texts {
            if let Some(value) = value {
                give(flag, value.into());
            }
        }
        for key in allow_key {
            give("--allow-key", key.into());
        }
        if let Some(path) = env_file {
            give("--env-file", path.into());
        }
        for (flag, set) in [("--no-env-file", *no_env_file), ("--lock-memory", *lock_memory)] {
            if set {
                out.push(flag.into());
            }
        }
        out
    }
}
