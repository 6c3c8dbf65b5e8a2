//! `recinto status`: who would answer, from which setting, and whether it really can.

use std::ops::ControlFlow;

use recinto_engine::{
    Claim, Digests, Facts, KvType, Options, Piece, Pin, Reply, Request, Verify,
};
use recinto_provider::{Local, Provider, Setting, Settings, Source};
use recinto_store::Store;
use serde::Serialize;

use crate::{
    envelope::{self, Engine},
    exit::Exit,
    failure::{Failure, Told},
    interrupt::Interrupt,
    glance::Stated,
    open::{self, ModelArgs, OutputArgs, ReceiptArgs},
    screen::Screen,
};

const EXAMPLES: &str = "\
The model is really opened and runs one token; exit code 0 says that it can answer.

Examples:
  recinto status
  recinto status -m ./qwen.gguf --json
  recinto status -q && recinto ask \"¿Qué hora es?\"";

/// Show who would answer, where each setting comes from, and try it
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
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
}

impl Row {
    fn of<T>(setting: Option<&Setting<T>>, show: impl Fn(&T) -> String) -> Row {
        match setting {
            Some(setting) => {
                Row { value: Some(show(&setting.value)), source: source(&setting.source) }
            }
            None => Row { value: None, source: "default".into() },
        }
    }

    /// Where the weights lie.
    pub fn pin(settings: &Settings) -> Row {
        Row::of(settings.pin.as_ref(), |pin| pin.name().into()).or(Pin::default().name())
    }

    /// Which digests of the weights count.
    pub fn verify(settings: &Settings) -> Row {
        let name = |verify: &Verify| verify.name().into();
        Row::of(settings.verify.as_ref(), name).or(Verify::default().name())
    }

    /// With this value where nobody set one.
    fn or(self, default: &str) -> Row {
        Row { value: self.value.or_else(|| Some(default.into())), ..self }
    }

    pub fn line(&self) -> String {
        match &self.value {
            Some(value) => format!("{value} ({})", self.source),
            None => "not set".into(),
        }
    }
}

/// Where a value comes from; a variable is named, a line is counted.
fn source(source: &Source) -> String {
    match source {
        Source::Environment(name) => format!("environment, {name}"),
        other => other.to_string(),
    }
}

#[derive(Serialize)]
struct Chosen {
    provider: Row,
    model: Row,
    arch_dir: Row,
    threads: Row,
    level: Row,
    pin: Row,
    verify: Row,
    kv: Row,
    licenses: Row,
    /// The `.env` file that was read.
    env_file: Option<String>,
}

