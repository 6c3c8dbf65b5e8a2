//! `recinto extract`: a value of a JSON Schema.

use std::path::PathBuf;

use recinto_judge::json;
use recinto_provider::Task;
use recinto_tasks::extract;
use serde::Serialize;
use serde_json::Value;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    task::{Asked, Made, Ready, TaskArgs},
};

const EXAMPLES: &str = "\
Examples:
  recinto extract -f invoice.txt --schema invoice.schema.json
  recinto extract - --schema person.json --json < mail.txt
  recinto extract \"Ana, 34 años, de Ávila\" --schema person.json --instructions \"Ages are years.\"

The answer is valid by the schema (JSON Schema, draft 2020-12), or there is none. What of the
draft can be kept is in docs/json-schema.md; the rest is refused by name.";

/// Extract a value that is valid by a JSON Schema
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The schema
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,

    #[command(flatten)]
    task: TaskArgs,
}

/// Most levels of lists and maps in a schema.
const DEEPEST: usize = 127;

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    asked: Asked,
    value: &'a Value,
    #[serde(flatten)]
    made: Made<'a>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let begun = args.task.begin(Task::Extract, &[Some(&args.schema)])?;
    let schema = begun.file(&args.schema)?;
    let schema = json::parse_within(&schema, "a schema", DEEPEST)
        .map_err(|fault| Failure::usage(format!("{}: {}", args.schema.display(), fault.what())))?;
    begun.run("extract", |ready| one(ready, &schema))
}

fn one(ready: &mut Ready, schema: &Value) -> Result<Exit, Failure> {
    let stop = ready.interrupt.stop();
    let outcome = extract(ready.provider.as_ref(), &ready.input, schema, &stop);
    let answer = ready.answer(outcome)?;
    if ready.json {
        let asked = ready.asked();
        let body = Body { asked, value: &answer.value, made: Made::of(&answer.reply) };
        envelope::print(&mut ready.screen, "extract", body)?;
    } else {
        // As the model wrote it: numbers keep their digits.
        ready.screen.answer(&answer.reply.text)?;
    }
    ready.done(&answer.reply)
}
