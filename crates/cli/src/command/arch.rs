//! stub
/// Arch
#[derive(clap::Args, Debug)]
pub struct Args { }
pub fn run(_: Args) -> Result<crate::exit::Exit, crate::failure::Failure> { Ok(crate::exit::Exit::Done) }
