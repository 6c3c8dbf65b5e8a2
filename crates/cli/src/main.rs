//! Recinto from a shell: answers to stdout, everything else to stderr.
#![forbid(unsafe_code)]

mod args;
mod command;
mod envelope;
mod exit;
mod failure;
#[cfg(debug_assertions)]
mod fault;
mod input;
mod interrupt;
mod open;
mod options;
mod screen;
mod text;
mod usage;
mod write;

use std::{
    io::Write,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use exit::Exit;
use failure::Failure;

fn main() -> ExitCode {
    let done = shield().and_then(|()| {
        hush_panics();
        panic::catch_unwind(AssertUnwindSafe(run))
            .unwrap_or(Err(Failure { exit: Exit::Failed, text: None }))
    });
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            screen::fail(&failure);
            failure.exit.into()
        }
    }
}

/// Before anything is read: no core file, no other process of the same user in this memory.
fn shield() -> Result<(), Failure> {
    let held = recinto_os::shield::not_dumpable().and(recinto_os::shield::no_core_files());
    held.map_err(|e| Failure::running(format!("cannot keep this process from being dumped: {e}")))
}

/// A panic's own text may hold words of a prompt; only the place is printed.
fn hush_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("an unknown place".into(), ToString::to_string);
        let _ = writeln!(std::io::stderr(), "error: a fault in this program, at {place}");
        let _ = writeln!(std::io::stderr(), "hint: please report it, without your text");
    }));
}

fn run() -> Result<Exit, Failure> {
    args::parse()?.map_or(Ok(Exit::Done), command::Command::run)
}
