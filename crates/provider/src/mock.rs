//! The provider that is nobody: answers that follow from the request alone, so that what is built
//! on answers can be tried without a model and without a network.

use std::{ops::ControlFlow, sync::Arc, time::Instant};

use recinto_engine::{
    Constraint, LabelScore, Mask, Mode, Options, Piece, Request, Scores, Stop, Usage,
};
use recinto_grammar::{Grammars, Shape};
use recinto_policy::Budget;

use crate::{
    Abilities, Error, Finish, Identity, Kind, Made, Name, Provider, Reply, Sink, Turn,
    meter::{self, Whose},
    span::Outcome,
};

/// Words of an answer without a shape.
const WORDS: [&str; 8] = ["uno", "dos", "tres", "año", "ñandú", "sí", "no", "quizá"];
/// How many of them.
const LENGTH: u64 = 6;
/// Bytes that are tried first, so that an answer of a shape comes to an end soon.
const FIRST: &[u8] = b"\"}],:e0";

/// Answers that follow from the request alone.
pub struct Mock {
    model: String,
    budget: Option<Arc<Budget>>,
}

impl Mock {
    /// One that calls itself `model`.
    pub fn new(model: Option<&str>) -> Mock {
        Mock { model: model.unwrap_or("mock").to_owned(), budget: None }
    }

    /// The same within a budget.
    pub fn within(mut self, budget: Arc<Budget>) -> Mock {
        self.budget = Some(budget);
        self
    }

    fn metered<T: Outcome>(
        &self,
        turn: &Turn,
        output: usize,
        work: impl FnOnce(&Request) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let whose = Whose { identity: turn.counted(), model: &self.model };
        let count = |request: &Request| Ok(prompt_tokens(request) as u64);
        let (budget, output) = (self.budget.as_deref(), output as u64);
        meter::within(budget, whose, &turn.request, output, count, work)
    }
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo): the same number on every machine.
fn fold(mut state: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state
}

