//! `recinto judge` without a task: one state, its answers, and an exit code by the gate.

use std::path::PathBuf;

use recinto_judge::{Gate, State, Unavailable};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    asked::QuestionArgs,
    judged::{self, Judged, Judgements, Warning},
    reader::{Opened, ReaderArgs, Who},
    show,
};
use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    input::{self, Reading},
    interrupt::Interrupt,
    open::OutputArgs,
    screen::Screen,
    text::Encoding,
};

#[derive(clap::Args, Debug, Default)]
// Of the same name as the one around it.
#[group(skip)]
pub struct Args {
    /// Read the state from this file; stdin without it, and with `-`
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The state is JSON: text, a map or a list, which instructions can point into
    #[arg(long)]
    json_state: bool,

    /// Encoding of the state
    #[arg(long, value_enum, default_value_t)]
    encoding: Encoding,

    /// The gate, made by `recinto gate fit` for this very model
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,

    /// Exit with 1 where a passed answer is another one: ANSWER for a single question, else
    /// ID=ANSWER; repeatable (yes, no, a label, none, a level from 0)
    #[arg(long, value_name = "[ID=]ANSWER", allow_hyphen_values = true)]
    expect: Vec<String>,

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

#[derive(Serialize)]
struct Body<'a> {
    reader: &'a Who,
    /// The gate's file; null where there is none.
    gate: Option<String>,
    answers: Map<String, Value>,
    outcome: &'static str,
    exit_code: u8,
    warnings: Vec<Warning>,
    usage: recinto_judge::Usage,
    /// Why the backend failed, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    args.reader.none_running("takes several states, and here is one")?;
    let settings = args.reader.settings()?;
    let questions = args.questions.needed(&interrupt)?;
    let expected = expectations(&args.expect, &questions)?;
    check_group(args.group)?;
    let state = state(&args, &interrupt)?;
    let Opened { mut judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let gate = match &args.gate {
        Some(path) => Some(ReaderArgs::gate(path, &judge)?),
        None => None,
    };
    let gate = gate.as_ref();
    let mut found = judged::judge(&mut judge, &state, &questions, gate, args.group, &interrupt)?;
    for (id, place, label) in expected {
        for judged in found.all.iter_mut().filter(|judged| judged.id == id) {
            judged.expected = Some(is_expected(judged, place, &label));
        }
    }
    let trouble = judge.backend().trouble();
    if args.output.json {
        let body = body(&args, &who, &found, trouble);
        envelope::print(&mut screen, "judge", body)?;
    } else {
        show::table(&mut screen, &found)?;
    }
    remarks(&screen, &found, gate, judge.backend().trouble());
    if judge.calibration().is_some() {
        uncalibrated(&found).iter().for_each(|note| screen.note(note));
    }
    let too_long = |judged: &Judged| matches!(judged.answer, Err(Unavailable::TooLong { .. }));
    if found.all.iter().any(too_long) {
        args.reader.about_long(&settings).into_iter().for_each(|note| screen.note(note));
    }
    Ok(found.exit())
}

fn body<'a>(args: &Args, who: &'a Who, found: &Judgements, trouble: Option<String>) -> Body<'a> {
    let exit = found.exit();
    let outcome = match exit {
        Exit::Failed => "unavailable",
        Exit::Person => "review",
        Exit::No => "other",
        _ => "pass",
    };
    Body {
        reader: who,
        gate: args.gate.as_ref().map(|path| path.display().to_string()),
        answers: found.to_json(),
        outcome,
        exit_code: exit as u8,
        warnings: found.warnings(),
        usage: found.usage,
        trouble,
    }
}

