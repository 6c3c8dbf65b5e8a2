//! `recinto quantize`: a file of an encoder whose layers compute in bytes.

use std::{
    io::{self, Write},
    path::PathBuf,
};

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
  recinto judge --judge-provider laya -m laya-q8_0.gguf --whether \"¿Es urgente?\" < correo.txt";

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

/// A file that takes nothing more after Ctrl-C.
struct Until<'a> {
    out: &'a mut dyn Write,
    interrupt: &'a Interrupt,
    /// Why the system did not take what was written.
    refused: Option<io::Error>,
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.is_set() {
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.refused = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

pub fn run(mut args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    if let Some(name) = args.name.take() {
        args.model.settings.set("model", Some(name));
    }
    let settings = args.model.settings()?;
    settings.model()?;
    let target = Target::new(&args.out, &open::files_read(&settings, &[]))?;
    let opened = args.model.open_encoder(&settings)?;
    open::introduce_encoder(&screen, &opened, &opened.value);
    // What it is made of has to be known, and that can take seconds.
    opened.value.model().digests_until(&interrupt.stop())?;
    // Ended in between, what is half written is taken away.
    let written = target.write_parts(|out| {
        let mut out = Until { out, interrupt: &interrupt, refused: None };
        let done = opened.value.quantize(&mut out);
        match out.refused {
            Some(error) => Err(target.refused(&error)),
            None => Ok(done?),
        }
    });
    let quantized = match written {
        Err(_) if interrupt.is_set() => return Err(Failure::silent(Exit::Interrupted)),
        written => written?,
    };
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
