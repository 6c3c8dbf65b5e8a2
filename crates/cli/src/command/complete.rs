//! `recinto complete`: a text of a regular expression or a grammar.

use std::path::PathBuf;

use recinto_provider::Task;
use recinto_tasks::{Shape, complete};
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    task::{Asked, Made, Ready, TaskArgs},
};

const EXAMPLES: &str = "\
Examples:
  recinto complete \"Llamó el 3 de mayo de 2026\" --regex '[0-9]{4}-[0-9]{2}-[0-9]{2}'
  recinto complete -f note.txt --lark order.lark --instructions \"Write the order.\"

A regular expression matches the whole answer (syntax of the Rust crate regex, no look-around). The
start of a grammar is its rule `start`.";

/// Answer with a text of a regular expression or a grammar
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("shape").required(true).args(["regex", "lark"])))]
pub struct Args {
    /// What the answer matches from its beginning to its end
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    regex: Option<String>,

    /// A file with a Lark grammar
    #[arg(long, value_name = "FILE")]
    lark: Option<PathBuf>,

    #[command(flatten)]
    task: TaskArgs,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    asked: Asked,
    text: &'a str,
    #[serde(flatten)]
    made: Made<'a>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let begun = args.task.begin(Task::Complete, &[args.lark.as_deref()])?;
    let shape = match (&args.regex, &args.lark) {
        (Some(text), _) => Shape::Regex(text.clone()),
        (None, Some(path)) => Shape::Lark(begun.file(path)?.to_string()),
        (None, None) => return Err(Failure::usage("--regex or --lark says what the answer is")),
    };
    begun.run("complete", |ready| one(ready, &shape))
}

fn one(ready: &mut Ready, shape: &Shape) -> Result<Exit, Failure> {
    let stop = ready.interrupt.stop();
    let outcome = complete(ready.provider.as_ref(), &ready.input, shape, &stop);
    let answer = ready.answer(outcome)?;
    if ready.json {
        let asked = ready.asked();
        let body = Body { asked, text: &answer.value, made: Made::of(&answer.reply) };
        envelope::print(&mut ready.screen, "complete", body)?;
    } else {
        ready.screen.answer(&answer.value)?;
    }
    ready.done(&answer.reply)
}