/// What stderr has beside the table.
fn remarks(screen: &Screen, found: &Judgements, gate: Option<&Gate>, trouble: Option<String>) {
    // Labels that begin others come by the dozen: one line for each kind and question.
    let mut told: Vec<(&str, &str)> = Vec::new();
    for finding in &found.warnings {
        let kind = (finding.check.code, finding.id.as_str());
        if told.contains(&kind) {
            continue;
        }
        told.push(kind);
        let same = found.warnings.iter().filter(|f| (f.check.code, f.id.as_str()) == kind).count();
        let text = finding.to_string();
        let text = text.trim_start_matches("warning: ").replace("\nhint: ", "; ");
        match same {
            1 => screen.note(&text),
            _ => screen.note(&format!("{text} (and {} more)", same - 1)),
        }
    }
    if let Some(trouble) = trouble {
        screen.note(&trouble.replace("\nhint: ", "; "));
    }
    if gate.is_none() {
        screen.note("no gate was given, so nothing passes; `recinto gate fit` makes one");
    }
    show::details(screen, found);
    let usage = found.usage;
    screen.detail(&format!("{} tokens read", usage.input_tokens));
}

/// Answers that the calibration has no map for.
fn uncalibrated(found: &Judgements) -> Vec<String> {
    let of = |judged: &Judged| {
        let answer = judged.answer.as_ref().ok().filter(|a| a.facts().calibrated.is_none())?;
        let (form, options) = (answer.form().name(), answer.probabilities().len());
        Some(format!(
            "{}: not calibrated: the calibration was fitted on no {form} of about {options} options",
            judged.id
        ))
    };
    found.all.iter().filter_map(of).collect()
}

fn state(args: &Args, interrupt: &Interrupt) -> Result<State, Failure> {
    let how = Reading { encoding: args.encoding, lock: false };
    let dash = PathBuf::from("-");
    let path = args.file.as_ref().unwrap_or(&dash);
    if path == &dash && std::io::IsTerminal::is_terminal(&std::io::stdin()) && args.file.is_none() {
        return Err(Failure::usage("no state was given")
            .hint("give it with --file, by a pipe, or `--file -` to type it"));
    }
    let text = input::file(path, how, interrupt)?;
    #[cfg(debug_assertions)]
    crate::fault::trip(&text);
    match args.json_state {
        true => Ok(State::from_json(&text)?),
        false => Ok(State::text(text.as_str())),
    }
}

/// Groups must be able to shrink.
pub fn check_group(group: Option<usize>) -> Result<(), Failure> {
    match group {
        Some(0 | 1 | 256..) => Err(Failure::usage("--group must be from 2 to 255")),
        _ => Ok(()),
    }
}

/// Each question that an answer is expected of: its id, the option's place and label.
fn expectations(
    expect: &[String],
    questions: &recinto_judge::Questions,
) -> Result<Vec<(String, usize, String)>, Failure> {
    let mut out: Vec<(String, usize, String)> = Vec::new();
    for word in expect {
        let named = word.split_once('=').and_then(|(id, label)| {
            questions.iter().find(|(other, _)| *other == id).map(|(id, q)| (id, q, label))
        });
        let only = || {
            let mut all = questions.iter();
            let first = all.next()?;
            all.next().is_none().then_some((first.0, first.1, word.as_str()))
        };
        let Some((id, question, label)) = named.or_else(only) else {
            return Err(Failure::usage("--expect names no question")
                .hint("with several questions it is ID=ANSWER"));
        };
        if out.iter().any(|(other, ..)| other == id) {
            return Err(Failure::usage("--expect is given twice for one question"));
        }
        let place = question.place_of(&Value::from(label));
        let place = place.map_err(|e| Failure::from(e).at("--expect"))?;
        out.push((id.to_owned(), place, question.labels()[place].clone()));
    }
    Ok(out)
}

/// By rounds, options have other places than in the whole question.
fn is_expected(judged: &Judged, place: usize, label: &str) -> bool {
    let Some(likeliest) = judged.likeliest() else { return false };
    match &judged.rounds {
        None => likeliest == place,
        Some(_) => judged.question.labels().get(likeliest).is_some_and(|found| found == label),
    }
}
