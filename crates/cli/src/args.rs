//! The command line as a whole.

use clap::{CommandFactory, FromArgMatches, Parser, error::ErrorKind};
use recinto_kernels::{Kernels, NUMERICS};

use crate::{command::Command, exit, failure::Failure, usage};

const EXAMPLES: &str = "\
Examples:
  recinto ask -m ./qwen.gguf \"What is the capital of Peru?\"
  cat letter.txt | recinto ask \"Summarise this letter:\"
  recinto chat -m ./qwen.gguf
  recinto status
";

/// Runs a quantized language model inside this process: no server, no key, no socket.
///
/// Settings come from flags, then the environment, then ./.env, then the defaults; `recinto
/// status` shows each value with its source.
#[derive(Parser, Debug)]
#[command(name = "recinto", version, propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The table of commands with everything that is said about them.
pub fn command() -> clap::Command {
    Cli::command().after_help(format!("{EXAMPLES}\n{}", exit::help()))
}

/// The command that was given; `None` when help or version was asked for and printed.
pub fn parse() -> Result<Option<Command>, Failure> {
    let arguments: Vec<_> = std::env::args_os().collect();
    let parsed = command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => Ok(Some(cli.command)),
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            print(&version())?;
            Ok(None)
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            error.print().map_err(|e| Failure::output(&e))?;
            Ok(None)
        }
        Err(error) => Err(usage::explain(&error, &arguments)),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    crate::screen::Screen::new(true, false)?.line(text)
}

/// Version, revision of the numbers, and the CPU level that would be used here.
pub fn version() -> String {
    let level = Kernels::detect().level().name();
    format!("recinto {} (numerics {NUMERICS}, level {level})", recinto_engine::VERSION)
}
