//! `recinto bench --against`: other engines in alternation with this one, a new process each, so
//! that whatever the machine does meanwhile meets all of them.
//!
//! The protocol is in `bench/README.md`: a command line, variables, one JSON object.

use std::{path::Path, process::Command, process::Stdio};

use recinto_os::child::Ended;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    inside::Sizes,
    measure::{self, Described, MEASURES, Measure, Sample, find},
    process,
};
use crate::{exit::Exit, failure::Failure, interrupt::Interrupt, open::ModelArgs};

/// What a peer may say of itself; `null` where it cannot.
const KEYS: &[&str] = &[
    "prefill",
    "decode",
    "decode_context",
    "decode_sequences",
    "load",
    "first_token",
    "resident_peak",
];

/// One engine and all that was measured of it.
#[derive(Serialize)]
pub struct Engine {
    pub name: String,
    pub measures: Vec<Measure>,
    /// How this engine of ours stands to that peer.
    pub ratios: Vec<Ratio>,
}

/// Ours by theirs: the ratio of the medians, and the least and the most of the rounds.
#[derive(Clone, Serialize)]
pub struct Ratio {
    pub measure: &'static str,
    pub ratio: f64,
    pub min: f64,
    pub max: f64,
}

/// All rounds with all engines.
pub struct Rounds<'a> {
    pub model: &'a ModelArgs,
    pub path: &'a Path,
    pub sizes: Sizes,
    pub commands: &'a [String],
    pub start: bool,
    pub verbose: bool,
    pub interrupt: &'a Interrupt,
}

/// What a round gave of one engine.
type Round = Vec<Sample>;

