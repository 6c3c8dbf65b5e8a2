//! `recinto gate`: thresholds with a promise, fitted to labelled records.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use recinto_judge::{
    Artefact, Fraction, Gate, Scored,
    gate::{Demands, Finding, Promise, Refusal, Terms},
};
use serde_json::{Map, Value, json};

use super::judge::{
    asked::QuestionArgs,
    calibrate::{Reports, now, with_end},
    labelled::{self, DataArgs},
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
Examples:
  recinto gate fit --risk 0.02 --confidence 0.95 -Q questions.toml --data labelled.jsonl -o team.gate
  recinto gate fit --calibration team.cal -Q questions.toml --data more.jsonl -o team.gate
  recinto judge -Q questions.toml --gate team.gate < mail.txt";

const FIT_EXAMPLES: &str = "\
With the default promise: with this confidence, at most the risk of the answers that pass is wrong,
as long as what is to come is drawn like the labelled records. Where that cannot be shown nothing
passes, and it is said about how many labels are missing. Exit code 1: no threshold at all, and no
file is written. Use other records than those of the calibration.

Examples:
  recinto gate fit --risk 0.02 --confidence 0.95 -Q questions.toml --data labelled.jsonl -o team.gate
  recinto gate fit --sides --risk 0.05 -Q questions.toml --data labelled.jsonl -o team.gate";

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
    /// On average, at most the risk of all answers passes and is wrong
    RiskControl,
}

impl From<Word> for Promise {
    fn from(word: Word) -> Promise {
        match word {
            Word::Selective => Promise::Selective,
            Word::FixedSequence => Promise::FixedSequence,
            Word::RiskControl => Promise::RiskControl,
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
    let inside = |x: f64| x > 0.0 && x < 1.0;
    if !inside(args.risk) || !inside(args.confidence) {
        return Err(Failure::usage("--risk and --confidence must be between 0 and 1")
            .hint("such as --risk 0.02 --confidence 0.95"));
    }
    let terms = Terms {
        promise: args.promise.into(),
        risk: Fraction(args.risk),
        delta: Fraction(1.0 - args.confidence),
        sides: args.sides,
    };
    let demands = Demands {
        least_mass: Fraction(args.least_mass),
        most_flips: args.most_flips,
        ..Demands::default()
    };
    args.reader.must_stay()?;
    let settings = args.reader.settings()?;
    let questions = args.questions.read(&interrupt)?;
    let others = [Some(args.data.data.as_path()), args.questions.questions.as_deref()];
    let files = args.reader.files_read(&settings, &others);
    let target = Target::new(&args.output, &files)?;
    let reports = Reports::new(args.report.as_deref(), &files)?;
    labelled::check(&args.data.data, questions.as_ref(), &screen, &interrupt)?;
    let Opened { mut judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let found =
        labelled::read(&args.data.data, questions.as_ref(), &mut judge, &screen, &interrupt)?;
    let trials: Vec<_> =
        found.answers.iter().map(|(answer, right)| demands.trial(answer, *right)).collect();
    let (identity, calibration) = (judge.identity(), judge.calibration());
    let gate = Gate::fit(identity, calibration, now(), &trials, terms, demands)?;
    let certified = gate.cells().values().any(|cell| matches!(cell, Finding::Certified(_)));
    let mut written = Vec::new();
    if certified {
        target.write(&with_end(gate.to_bytes()))?;
        let probabilities = |at: usize| -> Vec<f64> {
            found.answers[at].0.probabilities().iter().map(|share| share.p).collect()
        };
        // Rows and answers stand side by side.
        let all = found.rows.iter().enumerate();
        let scored: Vec<(recinto_judge::Form, Scored)> = all
            .map(|(at, row)| (row.form(), Scored { p: probabilities(at), label: row.label() }))
            .collect();
        written = reports.write(&who.title(), scored, Some(&gate))?;
    }
    let failure = (!certified).then(|| refused(&gate));
    if args.out.json {
        let body = json!({
            "reader": who,
            "gate": certified.then(|| gate.digest()),
            "file": certified.then(|| args.output.display().to_string()),
            "answers": found.answers.len(), "unavailable": found.unavailable,
            "terms": gate.terms(), "demands": gate.demands(), "cells": cells(&gate),
            "reports": written, "error": failure.as_ref().map(Failure::tell),
        });
        envelope::print(&mut screen, "gate fit", body)?;
    } else if certified {
        print(&mut screen, &gate)?;
    }
    for (cell, finding) in gate.cells() {
        if let Finding::Refused(refusal) = finding {
            screen.note(&format!("{cell}: no threshold; {}", words(refusal)));
        }
    }
    screen.detail(&format!("digest {}", gate.digest()));
    failure
        .map_or(Ok(Exit::Done), |failure| Err(if args.out.json { failure.told() } else { failure }))
}

/// Why a cell has no threshold, and what would help.
fn words(refusal: &Refusal) -> String {
    match refusal {
        Refusal::TooFew { rows, missing } => {
            format!("{rows} labels, and about {missing} more are needed")
        }
        Refusal::TooManyErrors { rows, least_risk } => format!(
            "in {rows} labels the risk is nowhere below {:.4}, and more labels will not help",
            least_risk.0
        ),
        Refusal::OutOfRange => "risk or confidence is out of range".into(),
    }
}

fn refused(gate: &Gate) -> Failure {
    let why = gate.cells().iter().filter_map(|(cell, finding)| match finding {
        Finding::Refused(refusal) => Some(format!("{cell}: {}", words(refusal))),
        Finding::Certified(_) => None,
    });
    let why: Vec<String> = why.collect();
    Failure::no(format!("no threshold could be certified: {}", why.join("; ")))
        .hint("label more records, allow more risk, or take a model that knows the task better")
}

fn cells(gate: &Gate) -> Map<String, Value> {
    gate.cells().iter().map(|(cell, finding)| (cell.to_string(), json!(finding))).collect()
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
        .map(|(cell, finding)| match finding {
            Finding::Certified(c) => vec![
                cell.to_string(),
                format!("{:.4}", c.threshold.0),
                c.rows.to_string(),
                c.accepted.to_string(),
                c.errors.to_string(),
                format!("{:.4}", c.bound.0),
            ],
            Finding::Refused(_) => {
                let mut row = vec!["-".to_owned(); COLUMNS.len()];
                row[0] = cell.to_string();
                row
            }
        })
        .collect();
    let width = screen.terminal.then(|| screen.columns());
    table::lines(&COLUMNS, &rows, width).iter().try_for_each(|line| screen.row(line))
}
