//! `recinto bench`: how fast this model is on this machine, how much memory it takes, how near it
//! comes to what the machine can do, and how it stands to other engines.

mod against;
pub mod inside;
mod measure;
mod process;

use std::path::{Path, PathBuf};

use recinto_engine::{Digests, Facts, KvType};
use recinto_provider::Settings;
use serde::Serialize;

use self::{
    against::{Engine as Peer, Ratio, Rounds},
    inside::{Inside, Sizes},
    measure::{Described, Measure, Row, Setting, shown, shown_unit},
};
use crate::{
    envelope::{self, Engine},
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    screen::Screen,
    write::Target,
};

/// Most sequences that are served at once.
const SEQUENCES: usize = 256;

const EXAMPLES: &str = "\
Each measure is a median with the least and the most of the repeats. `first_token` is the whole
time of a new process that gives one token after a short prompt; `session_first_token` that of a
new session in an opened model. A share is measured work (operations, bytes that have to be read)
beside what a loop that does nothing else reaches here. Nothing else should run meanwhile.

--against runs a command line as a peer, round by round in alternation, a new process each; it
prints one JSON object. The protocol and ready peers: bench/README.md.

Examples:
  recinto bench -m ./qwen.gguf
  recinto bench --prompt 1024 --generate 64 --repeat 5 --csv speed.csv
  recinto bench --context 4096 --sequences 8 --json --threads 2
  recinto bench -m ./qwen.gguf --against 'python3 bench/peers/llama_cpp_python.py'";

/// Measure loading, prefill, decode and memory, and compare with other engines
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Tokens of the prompt
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 512)]
    prompt: usize,

    /// Tokens to generate after it
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 64)]
    generate: usize,

    /// Also generate after this many tokens of context; 0 for no such measure
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    context: usize,

    /// Also generate for this many sequences at once; 1 for no such measure
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 1)]
    sequences: usize,

    /// How often each measure is taken; with --against, the number of rounds
    #[arg(long, value_name = "R", allow_negative_numbers = true, default_value_t = 3)]
    repeat: usize,

    /// Compare with this command line, a peer; repeatable
    #[arg(long, value_name = "CMD")]
    against: Vec<String>,

    /// Leave out the measures that start a new process
    #[arg(long)]
    no_start: bool,

    /// Write the measures to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a Facts,
    engine: Engine,
    digests: Digests,
    #[serde(flatten)]
    sizes: Sizes,
    measures: &'a [Measure],
}

#[derive(Serialize)]
struct Comparison<'a> {
    model: &'a serde_json::Value,
    engine: &'a serde_json::Value,
    digests: &'a serde_json::Value,
    #[serde(flatten)]
    sizes: Sizes,
    rounds: usize,
    engines: &'a [Peer],
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let screen = Screen::new(args.output.quiet, args.output.verbose)?;
    one_or_more(&[
        ("--prompt", args.prompt),
        ("--generate", args.generate),
        ("--repeat", args.repeat),
        ("--sequences", args.sequences),
    ])?;
    if args.sequences > SEQUENCES {
        return Err(Failure::usage(format!("--sequences must be {SEQUENCES} or less")));
    }
    if args.against.iter().any(|command| command.trim().is_empty()) {
        return Err(Failure::usage("--against needs a command line"));
    }
    let settings = args.model.settings()?;
    settings.model()?;
    let target = |path| Target::new(path, &open::files_read(&settings, &[]));
    let csv = args.csv.as_deref().map(target).transpose()?;
    match args.against.is_empty() {
        true => alone(&args, &settings, &interrupt, csv, screen),
        false => compare(&args, &settings, &interrupt, csv, screen),
    }
}

/// Refuses a flag that is 0.
pub fn one_or_more(flags: &[(&str, usize)]) -> Result<(), Failure> {
    match flags.iter().find(|(_, value)| *value == 0) {
        Some((flag, _)) => Err(Failure::usage(format!("{flag} must be 1 or more"))),
        None => Ok(()),
    }
}

impl Args {
    fn sizes(&self, kv: KvType) -> Sizes {
        Sizes {
            kv,
            prompt: self.prompt,
            generate: self.generate,
            context: self.context,
            sequences: self.sequences,
            repeat: self.repeat,
        }
    }
}

