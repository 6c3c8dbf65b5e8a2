//! `recinto bench`: how fast this model is on this machine, and how much memory it takes.

use std::{path::PathBuf, time::Instant};

use recinto_engine::{Digests, Facts, Model, SessionOptions, Stop, Want};
use serde::Serialize;

use crate::{
    envelope::{self, Engine},
    exit::Exit,
    failure::Failure,
    interrupt::Interrupt,
    open::{self, ModelArgs, OutputArgs},
    screen::Screen,
    write::Target,
};

/// Positions of the short prompt of the first-token measures.
const SHORT: usize = 16;

const EXAMPLES: &str = "\
Each measure is a median with the least and the most of the repeats. `first token` is the time
from a new session to the first token of a 16-token prompt; `process` counts from the start of
this process, opening included. Nothing else should run meanwhile.

Examples:
  recinto bench -m ./qwen.gguf
  recinto bench --prompt 1024 --generate 64 --repeat 5 --csv speed.csv
  recinto bench --json --threads 2";

/// Measure prefill, decode, loading and memory
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Tokens of the prompt
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 512)]
    prompt: usize,

    /// Tokens to generate after it
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 64)]
    generate: usize,

    /// How often each measure is taken
    #[arg(long, value_name = "R", allow_negative_numbers = true, default_value_t = 3)]
    repeat: usize,

    /// Write the measures to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// One measure: the median of its repeats, and their bounds.
#[derive(Serialize)]
struct Measure {
    measure: &'static str,
    unit: &'static str,
    median: f64,
    min: f64,
    max: f64,
    repeats: usize,
}

impl Measure {
    fn of(measure: &'static str, unit: &'static str, mut values: Vec<f64>) -> Measure {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
        Measure { measure, unit, median, min: values[0], max: values[n - 1], repeats: n }
    }

    fn once(measure: &'static str, unit: &'static str, value: f64) -> Measure {
        Measure::of(measure, unit, vec![value])
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a Facts,
    engine: Engine,
    digests: Digests,
    prompt: usize,
    generate: usize,
    measures: &'a [Measure],
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::new(args.output.quiet, args.output.verbose)?;
    for (flag, value) in
        [("--prompt", args.prompt), ("--generate", args.generate), ("--repeat", args.repeat)]
    {
        if value == 0 {
            return Err(Failure::usage(format!("{flag} must be 1 or more")));
        }
    }
    let settings = args.model.settings()?;
    settings.model()?;
    let read = open::files_read(&settings, &[]);
    let csv = args.csv.as_deref().map(|path| Target::new(path, &read)).transpose()?;
    let local = args.model.open_with(&settings)?;
    let model = local.model();
    let facts = model.facts();
    let stop = interrupt.stop();
    let run = Run { model, stop, args: &args };
    let measures = run.all(&facts)?;
    if let Some(target) = csv {
        target.write(table(&facts, &args, &measures).as_bytes())?;
    }
    if args.output.json {
        let (prompt, generate) = (args.prompt, args.generate);
        let engine = Engine::of(&facts);
        let digests = model.digests()?;
        let body = Body { model: &facts, engine, digests, prompt, generate, measures: &measures };
        envelope::print(&mut screen, "bench", body)?;
        return Ok(Exit::Done);
    }
    screen.row(&format!(
        "{} ({}), level {}, {} threads, prompt {}, generate {}",
        facts.name, facts.architecture, facts.level, facts.threads, args.prompt, args.generate
    ))?;
    for m in &measures {
        let digits = if m.unit == "bytes" { 0 } else { 2 };
        screen.row(&format!(
            "{:<22} {:>14.digits$} {:<9} {:.digits$} – {:.digits$}",
            m.measure, m.median, m.unit, m.min, m.max
        ))?;
    }
    Ok(Exit::Done)
}

struct Run<'a> {
    model: &'a Model,
    stop: Stop,
    args: &'a Args,
}

