//! `recinto completions`: scripts for shells.

use clap_complete::Shell;

use crate::{args, exit::Exit, failure::Failure, interrupt::Interrupt, screen::Screen};

const EXAMPLES: &str = "\
Examples:
  recinto completions bash > ~/.local/share/bash-completion/completions/recinto
  recinto completions zsh > ~/.zfunc/_recinto
  recinto completions fish > ~/.config/fish/completions/recinto.fish";

/// Print a script that completes commands and flags in a shell
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "recinto", &mut script);
    Screen::new(true, false)?.raw(&script)?;
    Ok(Exit::Done)
}
