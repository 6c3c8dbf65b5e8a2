//! `recinto score`: how likely the model answers a text with each of some labels.

use std::path::PathBuf;

use recinto_engine::{Digests, Message, Mode, Request, Role, Usage};
use recinto_provider::{Task, Turn};
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    recorded::Scoring,
    task::{self, Asked, Ready, TaskArgs},
};

const EXAMPLES: &str = "\
Examples:
  recinto score \"¿Es una queja? Responde sí o no: 'no funciona'\" --label sí --label no
  recinto score -f question.txt --labels answers.txt --json

The text is asked as it stands; `recinto decide` puts the question for you. Each line of output has
the probability among the labels, the natural logarithm of the label's own, and the label.";

/// Tell how likely the model answers with each label
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A whole answer; repeatable
    #[arg(short = 'l', long, value_name = "TEXT", allow_hyphen_values = true)]
    label: Vec<String>,

    /// A file with an answer a line
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,

    #[command(flatten)]
    task: TaskArgs,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    asked: Asked,
    /// In the order they were given.
    labels: Vec<Row<'a>>,
    mass: f64,
    usage: Usage,
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    digests: Option<Digests>,
}

#[derive(Serialize)]
struct Row<'a> {
    label: &'a str,
    probability: f64,
    logprob: f64,
    mean: f64,
    parts: &'a [f64],
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let begun = args.task.begin(Task::Score, &[args.labels.as_deref()])?;
    let mut labels = args.label.clone();
    if let Some(path) = &args.labels {
        let text = begun.file(path)?;
        labels.extend(text.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned));
    }
    if labels.is_empty() {
        return Err(Failure::usage("no label was given")
            .hint("`--label TEXT` for each of them, or `--labels FILE`"));
    }
    begun.run("score", |ready| one(ready, &labels))
}

fn one(ready: &mut Ready, labels: &[String]) -> Result<Exit, Failure> {
    let input = ready.input.clone();
    let mut messages: Vec<Message> = Vec::with_capacity(2);
    messages.extend(input.instructions.map(|words| Message::new(Role::System, words)));
    messages.push(input.text);
    let request = Request { messages, options: input.options, ..Request::default() };
    let (labels_of, identity) = (input.data_labels, input.identity);
    let turn = Turn { request, shape: None, labels: labels_of, identity };
    let scores = ready.provider.score(&turn, labels, &ready.interrupt.stop())?;
    if ready.json {
        let rows = labels.iter().zip(&scores.labels).map(|(label, score)| Row {
            label,
            probability: score.probability,
            logprob: score.logprob,
            mean: score.mean,
            parts: &score.parts,
        });
        let body = Body {
            asked: ready.asked(),
            labels: rows.collect(),
            mass: scores.mass,
            usage: scores.usage,
            mode: scores.mode,
            digests: task::digests(ready.provider.as_ref())?,
        };
        envelope::print(&mut ready.screen, "score", body)?;
    } else {
        for (label, score) in labels.iter().zip(&scores.labels) {
            let line = format!("{:.6}  {:>10.4}  {label}", score.probability, score.logprob);
            ready.screen.row(&line)?;
        }
    }
    ready.screen.detail(&format!("all of them together: {:.6}", scores.mass));
    let scoring = Scoring {
        labels: labels
            .iter()
            .zip(&scores.labels)
            .map(|(label, score)| (label.as_str(), score.logprob))
            .collect(),
        mass: scores.mass,
        input: scores.input,
        usage: scores.usage,
        mode: scores.mode,
    };
    ready.record_scores(&scoring, ready.provider.as_ref()).map_err(Failure::told)?;
    Ok(Exit::Done)
}
