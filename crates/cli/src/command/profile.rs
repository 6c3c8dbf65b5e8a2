//! `recinto profile`: how long each line of the arch file takes, while a prompt is read and while
//! an answer is written.

use std::time::Instant;

use recinto_engine::{
    Cost, Digests, Facts, KvType, Line, Model, Profile, Session, Stop, Want, greedy,
};
use serde::Serialize;

use super::bench::{
    inside::{ids, of},
    one_or_more,
};
use crate::{
    envelope::{self, Engine},
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::{ModelArgs, OutputArgs},
    screen::Screen,
};

/// Positions read before anything is timed: pages come in, threads wake up.
const WARM: usize = 16;

const EXAMPLES: &str = "\
Every line runs alone here, also where steps are fused otherwise; `without` is the time of the
same work without a profile. Bytes are weights, keys and values that have to be read once;
operations are those of matrix products and attention. Rates say what the line reached.

Examples:
  recinto profile ./qwen.gguf
  recinto profile ./qwen.gguf --prompt 2048 --generate 16 --sort time
  recinto profile -m ./qwen.gguf --json | jq '.decode.lines[] | [.text, .ms]'";

/// Show how long each line of the architecture takes
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The model, as for --model
    #[arg(value_name = "MODEL", conflicts_with = "model")]
    name: Option<String>,

    /// Tokens of the prompt; the answer follows them
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 512)]
    prompt: usize,

    /// Tokens to generate
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 32)]
    generate: usize,

    /// Order of the lines: as in the file, or the longest first
    #[arg(long, value_enum, default_value = "file")]
    sort: Order,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
enum Order {
    File,
    Time,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a Facts,
    engine: Engine,
    digests: Digests,
    prompt: usize,
    generate: usize,
    kv: &'static str,
    /// Steps are not fused while a profile is kept.
    fused: bool,
    prefill: Part,
    decode: Part,
}

/// Reading the prompt, or writing the answer.
#[derive(Serialize)]
struct Part {
    tokens: usize,
    /// Milliseconds of all lines.
    ms: f64,
    /// Milliseconds of the same work without a profile.
    without_ms: f64,
    lines: Vec<Row>,
}

/// A line with what follows from its time.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    line: Line,
    /// Part of the whole; 1 is all of it.
    share: f64,
    /// Microseconds a call.
    us_per_call: f64,
    /// Read, billions of bytes a second.
    gb_per_s: Option<f64>,
    /// Billions of operations a second.
    gop_per_s: Option<f64>,
}

pub fn run(mut args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    one_or_more(&[("--prompt", args.prompt), ("--generate", args.generate)])?;
    if let Some(name) = args.name.take() {
        args.model.settings.set("model", Some(name));
    }
    let settings = args.model.settings()?;
    settings.model()?;
    let local = args.model.open_with(&settings)?;
    local.warnings().iter().for_each(|warning| screen.note(warning));
    let model = local.model();
    let stop = interrupt.stop();
    let (prompt, generate, kv) = (args.prompt, args.generate, settings.session(None).kv);
    let sizes = Sizes { model, prompt, generate, kv, stop: &stop };
    // What cannot be is said before anything is computed.
    sizes.session()?;
    let warm = ids(model, WARM.min(prompt));
    model.session(&of(warm.len(), kv))?.feed(&warm, Want::Last, &stop)?;
    // The digest of the weights must not run beside what is timed.
    let digests = model.digests()?;
    let (prefill, decode) = sizes.parts(args.sort)?;
    let facts = model.facts();
    if args.output.json {
        let (model, engine) = (&facts, Engine::of(&facts));
        let (kv, fused) = (kv.name(), false);
        let body = Body { model, engine, digests, prompt, generate, kv, fused, prefill, decode };
        envelope::print(&mut screen, "profile", body)?;
        return Ok(Exit::Done);
    }
    screen.row(&format!(
        "{} ({}.arch), level {}, {} threads, kv {kv}; every line alone, nothing fused",
        facts.name, facts.architecture, facts.level, facts.threads
    ))?;
    show(&mut screen, "prefill", &prefill)?;
    show(&mut screen, "decode", &decode)?;
    Ok(Exit::Done)
}

/// How much is read and written, by which model.
struct Sizes<'a> {
    model: &'a Model,
    prompt: usize,
    generate: usize,
    kv: KvType,
    stop: &'a Stop,
}

/// Milliseconds of reading and of writing, and where they went if somebody watched.
struct Timed {
    read: (f64, Option<Profile>),
    wrote: (f64, Option<Profile>),
    block: usize,
}

