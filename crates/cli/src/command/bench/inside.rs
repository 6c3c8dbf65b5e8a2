//! The measures that one opened model gives: reading a prompt, answering, memory.

use std::time::{Duration, Instant};

use recinto_engine::{
    Cost, Feed, KvType, Model, Options, Session, SessionOptions, Stop, Want, greedy,
};
use recinto_kernels::{Kernels, Level, limits};
use recinto_weights::Shard;
use serde::{Serialize, Serializer};

use super::measure::{PerToken, Sample};
use crate::failure::Failure;

/// Positions of the short prompt of the first-token measure.
const SHORT: usize = 16;
/// How long the rate of the instructions is measured.
const SPIN: Duration = Duration::from_millis(40);
/// Limits are measured this often at the most.
const LIMITS: usize = 5;

/// How much is read and written.
#[derive(Clone, Copy, Serialize)]
pub struct Sizes {
    pub prompt: usize,
    pub generate: usize,
    /// Positions before a second decode; 0 for none.
    pub context: usize,
    /// Sequences of a decode of many; 1 for none.
    pub sequences: usize,
    /// How often; a JSON object says so of its own accord.
    #[serde(skip)]
    pub repeat: usize,
    /// How keys and values are stored.
    #[serde(serialize_with = "word")]
    pub kv: KvType,
}

fn word<S: Serializer>(kv: &KvType, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kv.name())
}

/// A model under measure.
pub struct Inside<'a> {
    pub model: &'a Model,
    pub stop: &'a Stop,
    pub sizes: Sizes,
}

