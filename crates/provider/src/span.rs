//! What providers do, as spans of `tracing` with the attribute names of OpenTelemetry's conventions
//! for generative AI (`gen_ai.*`, as of its own repository in 2026).
//!
//! A span holds counts, names and options, never a word of a prompt, an answer, a tool or a key.
//! Without a subscriber of the program's own a span costs a load and a branch, and goes nowhere.

use recinto_engine::{Options, Request, Scores, Usage};
use tracing::{Span, field::Empty};

use crate::{Error, Finish, Kind, Reply};

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
}

impl Outcome for Reply {
    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&self) -> Option<&'static str> {
        Some(self.finish.name())
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
}

/// Does `work` in a span: `provider` and `model` by their names, `options` as they were asked for.
///
/// # Errors
///
/// Those of `work`.
pub fn within<T: Outcome>(
    operation: Operation,
    provider: &str,
    model: &str,
    options: &Options,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
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
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    );
    if span.is_disabled() {
        return work();
    }
    span.record("otel.name", tracing::field::display(format_args!("{} {model}", operation.name())));
    let result = span.in_scope(work);
    record(&span, &result);
    result
}

fn record<T: Outcome>(span: &Span, result: &Result<T, Error>) {
    match result {
        Ok(told) => {
            let usage = told.usage();
            span.record("gen_ai.usage.input_tokens", usage.prompt_tokens as u64);
            span.record("gen_ai.usage.output_tokens", usage.output_tokens as u64);
            if let Some(finish) = told.finish() {
                span.record("gen_ai.response.finish_reasons", finish);
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
