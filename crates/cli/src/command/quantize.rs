//! `recinto quantize`: a file of an encoder whose layers compute in bytes.

use std::path::PathBuf;

use recinto_engine::Quantized;
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    screen::Screen,
    write::Target,
};

const EXAMPLES: &str = "\
The new file is a GGUF file that `embed` and `judge` open like the folder: half its size, faster,
and its answers are a little different, so calibrations and gates have to be fitted for it anew. The
digest of what it was made of stands in it (`recinto inspect`).

Examples:
  recinto quantize ./laya -o laya-q8_0.gguf
  recinto judge -m laya-q8_0.gguf --whether \"¿Es urgente?\" < correo.txt";

/// Make a file of an encoder with weights of 8 bits: smaller and faster
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The model, as for --model
    #[arg(value_name = "MODEL", conflicts_with = "model")]
    name: Option<String>,

    /// Where the new file goes; one that is there is replaced
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    path: String,
    #[serde(flatten)]
    quantized: Quantized,
}

pub fn run(mut args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    if let Some(name) = args.name.take() {
        args.model.settings.set("model", Some(name));
    }
    let settings = args.model.settings()?;
    settings.model()?;
    let target = Target::new(&args.out, &open::files_read(&settings, &[]))?;
    let opened = args.model.open_encoder(&settings)?;
    open::introduce_encoder(&screen, &opened, &opened.value);
    let quantized = target.write_parts(|out| Ok(opened.value.quantize(out)?))?;
    let path = args.out.display().to_string();
    let Quantized { bytes, matrices, kept, source } = &quantized;
    match args.output.json {
        true => {
            let body = Body { model: &opened.name, path, quantized };
            envelope::print(&mut screen, "quantize", body)?;
        }
        false => screen.line(&format!(
            "{path}: {} MiB, {matrices} matrices of 8 bits, {kept} tensors as they were, made of \
             sha256:{source}",
            bytes >> 20
        ))?,
    }
    Ok(Exit::Done)
}