impl Sizes<'_> {
    fn parts(&self, order: Order) -> Result<(Part, Part), Failure> {
        let without = self.once(false)?;
        let Timed { read, wrote, block } = self.once(true)?;
        let costs = self.model.cost_of_prompt(0..self.prompt, block, self.kv);
        let prefill = self.part(read.1, &costs, self.prompt, without.read.0, order);
        let mut costs = vec![Cost::default(); costs.len()];
        for at in self.prompt..self.prompt + self.generate {
            let one = at..at + 1;
            let step = self.model.cost(std::slice::from_ref(&one), 1, self.kv);
            costs.iter_mut().zip(step).for_each(|(sum, cost)| *sum = sum.and(cost));
        }
        let decode = self.part(wrote.1, &costs, self.generate, without.wrote.0, order);
        Ok((prefill, decode))
    }

    /// A session with room for both; a sum beyond any context is refused like one that is merely
    /// too large.
    fn session(&self) -> Result<Session, Failure> {
        let room = self.prompt.saturating_add(self.generate);
        Ok(self.model.session(&of(room, self.kv))?)
    }

    /// Reads the prompt and writes an answer.
    fn once(&self, watched: bool) -> Result<Timed, Failure> {
        let mut session = self.session()?;
        let ids = ids(self.model, self.prompt);
        if watched {
            session.start_profile();
        }
        let began = Instant::now();
        let mut next = greedy(session.feed(&ids, Want::Last, self.stop)?);
        let read = (began.elapsed().as_secs_f64() * 1e3, session.take_profile());
        if watched {
            session.start_profile();
        }
        let began = Instant::now();
        for _ in 0..self.generate {
            next = greedy(session.feed(&[next], Want::Last, self.stop)?);
        }
        let wrote = (began.elapsed().as_secs_f64() * 1e3, session.take_profile());
        Ok(Timed { read, wrote, block: session.block() })
    }

    fn part(
        &self,
        profile: Option<Profile>,
        costs: &[Cost],
        tokens: usize,
        without_ms: f64,
        order: Order,
    ) -> Part {
        let ms = profile.as_ref().map_or(0.0, |p| p.total().as_secs_f64() * 1e3);
        let lines = profile.map(|p| p.lines(self.model.program(), costs)).unwrap_or_default();
        let mut lines: Vec<Row> = lines.into_iter().map(|line| Row::of(line, ms)).collect();
        if order == Order::Time {
            lines.sort_by(|a, b| b.line.ms.total_cmp(&a.line.ms));
        }
        Part { tokens, ms, without_ms, lines }
    }
}

impl Row {
    /// What follows from the time of a line, where all lines took `whole` milliseconds.
    fn of(line: Line, whole: f64) -> Row {
        let rate = |count: u64| (count > 0 && line.ms > 0.0).then(|| count as f64 / line.ms / 1e6);
        let (gb_per_s, gop_per_s) = (rate(line.cost.bytes), rate(line.cost.operations));
        let share = if whole > 0.0 { line.ms / whole } else { 0.0 };
        let us_per_call = line.ms * 1e3 / line.calls.max(1) as f64;
        Row { line, share, us_per_call, gb_per_s, gop_per_s }
    }
}

fn show(screen: &mut Screen, name: &str, part: &Part) -> Result<(), Failure> {
    screen.row("")?;
    let rate = |ms: f64| part.tokens as f64 * 1e3 / ms.max(1e-9);
    screen.row(&format!(
        "{name}: {} tokens in {:.1} ms ({:.1}/s); without {:.1} ms ({:.1}/s)",
        part.tokens,
        part.ms,
        rate(part.ms),
        part.without_ms,
        rate(part.without_ms)
    ))?;
    screen.row("line        ms  share   calls   us/call      MiB    GB/s   Gop/s  text")?;
    let number = |n: Option<f64>| n.map_or("–".into(), |n| format!("{n:.1}"));
    for row in &part.lines {
        let line = &row.line;
        screen.row(&format!(
            "{:>4} {:>9.2} {:>5.1}% {:>7} {:>9.1} {:>8.1} {:>7} {:>7}  {}",
            line.line,
            line.ms,
            row.share * 100.0,
            line.calls,
            row.us_per_call,
            line.cost.bytes as f64 / f64::from(1 << 20),
            number(row.gb_per_s),
            number(row.gop_per_s),
            line.text
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_a_line() {
        let line = |ms: f64, operations: u64, bytes: u64, calls: u64| {
            let cost = Cost { operations, bytes };
            Line { line: 7, text: "x = add x h".into(), calls, layers: 1, ms, cost }
        };
        let row = Row::of(line(2.0, 4_000_000_000, 10_000_000, 4), 8.0);
        assert_eq!((row.share, row.us_per_call), (0.25, 500.0));
        assert_eq!((row.gop_per_s, row.gb_per_s), (Some(2000.0), Some(5.0)));
        let row = Row::of(line(0.0, 1, 0, 0), 0.0);
        assert_eq!((row.share, row.us_per_call), (0.0, 0.0));
        assert_eq!((row.gop_per_s, row.gb_per_s), (None, None));
    }
}
