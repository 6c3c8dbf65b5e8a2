//! `recinto`: the command with every provider that was built in.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    recinto_cli::main()
}
