//! Labelled records read by a judge: rows to calibrate on, answers to fit a gate on.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use recinto_judge::{Answer, Backend, Judge, Questions, Record, Row, Unavailable};
use recinto_receipt::{Digest, sha256};

use crate::{
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    lines::Lines,
    screen::{self, Screen},
};

/// Bad lines that are named before the rest is only counted.
const NAMED: usize = 10;

/// Labelled records.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Labelled records, one JSON map a line: {"state": …, "labels": {"ID": ANSWER}}, and where
    /// wanted "group", "id" and "questions" of its own
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
}

/// What a judge said to labelled records.
#[derive(Default)]
pub struct Labelled {
    /// Logits and what is right.
    pub rows: Vec<Row>,
    /// Answers, each with its question's id.
    pub answers: Vec<(String, Answer)>,
    /// Labelled questions without an answer.
    pub unavailable: u64,
}

/// The records of a file; `-` is stdin.
pub fn records(path: &Path, interrupt: &Interrupt) -> Result<Lines<Record>, Failure> {
    Lines::open(path, interrupt, |line| Record::from_json(line).map_err(|e| e.what().to_owned()))
}

/// The questions of a record and the place of the right option of each.
fn labelled(
    record: &Record,
    questions: Option<&Questions>,
) -> Result<(Questions, Vec<usize>), String> {
    let all = record.questions.as_ref().or(questions);
    let all = all.ok_or("no questions: give -Q, or `questions` in the record")?;
    let (mut asked, mut places) = (Questions::new(), Vec::new());
    if record.labels.is_empty() {
        return Err("no labels".into());
    }
    for (at, (id, label)) in record.labels.iter().enumerate() {
        let question = all.iter().find(|(other, _)| other == id).map(|(_, question)| question);
        let question = question.ok_or(format!("label {} is of no question", at + 1))?;
        let place = question.place_of(label).map_err(|e| {
            let hint = e.hint().unwrap_or_default();
            format!("label {}: {} ({hint})", at + 1, e.what())
        })?;
        places.push(place);
        asked = asked.with(id, question.clone()).ok_or("a blank id of a question")?;
    }
    Ok((asked, places))
}

/// What a file of labelled records holds.
pub struct Checked {
    /// Records.
    pub count: u64,
    /// Those of the state of an earlier one, with labels of the same questions.
    pub repeated: u64,
    /// Digests of the questions that have a label.
    pub labelled: BTreeSet<Digest>,
}

/// As [`look`]; says on `screen` how many records are about the state of an earlier one.
pub fn check(
    data: &Path,
    questions: Option<&Questions>,
    screen: &Screen,
    interrupt: &Interrupt,
) -> Result<u64, Failure> {
    let Checked { count, repeated, .. } = look(data, questions, interrupt)?;
    if repeated > 0 {
        screen.note(&format!(
            "{repeated} of {count} records label the state of an earlier one again; what is fitted takes \
             each for a draw of its own"
        ));
    }
    Ok(count)
}

/// Checks every line before anything is computed: labels that are lost would bend what is fitted.
pub fn look(
    data: &Path,
    questions: Option<&Questions>,
    interrupt: &Interrupt,
) -> Result<Checked, Failure> {
    let place = data.display();
    // A pipe would be empty the second time.
    if data == Path::new("-") || std::fs::metadata(data).is_ok_and(|meta| !meta.is_file()) {
        return Err(Failure::usage(format!("--data {place}: it is read twice and must be a file")));
    }
    let mut lines = records(data, interrupt)?;
    let (mut count, mut bad, mut named) = (0, 0, Vec::new());
    let (mut seen, mut repeated, mut known) = (BTreeSet::new(), 0, BTreeSet::new());
    while let Some((number, record)) = lines.next()? {
        count += 1;
        let checked = record.and_then(|record| {
            let (asked, _) = labelled(&record, questions)?;
            known.extend(asked.iter().map(|(_, question)| question.digest()));
            let ids: Vec<&str> = record.labels.iter().map(|(id, _)| id.as_str()).collect();
            Ok((record.state.digest(), sha256(ids.join("\0").as_bytes())))
        });
        match checked {
            Ok(asked) => repeated += u64::from(!seen.insert(asked)),
            Err(why) => {
                bad += 1;
                if named.len() < NAMED {
                    named.push(format!("line {number}: {why}"));
                }
            }
        }
    }
    if count == 0 {
        return Err(Failure::usage(format!("{place}: no record")));
    }
    if bad > 0 {
        let more = bad - named.len();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let what = format!("{place}: {}{more}", named.join("; "));
        return Err(
            Failure::usage(what).hint("a line is {\"state\": …, \"labels\": {\"ID\": ANSWER}}")
        );
    }
    Ok(Checked { count, repeated, labelled: known })
}

/// Asks the labelled questions of every record.
pub fn read(
    data: &Path,
    questions: Option<&Questions>,
    judge: &mut Judge<Box<dyn Backend>>,
    screen: &Screen,
    interrupt: &Interrupt,
) -> Result<Labelled, Failure> {
    let (mut lines, mut out) = (records(data, interrupt)?, Labelled::default());
    let identity = judge.identity().digest();
    let mut count = 0;
    while let Some((number, record)) = lines.next()? {
        let changed = || Failure::running(format!("{}: line {number} changed", data.display()));
        let record = record.map_err(|_| changed())?;
        let (asked, places) = labelled(&record, questions).map_err(|_| changed())?;
        let judgement = judge
            .judge(&record.state, &asked)
            .map_err(|e| Failure::from(e).at(&format!("{}: line {number}", data.display())))?;
        if interrupt.is_set() {
            return Err(Failure::silent(Exit::Interrupted));
        }
        let found = judgement.answers.into_iter().zip(judgement.logits).zip(places);
        for (((id, answer), logits), place) in found {
            match (answer, logits) {
                (Ok(answer), Some(logits)) => {
                    // What is fitted would be bound to a name that no answer has.
                    if answer.facts().identity != identity {
                        return Err(other_model(answer.facts().model.as_deref()));
                    }
                    let own = judge.backend().temperature(answer.form(), logits.len());
                    let row = Row::new(answer.form(), logits, place)?.with_own(own);
                    // Without a group, a record is one by itself: its labels are of one state.
                    let row = row.of_record(number).in_group(record.group_number());
                    out.rows.push(row);
                    out.answers.push((id, answer));
                }
                (Err(Unavailable::Failed), _) => return Err(failed(judge)),
                _ => out.unavailable += 1,
            }
        }
        count += 1;
        if count % 100 == 0 {
            screen.detail(&format!("{count} records read"));
        }
    }
    if out.unavailable > 0 {
        screen.note(&format!("{} labelled questions have no answer", out.unavailable));
    }
    if out.rows.is_empty() {
        let what = format!("{}: no labelled question has an answer", data.display());
        return Err(Failure::running(what));
    }
    Ok(out)
}

/// A service's answers bear another model's name than the one that is set.
fn other_model(name: Option<&str>) -> Failure {
    let name = name.unwrap_or("another one");
    let what = format!("the service says that {name} answered, and `judge_model` names another");
    Failure::bound(screen::escaped(&what)).hint(
        "name that very model: an alias may mean another one tomorrow, and what is fitted holds for \
         one",
    )
}

/// Why the backend failed: a fit on the rest would be about something else.
pub fn failed(judge: &Judge<Box<dyn Backend>>) -> Failure {
    let why = judge.backend().trouble().unwrap_or_else(|| "the backend failed".into());
    match why.split_once("\nhint: ") {
        Some((what, hint)) => Failure::running(what).hint(hint),
        None => Failure::running(why),
    }
}
