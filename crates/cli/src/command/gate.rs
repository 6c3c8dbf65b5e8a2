//! `recinto gate`: thresholds with a promise, fitted to labelled records.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use recinto_judge::{
    Artefact, Fraction, Gate, Questions, Scored,
    gate::{self, Demands, Draw, Finding, Promise, Terms},
};
use serde_json::{Map, Value, json};

use super::judge::{
    asked::QuestionArgs,
    calibrate::{Reports, now, with_end},
    labelled::{self, Checked, DataArgs},
    reader::{Opened, ReaderArgs},
};
use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::OutputArgs,
    screen::{Screen, escaped},
    table::{self, Column},
    write::Target,
};

const EXAMPLES: &str = "\
Examples:
  recinto gate fit --risk 0.02 --confidence 0.95 -Q questions.toml --data labelled.jsonl -o team.gate
  recinto gate fit --calibration team.cal -Q questions.toml --data more.jsonl -o team.gate
  recinto judge -Q questions.toml --gate team.gate < mail.txt";

const FIT_EXAMPLES: &str = "\
With the default promise: with this confidence, at most the risk of the answers that pass is wrong,
as long as what is to come is drawn like the labelled records. Where that cannot be shown nothing
passes, and it is said about how many labels are missing, or what else stands in the way. Of each
state and of each group one label counts. Answers to questions without a label go to a person.
Exit code 1: no threshold at all, and no file is written. Use other records than those of the
calibration.

Examples:
  recinto gate fit --risk 0.02 --confidence 0.95 -Q questions.toml --data labelled.jsonl -o team.gate
  recinto gate fit --sides --risk 0.05 -Q questions.toml --data labelled.jsonl -o team.gate
  recinto gate fit --promise sets --risk 0.1 -Q questions.toml --data labelled.jsonl -o team.gate";

/// Fit the gate that says which answers may pass
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand, Debug)]
enum Task {
    /// Fit a threshold for each kind of question to labelled records
    Fit(Box<Fit>),
}

/// What is promised about answers that pass.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Word {
    /// At most the risk of those that pass is wrong; by binary search
    #[default]
    Selective,
    /// The same, by tests from strict to loose
    FixedSequence,
    /// The same, by three such sequences, two of which begin at less sure answers: for labels of
    /// which the surest are wrong
    Multistart,
    /// On average, at most the risk of all answers passes and is wrong
    RiskControl,
    /// On average, at most the risk of the sets of options that stay possible lacks the right one;
    /// an answer passes when its option alone is left
    Sets,
}

impl From<Word> for Promise {
    fn from(word: Word) -> Promise {
        match word {
            Word::Selective => Promise::Selective,
            Word::FixedSequence => Promise::FixedSequence,
            Word::Multistart => Promise::Multistart,
            Word::RiskControl => Promise::RiskControl,
            Word::Sets => Promise::Sets,
        }
    }
}

#[derive(clap::Args, Debug)]
#[command(after_help = FIT_EXAMPLES)]
struct Fit {
    /// The largest share of errors, between 0 and 1
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    risk: f64,

    /// How sure the promise is, over the labelled records
    #[arg(long, value_name = "T", default_value_t = 0.95, allow_negative_numbers = true)]
    confidence: f64,

    #[command(flatten)]
    data: DataArgs,

    /// The gate
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// What is promised
    #[arg(long, value_enum, default_value_t)]
    promise: Word,

    /// Thresholds of their own for yes and for no
    #[arg(long)]
    sides: bool,

    /// Let answers to other questions of the same form and size pass too: the labels stand for all
    /// of them
    #[arg(long)]
    any_question: bool,

    /// The least share of all probability that the labels must hold
    #[arg(long, value_name = "T", default_value_t = 0.5, allow_negative_numbers = true)]
    least_mass: f64,

    /// Orders of the options that may give another answer
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    most_flips: u64,

