//! What providers do, as spans of `tracing` with the attribute names of OpenTelemetry's conventions
//! for generative AI (`gen_ai.*`, as of its own repository in 2026).
//!
//! A span holds counts, names and options; words of a prompt and an answer only where that was
//! asked for, and never a key. Without a subscriber of the program's own a span costs a load and a
//! branch, and goes nowhere.

use recinto_engine::{Request, Scores, ToolCall, Usage};
use tracing::{Span, field::Empty};

use crate::{Error, Finish, Kind, Reply, words};

/// What a span is about.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// What is done.
    pub operation: Operation,
    /// Who does it, as `gen_ai.provider.name`.
    pub provider: &'a str,
    /// The model's name, as it was asked for.
    pub model: &'a str,
    /// What is asked.
    pub request: &'a Request,
    /// Whether the words of request and answer are told too.
    pub content: bool,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A conversation goes on.
    Chat,
    /// A text goes on.
    Completion,
    /// Labels are scored. The conventions have no word for it.
    Score,
}

impl Operation {
    /// The operation that carries out `request`.
    pub fn of(request: &Request) -> Operation {
        match request.completion {
            true => Operation::Completion,
            false => Operation::Chat,
        }
    }

    /// Its word, as `gen_ai.operation.name`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Chat => "chat",
            Operation::Completion => "text_completion",
            Operation::Score => "score",
        }
    }
}

/// What a span tells of a result.
pub trait Outcome {
    /// Tokens.
    fn usage(&self) -> Usage;
    /// Why it ended, if it is something that ends.
    fn finish(&self) -> Option<&'static str> {
        None
    }
    /// What was said, and which tools are called.
    fn said(&self) -> Option<(&str, &[ToolCall])> {
        None
    }
}

impl Outcome for Reply {
    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&self) -> Option<&'static str> {
        Some(self.finish.name())
    }

    fn said(&self) -> Option<(&str, &[ToolCall])> {
        Some((&self.text, &self.calls))
    }
}

impl Outcome for Scores {
    fn usage(&self) -> Usage {
        self.usage
    }
}

impl Outcome for recinto_engine::Reply {
    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&self) -> Option<&'static str> {
        Some(Finish::from(&self.finish).name())
    }

    fn said(&self) -> Option<(&str, &[ToolCall])> {
        Some((&self.text, &self.calls))
    }
}

/// Does `work` in a span.
///
/// # Errors
///
/// Those of `work`.
pub fn within<T: Outcome>(
    asked: &Asked<'_>,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let Asked { operation, provider, model, request, content } = *asked;
    let options = &request.options;
    let span = tracing::info_span!(
        target: "recinto",
        "gen_ai",
        otel.name = Empty,
        otel.kind = "client",
        gen_ai.operation.name = operation.name(),
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.request.temperature = f64::from(options.temperature),
        gen_ai.request.top_p = f64::from(options.top_p),
        gen_ai.request.max_tokens = options.max_tokens as u64,
        gen_ai.request.seed = options.seed,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    );
    if span.is_disabled() {
        return work();
    }
    span.record("otel.name", tracing::field::display(format_args!("{} {model}", operation.name())));
    if content {
        span.record("gen_ai.input.messages", words::input(&request.messages).as_str());
    }
    let result = span.in_scope(work);
    record(&span, &result, content);
    result
}

fn record<T: Outcome>(span: &Span, result: &Result<T, Error>, content: bool) {
    match result {
        Ok(told) => {
            let usage = told.usage();
            span.record("gen_ai.usage.input_tokens", usage.prompt_tokens as u64);
            span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens as u64);
            span.record("gen_ai.usage.output_tokens", usage.output_tokens as u64);
            if let Some(finish) = told.finish() {
                span.record("gen_ai.response.finish_reasons", finish);
            }
            if let Some((text, calls)) = told.said().filter(|_| content) {
                let finish = told.finish().unwrap_or_default();
                let output = words::output(text, calls, finish);
                span.record("gen_ai.output.messages", output.as_str());
            }
        }
        Err(error) => {
            span.record("error.type", word(error.kind()).as_str());
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// The kind in one word: the name of its variant, and of the one within it. Numbers that it holds
/// are left out, so that few values occur.
fn word(kind: &Kind) -> String {
    let whole = format!("{kind:?}");
    let end = whole.find(['{', ' ']).unwrap_or(whole.len());
    whole[..end].trim_end_matches(')').replace('(', ".").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_few_words() {
        let cases = [
            (Kind::NoModel, "nomodel"),
            (Kind::Engine(recinto_engine::Kind::Request), "engine.request"),
            (
                Kind::Engine(recinto_engine::Kind::Overflow { needed: 9, available: 8 }),
                "engine.overflow",
            ),
        ];
        for (kind, expected) in cases {
            assert_eq!(word(&kind), expected);
        }
    }
}
