//! `recinto models`: the models on this machine, and which of them this engine runs.

use std::path::PathBuf;

use clap::ValueEnum;
use recinto_provider::Settings;
use recinto_store::{
    Entry, Form, Listing, Omitted, Store,
    licence::{self, Use},
};
use serde::Serialize;

use crate::{
    envelope,
    exit::Exit,
    failure::Failure,
    glance::{Glance, Lack, Stated, Vocabularies},
    interrupt::Interrupt,
    open::{self, ArchArgs, OutputArgs},
    screen::{Screen, escaped},
    table::{self, Column},
};

const EXAMPLES: &str = "\
Digests are those that the stores claim; an answer computes them and compares.

Examples:
  recinto models
  recinto models --store ollama
  recinto models --json | jq '.models[] | select(.runs) | .name'
  recinto ask -m qwen3:0.6b \"¿Qué hora es?\"";

/// List the models on this machine: which ones run, and under which licence
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only models of this store
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<Which>,

    #[command(flatten)]
    archs: ArchArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// A store that can be listed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// Ollama's
    Ollama,
    /// The Hugging Face cache
    Hf,
}

const COLUMNS: [Column; 8] = [
    Column { head: "NAME", goes: 0, right: false },
    Column { head: "STORE", goes: 3, right: false },
    Column { head: "SIZE", goes: 2, right: true },
    Column { head: "ARCH", goes: 0, right: false },
    Column { head: "QUANT", goes: 0, right: false },
    Column { head: "CONTEXT", goes: 4, right: true },
    Column { head: "LICENCE", goes: 1, right: false },
    Column { head: "RUNS", goes: 0, right: false },
];
/// On a terminal, before the name: the licence's column may have to go, its mark stays.
const MARK: Column = Column { head: "", goes: 0, right: false };
/// Marks of licences, and what they say.
const MARKS: [(&str, &[Use], &str); 2] = [
    ("!", &[Use::NonCommercial], "non-commercial use only"),
    ("?", &[Use::Unknown, Use::Missing], "no known licence: read it before you use the model"),
];
/// In a wide listing, before the last column.
const DIGEST: Column = Column { head: "CLAIMED DIGEST", goes: 5, right: false };
/// Digits of a digest that are shown to people.
const DIGITS: usize = 12;

/// One model.
#[derive(Serialize)]
struct Row {
    name: String,
    store: &'static str,
    root: PathBuf,
    /// A whole name that leads to the same files again.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<String>,
    files: Vec<PathBuf>,
    bytes: u64,
    /// `gguf` or `checkpoint`; `None` for a broken one.
    form: Option<&'static str>,
    architecture: Option<String>,
    quantization: Option<String>,
    context: Option<u64>,
    licences: Vec<Stated>,
    /// What the strictest of its licences allows.
    allows: &'static str,
    #[serde(skip)]
    mark: &'static str,
    #[serde(skip)]
    licence: String,
    /// What its store says the digests of its files are.
    claimed_digests: Vec<Option<String>>,
    runs: bool,
    /// The command that it is for, where it runs: `ask` stands for all that write.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    command: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<Lack>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Place {
    store: &'static str,
    root: PathBuf,
    state: String,
}

#[derive(Serialize)]
struct Body<'a> {
    models: &'a [Row],
    /// Stores, and folders in them, that could not be listed.
    closed: Vec<Place>,
    /// What is in the stores and no name leads to, by store and reason.
    omitted: Vec<Left>,
}

/// Entries of a store that are not listed, for one reason.
#[derive(Serialize)]
struct Left {
    store: &'static str,
    root: PathBuf,
    reason: &'static str,
    why: &'static str,
    count: usize,
    first: String,
}