impl Rounds<'_> {
    /// Our engine first, then the peers in their order; and what our process says of the model.
    pub fn run(&self) -> Result<(Vec<Engine>, Value), Failure> {
        let count = self.commands.len() + 1;
        let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); count];
        let mut names: Vec<Option<String>> = vec![None; count];
        let mut envelope = Value::Null;
        for round in 0..self.sizes.repeat {
            // Another one begins each time.
            for turn in 0..count {
                let engine = (round + turn) % count;
                let samples = match engine.checked_sub(1) {
                    // The very first, so that the peers can be told of the threads.
                    None => self.ours(&mut envelope)?,
                    Some(peer) => self.peer(peer, threads_of(&envelope), &mut names[engine])?,
                };
                rounds[engine].push(samples);
            }
        }
        names[0] = Some("recinto".into());
        let all: Vec<Vec<Measure>> = rounds.iter().map(|r| measure::gather(&r.concat())).collect();
        let mut engines = Vec::with_capacity(count);
        for (at, measures) in all.iter().enumerate() {
            let name = names[at].take().unwrap_or_else(|| format!("peer {at}"));
            let ratios = match at {
                0 => Vec::new(),
                _ => ratios(&rounds[0], &rounds[at], &all[0], measures),
            };
            engines.push(Engine { name, measures: measures.clone(), ratios });
        }
        costs(&mut engines[0].measures, &envelope);
        Ok((engines, envelope))
    }

    fn ours(&self, envelope: &mut Value) -> Result<Round, Failure> {
        let mut out = Vec::new();
        let started = self.start.then(|| start(self.model, self.interrupt));
        if self.interrupt.is_set() {
            return Err(Failure::silent(Exit::Interrupted));
        }
        let Sizes { prompt, generate, context, sequences, .. } = self.sizes;
        let mut command = process::own("bench", self.model)?;
        command.args(["--json", "-q", "--repeat=1", "--no-start"]);
        for (flag, value) in [
            ("--prompt", prompt),
            ("--generate", generate),
            ("--context", context),
            ("--sequences", sequences),
        ] {
            command.arg(format!("{flag}={value}"));
        }
        let what = "`recinto bench`";
        let ended = process::run(what, command, self.interrupt)?;
        let reply: Option<Value> = serde_json::from_slice(&ended.out).ok();
        process::well(what, ended, self.interrupt).map_err(|failure| match &reply {
            Some(reply) if !self.interrupt.is_set() => Failure::relayed(reply).unwrap_or(failure),
            _ => failure,
        })?;
        // What is wrong is said better by the envelope than by a start that failed.
        out.extend(started.transpose()?.into_iter().flatten());
        let reply = reply.ok_or_else(|| Failure::running(format!("{what} printed no envelope")))?;
        out.extend(printed(&reply).filter_map(|(name, row)| Some((name, row["median"].as_f64()?))));
        *envelope = reply;
        Ok(out)
    }

    fn peer(
        &self,
        peer: usize,
        threads: Option<u64>,
        name: &mut Option<String>,
    ) -> Result<Round, Failure> {
        let mut out = Vec::new();
        let what = format!("peer {}", peer + 1);
        if self.start {
            let command = self.command(peer, "start", threads);
            let ended = process::run(&what, command, self.interrupt)?;
            let ended = self.well(&what, ended)?;
            let said = said(&what, &ended.out)?;
            let wall = ended.wall.as_secs_f64() * 1e3;
            match said.numbers.iter().find(|(key, _)| *key == "first_token") {
                Some((key, Some(ms))) => out.push((*key, *ms)),
                Some((_, None)) => {}
                None => out.push(("first_token", wall)),
            }
            out.push(("start_peak", ended.used.peak as f64));
        }
        let command = self.command(peer, "speed", threads);
        let ended = process::run(&what, command, self.interrupt)?;
        let ended = self.well(&what, ended)?;
        let said = said(&what, &ended.out)?;
        let numbers = said.numbers.iter().filter(|(key, _)| *key != "first_token");
        out.extend(numbers.filter_map(|(key, value)| Some((*key, (*value)?))));
        if !said.numbers.iter().any(|(key, _)| *key == "resident_peak") {
            out.push(("resident_peak", ended.used.peak as f64));
        }
        if said.name.is_some() {
            *name = said.name;
        }
        Ok(out)
    }

    fn well(&self, what: &str, ended: Ended) -> Result<Ended, Failure> {
        process::well(what, ended, self.interrupt).map_err(|failure| match self.verbose {
            true => failure,
            false => failure.hint("`--verbose` shows what it says on standard error"),
        })
    }

    /// A peer's command line with its variables.
    fn command(&self, peer: usize, what: &str, threads: Option<u64>) -> Command {
        let Sizes { prompt, generate, context, sequences, .. } = self.sizes;
        let start = what == "start";
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.commands[peer]);
        command.env("RECINTO_BENCH_WHAT", what).env("RECINTO_BENCH_MODEL", self.path);
        command.env("RECINTO_BENCH_TEXT", process::TEXT);
        for (name, value) in [
            ("THREADS", threads.unwrap_or(1)),
            ("PROMPT", prompt as u64),
            ("GENERATE", if start { 1 } else { generate as u64 }),
            ("CONTEXT", if start { 0 } else { context as u64 }),
            ("SEQUENCES", if start { 1 } else { sequences as u64 }),
        ] {
            command.env(format!("RECINTO_BENCH_{name}"), value.to_string());
        }
        if !self.verbose {
            command.stderr(Stdio::null());
        }
        command
    }
}

/// Samples of one start of this program.
pub fn start(model: &ModelArgs, interrupt: &Interrupt) -> Result<Round, Failure> {
    let what = "`recinto ask`";
    let ended = process::run(what, process::start(model)?, interrupt)?;
    let ended = process::well(what, ended, interrupt)?;
    let (wall, peak) = (ended.wall.as_secs_f64() * 1e3, ended.used.peak as f64);
    Ok(vec![("first_token", wall), ("start_peak", peak)])
}

/// Threads that our process computed with.
fn threads_of(envelope: &Value) -> Option<u64> {
    envelope["engine"]["threads"].as_u64()
}

/// The measures in our own process's envelope, by their names.
fn printed(envelope: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    let rows = envelope["measures"].as_array().into_iter().flatten();
    rows.filter_map(|row| Some((MEASURES.iter().find(|known| row["measure"] == known.0)?.0, row)))
}

