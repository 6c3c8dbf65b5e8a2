//! `recinto judge calibrate`: maps from logits to probabilities, fitted to labelled records.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use clap::ValueEnum;
use recinto_judge::{
    Answer, Artefact, Bucket, Calibration, Entry, Form, Gate, Report, Row, Scored, Settings,
    Skipped,
    calibrate::{Fitted, Method},
    gate::Demands,
    rows::split,
};
use serde_json::{Map, Value, json};

use super::{
    asked::QuestionArgs,
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
A temperature is fitted for each form, and for each number of options that has rows enough; yes or
no may have a line (platt) or steps (isotonic) instead. Half of the records are fitted on, the other
half is measured on; a record, and a group, is never divided. The artefact holds for this model,
wording and orders, and for no other, and for numbers of options that it has seen (2, 3-5, 6-10,
from 11 the fewest to the most): an answer with others stays as it is, uncalibrated. Fit a gate on
other records than these.

Examples:
  recinto judge calibrate -Q questions.toml --data labelled.jsonl -o team.cal
  recinto judge calibrate -Q questions.toml --data labelled.jsonl -o team.cal --report team";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    data: DataArgs,

    /// The calibration
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Also write a page and a picture for each form: NAME-noul.html, NAME-noul.png, …
    #[arg(long, value_name = "NAME")]
    report: Option<PathBuf>,

    /// The map for yes or no
    #[arg(long, value_enum, default_value_t)]
    whether_map: WhetherMap,

    /// Rows that a number of options needs for a map of its own
    #[arg(long, value_name = "N", default_value_t = 2000, allow_negative_numbers = true)]
    bucket_rows: usize,

    /// Fix which records are fitted on and which are measured on
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    split_seed: u64,

    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    out: OutputArgs,
}

/// A map for yes or no.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum WhetherMap {
    /// Logits divided by one number
    #[default]
    Temperature,
    /// A line through the logit
    Platt,
    /// Rising steps; 1,000 rows at least
    Isotonic,
}

impl From<WhetherMap> for Method {
    fn from(map: WhetherMap) -> Method {
        match map {
            WhetherMap::Temperature => Method::Temperature,
            WhetherMap::Platt => Method::Platt,
            WhetherMap::Isotonic => Method::Isotonic,
        }
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.out.quiet, args.out.verbose)?;
    if args.reader.calibration.is_some() {
        return Err(Failure::usage("--calibration has no place where one is made"));
    }
    args.reader.none_running("changes with every input: nothing is fitted on it")?;
    let settings = args.reader.settings()?;
    let questions = args.questions.read(&interrupt)?;
    let others = [Some(args.data.data.as_path()), args.questions.questions.as_deref()];
    let files = args.reader.files_read(&settings, &others);
    let target = Target::new(&args.output, &files)?;
    let reports = Reports::new(args.report.as_deref(), &files)?;
    let count = labelled::check(&args.data.data, questions.as_ref(), &screen, &interrupt)?;
    screen.detail(&format!("{count} labelled records"));
    let Opened { mut judge, who } = args.reader.open(&settings, &screen, &interrupt)?;
    let found =
        labelled::read(&args.data.data, questions.as_ref(), &mut judge, &screen, &interrupt)?;
    let how = Settings {
        whether: args.whether_map.into(),
        bucket_rows: args.bucket_rows,
        seed: args.split_seed,
        ..Settings::default()
    };
    let (fitted, skipped) = Calibration::fit(judge.identity(), now(), &found.rows, &how);
    if fitted.forms().is_empty() {
        let why: Vec<String> =
            skipped.iter().map(|s| format!("{}: {}", place(s), s.error.what())).collect();
        return Err(Failure::no(format!("nothing could be fitted: {}", why.join("; "))));
    }
    target.write(&with_end(fitted.to_bytes()))?;
    let measured = split(&found.rows, how.share, how.seed).1;
    let measured = measured.iter().map(|row| (row.form(), scored(&fitted, row))).collect();
    let written = reports.write(&who.title(), measured, None)?;
    let least = Demands::default().least_mass.0;
    let thin = thin(&found.answers, least);
    if args.out.json {
        let body = json!({
            "reader": who, "calibration": fitted.digest(),
            "file": args.output.display().to_string(), "rows": found.rows.len(),
            "unavailable": found.unavailable, "low_mass": thin, "maps": maps(&fitted),
            "skipped": skipped.iter().map(skip).collect::<Vec<_>>(), "reports": written,
        });
        envelope::print(&mut screen, "judge calibrate", body)?;
    } else {
        print(&mut screen, &fitted)?;
    }
    for s in &skipped {
        let hint = s.error.hint().map_or(String::new(), |hint| format!("; {hint}"));
        screen.note(&format!("{}: {}{hint}", place(s), s.error.what()));
    }
    if thin > 0 {
        screen.note(&format!(
            "{thin} of {} rows are of answers whose labels hold less than {least} of all probability \
             (option_mass): a gate never lets such an answer pass, and they bend what is fitted for \
             those that do; the prompt did not land",
            found.rows.len()
        ));
    }
    screen.detail(&format!("digest {}", fitted.digest()));
    Ok(Exit::Done)
}

