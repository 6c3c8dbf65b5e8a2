//! Decides many texts with one model and one session, which reads what all prompts have in common
//! once: `rows MODEL generate|score < ROWS`, for `bench/decide/run.py`.
//!
//! A row is a line of JSON, `{"text": "…", "labels": ["…"]}`; so is what comes out for each.

use std::{
    io::{self, BufRead, Write},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use recinto_engine::{Constraint, OpenOptions, Scores, Session};
use recinto_provider::{
    Abilities, Error, Flags, Identity, Local, Provider, Reply, Settings, Sink, Turn,
};
use recinto_tasks::{Input, Label, Labels, Method, Stop, decide};
use serde_json::{Value, json};

/// The local provider with one session for all turns, one at a time.
struct OneSession {
    local: Local,
    session: Mutex<Session>,
}

impl Provider for OneSession {
    fn identity(&self) -> Identity {
        self.local.identity()
    }

    fn abilities(&self) -> Abilities {
        self.local.abilities()
    }

    fn complete(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error> {
        let mut grammar = turn.shape.as_ref().map(|shape| self.local.shape(shape)).transpose()?;
        let constraint = grammar.as_mut().map(|grammar| grammar as &mut dyn Constraint);
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let request = self.local.request(&turn.request);
        Ok(session.reply_within(&request, constraint, stop, sink)?.into())
    }

    fn score(&self, turn: &Turn, labels: &[String], stop: &Stop) -> Result<Scores, Error> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(session.score(&self.local.request(&turn.request), labels, stop)?)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let model = words.next().ok_or("the path of a model is missing")?;
    let method = match words.next().as_deref() {
        Some("generate") => Method::Generate,
        Some("score") => Method::Score,
        _ => return Err("the method is `generate` or `score`".into()),
    };
    let flags = Flags { model: Some(model), ..Flags::default() };
    let local = Local::open(&Settings::resolve(&flags)?, OpenOptions::default())?;
    let session = Mutex::new(local.session()?);
    let provider = OneSession { local, session };
    for line in io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let text = row["text"].as_str().ok_or("a row without a text")?;
        let names = row["labels"].as_array().ok_or("a row without labels")?;
        let labels = Labels::new(names.iter().filter_map(Value::as_str).map(Label::new))?;
        let began = Instant::now();
        let decided = decide(&provider, &Input::new(text), &labels, method, &Stop::never())?;
        let decision = decided.value()?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let of = |score: &recinto_tasks::Scored| score.label == decision.label;
        let score = decision.scores.iter().find(|score| of(score));
        let told = json!({
            "label": decision.label,
            "probability": score.map(|score| score.probability),
            "prompt_tokens": decision.usage.prompt_tokens,
            "ms": ms,
        });
        writeln!(io::stdout(), "{told}")?;
    }
    Ok(())
}
