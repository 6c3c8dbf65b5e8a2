//! `recinto status`: who would answer, from which setting, and whether it really can.

mod mapping;
mod others;
mod outside;

use std::{ops::ControlFlow, path::PathBuf};

use recinto_engine::{Claimant, Digests, Facts, Options, Piece, Reply, Request, Verdict};
use recinto_provider::{
    BUILD, FILE_NAME, Local, Name, Reader, Settings, Shown, Source, Turn, WORDS, lock::InForce,
};
use recinto_store::Store;
use serde::Serialize;

use crate::{
    envelope::{self, Engine},
    exit::Exit,
    failure::{Failure, Told},
    glance::Stated,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs, ReceiptArgs},
    screen::Screen,
};
use mapping::Mapping;
use outside::Outside;

const EXAMPLES: &str = "\
A model of this process is really opened and runs one token; exit code 0 says that it can answer.
A service elsewhere is sent nothing without --probe; exit code 0 says that its settings are whole.

Examples:
  recinto status
  recinto status -m ./qwen.gguf --json
  recinto status --provider openai -m gpt-4.1 --probe
  recinto status -q && recinto ask \"¿Qué hora es?\"";

/// Show who would answer, where each setting comes from, and try it
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Send a service elsewhere one small request, to see whether it answers
    #[arg(long)]
    probe: bool,

    #[command(flatten)]
    receipt: ReceiptArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A value and where it comes from, as text.
#[derive(Serialize)]
pub struct Row {
    value: Option<String>,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl Row {
    fn new(value: Option<String>, source: &Source) -> Row {
        let (file, line) = source.file().unzip();
        let file = file.map(|path| path.display().to_string());
        Row { value, source: source.to_string(), file, line }
    }

    /// Which digests of the weights count; a lock goes before the setting.
    pub fn verify(settings: &Settings) -> Row {
        match InForce::verify(settings) {
            Some((verify, lock)) => Row {
                value: Some(verify.name().into()),
                source: lock.display().to_string(),
                file: Some(lock.display().to_string()),
                line: None,
            },
            None => Row::of(settings, "verify"),
        }
    }

    /// The lock file that holds; that it can be read shows when the model is opened.
    fn lock(settings: &Settings) -> Row {
        let row = Row::of(settings, "lock");
        let here = || InForce::place(settings).ok().flatten().filter(|path| path.exists());
        let found = || here().map_or("none".into(), |path| path.display().to_string());
        Row { value: row.value.or_else(|| Some(found())), ..row }
    }

    /// The setting `name`, with its default where that is a value.
    pub fn of(settings: &Settings, name: &str) -> Row {
        let shown = settings.shown().into_iter().find(|row| row.key.name == name);
        shown.map_or_else(|| Row::new(None, &Source::Default), Row::from)
    }

    pub fn line(&self) -> String {
        match &self.value {
            Some(value) => format!("{value} ({})", self.source),
            None => "not set".into(),
        }
    }
}

impl From<Shown<'_>> for Row {
    fn from(shown: Shown<'_>) -> Row {
        let default = || shown.key.default.value().map(ToOwned::to_owned);
        Row::new(shown.value.or_else(default), shown.source)
    }
}

/// Rows by name, in their order.
type Rows = serde_json::Map<String, serde_json::Value>;