impl Left {
    fn of(omitted: &Omitted) -> Left {
        Left {
            store: omitted.store.name(),
            root: omitted.root.clone(),
            reason: omitted.why.name(),
            why: omitted.why.why(),
            count: omitted.count,
            first: omitted.first.to_string_lossy().into_owned(),
        }
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    Interrupt::at_once()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.archs.settings()?;
    let archs = open::archs(&settings)?;
    let only = args.store.map(|which| match which {
        Which::Ollama => Store::Ollama,
        Which::Hf => Store::Hub,
    });
    let listing = recinto_store::list(&recinto_provider::roots()?, only);
    let known = Vocabularies::default();
    let row = |entry| Row::of(entry, &archs, &settings, &known);
    let rows: Vec<Row> = listing.entries.iter().map(row).collect();
    if args.output.json {
        let place = |closed: &recinto_store::Closed| Place {
            store: closed.store.name(),
            root: closed.root.clone(),
            state: if closed.absent { "absent".into() } else { closed.why.clone() },
        };
        let closed = listing.closed.iter().map(place).collect();
        let omitted = listing.omitted.iter().map(Left::of).collect();
        envelope::print(&mut screen, "models", Body { models: &rows, closed, omitted })?;
        return Ok(Exit::Done);
    }
    if !rows.is_empty() {
        print(&mut screen, &rows)?;
    }
    remarks(&screen, &rows, &listing);
    Ok(Exit::Done)
}

impl Row {
    fn of(
        entry: &Entry,
        archs: &recinto_arch::Archs,
        settings: &Settings,
        known: &Vocabularies,
    ) -> Row {
        let mut row = Row {
            name: entry.name.clone(),
            store: entry.store.name(),
            root: entry.root.clone(),
            resolved: None,
            files: Vec::new(),
            bytes: 0,
            form: None,
            architecture: None,
            quantization: None,
            context: None,
            licences: Vec::new(),
            allows: "",
            mark: "",
            licence: String::new(),
            claimed_digests: Vec::new(),
            runs: false,
            command: None,
            lacks: None,
            notes: Vec::new(),
        };
        let files = match &entry.files {
            Ok(files) => files,
            Err(error) => {
                let mut lack = Lack::new("file", &error.to_string());
                // The name stands in the first column already.
                let base = entry.name.split(':').next().unwrap_or_default();
                for name in [&entry.name, base] {
                    if let Some(rest) = lack.why.strip_prefix(&format!("{name}: ")) {
                        lack.why = rest.to_owned();
                    }
                }
                row.lacks = Some(lack);
                return row;
            }
        };
        let glance = Glance::of(files, archs, known);
        let allowed = settings.licenses.as_ref().is_none_or(|list| {
            let claimed = files.claimed_digest().is_some_and(|claim| list.value.digest(&claim));
            list.value.licences(&glance.licences) || claimed
        });
        let refused = || Lack::new("licence", "its licence is not on the list of allowed ones");
        row.lacks = glance.lack.or_else(|| (!allowed).then(refused));
        row.runs = row.lacks.is_none();
        row.command = glance.command.filter(|_| row.runs);
        row.resolved = Some(files.name.clone());
        row.files.clone_from(&files.weights);
        row.bytes = files.bytes();
        row.form = Some(if files.form == Form::Gguf { "gguf" } else { "checkpoint" });
        row.architecture = glance.architecture;
        row.quantization = glance.quantization;
        row.context = glance.context;
        let strictest = licence::strictest(&glance.licences);
        row.allows = strictest.name();
        row.mark = MARKS.iter().find(|mark| mark.1.contains(&strictest)).map_or("", |mark| mark.0);
        row.licence = open::licences(&glance.licences);
        row.licences = glance.licences.iter().map(Stated::of).collect();
        let digest = |claim: &Option<_>| claim.as_ref().map(|digest| format!("sha256:{digest}"));
        row.claimed_digests = files.claimed.iter().map(digest).collect();
        row.notes = files.notes.iter().map(ToString::to_string).collect();
        row
    }

    fn state(&self) -> String {
        match &self.lacks {
            None => match self.command {
                Some(command) if command != "ask" => format!("yes: for {command}"),
                _ => "yes".into(),
            },
            Some(lack) if self.form.is_none() => format!("broken: {}", lack.why),
            Some(lack) => format!("no: {}", lack.why),
        }
    }