impl Inside<'_> {
    /// All samples.
    pub fn samples(&self) -> Result<Vec<Sample>, Failure> {
        let Sizes { prompt, generate, context, sequences, repeat, kv: kind } = self.sizes;
        for longest in [prompt, context] {
            self.model.session(&of(longest.saturating_add(generate), kind))?;
        }
        let facts = self.model.facts();
        let mut out = vec![("load", facts.load_ms), ("file", facts.bytes as f64)];
        self.first_token()?;
        // The digest of the weights must not run beside what is measured from here on.
        self.model.digests()?;
        let mut kv = 0;
        for _ in 0..repeat {
            out.push(("session_first_token", self.first_token()?));
            let (mut session, read) = self.read(prompt)?;
            out.push(("prefill", prompt as f64 / read));
            out.push(("decode", self.decode(&mut session)?));
            kv = kv.max(session.kv_bytes());
            drop(session);
            if context > 0 {
                let (mut session, _) = self.read(context)?;
                out.push(("decode_context", self.decode(&mut session)?));
                kv = kv.max(session.kv_bytes());
            }
            if sequences > 1 {
                out.push(("decode_sequences", self.together()?));
            }
        }
        out.push(("kv", kv as f64));
        if let Ok(memory) = recinto_os::memory::resident() {
            for (name, bytes) in [
                ("resident_peak", memory.peak),
                ("resident", memory.now),
                ("resident_file", memory.file),
                ("resident_own", memory.now.saturating_sub(memory.file)),
            ] {
                out.push((name, bytes as f64));
            }
        }
        out.push(("cpu", recinto_os::usage::cpu_time().as_secs_f64()));
        self.limits(&mut out)?;
        Ok(out)
    }

    /// What one token of each speed costs.
    pub fn costs(&self) -> Vec<(&'static str, PerToken)> {
        let Sizes { prompt, generate, context, sequences, kv, .. } = self.sizes;
        let decode = |start: usize, sequences: usize| {
            let steps = (start..start + generate).map(|at| {
                let fed = vec![at..at + 1; sequences];
                Cost::sum(&self.model.cost(&fed, 1, kv))
            });
            PerToken::of(steps.fold(Cost::default(), Cost::and), generate * sequences)
        };
        // What a session reads at once unless it is told otherwise.
        let block = Options::default().block;
        let read = Cost::sum(&self.model.cost_of_prompt(0..prompt, block, kv));
        vec![
            ("prefill", PerToken::of(read, prompt)),
            ("decode", decode(prompt, 1)),
            ("decode_context", decode(context, 1)),
            ("decode_sequences", decode(prompt, sequences)),
        ]
    }

    /// What this machine can do: the rate of 8-bit products of the level in use, and of reading
    /// the weights where they lie, on as many threads as the model has and on one.
    fn limits(&self, out: &mut Vec<Sample>) -> Result<(), Failure> {
        let facts = self.model.facts();
        let level = Level::from_name(facts.level).and_then(Kernels::at);
        let files = self.model.file().shards().iter().map(Shard::bytes);
        let bytes = files.max_by_key(|bytes| bytes.len()).unwrap_or_default();
        let both = [
            (facts.threads, "int8_rate", "read_rate"),
            (1, "int8_rate_1_thread", "read_rate_1_thread"),
        ];
        for _ in 0..self.sizes.repeat.min(LIMITS) {
            let mut last = None;
            for (threads, int8, read) in both {
                if self.stop.stopped() {
                    return Err(Failure::silent(crate::exit::Exit::Interrupted));
                }
                // One and the same where the model has one thread.
                let rates = match last {
                    Some((before, rates)) if before == threads => rates,
                    _ => (
                        level.map(|kernels| limits::int8_rate(kernels, threads, SPIN)),
                        limits::read_rate(bytes, threads),
                    ),
                };
                last = Some((threads, rates));
                out.extend(rates.0.map(|rate| (int8, rate / 1e9)));
                out.push((read, rates.1 / 1e9));
            }
        }
        Ok(())
    }

    /// Milliseconds from a new session to its first token.
    fn first_token(&self) -> Result<f64, Failure> {
        let began = Instant::now();
        let mut session = self.model.session(&of(SHORT + 1, self.sizes.kv))?;
        greedy(session.feed(&ids(self.model, SHORT), Want::Last, self.stop)?);
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }

    /// A session that has read `prompt` positions, and the seconds that took.
    fn read(&self, prompt: usize) -> Result<(Session, f64), Failure> {
        let Sizes { generate, kv, .. } = self.sizes;
        // A sum beyond any context is refused like one that is merely too large.
        let mut session = self.model.session(&of(prompt.saturating_add(generate), kv))?;
        let ids = ids(self.model, prompt);
        let began = Instant::now();
        greedy(session.feed(&ids, Want::Last, self.stop)?);
        let seconds = began.elapsed().as_secs_f64();
        Ok((session, seconds))
    }

    /// Tokens a second of an answer.
    fn decode(&self, session: &mut Session) -> Result<f64, Failure> {
        let generate = self.sizes.generate;
        let mut next = 0;
        let began = Instant::now();
        for _ in 0..generate {
            next = greedy(session.feed(&[next], Want::Last, self.stop)?);
        }
        Ok(generate as f64 / began.elapsed().as_secs_f64())
    }

    /// Tokens a second, of all together, when many sessions are served in one step.
    fn together(&self) -> Result<f64, Failure> {
        let Sizes { prompt, generate, sequences, .. } = self.sizes;
        // One prompt, read once: the others share its keys and values.
        let (first, _) = self.read(prompt)?;
        let mut sessions = Vec::with_capacity(sequences);
        for _ in 1..sequences {
            sessions.push(first.fork()?);
        }
        sessions.push(first);
        let mut batch = self.model.batch(sequences.clamp(1, 4096))?;
        let mut next = vec![[0]; sequences];
        let began = Instant::now();
        for _ in 0..generate {
            let fed = sessions.iter_mut().zip(&next);
            let mut feeds: Vec<Feed<'_>> =
                fed.map(|(session, ids)| Feed { session, ids, want: Want::Last }).collect();
            self.model.step(&mut batch, &mut feeds, self.stop)?;
            for (i, next) in next.iter_mut().enumerate() {
                *next = [greedy(batch.logits(i))];
            }
        }
        Ok((generate * sequences) as f64 / began.elapsed().as_secs_f64())
    }
}

/// A session with this much room.
pub fn of(positions: usize, kv: KvType) -> SessionOptions {
    SessionOptions { context: Some(positions), kv }
}

/// The same ids each time, from all over the vocabulary.
pub fn ids(model: &Model, count: usize) -> Vec<u32> {
    let vocabulary = model.program().vocabulary as u64;
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