fn number(request: &Request) -> u64 {
    let seed = request.options.seed.unwrap_or(0).to_le_bytes();
    request.messages.iter().fold(fold(0xcbf2_9ce4_8422_2325, &seed), |state, message| {
        let state = fold(state, message.role.word().as_bytes());
        fold(fold(state, message.content.as_bytes()), &[0xff])
    })
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn prompt_tokens(request: &Request) -> usize {
    request.messages.iter().map(|message| words(&message.content)).sum()
}

fn stopped(stop: &Stop) -> Error {
    match stop.cancelled() {
        true => Error::new(Kind::Cancelled, "stopped before an answer began"),
        false => Error::new(Kind::Deadline, "the deadline passed before an answer began"),
    }
}

/// A text of `shape`, byte by byte: it ends as soon as it may. `None` when it is not whole after
/// `most` bytes.
fn shaped(shape: &Shape, number: u64, most: usize) -> Result<(String, bool), Error> {
    if let Shape::Labels(labels) = shape
        && !labels.is_empty()
    {
        // Checked as any other shape is.
        Grammars::bytes()?.compile(shape)?;
        let at = (number % labels.len() as u64) as usize;
        return Ok((labels[at].clone(), true));
    }
    let mut grammar = Grammars::bytes()?.compile(shape)?;
    let end = u32::from(u8::MAX) + 1;
    let (mut bytes, mut complete) = (Vec::new(), false);
    while bytes.len() < most && !complete {
        let mut mask = Mask::new(end as usize + 1);
        grammar.allowed(&mut mask)?;
        if mask.contains(end) {
            complete = true;
            break;
        }
        let wanted = FIRST.iter().copied().map(u32::from).find(|byte| mask.contains(*byte));
        let Some(byte) = wanted.or_else(|| (0..end).find(|byte| mask.contains(*byte))) else {
            break;
        };
        let follow = grammar.commit(byte)?;
        bytes.extend([byte].iter().chain(&follow.forced).filter_map(|id| u8::try_from(*id).ok()));
        complete = follow.complete;
    }
    // Within a character only where it was cut.
    Ok((String::from_utf8_lossy(&bytes).into_owned(), complete))
}

impl Provider for Mock {
    fn identity(&self) -> Identity {
        Identity {
            provider: Name::Mock,
            model: self.model.clone(),
            path: None,
            host: None,
            warnings: Vec::new(),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities { schemas: true, grammars: true, scores: true, logprobs: false, tools: false }
    }

    fn complete(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error> {
        self.metered(turn, turn.request.options.max_tokens, |request| {
            answer(request, turn.shape.as_ref(), stop, sink)
        })
    }

    fn score(&self, turn: &Turn, labels: &[String], stop: &Stop) -> Result<Scores, Error> {
        self.metered(turn, labels.len(), |request| scores(request, labels, stop))
    }
}

fn answer(
    request: &Request,
    shape: Option<&Shape>,
    stop: &Stop,
    sink: &mut Sink<'_>,
) -> Result<Reply, Error> {
    if request.messages.is_empty() {
        return Err(Error::new(Kind::Request, "a request without messages"));
    }
    request.options.check(usize::MAX)?;
    if !request.tools.is_empty() {
        return Err(Error::new(Kind::Unable, "mock calls no tools")
            .hint("provider `local` does, and so do services elsewhere"));
    }
    let deadline = request.options.deadline.and_then(|time| Instant::now().checked_add(time));
    let stop = &stop.with_deadline(deadline);
    if stop.stopped() {
        return Err(stopped(stop));
    }
    let (number, most) = (number(request), request.options.max_tokens);
    let mut finish = Finish::End;
    let (pieces, complete) = match shape {
        Some(shape) => {
            let (text, complete) = shaped(shape, number, most.saturating_mul(4))?;
            if !complete {
                finish = Finish::Length;
            }
            (vec![text], Some(complete))
        }
        None => {
            let pick = |at: u64| WORDS[(fold(number, &at.to_le_bytes()) % 8) as usize];
            let all: Vec<String> = (0..LENGTH)
                .map(|at| if at == 0 { pick(at).to_owned() } else { format!(" {}", pick(at)) })
                .collect();
            if all.len() > most {
                finish = Finish::Length;
            }
            (all.into_iter().take(most).collect(), None)
        }
    };
    let mut text = String::new();
    for piece in pieces {
        if stop.stopped() {
            finish = if stop.cancelled() { Finish::Cancelled } else { Finish::Deadline };
            break;
        }
        text.push_str(&piece);
        if sink(Piece::Text(&piece)) == ControlFlow::Break(()) {
            finish = Finish::Cancelled;
            break;
        }
    }
    let usage = Usage {
        prompt_tokens: prompt_tokens(request),
        cached_tokens: 0,
        output_tokens: words(&text),
    };
    Ok(Reply {
        text,
        reasoning: String::new(),
        calls: Vec::new(),
        finish,
        usage,
        options: Options {
            seed: Some(request.options.seed.unwrap_or(0)),
            ..request.options.clone()
        },
        logprobs: Vec::new(),
        complete,
        notes: vec!["no model answered: this is the provider `mock`".into()],
        made: Made::Mock,
    })
}

fn scores(request: &Request, labels: &[String], stop: &Stop) -> Result<Scores, Error> {
    if labels.is_empty() {
        return Err(Error::new(Kind::Request, "no label to score"));
    }
    if stop.stopped() {
        return Err(stopped(stop));
    }
    let number = number(request);
    // From 1 to 2^16, so that no probability is zero.
    let weight = |label: &String| (fold(number, label.as_bytes()) >> 48) as f64 + 1.0;
    let weights: Vec<f64> = labels.iter().map(weight).collect();
    let total: f64 = weights.iter().sum();
    let scores = weights.iter().map(|weight| {
        let probability = weight / total;
        let logprob = probability.ln();
        LabelScore { probability, logprob, mean: logprob, parts: vec![logprob] }
    });
    let usage = Usage {
        prompt_tokens: prompt_tokens(request),
        cached_tokens: 0,
        output_tokens: labels.len(),
    };
    Ok(Scores { labels: scores.collect(), mass: 1.0, usage, mode: Mode::Chat, input: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(text: &str, shape: Option<Shape>, most: usize) -> Result<Reply, Error> {
        let mut request = Request::user(text);
        request.options.max_tokens = most;
        let turn = Turn { request, shape, ..Turn::default() };
        Mock::new(None).complete(&turn, &Stop::never(), &mut |_| ControlFlow::Continue(()))
    }

    #[test]
    fn the_same_request_has_the_same_answer() {
        let text = |asked: &str| self::asked(asked, None, 100).unwrap().text.clone();
        assert_eq!(text("¿Qué?"), text("¿Qué?"));
        assert_ne!(text("¿Qué?"), text("¿Quién?"));
        assert_eq!(words(&text("¿Qué?")), LENGTH as usize);
        let cut = asked("¿Qué?", None, 2).unwrap();
        assert_eq!((words(&cut.text), &cut.finish), (2, &Finish::Length));
    }

    #[test]
    fn answers_are_of_their_shape() {
        let schema = json!({
            "type": "object",
            "properties": {
                "año": { "type": "integer" }, "name": { "type": "string", "minLength": 2 },
                "list": { "type": "array", "items": { "type": "boolean" }, "minItems": 1 }
            },
            "required": ["año", "name", "list"], "additionalProperties": false
        });
        let cases = [
            ("labels", Shape::Labels(vec!["sí".into(), "no".into()])),
            ("schema", Shape::Schema(schema)),
            ("regex", Shape::Regex("[0-9]{4}-ñ".into())),
            ("grammar", Shape::Lark("start: \"a\" \"ñ\"+".into())),
        ];
        for (name, shape) in cases {
            let reply = asked("¿Qué?", Some(shape.clone()), 100).unwrap();
            assert_eq!(reply.complete, Some(true), "{name}: {}", reply.text);
            let grammar = Grammars::bytes().unwrap().compile(&shape).unwrap();
            assert!(grammar.accepts(reply.text.as_bytes()), "{name}: {}", reply.text);
        }
        let long = Shape::Regex("a{500}".into());
        let cut = asked("¿Qué?", Some(long), 10).unwrap();
        assert_eq!((cut.complete, &cut.finish), (Some(false), &Finish::Length));
        let error = asked("¿Qué?", Some(Shape::Labels(vec![])), 10).err().unwrap();
        assert!(matches!(error.kind(), Kind::Shape(_)), "{error}");
    }

    #[test]
    fn scores_are_a_distribution() {
        let labels = ["sí", "no", "quizá"].map(String::from);
        let turn = Turn::from(Request::user("¿Qué?"));
        let scores = Mock::new(None).score(&turn, &labels, &Stop::never()).unwrap();
        let sum: f64 = scores.labels.iter().map(|label| label.probability).sum();
        assert!((sum - 1.0).abs() < 1e-12 && scores.labels.len() == 3);
    }
}
