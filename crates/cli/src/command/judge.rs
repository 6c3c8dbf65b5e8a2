//! `recinto judge`: typed questions about a state, and whether a gate lets the answers pass.

pub mod asked;
mod batch;
pub mod calibrate;
mod counted;
mod folder;
mod judged;
pub mod labelled;
mod once;
mod prior;
pub mod reader;
mod selftest;
#[cfg(feature = "remote")]
mod service;
mod show;

use clap::Subcommand;

use crate::{exit::Exit, failure::Failure};

const EXAMPLES: &str = "\
Exit code 0 says that the gate let every answer pass, whatever was answered; 3 that a person should
look; 4 that there is no answer; 1 that an answer passed and is not the one of --expect. Without a
gate nothing passes. docs/judge.md says how answers, calibrations and gates come about.

Examples:
  recinto judge -m ./qwen.gguf --whether \"Is it urgent?\" < mail.txt
  recinto judge --choose \"¿De qué va?\" --option pagos=\"cobros, tarjetas\" --option envíos -f mail.txt
  recinto judge -Q questions.toml --gate team.gate --expect urgent=yes < mail.txt
  recinto judge calibrate -Q questions.toml --data labelled.jsonl -o team.cal
  recinto judge run -Q questions.toml --gate team.gate --in mails.jsonl --out judged

Arguments can be seen by other users of this machine (ps). Give private text by stdin or a file.";

/// Ask typed questions about a text: whether, choose, rate
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    task: Option<Task>,

    #[command(flatten)]
    once: Box<once::Args>,
}

#[derive(Subcommand, Debug)]
enum Task {
    /// Fit confidences to labelled records, for this model and these questions
    Calibrate(Box<calibrate::Args>),
    /// Keep what this model answers on average, to divide it out
    Prior(Box<prior::Args>),
    /// Judge records line by line and part them into decided, for a person, unavailable
    Run(Box<batch::Args>),
    /// Compare a Laya checkpoint with the published answers of its reference
    Selftest(Box<selftest::Args>),
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.task {
        None => once::run(*args.once),
        Some(Task::Calibrate(args)) => calibrate::run(*args),
        Some(Task::Prior(args)) => prior::run(*args),
        Some(Task::Run(args)) => batch::run(*args),
        Some(Task::Selftest(args)) => selftest::run(*args),
    }
}
