//! Recinto from a shell: answers to stdout, everything else to stderr.
//!
//! Two programs are made of it: `recinto`, and `recinto-local`, which is built without the feature
//! `remote` and then holds no crate that could open a socket.
#![forbid(unsafe_code)]

mod args;
mod command;
mod envelope;
mod exit;
mod failure;
#[cfg(debug_assertions)]
mod fault;
mod glance;
mod input;
mod interrupt;
mod lines;
mod open;
mod options;
#[cfg(feature = "otel")]
mod otlp;
mod recorded;
mod records;
mod screen;
mod setting_args;
mod table;
mod task;
mod text;
mod trace;
mod usage;
mod width;
mod write;

use std::{
    io::Write,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use exit::Exit;
use failure::Failure;

/// What is said when a page of the mapped model is gone.
const CUT_SHORT: &str = "error: the model file was cut short while it was in use\n";

/// The program that is started under another name than its content has: `recinto-local` that was
/// built together with providers that answer from elsewhere does not run.
///
/// # Errors
///
/// The exit code, after the reason was said.
pub fn only_local() -> Result<(), ExitCode> {
    if !recinto_provider::REMOTE {
        return Ok(());
    }
    let failure = Failure::usage("this `recinto-local` was built with providers from elsewhere")
        .hint("build it alone: cargo build --release -p recinto-local");
    screen::fail(&failure);
    Err(failure.exit.into())
}

/// Runs the command line, and says how the process ends.
pub fn main() -> ExitCode {
    let done = shield().and_then(|()| {
        hush_panics();
        recinto_os::signal::limits_are_errors();
        recinto_os::signal::end_when_cut_short(CUT_SHORT, Exit::Failed as i32)
            .map_err(|e| Failure::running(format!("cannot listen for signals: {e}")))?;
        panic::catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(Failure::silent(Exit::Failed)))
    });
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            screen::fail(&failure);
            args::tell(&failure);
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
