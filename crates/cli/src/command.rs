//! The commands: one file each, one row each in the table below.

use clap::Subcommand;

use crate::{exit::Exit, failure::Failure};

macro_rules! commands {
    ($($name:ident => $room:ident,)*) => {
        $(mod $room;)*

        /// Every command.
        #[derive(Subcommand, Debug)]
        pub enum Command {
            $(#[allow(missing_docs)] $name($room::Args),)*
        }

        impl Command {
            /// Carries the command out.
            pub fn run(self) -> Result<Exit, Failure> {
                match self {
                    $(Command::$name(args) => $room::run(args),)*
                }
            }
        }
    };
}

commands! {
    Ask => ask,
    Chat => chat,
    Decide => decide,
    Extract => extract,
    Complete => complete,
    Score => score,
    Status => status,
    Doctor => doctor,
    Init => init,
    Models => models,
    Inspect => inspect,
    Tokenize => tokenize,
    Embed => embed,
    Quantize => quantize,
    Render => render,
    Judge => judge,
    Gate => gate,
    Lock => lock,
    Arch => arch,
    Egress => egress,
    Bench => bench,
    Profile => profile,
    Completions => completions,
}
