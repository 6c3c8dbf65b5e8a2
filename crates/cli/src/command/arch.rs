//! `recinto arch`: the architectures at hand, as text.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use recinto_arch::{ArchFile, Archs, Kind, Options, Origin, compile};
use serde_json::json;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::{self, Reading},
    interrupt::Interrupt,
    open::{self, ArchArgs, OutputArgs},
    screen::Screen,
    text::Encoding,
    write,
};

const EXAMPLES: &str = "\
Examples:
  recinto arch list
  recinto arch show qwen2 > my.arch
  recinto arch new ./phi.gguf -o archs/phi9.arch
  recinto arch check my.arch --model ./qwen.gguf
  RECINTO_ARCH_DIR=./archs recinto arch list";

/// List, show, begin or check architectures
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand, Debug)]
enum Task {
    /// List the architectures at hand and where each comes from
    List {
        #[command(flatten)]
        folder: ArchArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Print the text of an architecture
    Show {
        /// Its name, as `arch list` has it
        name: String,
        #[command(flatten)]
        folder: ArchArgs,
    },
    /// Write a beginning for a model that no architecture serves: that of the nearest one by the
    /// names of tensors, with what fits and what does not
    New {
        /// The model: a path, or a name of a store
        name: String,
        /// Write it to this file, which must not be there; else to stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        folder: ArchArgs,
    },
    /// Check an arch file, alone or against a model; exit code 1 says it has a fault
    Check {
        /// The arch file
        file: PathBuf,
        /// A model that it must fit
        #[arg(short, long, value_name = "NAME")]
        model: Option<String>,
        /// Let this metadata key pass although no line reads it; repeatable
        #[arg(long, value_name = "KEY")]
        allow_key: Vec<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::at_once()?;
    match args.task {
        Task::List { folder, output } => list(&folder.archs()?, &output),
        Task::Show { name, folder } => {
            let archs = folder.archs()?;
            // An unknown name is wrong usage, a broken file is not.
            let known = archs.list().any(|row| row.name == name);
            let text = archs.text(&name).map_err(|e| match known {
                true => Failure::running(e.to_string()),
                false => Failure::usage(e.to_string()),
            })?;
            Screen::new(true, false)?.text(text)?;
            Ok(Exit::Done)
        }
        Task::New { name, output, folder } => new(&name, output.as_deref(), &folder.archs()?),
        Task::Check { file, model, allow_key, output } => {
            check(file, model.as_deref(), allow_key, &output, &interrupt)
        }
    }
}

/// A text to begin with for a model that nothing serves.
fn new(name: &str, output: Option<&Path>, archs: &Archs) -> Result<Exit, Failure> {
    let mut screen = Screen::new(false, false)?;
    let model = open::model_file(&open::files(name)?)?;
    match archs.find(&model) {
        Ok(known) => {
            let what = format!("`{}` serves this model already", known.name());
            let hint = format!("`recinto arch show {}` prints it", known.name());
            return Err(Failure::usage(what).hint(&hint));
        }
        Err(error) if error.kind() == Kind::NoMatch => {}
        Err(error) => return Err(error.into()),
    }
    let near = archs.nearest(&model)?;
    let text = near.text()?;
    let said = format!(
        "like `{}`: {} tensors match, {} of its own are missing, {} of the model are left over; \
         comments in the text list them",
        near.arch.name(),
        near.shared.len(),
        near.lacking.len(),
        near.unnamed.len()
    );
    screen.note(&said);
    let Some(path) = output else {
        screen.text(&text)?;
        return Ok(Exit::Done);
    };
    write::new_file(path, &text)?;
    let shown = path.display();
    screen.note(&format!(
        "{shown} is written: `recinto arch check {shown} --model {name}` says what \
                          does not fit yet"
    ));
    Ok(Exit::Done)
}

fn place(origin: &Origin) -> String {
    match origin {
        Origin::BuiltIn => "built-in".into(),
        Origin::File(path) => path.display().to_string(),
    }
}

fn list(archs: &Archs, output: &OutputArgs) -> Result<Exit, Failure> {
    let mut screen = Screen::new(output.quiet, output.verbose)?;
    if output.json {
        let rows: Vec<_> = archs
            .list()
            .map(|row| {
                json!({
                    "name": row.name,
                    "serves": row.serves,
                    "origin": place(row.origin),
                    "replaces_built_in": row.replaces_built_in,
                    "available": row.error.is_none(),
                    "error": row.error.map(ToString::to_string),
                })
            })
            .collect();
        envelope::print(&mut screen, "arch list", json!({ "architectures": rows }))?;
        return Ok(Exit::Done);
    }
    for row in archs.list() {
        let serves = match row.serves {
            Some(serves) if serves != row.name => format!("serves {serves}, "),
            _ => String::new(),
        };
        let replaces = if row.replaces_built_in { ", replaces the built-in one" } else { "" };
        let state = match row.error {
            Some(error) => format!(", not available: {}", error.message()),
            None => String::new(),
        };
        screen.row(&format!("{:<15} {serves}{}{replaces}{state}", row.name, place(row.origin)))?;
    }
    Ok(Exit::Done)
}

fn check(
    file: PathBuf,
    model: Option<&str>,
    allow_keys: Vec<String>,
    output: &OutputArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let mut screen = Screen::new(output.quiet, output.verbose)?;
    let how = Reading { encoding: Encoding::Utf8, lock: false };
    let text = input::file(&file, how, interrupt)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let model = match model {
        Some(model) => Some(open::model_file(&open::files(model)?)?),
        None => None,
    };
    let checked = ArchFile::new(&name, &text, Origin::File(file)).and_then(|arch| {
        let options = Options { allow_keys };
        let steps = match &model {
            Some(model) => Some(compile(&arch, model, &options)?.instructions.len()),
            None => None,
        };
        Ok((arch.serves().to_owned(), steps))
    });
    let (serves, steps) = match checked {
        Ok(found) => found,
        Err(error) => {
            let failure = Failure::no(error.to_string());
            if output.json {
                let body = json!({ "ok": false, "error": failure.tell() });
                envelope::print(&mut screen, "arch check", body)?;
            }
            return Err(failure.told());
        }
    };
    if output.json {
        let body = json!({ "ok": true, "serves": serves, "instructions": steps });
        envelope::print(&mut screen, "arch check", body)?;
    } else if !output.quiet {
        screen.line(&match steps {
            Some(steps) => format!("{name}: fits the model, {steps} instructions"),
            None => format!("{name}: no fault; --model checks it against a model's tensors"),
        })?;
    }
    Ok(Exit::Done)
}