/// This engine only, in this process.
fn alone(
    args: &Args,
    settings: &Settings,
    interrupt: &Interrupt,
    csv: Option<Target>,
    mut screen: Screen,
) -> Result<Exit, Failure> {
    // Before the model is opened: a process is charged with the memory of whoever starts it.
    let mut samples = Vec::new();
    let mut broken = None;
    for _ in 0..if args.no_start { 0 } else { args.repeat } {
        match against::start(&args.model, interrupt) {
            Ok(found) => samples.extend(found),
            Err(failure) => {
                broken = Some(failure);
                break;
            }
        }
    }
    if interrupt.is_set() {
        return Err(Failure::silent(Exit::Interrupted));
    }
    // What is wrong with a model is said better by opening it than by a process that failed.
    let local = args.model.open_with(settings)?;
    local.warnings().iter().for_each(|warning| screen.note(warning));
    if let Some(failure) = broken {
        return Err(failure);
    }
    let (model, stop) = (local.model(), interrupt.stop());
    let facts = model.facts();
    let sizes = args.sizes(settings.session(None).kv);
    let inside = Inside { model, stop: &stop, sizes };
    samples.extend(inside.samples()?);
    let mut measures = measure::gather(&samples);
    measure::hold_against_limits(&mut measures, &inside.costs());
    let described = Described::of(&facts);
    if let Some(target) = csv {
        let rows: Vec<Row<'_>> =
            measures.iter().map(|measure| row("recinto", measure, None)).collect();
        let file = name_of(&facts.path);
        let setting = Setting { file: &file, facts: &described, sizes };
        target.write(measure::table(&setting, &rows).as_bytes())?;
    }
    if args.output.json {
        let (engine, digests) = (Engine::of(&facts), model.digests()?);
        let (model, measures) = (&facts, &measures[..]);
        envelope::print(&mut screen, "bench", Body { model, engine, digests, sizes, measures })?;
        return Ok(Exit::Done);
    }
    screen.row(&heading(&facts.name, &described, sizes))?;
    measures.iter().try_for_each(|measure| show(&mut screen, measure, args))?;
    Ok(Exit::Done)
}

/// This engine and its peers, in alternation.
fn compare(
    args: &Args,
    settings: &Settings,
    interrupt: &Interrupt,
    csv: Option<Target>,
    mut screen: Screen,
) -> Result<Exit, Failure> {
    let files = open::files_of(settings, &settings.model()?.value)?;
    let path = recinto_provider::model_files(&files)?[0].clone();
    // Opened once to say what is wrong with it; closed again before anything is started.
    open::model_file(&files)?;
    let sizes = args.sizes(settings.session(None).kv);
    let rounds = Rounds {
        model: &args.model,
        path: &path,
        sizes,
        commands: &args.against,
        start: !args.no_start,
        verbose: args.output.verbose,
        interrupt,
    };
    let (engines, ours) = rounds.run()?;
    let described = against::described(&ours);
    if let Some(target) = csv {
        let rows: Vec<Row<'_>> = engines
            .iter()
            .flat_map(|engine| {
                engine.measures.iter().map(|measure| {
                    let ratio = engine.ratios.iter().find(|r| r.measure == measure.measure);
                    row(&engine.name, measure, ratio)
                })
            })
            .collect();
        let file = name_of(&path);
        let setting = Setting { file: &file, facts: &described, sizes };
        target.write(measure::table(&setting, &rows).as_bytes())?;
    }
    if args.output.json {
        let (model, engine, digests) = (&ours["model"], &ours["engine"], &ours["digests"]);
        let (rounds, engines) = (args.repeat, &engines[..]);
        let body = Comparison { model, engine, digests, sizes, rounds, engines };
        envelope::print(&mut screen, "bench", body)?;
        return Ok(Exit::Done);
    }
    let name = path.display().to_string();
    screen.row(&format!("{}, {} rounds", heading(&name, &described, sizes), args.repeat))?;
    for engine in &engines {
        screen.row("")?;
        screen.row(&engine.name)?;
        for measure in &engine.measures {
            show(&mut screen, measure, args)?;
            if let Some(r) = engine.ratios.iter().find(|r| r.measure == measure.measure) {
                let (ratio, min, max) = (r.ratio, r.min, r.max);
                let text = format!("recinto / {}", engine.name);
                screen
                    .row(&format!("  {text:<21} {ratio:>10.2} {:<9} {min:.2} – {max:.2}", "×"))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn row<'a>(engine: &'a str, measure: &'a Measure, ratio: Option<&Ratio>) -> Row<'a> {
    Row { engine, measure, ratio: ratio.map(|r| [r.ratio, r.min, r.max]) }
}

/// What was measured, for people.
fn heading(name: &str, model: &Described, sizes: Sizes) -> String {
    let Described { architecture, level, threads, .. } = model;
    let Sizes { kv, prompt, generate, .. } = sizes;
    format!(
        "{name} ({architecture}), level {level}, {threads} threads, kv {kv}, prompt {prompt}, \
         generate {generate}"
    )
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A line for people.
fn show(screen: &mut Screen, m: &Measure, args: &Args) -> Result<(), Failure> {
    let name = match m.measure {
        "decode_context" => format!("decode after {}", args.context),
        "decode_sequences" => format!("decode, {} at once", args.sequences),
        name => name.replace('_', " "),
    };
    let value = |v| shown(m.measure, v);
    let (median, min, max) = (value(m.median), value(m.min), value(m.max));
    let unit = shown_unit(m.measure);
    let bounds = if m.repeats > 1 { format!("{min} – {max}") } else { String::new() };
    let share = m.share.as_ref().map_or(String::new(), measure::Share::words);
    let line = format!("{name:<23} {median:>10} {unit:<9} {bounds:<19} {share}");
    screen.row(line.trim_end())
}