/// How many answers have labels that hold less than `least` of all probability, as far as it is
/// known.
fn thin(answers: &[(String, Answer)], least: f64) -> usize {
    let is_thin = |answer: &Answer| answer.facts().option_mass.is_some_and(|mass| mass < least);
    answers.iter().filter(|(_, answer)| is_thin(answer)).count()
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// An artefact as a file: its bytes, and an end of the line.
pub fn with_end(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(b'\n');
    bytes
}

fn scored(fitted: &Calibration, row: &Row) -> Scored {
    match fitted.map(row.form(), row.logits().len()) {
        Some(map) => Scored { p: map.apply(row.logits()), label: row.label() },
        None => row.plain(),
    }
}

fn place(skipped: &Skipped) -> String {
    skipped.bucket.map_or(skipped.form.name().into(), |bucket| bucket.to_string())
}

fn skip(skipped: &Skipped) -> Value {
    json!({ "of": place(skipped), "why": skipped.error.what(), "hint": skipped.error.hint() })
}

/// Each map by its form or bucket.
fn entries(fitted: &Calibration) -> Vec<(String, &Entry)> {
    let forms = fitted.forms().iter().map(|(form, entry)| (form.name().to_owned(), entry));
    let buckets = fitted.buckets().iter().map(|(bucket, entry)| (bucket.to_string(), entry));
    forms.chain(buckets).collect()
}

/// The numbers of options that a map holds for, such as `2, 3-5, 11-40`.
fn options(entry: &Entry) -> String {
    let of = |(bucket, [fewest, most]): (&Bucket, &[u64; 2])| match bucket.size.is_open() {
        true => format!("{fewest}-{most}"),
        false => bucket.size.to_string(),
    };
    entry.options.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn maps(fitted: &Calibration) -> Map<String, Value> {
    entries(fitted).into_iter().map(|(name, entry)| (name, json!(entry))).collect()
}

const COLUMNS: [Column; 7] = [
    Column { head: "OF", goes: 0, right: false },
    Column { head: "OPTIONS", goes: 0, right: false },
    Column { head: "MAP", goes: 0, right: false },
    Column { head: "ROWS", goes: 0, right: true },
    Column { head: "MEASURED", goes: 2, right: true },
    Column { head: "ECE", goes: 0, right: false },
    Column { head: "LOSS", goes: 1, right: false },
];

fn print(screen: &mut Screen, fitted: &Calibration) -> Result<(), Failure> {
    let cells = |(name, entry): (String, &Entry)| {
        let map = match &entry.map {
            Fitted::Temperature { temperature } => format!("temperature {:.3}", temperature.0),
            Fitted::Platt(line) => format!("platt {:.3}, {:.3}", line.slope.0, line.offset.0),
            Fitted::Isotonic(steps) => format!("isotonic, {} steps", steps.yes.len()),
        };
        let change = |of: fn(&recinto_judge::Figures) -> f64| match (&entry.before, &entry.after) {
            (Some(before), Some(after)) => format!("{:.4} to {:.4}", of(before), of(after)),
            _ => "-".into(),
        };
        vec![
            name,
            options(entry),
            map,
            entry.rows.to_string(),
            entry.measured.to_string(),
            change(|figures| figures.ece.0),
            change(|figures| figures.loss.0),
        ]
    };
    let rows: Vec<Vec<String>> = entries(fitted).into_iter().map(cells).collect();
    let width = screen.terminal.then(|| screen.columns());
    table::lines(&COLUMNS, &rows, width).iter().try_for_each(|line| screen.row(line))
}

/// Places of a page and a picture for each form.
pub struct Reports(Vec<(Form, [(PathBuf, Target); 2])>);

impl Reports {
    /// All of them are checked before anything is computed.
    pub fn new(name: Option<&Path>, read: &[PathBuf]) -> Result<Reports, Failure> {
        let Some(name) = name else { return Ok(Reports(Vec::new())) };
        let place = |form: Form, end: &str| {
            let mut path = OsString::from(name);
            path.push(format!("-{}.{end}", form.name()));
            let path = PathBuf::from(path);
            Ok::<_, Failure>((path.clone(), Target::new(&path, read)?))
        };
        let of = |form| Ok((form, [place(form, "html")?, place(form, "png")?]));
        Form::ALL.into_iter().map(of).collect::<Result<_, Failure>>().map(Reports)
    }

    /// Writes those of the forms that have rows; gives their paths.
    pub fn write(
        &self,
        title: &str,
        rows: Vec<(Form, Scored)>,
        gate: Option<&Gate>,
    ) -> Result<Vec<String>, Failure> {
        let mut written = Vec::new();
        for (form, [page, picture]) in &self.0 {
            let of_form = rows.iter().filter(|row| row.0 == *form);
            let scored: Vec<Scored> = of_form.map(|row| row.1.clone()).collect();
            if scored.is_empty() {
                continue;
            }
            let mut report = Report::new(title, *form, scored)?;
            if let Some(gate) = gate {
                report = report.with_gate(gate.clone());
            }
            page.1.write(report.html()?.as_bytes())?;
            picture.1.write(&report.png()?)?;
            written.extend([page, picture].map(|place| place.0.display().to_string()));
        }
        Ok(written)
    }
}