    /// The first digits of the one claimed digest; of a model in parts, how many are claimed.
    fn digest(&self) -> String {
        match &self.claimed_digests[..] {
            [Some(digest)] => digest.trim_start_matches("sha256:").chars().take(DIGITS).collect(),
            [_, _, ..] => format!("{} parts", self.claimed_digests.len()),
            _ => "-".into(),
        }
    }
}

fn print(screen: &mut Screen, rows: &[Row]) -> Result<(), Failure> {
    let cells = |row: &Row| -> Vec<String> {
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let licence = if row.licence.is_empty() { "-".into() } else { row.licence.clone() };
        let cells = [
            row.mark.into(),
            row.name.clone(),
            row.store.into(),
            size(row.bytes),
            or(row.architecture.clone()),
            or(row.quantization.clone()),
            or(row.context.map(|n| n.to_string())),
            licence,
            row.digest(),
            row.state(),
        ];
        cells.iter().map(|cell| escaped(cell).into_owned()).collect()
    };
    let [first @ .., last] = COLUMNS;
    let marked = screen.terminal && rows.iter().any(|row| !row.mark.is_empty());
    let marks = marked.then_some(MARK);
    let columns: Vec<Column> = marks.into_iter().chain(first).chain([DIGEST, last]).collect();
    let width = screen.terminal.then(|| screen.columns());
    let from = usize::from(!marked);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row)[from..].to_vec()).collect();
    table::lines(&columns, &rows, width).iter().try_for_each(|line| screen.row(line))
}

/// Bytes in units of 1000, three digits.
fn size(bytes: u64) -> String {
    if bytes == 0 {
        return "-".into();
    }
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    let digits = if value < 9.95 && unit != "B" { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

/// What a reader may want to do next, on stderr.
fn remarks(screen: &Screen, rows: &[Row], listing: &Listing) {
    let places = |absent: bool| {
        let closed = listing.closed.iter().filter(move |closed| closed.absent == absent);
        closed.map(|closed| (closed.store.title(), closed.root.display(), &closed.why))
    };
    for (title, root, why) in places(false) {
        screen.note(&format!("{title} {root}: cannot be read ({why})"));
    }
    for Omitted { store, root, why, count, first } in &listing.omitted {
        let (title, first) = (store.title(), escaped(&first.to_string_lossy()).into_owned());
        let entries = match count {
            1 => format!("1 entry is left out: {}", why.why()),
            n => format!("{n} entries are left out, such as this one: {}", why.why()),
        };
        screen.note(&format!("{title} {}: {entries} ({first})", root.display()));
    }
    if rows.is_empty() {
        screen.note("no models; looked in");
        for (title, root, _) in places(true) {
            screen.note(&format!("{title} {root}: not there"));
        }
        screen.note("a path to a .gguf file is a name too: `recinto ask -m ./model.gguf`");
    }
    for (mark, _, says) in MARKS.iter().filter(|_| screen.terminal) {
        if rows.iter().any(|row| row.mark == *mark) {
            screen.note(&format!("{mark} {says}"));
        }
    }
    let lacks =
        |is: &dyn Fn(&Lack) -> bool| rows.iter().any(|row| row.lacks.as_ref().is_some_and(is));
    if lacks(&|lack| lack.unserved) {
        screen.note(
            "an architecture is added by an arch file in the folder of --arch-dir: `recinto arch \
             new NAME` writes a beginning, docs/arch-format.md says how to go on",
        );
    }
    if lacks(&|lack| lack.what == "licence") {
        screen.note("RECINTO_LICENSES lists the licences and digests that may run");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases = [
            (0, "-"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (9_960, "10 kB"),
            (491_400_064, "491 MB"),
            (999_600_000, "1.0 GB"),
            (4_683_073_184, "4.7 GB"),
            (u64::MAX, "18446744 TB"),
        ];
        for (bytes, want) in cases {
            assert_eq!(size(bytes), want);
        }
    }
}
