//! `recinto judge prior`: what a model answers on average, kept in a file.

use std::path::PathBuf;

use recinto_judge::{Artefact, Priors, Questions, debias, prior::Gathered};
use serde_json::{Value, json};

use super::{
    asked::QuestionArgs,
    calibrate::{now, with_end},
    labelled::{failed, records},
    reader::{Opened, ReaderArgs},
};
use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::OutputArgs,
    screen::Screen,
    table::{self, Column},
    write::Target,
};

const EXAMPLES: &str = "\
Records need no labels; they should be such as will come. With `--prior FILE` every reading then
has the mean answer divided out: what a model says whatever it reads says less. Calibrations and
gates hold for one prior; fit them on other records than these.

Examples:
  recinto judge prior -Q questions.toml --in states.jsonl -o team.prior
  recinto gate fit -Q questions.toml --prior team.prior --data labelled.jsonl --risk 0.05 -o team.gate";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Records without labels, one JSON map a line: {"state": …}; `-` is stdin
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,

    /// The prior
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    out: OutputArgs,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.out.quiet, args.out.verbose)?;
    args.reader.plain("where a prior is made")?;
    let settings = args.reader.settings()?;
    let questions = args.questions.needed(&interrupt)?;
    let others = [Some(args.input.as_path()), args.questions.questions.as_deref()];
    let files = args.reader.files_read(&settings, &others);
    let target = Target::new(&args.output, &files)?;
    let mut lines = records(&args.input, &interrupt)?;
    let Opened { mut judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let (mut all, mut unavailable) = (Gathered::default(), 0u64);
    while let Some((number, record)) = lines.next()? {
        let place = || format!("{}: line {number}", args.input.display());
        let record = record.map_err(|why| Failure::usage(format!("{}: {why}", place())))?;
        let judged = judge.judge(&record.state, &questions);
        let judged = judged.map_err(|e| Failure::from(e).at(&place()))?;
        if interrupt.is_set() {
            return Err(Failure::silent(Exit::Interrupted));
        }
        if judge.backend().trouble().is_some() {
            return Err(failed(&judge));
        }
        let state = record.state.digest();
        for ((_, question), logits) in questions.iter().zip(judged.logits) {
            match logits {
                Some(logits) => all.observe(question, state, &logits),
                None => unavailable += 1,
            }
        }
    }
    if unavailable > 0 {
        screen.note(&format!("{unavailable} questions have no answer"));
    }
    for (id, question) in questions.iter() {
        let (inputs, least) = (all.inputs(question), debias::LEAST_INPUTS);
        if inputs < least {
            screen.note(&format!("{id}: {inputs} states of {least}; it has no prior"));
        }
    }
    let priors = all.keep(judge.identity(), now(), debias::ALPHA)?;
    target.write(&with_end(priors.to_bytes()))?;
    if args.out.json {
        let body = json!({
            "reader": who, "digest": priors.digest(),
            "output": args.output.display().to_string(), "priors": told(&priors, &questions),
        });
        envelope::print(&mut screen, "judge prior", body)?;
    } else {
        print(&mut screen, &priors, &questions)?;
    }
    screen.detail(&format!("digest {}", priors.digest()));
    Ok(Exit::Done)
}

/// Each question with a prior: its id, inputs, and every option with its mean.
fn rows<'a>(
    priors: &'a Priors,
    questions: &'a Questions,
) -> impl Iterator<Item = (&'a str, u64, Vec<(String, f64)>)> {
    questions.iter().filter_map(|(id, question)| {
        let kept = priors.questions().get(&question.digest())?;
        let labels = question.labels();
        Some((id, kept.inputs, labels.into_iter().zip(kept.mean.iter().map(|p| p.0)).collect()))
    })
}

fn told(priors: &Priors, questions: &Questions) -> Vec<Value> {
    let one = |(id, inputs, mean): (&str, u64, Vec<(String, f64)>)| {
        let mean: Vec<Value> =
            mean.into_iter().map(|(label, p)| json!({ "label": label, "p": p })).collect();
        json!({ "id": id, "inputs": inputs, "mean": mean })
    };
    rows(priors, questions).map(one).collect()
}

const COLUMNS: [Column; 4] = [
    Column { head: "QUESTION", goes: 0, right: false },
    Column { head: "STATES", goes: 1, right: true },
    Column { head: "OPTION", goes: 0, right: false },
    Column { head: "MEAN", goes: 0, right: true },
];

fn print(screen: &mut Screen, priors: &Priors, questions: &Questions) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for (id, inputs, mean) in rows(priors, questions) {
        for (at, (label, p)) in mean.into_iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            lines.push(vec![first(id.into()), first(inputs.to_string()), label, format!("{p:.4}")]);
        }
    }
    let width = screen.terminal.then(|| screen.columns());
    table::lines(&COLUMNS, &lines, width).iter().try_for_each(|line| screen.row(line))
}
