//! `recinto-local`: the command without any provider that answers from elsewhere. Built alone
//! (`cargo build -p recinto-local`) it holds no HTTP and no TLS; built together with `recinto` it
//! would, and then it does not run.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    match recinto_cli::only_local() {
        Ok(()) => recinto_cli::main(),
        Err(code) => code,
    }
}
