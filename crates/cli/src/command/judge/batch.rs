//! `recinto judge run`: records line by line through the gate, parted by what it says.

use std::path::PathBuf;

use recinto_judge::{Artefact, Backend, Gate, Judge, Outcome, Questions, Record, Unavailable};
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
    envelope, exit::Exit, failure::Failure, interrupt::Interrupt, open::OutputArgs, screen::Screen,
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
    /// Lines that could not be read or asked about.
    bad: u64,
}

/// What a record's key is made of.
#[derive(Serialize)]
struct Key<'a> {
    state: Digest,
    id: Option<&'a str>,
    questions: Digest,
    reader: Digest,
    calibration: Option<Digest>,
    gate: Option<Digest>,
    group: Option<usize>,
}

/// One line of the three files.
#[derive(Serialize)]
struct Judged<'a> {
    /// Digest of all that the answers depend on.
    input: String,
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
    let mut lines = records(&args.input)?;
    let mut folder = Folder::open(&args.out)?;
    let Opened { mut judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let gate = args.gate.as_ref().map(|path| ReaderArgs::gate(path, &judge)).transpose()?;
    let (mut counts, mut bad) = (Counts::default(), Vec::new());
    let mut usage = recinto_judge::Usage::default();
    while let Some((number, record)) = lines.next()? {
        let judged = record.and_then(|record| {
            let asked = record.questions.clone().or_else(|| questions.clone());
            Ok((record, asked.ok_or("no questions: give -Q, or `questions` in the record")?))
        });
        let (record, asked) = match judged {
            Ok(found) => found,
            Err(why) => {
                counts.bad += 1;
                screen.note(&format!("line {number}: {why}"));
                bad.push((number, why));
                continue;
            }
        };
        let input = key(&record, &asked, &who, gate.as_ref(), args.group);
        if folder.is_done(&input) {
            counts.skipped += 1;
            continue;
        }
        let judged =
            judged::judge(&mut judge, &record.state, &asked, gate.as_ref(), args.group, &interrupt);
        let found = match judged.and_then(|found| lasting(found, &judge)) {
            Ok(found) => found,
            Err(failure) if failure.exit == Exit::Interrupted => {
                folder.sync()?;
                return Err(failure);
            }
            Err(failure) => {
                let why = failure.tell().message;
                counts.bad += 1;
                screen.note(&format!("line {number}: {why}"));
                bad.push((number, why));
                continue;
            }
        };
        usage = usage.plus(found.usage);
        let (part, count) = match found.exit() {
            Exit::Done => (Part::Decided, &mut counts.decided),
            Exit::Person => (Part::Person, &mut counts.person),
            _ => (Part::Unavailable, &mut counts.unavailable),
        };
        *count += 1;
        let id = record.id.as_deref();
        let outcome = part.outcome();
        let written =
            Judged { input: input.clone(), line: number, id, outcome, answers: found.to_json() };
        folder.append(part, &input, &written)?;
        if interrupt.is_set() {
            folder.sync()?;
            return Err(Failure::silent(Exit::Interrupted));
        }
    }
    folder.sync()?;
    folder.write_bad(&bad)?;
    report(&args, &mut screen, &who, gate.as_ref(), &counts, &bad, usage)?;
    Ok(if counts.bad > 0 { Exit::Records } else { Exit::Done })
}

fn key(
    record: &Record,
    asked: &Questions,
    who: &Who,
    gate: Option<&Gate>,
    group: Option<usize>,
) -> String {
    let key = Key {
        state: record.state.digest(),
        id: record.id.as_deref(),
        questions: sha256(asked.to_wire().to_string().as_bytes()),
        reader: who.digest,
        calibration: who.calibration,
        gate: gate.map(Gate::digest),
        group,
    };
    format!("sha256:{}", sha256(&canonical_bytes(&key)))
}

/// What will be the same the next time. A backend that failed may not fail again, so its record is
/// not written down as done.
fn lasting(found: Judgements, judge: &Judge<Box<dyn Backend>>) -> Result<Judgements, Failure> {
    let failed = |judged: &judged::Judged| {
        let reason = match &judged.outcome {
            Outcome::Unavailable { reason } => reason,
            _ => return false,
        };
        matches!(reason, Unavailable::Failed | Unavailable::Offline)
    };
    match found.all.iter().any(failed) {
        true => Err(labelled::failed(judge)),
        false => Ok(found),
    }
}

fn report(
    args: &Args,
    screen: &mut Screen,
    who: &Who,
    gate: Option<&Gate>,
    counts: &Counts,
    bad: &[(u64, String)],
    usage: recinto_judge::Usage,
) -> Result<(), Failure> {
    if args.output.json {
        let bad: Vec<Value> =
            bad.iter().map(|(line, why)| json!({ "line": line, "why": why })).collect();
        let body = json!({
            "reader": who, "gate": gate.map(Gate::digest),
            "folder": args.out.display().to_string(),
            "records": counts, "bad": bad, "usage": usage,
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