/// What our own process said of the cost of a token and of its share, in the last round.
fn costs(measures: &mut [Measure], envelope: &Value) {
    let costs: Vec<(&'static str, measure::PerToken)> = printed(envelope)
        .filter_map(|(name, row)| {
            let number = |key: &str| row["per_token"][key].as_f64();
            let (operations, bytes) = (number("operations")?, number("bytes")?);
            Some((name, measure::PerToken { operations, bytes }))
        })
        .collect();
    measure::hold_against_limits(measures, &costs);
}

/// What our process said of model and engine, for a CSV.
pub fn described(envelope: &Value) -> Described {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let engine = &envelope["engine"];
    Described {
        architecture: text(&envelope["model"]["architecture"]),
        level: text(&engine["level"]),
        threads: threads_of(envelope).unwrap_or(0) as usize,
        version: text(&engine["version"]),
        numerics: engine["numerics"].as_u64().unwrap_or(0) as u32,
    }
}

/// What a peer printed.
#[derive(Debug, PartialEq)]
struct Said {
    name: Option<String>,
    numbers: Vec<(&'static str, Option<f64>)>,
}

/// Reads the last line of a peer's output.
fn said(what: &str, out: &[u8]) -> Result<Said, Failure> {
    let bad = |why: &str| {
        let known = format!("known keys: name, {}", KEYS.join(", "));
        Failure::running(format!("{what}: {why}")).hint(&known)
    };
    let text = std::str::from_utf8(out).map_err(|_| bad("its output is not UTF-8"))?;
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    let object: Map<String, Value> = serde_json::from_str(line)
        .map_err(|_| bad("the last line of its output is no JSON object"))?;
    let mut said = Said { name: None, numbers: Vec::new() };
    for (key, value) in &object {
        if key == "name" {
            let name = value.as_str().ok_or_else(|| bad("`name` is no text"))?;
            said.name = Some(name.to_owned());
            continue;
        }
        let Some(known) = KEYS.iter().find(|known| *known == key) else {
            return Err(bad("a key is not known"));
        };
        let number = match value {
            Value::Null => None,
            _ => Some(
                value
                    .as_f64()
                    .filter(|n| n.is_finite() && *n > 0.0)
                    .ok_or_else(|| bad(&format!("`{known}` is no number above 0")))?,
            ),
        };
        said.numbers.push((known, number));
    }
    Ok(said)
}

/// Ours by theirs, for what both have.
fn ratios(ours: &[Round], theirs: &[Round], mine: &[Measure], others: &[Measure]) -> Vec<Ratio> {
    let value = |round: &Round, name: &str| {
        round.iter().find(|sample| sample.0 == name).map(|sample| sample.1)
    };
    let rows = MEASURES.iter().filter_map(|(name, _)| {
        let (a, b) = (find(mine, name)?, find(others, name)?);
        let pairs = ours.iter().zip(theirs);
        let each = pairs.filter_map(|(a, b)| Some(value(a, name)? / value(b, name)?));
        let bounds = each.fold((f64::INFINITY, 0f64), |(min, max), r| (min.min(r), max.max(r)));
        Some(Ratio { measure: name, ratio: a.median / b.median, min: bounds.0, max: bounds.1 })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_peers_say() {
        let out = "ruido\n{\"name\": \"ñ\", \"decode\": 2, \"load\": null}\n\n";
        let good = said("p", out.as_bytes());
        let want =
            Said { name: Some("ñ".into()), numbers: vec![("decode", Some(2.0)), ("load", None)] };
        assert_eq!(good.unwrap(), want);
        let cases: [(&str, &[u8], &str); 7] = [
            ("nothing", b"", "no JSON object"),
            ("text", b"hola", "no JSON object"),
            ("list", b"[1]", "no JSON object"),
            ("unknown", b"{\"speed\": 1}", "a key is not known"),
            ("zero", b"{\"decode\": 0}", "`decode` is no number above 0"),
            ("word", b"{\"decode\": \"x\"}", "`decode` is no number above 0"),
            ("bytes", b"{\"name\": \"\xff\"}", "not UTF-8"),
        ];
        for (name, out, want) in cases {
            let text = said("p", out).unwrap_err().text.unwrap();
            assert!(text.contains(want) && text.contains("hint: known keys"), "{name}: {text}");
        }
    }

    #[test]
    fn ratios_of_medians_with_the_rounds_bounds() {
        let round = |decode: f64| -> Round { vec![("decode", decode), ("load", 5.0)] };
        let ours = [round(10.0), round(30.0), round(20.0)];
        let theirs = [vec![("decode", 10.0)], vec![("decode", 10.0)], vec![("decode", 5.0)]];
        let all = |rounds: &[Round]| measure::gather(&rounds.concat());
        let found = ratios(&ours, &theirs, &all(&ours), &all(&theirs));
        assert_eq!(found.len(), 1, "only what both have");
        let r = &found[0];
        assert_eq!((r.measure, r.ratio, r.min, r.max), ("decode", 2.0, 1.0, 4.0));
    }
}
