//! `recinto judge run`: records line by line through the gate, parted by what it says.

use std::path::PathBuf;

use recinto_judge::{
    Artefact, Backend, Gate, Judge, Model, Outcome, Questions, Record, Unavailable, Usage,
};
use recinto_receipt::{Digest, canonical_bytes, sha256};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    asked::QuestionArgs,
    folder::{Folder, Part},
    judged::{self, Judgements},
    labelled::{self, records},
    once::check_group,
    reader::{Opened, ReaderArgs, Who},
};
use crate::{
    envelope, exit::Exit, failure::Failure, interrupt::Interrupt, lines::Lines, open::OutputArgs,
    screen::Screen,
};

const EXAMPLES: &str = "\
A record is a JSON map on a line of its own, {\"state\": …}, and perhaps an \"id\". Where the gate
lets every answer pass, the record goes into decided.jsonl, else into person.jsonl; one without an
answer goes into unavailable.jsonl. A record that is in one of them for the same state, id,
questions, model, calibration and gate is not judged again. Lines that cannot be read are named in
bad.jsonl and on stderr with their numbers, and do not stop the others (exit code 5).

Examples:
  recinto judge run -Q questions.toml --gate team.gate --in mails.jsonl --out judged
  recinto judge run -Q questions.toml --gate team.gate --in - --out judged < mails.jsonl";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The records; `-` is stdin
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,

    /// The folder for what comes of them; it is made where it is missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// The gate, made by `recinto gate fit` for this very model; without one nothing is decided,
    /// and every answer goes to a person
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,

    /// Choices of more options than this go by rounds of such groups
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    group: Option<usize>,

    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// How many records came where.
#[derive(Default, Serialize)]
struct Counts {
    decided: u64,
    person: u64,
    unavailable: u64,
    /// Judged before.
    skipped: u64,
    /// Of earlier runs, judged by something else.
    others: u64,
    /// Lines that could not be read or asked about.
    bad: u64,
}

/// Bad lines that an envelope names; `bad.jsonl` has all of them.
const NAMED: usize = 1000;

/// What a record's key is made of.
#[derive(Serialize)]
struct Key<'a> {
    state: Digest,
    id: Option<&'a str>,
    #[serde(flatten)]
    basis: Basis,
}

/// What all records of a run are judged by, beside the questions.
#[derive(Clone, Copy, Serialize)]
struct By {
    reader: Digest,
    calibration: Option<Digest>,
    gate: Option<Digest>,
    group: Option<usize>,
}

/// What a record is judged by.
#[derive(Clone, Copy, Serialize)]
struct Basis {
    questions: Digest,
    #[serde(flatten)]
    by: By,
}

/// One line of the three files.
#[derive(Serialize)]
struct Judged<'a> {
    /// Digest of all that the answers depend on.
    input: Digest,
    /// The same without the record itself.
    basis: Digest,
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    outcome: &'static str,
    answers: Map<String, Value>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.reader.settings()?;
    let questions = args.questions.read(&interrupt)?;
    check_group(args.group)?;
    let lines = records(&args.input, &interrupt)?;
    let mut folder = Folder::open(&args.out)?;
    let Opened { judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let gate = args.gate.as_ref().map(|path| ReaderArgs::gate(path, &judge)).transpose()?;
    let by = By {
        reader: who.digest,
        calibration: who.calibration,
        gate: gate.as_ref().map(Gate::digest),
        group: args.group,
    };
    let mut batch = Batch {
        questions,
        gate,
        by,
        judge,
        interrupt,
        counts: Counts::default(),
        bad: Vec::new(),
        usage: Usage::default(),
    };
    if let Some(questions) = &batch.questions {
        let basis = sha256(&canonical_bytes(&batch.basis(questions)));
        batch.counts.others = folder.others(basis);
    }
    if batch.counts.others > 0 {
        screen.note(&format!(
            "{} records in {} were judged by other questions, or by another reader, calibration or \
             gate: their `basis` is another one",
            batch.counts.others,
            args.out.display(),
        ));
    }
    let done = batch.run(lines, &mut folder, &mut screen);
    folder.sync()?;
    done?;
    report(&args, &mut screen, &who, &batch)?;
    Ok(if batch.counts.bad > 0 { Exit::Records } else { Exit::Done })
}

/// Records on their way through a judge and a gate.
struct Batch {
    questions: Option<Questions>,
    gate: Option<Gate>,
    by: By,
    judge: Judge<Box<dyn Backend>>,
    interrupt: Interrupt,
    counts: Counts,
    /// The first bad lines.
    bad: Vec<(u64, String)>,
    usage: Usage,
}