    /// Also write a page and a picture for each form: NAME-noul.html, NAME-noul.png, …
    #[arg(long, value_name = "NAME")]
    report: Option<PathBuf>,

    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    out: OutputArgs,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.task {
        Task::Fit(args) => fit(*args),
    }
}

fn fit(args: Fit) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.out.quiet, args.out.verbose)?;
    let (terms, demands) = asked(&args)?;
    args.reader.none_running("changes with every input: nothing is fitted on it")?;
    let settings = args.reader.settings()?;
    let questions = args.questions.read(&interrupt)?;
    let others = [Some(args.data.data.as_path()), args.questions.questions.as_deref()];
    let files = args.reader.files_read(&settings, &others);
    let target = Target::new(&args.output, &files)?;
    let reports = Reports::new(args.report.as_deref(), &files)?;
    let checked = labelled::look(&args.data.data, questions.as_ref(), &interrupt)?;
    let unlabelled = unlabelled(&checked, questions.as_ref());
    if !terms.any_question {
        unlabelled.iter().for_each(|id| screen.note(&without_label(id)));
    }
    let Opened { mut judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let found =
        labelled::read(&args.data.data, questions.as_ref(), &mut judge, &screen, &interrupt)?;
    // Rows and answers stand side by side.
    let pairs = || found.rows.iter().zip(&found.answers);
    let draws: Vec<Draw> =
        pairs().map(|(row, (_, a))| demands.draw(a, row.label(), row.group())).collect();
    let (identity, calibration) = (judge.identity(), judge.calibration());
    let gate = Gate::fit(identity, calibration, now(), &draws, terms, demands)?;
    let certified = gate.cells().values().any(gate::Fit::is_certified);
    let mut written = Vec::new();
    if certified {
        target.write(&with_end(gate.to_bytes()))?;
        let scored = pairs().zip(&draws).map(|((row, _), draw)| (row.form(), draw.scored.clone()));
        let scored: Vec<(recinto_judge::Form, Scored)> = scored.collect();
        written = reports.write(&who.title(), scored, Some(&gate))?;
    }
    let failure = (!certified).then(|| refused(&gate));
    if args.out.json {
        let body = json!({
            "reader": who,
            "gate": certified.then(|| gate.digest()),
            "file": certified.then(|| args.output.display().to_string()),
            "answers": found.answers.len(), "unavailable": found.unavailable,
            "unlabelled": unlabelled, "questions": gate.questions(),
            "terms": gate.terms(), "demands": gate.demands(), "cells": cells(&gate),
            "reports": written, "error": failure.as_ref().map(Failure::tell),
        });
        envelope::print(&mut screen, "gate fit", body)?;
    } else if certified {
        print(&mut screen, &gate)?;
    }
    for (cell, fit) in gate.cells() {
        if fit.is_certified() || certified {
            let said = about(fit);
            if !said.is_empty() {
                screen.note(&format!("{cell}: {said}"));
            }
        }
    }
    let mut uncounted: Vec<&str> = found
        .answers
        .iter()
        .filter(|(_, answer)| !gate.is_for(answer.facts().question))
        .map(|(id, _)| id.as_str())
        .collect();
    uncounted.sort_unstable();
    uncounted.dedup();
    for id in uncounted {
        let id = escaped(id);
        screen.note(&format!(
            "question `{id}` has labels, but other questions of the same states were drawn in its \
             place: its answers will go to a person"
        ));
    }
    screen.detail(&format!("digest {}", gate.digest()));
    failure
        .map_or(Ok(Exit::Done), |failure| Err(if args.out.json { failure.told() } else { failure }))
}

