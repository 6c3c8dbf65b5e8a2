//! The command line as a whole.

use std::{ffi::OsString, sync::OnceLock};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, error::ErrorKind};
use recinto_kernels::{Kernels, NUMERICS};
use recinto_provider::BUILD;

use crate::{command::Command, envelope, exit, failure::Failure, screen::Screen, usage};

const EXAMPLES: &str = "\
Examples:
  recinto ask -m ./qwen.gguf \"What is the capital of Peru?\"
  recinto ask \"Summarise this letter:\" - < letter.txt
  recinto chat -m ./qwen.gguf
  recinto status
";

/// Asks a language model: one that runs inside this process, without a server, a key or a socket;
/// or, where `--provider` names one, a service elsewhere.
///
/// Settings come from flags, then the environment, then ./.env, then recinto.toml (the project's,
/// the user's, the machine's), then the defaults; `recinto status` shows each value with its
/// source, `recinto doctor` looks at the machine, and `recinto init` writes a recinto.toml.
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
    let parsed = command().try_get_matches_from(&arguments).and_then(|matches| {
        ASKED.get_or_init(|| Asked::of(&matches));
        Cli::from_arg_matches(&matches)
    });
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
        Err(error) => {
            ASKED.get_or_init(|| Asked::guess(&arguments));
            Err(usage::explain(&error, &arguments))
        }
    }
}

/// What was asked for, as far as an envelope of a failure needs it.
#[derive(Default)]
struct Asked {
    command: String,
    json: bool,
}

static ASKED: OnceLock<Asked> = OnceLock::new();

impl Asked {
    /// Of a command line that could be read.
    fn of(matches: &ArgMatches) -> Asked {
        let mut asked = Asked::default();
        let mut at = matches;
        while let Some((name, below)) = at.subcommand() {
            let gap = if asked.command.is_empty() { "" } else { " " };
            asked.command.push_str(gap);
            asked.command.push_str(name);
            at = below;
        }
        asked.json = matches!(at.try_get_one::<bool>("json"), Ok(Some(true)));
        asked
    }

    /// Of one that could not: `--json` may stand anywhere before `--`, and only names of ours
    /// are repeated.
    fn guess(arguments: &[OsString]) -> Asked {
        let mut asked = Asked::default();
        let mut at = command();
        for argument in arguments.iter().skip(1).take_while(|argument| *argument != "--") {
            asked.json |= argument == "--json";
            if let Some(below) = argument.to_str().and_then(|word| at.find_subcommand(word)) {
                let gap = if asked.command.is_empty() { "" } else { " " };
                asked.command = format!("{}{gap}{}", asked.command, below.get_name());
                at = below.clone();
            }
        }
        asked
    }
}

/// Prints the envelope of a failure where one was asked for.
pub fn tell(failure: &Failure) {
    let Some(asked) = ASKED.get().filter(|asked| asked.json && failure.is_untold()) else { return };
    // What cannot be told here stands on stderr.
    let _ = Screen::new(true, false)
        .and_then(|mut screen| envelope::fail(&mut screen, &asked.command, failure));
}

fn print(text: &str) -> Result<(), Failure> {
    Screen::new(true, false)?.line(text)
}

/// Version, revision of the numbers, and the CPU level that would be used here.
pub fn version() -> String {
    let level = Kernels::detect().level().name();
    format!("{BUILD} {} (numerics {NUMERICS}, level {level})", recinto_engine::VERSION)
}