impl Run<'_> {
    fn all(&self, facts: &Facts) -> Result<Vec<Measure>, Failure> {
        let mut out = vec![Measure::once("load", "ms", facts.load_ms)];
        self.first_token()?;
        if let Ok(age) = recinto_os::usage::age() {
            out.push(Measure::once("process_first_token", "ms", age.as_secs_f64() * 1e3));
        }
        // The digest of the weights must not run beside what is measured from here on.
        self.model.digests()?;
        let (mut first, mut prefill, mut decode, mut kv) = (vec![], vec![], vec![], 0);
        for _ in 0..self.args.repeat {
            first.push(self.first_token()?);
            let (read, wrote, bytes) = self.long()?;
            prefill.push(read);
            decode.push(wrote);
            kv = kv.max(bytes);
        }
        out.push(Measure::of("first_token", "ms", first));
        out.push(Measure::of("prefill", "tokens/s", prefill));
        out.push(Measure::of("decode", "tokens/s", decode));
        out.push(Measure::once("file", "bytes", facts.bytes as f64));
        out.push(Measure::once("kv", "bytes", kv as f64));
        if let Ok(memory) = recinto_os::memory::resident() {
            for (name, bytes) in [
                ("resident_peak", memory.peak),
                ("resident", memory.now),
                ("resident_file", memory.file),
                ("resident_own", memory.now.saturating_sub(memory.file)),
            ] {
                out.push(Measure::once(name, "bytes", bytes as f64));
            }
        }
        out.push(Measure::once("cpu", "s", recinto_os::usage::cpu_time().as_secs_f64()));
        Ok(out)
    }

    /// Milliseconds from a new session to its first token.
    fn first_token(&self) -> Result<f64, Failure> {
        let began = Instant::now();
        let mut session = self.model.session(&self.session_of(SHORT + 1))?;
        largest(session.feed(&self.ids(SHORT), Want::Last, &self.stop)?);
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }

    /// Tokens a second of prefill and of decode, and the bytes of keys and values.
    fn long(&self) -> Result<(f64, f64, usize), Failure> {
        let (prompt, generate) = (self.args.prompt, self.args.generate);
        let mut session = self.model.session(&self.session_of(prompt + generate))?;
        let ids = self.ids(prompt);
        let began = Instant::now();
        let mut next = largest(session.feed(&ids, Want::Last, &self.stop)?);
        let read = began.elapsed().as_secs_f64();
        let began = Instant::now();
        for _ in 0..generate {
            next = largest(session.feed(&[next], Want::Last, &self.stop)?);
        }
        let wrote = began.elapsed().as_secs_f64();
        Ok((prompt as f64 / read, generate as f64 / wrote, session.kv_bytes()))
    }

    fn session_of(&self, positions: usize) -> SessionOptions {
        SessionOptions { context: Some(positions), ..SessionOptions::default() }
    }

    /// The same ids each time, from all over the vocabulary.
    fn ids(&self, count: usize) -> Vec<u32> {
        let vocabulary = self.model.program().vocabulary as u64;
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            // xorshift, Marsaglia 2003.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % vocabulary) as u32
        };
        (0..count).map(|_| next()).collect()
    }
}

/// The id of the largest logit, the lower one of equals.
fn largest(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (id, value) in logits.iter().enumerate() {
        if *value > logits[best] {
            best = id;
        }
    }
    best as u32
}

/// The measures as CSV, one row each; what they belong to is in every row.
fn table(facts: &Facts, args: &Args, measures: &[Measure]) -> String {
    let mut out = String::from(
        "model,architecture,level,threads,version,numerics,prompt,generate,measure,unit,median,\
         min,max,repeats\n",
    );
    let file = facts.path.file_name().unwrap_or_default().to_string_lossy();
    for m in measures {
        let row = [
            quoted(&file),
            quoted(&facts.architecture),
            facts.level.into(),
            facts.threads.to_string(),
            facts.version.into(),
            facts.numerics.to_string(),
            args.prompt.to_string(),
            args.generate.to_string(),
            m.measure.into(),
            m.unit.into(),
            format!("{:.3}", m.median),
            format!("{:.3}", m.min),
            format!("{:.3}", m.max),
            m.repeats.to_string(),
        ];
        out.push_str(&row.join(","));
        out.push('\n');
    }
    out
}

/// A CSV field, quoted where it must be (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let cases = [
            ("one", vec![2.0], (2.0, 2.0, 2.0)),
            ("odd", vec![3.0, 1.0, 9.0], (3.0, 1.0, 9.0)),
            ("even", vec![4.0, 1.0, 2.0, 9.0], (3.0, 1.0, 9.0)),
        ];
        for (name, values, want) in cases {
            let m = Measure::of("x", "ms", values);
            assert_eq!((m.median, m.min, m.max), want, "{name}");
        }
        assert_eq!(largest(&[1.0, 3.0, 3.0, f32::NEG_INFINITY]), 1);
        assert_eq!(quoted("a,\"ñ\""), "\"a,\"\"ñ\"\"\"");
    }
}