/// What the flags ask for, refused before anything is read where no gate can be that.
fn asked(args: &Fit) -> Result<(Terms, Demands), Failure> {
    let terms = Terms {
        promise: args.promise.into(),
        risk: Fraction(args.risk),
        delta: Fraction(1.0 - args.confidence),
        sides: args.sides,
        any_question: args.any_question,
    };
    let demands = Demands {
        least_mass: Fraction(args.least_mass),
        most_flips: args.most_flips,
        ..Demands::default()
    };
    if gate::check(&terms, &Demands::default()).is_err() {
        return Err(Failure::usage("--risk and --confidence must be between 0 and 1")
            .hint("such as --risk 0.02 --confidence 0.95"));
    }
    if gate::check(&terms, &demands).is_err() {
        return Err(Failure::usage("--least-mass must be from 0 to 1")
            .hint("it is a share of all probability, such as 0.5"));
    }
    if terms.sides && terms.promise == Promise::Sets {
        return Err(Failure::usage("--sides is for thresholds, and --promise sets has none"));
    }
    Ok((terms, demands))
}

/// Ids of the questions for all records that no record labels.
fn unlabelled(checked: &Checked, questions: Option<&Questions>) -> Vec<String> {
    let all = questions.into_iter().flat_map(Questions::iter);
    let without = all.filter(|(_, question)| !checked.labelled.contains(&question.digest()));
    without.map(|(id, _)| id.to_owned()).collect()
}

fn without_label(id: &str) -> String {
    format!(
        "question `{}` has no label: its answers will go to a person; label some records of it, or \
         give --any-question",
        escaped(id)
    )
}

/// Why a cell has no threshold, what would help, and which labels do not count.
fn about(fit: &gate::Fit) -> String {
    let why = match &fit.finding {
        Finding::Refused(refusal) => Some(format!("no threshold; {refusal}")),
        _ => None,
    };
    why.into_iter().chain(fit.remarks()).collect::<Vec<_>>().join("; ")
}

fn refused(gate: &Gate) -> Failure {
    let cells = gate.cells().iter();
    let why: Vec<String> = cells.map(|(cell, fit)| format!("{cell}: {}", about(fit))).collect();
    let failure = Failure::no(format!("no threshold could be certified: {}", why.join("; ")));
    match gate.cells().values().find_map(|fit| fit.instead) {
        Some(promise) => failure.hint(&format!(
            "`--promise {}` says the same and finds a threshold with these labels; to take it now is \
             a second look at them, so ask for half the doubt (--confidence 0.975 for 0.95)",
            promise.name()
        )),
        None => failure.hint(
            "label more records, allow more risk, or take a model that knows the task better",
        ),
    }
}

fn cells(gate: &Gate) -> Map<String, Value> {
    gate.cells().iter().map(|(cell, fit)| (cell.to_string(), json!(fit))).collect()
}

const COLUMNS: [Column; 6] = [
    Column { head: "OF", goes: 0, right: false },
    Column { head: "THRESHOLD", goes: 0, right: true },
    Column { head: "LABELS", goes: 1, right: true },
    Column { head: "PASS", goes: 0, right: true },
    Column { head: "WRONG", goes: 0, right: true },
    Column { head: "BOUND", goes: 0, right: true },
];

fn print(screen: &mut Screen, gate: &Gate) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = gate
        .cells()
        .iter()
        .map(|(cell, fit)| match &fit.finding {
            Finding::Certified(c) => vec![
                cell.to_string(),
                format!("{:.4}", c.threshold.0),
                c.rows.to_string(),
                c.accepted.to_string(),
                c.errors.to_string(),
                format!("{:.4}", c.bound.0),
            ],
            other => {
                let mut row = vec!["-".to_owned(); COLUMNS.len()];
                row[0] = cell.to_string();
                if let Finding::Sets(sets) = other {
                    row[1] = format!("{:.4}", (1.0 - sets.quantile.0).clamp(0.0, 1.0));
                    row[2] = sets.rows.to_string();
                }
                row
            }
        })
        .collect();
    let width = screen.terminal.then(|| screen.columns());
    table::lines(&COLUMNS, &rows, width).iter().try_for_each(|line| screen.row(line))
}
