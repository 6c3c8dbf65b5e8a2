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
            settings,
            files,
            allow_key,
            lock_memory,
            any_size,
            no_lock,
            allow_mismatch,
        } = self;
        let mut out: Vec<OsString> = Vec::new();
        let mut give = |flag: &str, value: &str| out.push(format!("{flag}={value}").into());
        settings.iter().for_each(|(flag, value)| give(flag, value));
        allow_key.iter().for_each(|key| give("--allow-key", key));
        out.extend(files.flags());
        let marks = [
            ("--no-lock", *no_lock),
            ("--allow-mismatch", *allow_mismatch),
            ("--lock-memory", *lock_memory),
            ("--any-size", *any_size),
        ];
        out.extend(marks.iter().filter(|(_, set)| *set).map(|(flag, _)| flag.into()));
        out
    }
}