impl Chosen {
    fn of(settings: &Settings) -> Chosen {
        Chosen {
            provider: Row::of(Some(&settings.provider), ToString::to_string),
            model: Row::of(settings.model.as_ref(), Clone::clone),
            arch_dir: Row::of(settings.arch_dir.as_ref(), |path| path.display().to_string()),
            threads: Row::of(settings.threads.as_ref(), ToString::to_string),
            level: Row::of(settings.level.as_ref(), |level| level.name().into()),
            pin: Row::pin(settings),
            verify: Row::verify(settings),
            kv: Row::of(settings.kv.as_ref(), |kv| kv.name().into()).or(KvType::default().name()),
            licenses: Row::of(settings.licenses.as_ref(), ToString::to_string),
            env_file: settings.env_file.as_ref().map(|path| path.display().to_string()),
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    can_answer: bool,
    settings: &'a Chosen,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<Opened<'a>>,
}

#[derive(Serialize)]
struct Opened<'a> {
    facts: &'a Facts,
    engine: Engine,
    digests: &'a Digests,
    mode: recinto_engine::Mode,
    /// What is unusual about the vocabulary.
    tokenizer_notes: &'a [String],
    /// What of the store is left out, and how the name was resolved.
    notes: &'a [String],
    /// The name that leads to the same files again.
    resolved: &'a str,
    licences: Vec<Stated>,
    /// How the digest compares with what the store claims, where it claims one.
    claim: Option<Claim>,
    first_token_ms: f64,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    let settings = args.model.settings()?;
    let receipts = args.receipt.target(&settings, &[])?;
    let chosen = Chosen::of(&settings);
    let silent = args.output.quiet && !args.output.json;
    if !args.output.json && !silent {
        settings_lines(&mut screen, &chosen)?;
    }
    let tried = args.model.open_with(&settings).and_then(|local| {
        let reply = try_out(&local, &interrupt)?;
        Ok((local, reply))
    });
    match tried {
        Ok((local, reply)) => {
            let facts = local.model().facts();
            let notes = local.model().tokenizer().notes();
            if args.output.json {
                let opened = Opened {
                    facts: &facts,
                    engine: Engine::of(&facts),
                    digests: &reply.digests,
                    mode: reply.mode,
                    tokenizer_notes: notes,
                    notes: local.notes(),
                    resolved: &local.files().name,
                    licences: local.licences().iter().map(Stated::of).collect(),
                    claim: reply.receipt.model.claim,
                    first_token_ms: reply.times.prefill_ms,
                };
                let opened = Some(opened);
                let body = Body { can_answer: true, settings: &chosen, error: None, opened };
                envelope::print(&mut screen, "status", body)?;
            } else if !silent {
                model_lines(&mut screen, &chosen, &local, &facts, &reply)?;
            }
            receipts.write(&reply).map_err(Failure::told)?;
            Ok(Exit::Done)
        }
        Err(failure) => {
            if args.output.json {
                let error = Some(failure.tell());
                let body = Body { can_answer: false, settings: &chosen, error, opened: None };
                envelope::print(&mut screen, "status", body)?;
            } else if !silent {
                screen.line("answers       no")?;
            }
            Err(failure.told())
        }
    }
}

/// One token through the whole path: template, ids, prefill, sampling, digests.
fn try_out(local: &Local, interrupt: &Interrupt) -> Result<Reply, Failure> {
    let options = Options { max_tokens: 1, ..Options::default() };
    let request = Request { options, ..Request::user("Hola") };
    let mut sink = |_: Piece<'_>| ControlFlow::Continue(());
    Ok(local.complete(&request, &interrupt.stop(), &mut sink)?)
}

fn settings_lines(screen: &mut Screen, chosen: &Chosen) -> Result<(), Failure> {
    let env_file = chosen.env_file.as_deref().unwrap_or("none read");
    screen.row(&format!("provider      {}", chosen.provider.line()))?;
    screen.row(&format!("model         {}", chosen.model.line()))?;
    screen.row(&format!(".env          {env_file}"))?;
    if chosen.arch_dir.value.is_some() {
        screen.row(&format!("arch folder   {}", chosen.arch_dir.line()))?;
    }
    screen.row(&format!("pin           {}", chosen.pin.line()))?;
    screen.row(&format!("verify        {}", chosen.verify.line()))?;
    screen.row(&format!("kv            {}", chosen.kv.line()))?;
    if chosen.licenses.value.is_some() {
        screen.row(&format!("licenses      {}", chosen.licenses.line()))?;
    }
    Ok(())
}

fn model_lines(
    screen: &mut Screen,
    chosen: &Chosen,
    local: &Local,
    facts: &Facts,
    reply: &Reply,
) -> Result<(), Failure> {
    let of = |row: &Row, default: &str| match row.value {
        Some(_) => row.source.clone(),
        None => format!("default, {default}"),
    };
    let level = of(&chosen.level, "the best of this CPU");
    let threads = of(&chosen.threads, "what this process may use");
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let context = facts.context.map_or("unknown".into(), |n| n.to_string());
    let dtypes: Vec<String> =
        facts.dtypes.iter().map(|(name, count)| format!("{name} ×{count}")).collect();
    let digests = &reply.digests;
    let template = match &digests.template {
        Some(digest) => digest.to_string(),
        None => "none: texts are continued as they stand".into(),
    };
    let files = local.files();
    let store = match files.store {
        Store::Path => None,
        store => Some(format!("{} {}, {}", store.title(), files.root.display(), files.name)),
    };
    if let Some(value) = store {
        screen.row(&format!("store         {value}"))?;
    }
    for note in local.notes() {
        screen.row(&format!("  note        {note}"))?;
    }
    let claim = match reply.receipt.model.claim {
        Some(Claim::Match) => ", as its store claims",
        None => "",
    };
    let rows = [
        ("file", format!("{} ({:.1} MiB)", facts.path.display(), mib(facts.bytes))),
        (
            "architecture",
            format!(
                "{} ({}), {} layers, vocabulary {}, trained context {context}",
                facts.architecture, facts.architecture_origin, facts.layers, facts.vocabulary
            ),
        ),
        ("dtypes", dtypes.join(", ")),
        ("tokenizer", facts.tokenizer.clone()),
        ("licence", open::licences(local.licences())),
        ("level", format!("{} ({level})", facts.level)),
        ("threads", format!("{} ({threads})", facts.threads)),
        ("engine", format!("{}, numerics {}", facts.version, facts.numerics)),
        (
            "weights",
            format!(
                "{} ({}, {}{claim})",
                digests.weights,
                digests.weights_origin.name(),
                digests.weights_held.name()
            ),
        ),
        ("arch text", digests.architecture.to_string()),
        ("engine code", digests.engine.to_string()),
        ("template", template),
        (
            "answers",
            format!(
                "yes: opened in {:.0} ms, first token after {:.0} ms more",
                facts.load_ms, reply.times.prefill_ms
            ),
        ),
    ];
    for (name, value) in rows {
        screen.row(&format!("{name:<13} {value}"))?;
        if name == "tokenizer" {
            for note in local.model().tokenizer().notes() {
                screen.row(&format!("  note        {note}"))?;
            }
        }
    }
    Ok(())
}