impl Batch {
    fn run(
        &mut self,
        mut lines: Lines<Record>,
        folder: &mut Folder,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        while let Some((number, record)) = lines.next()? {
            let why = match record {
                Ok(record) => self.one(number, &record, folder)?,
                Err(why) => Some(why),
            };
            let Some(why) = why else { continue };
            self.counts.bad += 1;
            screen.note(&format!("line {number}: {why}"));
            folder.append_bad(number, &why)?;
            if self.bad.len() < NAMED {
                self.bad.push((number, why));
            }
        }
        Ok(())
    }

    /// Judges one record and writes down what came of it; or why it could not be asked about.
    fn one(
        &mut self,
        line: u64,
        record: &Record,
        folder: &mut Folder,
    ) -> Result<Option<String>, Failure> {
        let Some(asked) = record.questions.as_ref().or(self.questions.as_ref()) else {
            return Ok(Some("no questions: give -Q, or `questions` in the record".into()));
        };
        let (id, basis) = (record.id.as_deref(), self.basis(asked));
        let key = Key { state: record.state.digest(), id, basis };
        let input = sha256(&canonical_bytes(&key));
        if folder.is_done(&input) {
            self.counts.skipped += 1;
            return Ok(None);
        }
        let (gate, group, interrupt) = (self.gate.as_ref(), self.by.group, &self.interrupt);
        let judged = judged::judge(&mut self.judge, &record.state, asked, gate, group, interrupt);
        let found = match judged.and_then(|found| lasting(found, &self.judge)) {
            Ok(found) => found,
            Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
            // Every further record would fail alike: they are left for the next run.
            Err(failure) if self.judge.backend().ended() => return Err(failure),
            Err(failure) => return Ok(Some(failure.tell().message)),
        };
        self.usage = self.usage.plus(found.usage);
        let (part, count) = match found.exit() {
            Exit::Done => (Part::Decided, &mut self.counts.decided),
            Exit::Person => (Part::Person, &mut self.counts.person),
            _ => (Part::Unavailable, &mut self.counts.unavailable),
        };
        *count += 1;
        let (basis, outcome) = (sha256(&canonical_bytes(&basis)), part.outcome());
        let written = Judged { input, basis, line, id, outcome, answers: found.to_json() };
        folder.append(part, input, &written)?;
        Ok(None)
    }

    /// What a record with these questions is judged by.
    fn basis(&self, questions: &Questions) -> Basis {
        Basis { questions: sha256(questions.to_wire().to_string().as_bytes()), by: self.by }
    }
}

/// What will be the same the next time. A backend that failed may not fail again, so its record is
/// not written down as done.
fn lasting(found: Judgements, judge: &Judge<Box<dyn Backend>>) -> Result<Judgements, Failure> {
    let service = matches!(judge.backend().model(), Model::Hosted { .. });
    let reasons = || {
        found.all.iter().filter_map(|judged| match &judged.outcome {
            Outcome::Unavailable { reason } => Some(reason),
            _ => None,
        })
    };
    if reasons().any(|why| matches!(why, Unavailable::Failed | Unavailable::Offline)) {
        return Err(labelled::failed(judge));
    }
    // What a model here does not answer it never will; a service may, the next time.
    let left_out =
        |why: &Unavailable| matches!(why, Unavailable::NoAnswer | Unavailable::NotANumber);
    if service && reasons().any(left_out) {
        return Err(Failure::running(
            "the service left out an answer, or gave one that is no number",
        )
        .hint("the same command asks again"));
    }
    Ok(found)
}

fn report(args: &Args, screen: &mut Screen, who: &Who, batch: &Batch) -> Result<(), Failure> {
    let counts = &batch.counts;
    if args.output.json {
        let bad: Vec<Value> =
            batch.bad.iter().map(|(line, why)| json!({ "line": line, "why": why })).collect();
        let body = json!({
            "reader": who, "gate": batch.by.gate,
            "folder": args.out.display().to_string(),
            "records": counts, "bad": bad, "usage": batch.usage,
        });
        return envelope::print(screen, "judge run", body);
    }
    let files = [
        (Part::Decided.file(), counts.decided),
        (Part::Person.file(), counts.person),
        (Part::Unavailable.file(), counts.unavailable),
        ("bad.jsonl", counts.bad),
        ("judged before", counts.skipped),
    ];
    files.iter().try_for_each(|(name, count)| screen.row(&format!("{name:<18} {count:>8}")))
}