#[derive(Serialize)]
struct Chosen {
    /// One for each setting.
    #[serde(flatten)]
    settings: Rows,
    /// The `.env` file that was read.
    env_file: Option<String>,
    /// The `recinto.toml` files that were read, the nearest first.
    config_files: Vec<String>,
    /// Options of answers that these files set.
    options: Rows,
    /// The operator's profiles, and who answers each task.
    mapping: Mapping,
    /// What may leave, and what says so.
    outside: Outside,
    /// Where each secret is that is there; never what it is.
    secrets: std::collections::BTreeMap<&'static str, String>,
    /// The same as lines of text.
    #[serde(skip)]
    lines: Vec<(&'static str, String)>,
}

/// Settings whose line is shown with what came of them, when a model is open.
const LATER: [&str; 2] = ["threads", "level"];

/// Settings that concern a service that reads a judge's questions; shown with one, or where somebody
/// said them.
const JUDGE: [&str; 3] = ["judge_service", "judge_base_url", "judge_api_key_file"];
/// Settings that concern this process.
const HERE: [&str; 9] =
    ["arch_dir", "threads", "level", "pin", "verify", "kv", "prompt_cache", "lock", "licenses"];

impl Chosen {
    /// `said` are the settings as they were said, `settings` those with a profile's provider and
    /// model.
    fn of(settings: &Settings, said: &Settings) -> Chosen {
        let json = |row: &Row| serde_json::to_value(row).unwrap_or_default();
        let (mut rows, mut lines) = (Rows::new(), Vec::new());
        for shown in settings.shown() {
            let (key, set) = (shown.key, shown.value.is_some());
            let row = match key.name {
                "verify" => Row::verify(settings),
                "lock" => Row::lock(settings),
                _ => Row::from(shown),
            };
            // A model that is not set is worth a line; what has no default is not.
            let worth =
                set || key.default.value().is_some() || matches!(key.name, "model" | "lock");
            // What concerns somebody else is shown where somebody said it.
            let other = match settings.provider() {
                Name::Local => WORDS.iter().any(|row| row.1 == key.name),
                Name::Mock => false,
                _ => HERE.contains(&key.name),
            };
            let judges = JUDGE.contains(&key.name) && settings.reader() != Reader::Hosted;
            let worth = worth && (set || !(other || judges));
            if worth && !LATER.contains(&key.name) {
                lines.push((key.name, row.line()));
            }
            rows.insert(key.name.into(), json(&row));
        }
        let mut options = Rows::new();
        for option in &settings.options {
            let row = Row::new(Some(option.values.join(", ")), &option.source);
            lines.push((option.key, row.line()));
            options.insert(option.key.into(), json(&row));
        }
        let path = |path: &PathBuf| path.display().to_string();
        let secrets = settings.secrets.iter().map(|(name, at)| (*name, at.to_string())).collect();
        let mapping = Mapping::of(said);
        lines.extend(mapping.lines());
        let outside = Outside::of(settings);
        lines.extend(outside.lines());
        Chosen {
            settings: rows,
            env_file: settings.env_file.as_ref().map(path),
            config_files: settings.files.iter().map(path).collect(),
            options,
            mapping,
            outside,
            secrets,
            lines,
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    /// `null` where nobody was asked.
    can_answer: Option<bool>,
    /// What this program is.
    build: &'static str,
    settings: &'a Chosen,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<Opened<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<others::Asked>,
}

#[derive(Serialize)]
struct Opened<'a> {
    facts: &'a Facts,
    engine: Engine,
    digests: &'a Digests,
    mode: recinto_engine::Mode,
    /// What the file does not say and its arch file assumes.
    architecture_notes: &'a [String],
    /// What is unusual about the vocabulary.
    tokenizer_notes: &'a [String],
    /// What should be known of the files.
    warnings: &'a [String],
    /// What of the store is left out, and how the name was resolved.
    notes: &'a [String],
    /// The name that leads to the same files again.
    resolved: &'a str,
    licences: Vec<Stated>,
    first_token_ms: f64,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let said = args.model.said()?;
    // A profile that leads nowhere is told with the rest.
    let (settings, wrong) = match said.choose(None) {
        Ok(choice) => (choice.settings, None),
        Err(error) => (said.clone(), Some(Failure::from(error))),
    };
    args.receipt.of_this_process(&settings)?;
    let receipts = args.receipt.target(&settings, &[])?;
    let chosen = Chosen::of(&settings, &said);
    let silent = args.output.quiet && !args.output.json;
    if !args.output.json && !silent {
        screen.row(&format!("{:<13} {BUILD}", "build"))?;
        settings_lines(&mut screen, &settings, &chosen)?;
    }
    if settings.provider() != Name::Local && wrong.is_none() {
        let shown = others::Shown { json: args.output.json, silent };
        return others::run(&args, &mut screen, &settings, &chosen, &interrupt, shown);
    }
    let opened = wrong.map_or_else(|| args.model.open_with(&settings), Err);
    let tried = opened.and_then(|local| {
        let reply =
            try_out(&local, settings.answer_options(local.options(), |_| false)?, &interrupt)?;
        Ok((local, reply))
    });
    match tried {
        Ok((local, reply)) => {
            let facts = local.model().facts();
            let notes = local.model().tokenizer().notes();
            let assumed = &local.model().program().notes;
            if args.output.json {
                let opened = Opened {
                    facts: &facts,
                    engine: Engine::of(&facts),
                    digests: &reply.digests,
                    mode: reply.mode,
                    architecture_notes: assumed,
                    tokenizer_notes: notes,
                    warnings: local.warnings(),
                    notes: local.notes(),
                    resolved: &local.files().name,
                    licences: local.licences().iter().map(Stated::of).collect(),
                    first_token_ms: reply.times.prefill_ms,
                };
                let opened = Some(opened);
                let body = Body {
                    can_answer: Some(true),
                    build: BUILD,
                    settings: &chosen,
                    error: None,
                    opened,
                    asked: None,
                };
                envelope::print(&mut screen, "status", body)?;
            } else if !silent {
                model_lines(&mut screen, &settings, &local, &facts, &reply)?;
            }
            receipts.write(&reply).map_err(Failure::told)?;
            Ok(Exit::Done)
        }
        Err(failure) => {
            if args.output.json {
                let error = Some(failure.tell());
                let body = Body {
                    can_answer: Some(false),
                    build: BUILD,
                    settings: &chosen,
                    error,
                    opened: None,
                    asked: None,
                };
                envelope::print(&mut screen, "status", body)?;
            } else if !silent {
                for name in LATER {
                    screen.row(&format!("{name:<13} {}", Row::of(&settings, name).line()))?;
                }
                screen.line("answers       no")?;
            }
            Err(failure.told())
        }
    }
}

/// What was said of the parts before, in a line.
fn claims(verdicts: &[Verdict]) -> String {
    let said = |v: &Verdict| {
        let who = match v.by {
            Claimant::Lock => "lock",
            Claimant::Store => "store",
            Claimant::Caller => "caller",
        };
        let word = if v.matches { "matches" } else { "DOES NOT MATCH" };
        format!("{} {word} ({who})", v.part.name())
    };
    match verdicts {
        [] => "none: no lock has it, and its file's name says nothing".into(),
        _ => verdicts.iter().map(said).collect::<Vec<_>>().join(", "),
    }
}

/// One token through the whole path: template, ids, prefill, sampling, digests.
fn try_out(local: &Local, options: Options, interrupt: &Interrupt) -> Result<Reply, Failure> {
    let options = Options { max_tokens: 1, ..options };
    let request = Request { options, ..Request::user("Hola") };
    let mut sink = |_: Piece<'_>| ControlFlow::Continue(());
    let turn = Turn::from(request);
    Ok(local.reply(&mut local.session()?, &turn, &interrupt.stop(), &mut sink)?)
}

fn settings_lines(
    screen: &mut Screen,
    settings: &Settings,
    chosen: &Chosen,
) -> Result<(), Failure> {
    for (name, value) in &chosen.lines {
        screen.row(&format!("{name:<13} {value}"))?;
    }
    let env_file = chosen.env_file.as_deref().unwrap_or("none read");
    screen.row(&format!("{:<13} {env_file}", ".env"))?;
    if chosen.config_files.is_empty() {
        screen.row(&format!("{:<13} none read", FILE_NAME))?;
    }
    for path in &chosen.config_files {
        screen.row(&format!("{:<13} {path}", FILE_NAME))?;
    }
    let (key, judge) = (others::key_place(settings), others::judge_key_place(settings));
    for (name, source) in &chosen.secrets {
        let place = Some(format!("{name} ({source})"));
        let used = match () {
            () if place == key => "it is the key that is sent",
            () if place == judge => "it is the key that is sent with a judge's questions",
            () => "nothing here uses it",
        };
        screen.row(&format!("{:<13} {name} is set ({source}); {used}", "secret"))?;
    }
    Ok(())
}

fn model_lines(
    screen: &mut Screen,
    settings: &Settings,
    local: &Local,
    facts: &Facts,
    reply: &Reply,
) -> Result<(), Failure> {
    let model = local.model();
    let (assumed, notes) = (&model.program().notes[..], model.tokenizer().notes());
    let of = |name: &str, default: &str| match Row::of(settings, name) {
        Row { value: Some(_), source, .. } => source,
        _ => format!("default, {default}"),
    };
    let level = of("level", "the best of this CPU");
    let threads = of("threads", "what this process may use");
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let context = facts.context.map_or("unknown".into(), |n| n.to_string());
    let dtypes: Vec<String> =
        facts.dtypes.iter().map(|(name, count)| format!("{name} ×{count}")).collect();
    let digests = &reply.digests;
    let template = match &digests.template {
        Some(digest) => digest.to_string(),
        None => "none: texts are continued as they stand".into(),
    };
    let files = match facts.files {
        1 => String::new(),
        n => format!(" in {n} files"),
    };
    let need = &facts.need;
    let found = local.files();
    let store = match found.store {
        Store::Path => None,
        store => Some(format!("{} {}, {}", store.title(), found.root.display(), found.name)),
    };
    if let Some(value) = store {
        screen.row(&format!("store         {value}"))?;
    }
    for note in local.notes() {
        screen.row(&format!("  note        {note}"))?;
    }
    let rows = [
        ("file", format!("{} ({:.1} MiB{files})", facts.path.display(), mib(facts.bytes))),
        (
            "architecture",
            format!(
                "{} ({}), {} layers, vocabulary {}, trained context {context}",
                facts.architecture, facts.architecture_origin, facts.layers, facts.vocabulary
            ),
        ),
        ("precision", facts.precision.name().into()),
        ("dtypes", dtypes.join(", ")),
        ("tokenizer", facts.tokenizer.clone()),
        ("licence", open::licences(local.licences())),
        ("level", format!("{} ({level})", facts.level)),
        ("threads", format!("{} ({threads})", facts.threads)),
        ("engine", format!("{}, numerics {}", facts.version, facts.numerics)),
        (
            "weights",
            format!(
                "{} ({}, {})",
                digests.weights,
                digests.weights_origin.name(),
                digests.weights_held.name()
            ),
        ),
        (
            "memory",
            format!(
                "{:.0} MiB: weights {:.0} ({}), keys and values {:.0} ({} positions as {}), \
                 buffers {:.0}, vocabulary {:.0}",
                mib(need.sum()),
                mib(need.weights),
                need.held.name(),
                mib(need.keys_values),
                need.positions,
                need.kv.name(),
                mib(need.buffers),
                mib(need.vocabulary)
            ),
        ),
        ("arch text", digests.architecture.to_string()),
        ("engine code", digests.engine.to_string()),
        ("template", template),
        ("vocabulary", digests.tokenizer.to_string()),
        ("claims", claims(&digests.claims)),
        (
            "answers",
            format!(
                "yes: opened in {:.0} ms, first token after {:.0} ms more",
                facts.load_ms, reply.times.prefill_ms
            ),
        ),
    ];
    for (name, value) in rows {
        if name == "answers" {
            for warning in local.warnings() {
                screen.row(&format!("warning       {warning}"))?;
            }
        }
        screen.row(&format!("{name:<13} {value}"))?;
        let notes = match name {
            "architecture" => assumed,
            "tokenizer" => notes,
            _ => &[],
        };
        for note in notes {
            screen.row(&format!("  note        {note}"))?;
        }
    }
    Ok(())
}
