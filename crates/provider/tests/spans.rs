//! Spans: the names of the conventions, counts, and not a word of what was asked or answered.

mod kept;

use std::{ops::ControlFlow, path::Path};

use recinto_engine::{OpenOptions, Options, Piece, Request, Stop};
use recinto_provider::{Flags, Local, Provider, Settings, Surroundings, Turn};

/// A tiny model, and the folder of its settings.
fn open(content: Option<&str>) -> (Local, tempfile::TempDir) {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let tiny = std::fs::canonicalize(tiny).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let flags = Flags {
        model: Some(tiny.join("qwen2-plain.gguf").display().to_string()),
        trace_content: content.map(str::to_owned),
        ..Flags::default()
    };
    let (here, root) = (dir.path().into(), dir.path().into());
    let around = Surroundings { variables: Vec::new(), here, root };
    let settings = Settings::resolve_from(&flags, &around).unwrap();
    (Local::open(&settings, OpenOptions::default()).unwrap(), dir)
}

#[test]
fn spans_count_and_never_quote() {
    let (local, _dir) = open(None);
    let words = "Señora Núñez, historia 4711";
    let turn = |max_tokens, seed, words: &str| {
        let options = Options { max_tokens, seed: Some(seed), ..Options::default() };
        Turn::from(Request { options, ..Request::user(words) })
    };
    let quiet = &mut |_: Piece<'_>| ControlFlow::Continue(());
    let (text, spans) = kept::spans(|| {
        let reply = local.complete(&turn(3, 7, words), &Stop::never(), quiet).unwrap();
        let labels = ["sí".to_owned(), "no".to_owned()];
        local.score(&turn(3, 7, words), &labels, &Stop::never()).unwrap();
        let long = words.repeat(20_000);
        assert!(local.complete(&turn(3, 7, &long), &Stop::never(), quiet).is_err());
        reply.text.clone()
    });
    let got = |index: usize, name: &str| spans[index].get(name).map_or("-", String::as_str);
    let cases = [
        (0, "gen_ai.operation.name", "\"chat\""),
        (0, "gen_ai.provider.name", "\"recinto\""),
        (0, "gen_ai.request.max_tokens", "3"),
        (0, "gen_ai.request.seed", "7"),
        (0, "gen_ai.usage.output_tokens", "3"),
        (0, "gen_ai.usage.cache_read.input_tokens", "0"),
        (0, "gen_ai.input.messages", "-"),
        (0, "gen_ai.output.messages", "-"),
        (0, "gen_ai.response.finish_reasons", "\"length\""),
        (0, "error.type", "-"),
        (1, "gen_ai.operation.name", "\"score\""),
        (1, "gen_ai.response.finish_reasons", "-"),
        (2, "error.type", "\"overflow\""),
        (2, "otel.status_code", "\"ERROR\""),
        (2, "gen_ai.usage.output_tokens", "-"),
    ];
    for (index, name, expected) in cases {
        assert_eq!(got(index, name), expected, "{index}: {name}");
    }
    assert!(got(0, "otel.name").starts_with("chat "));
    assert_eq!(spans.len(), 3);
    let all = format!("{spans:?}");
    for word in ["Señora", "Núñez", "4711"] {
        assert!(!all.contains(word), "{word} in {all}");
    }
    assert!(text.trim().is_empty() || !all.contains(text.trim()), "{all}");
}

/// Words are there only where somebody said so.
#[test]
fn words_are_told_where_they_were_asked_for() {
    for (content, told) in [(Some("true"), true), (Some("false"), false)] {
        let (local, _dir) = open(content);
        let quiet = &mut |_: Piece<'_>| ControlFlow::Continue(());
        let options = Options { max_tokens: 3, seed: Some(7), ..Options::default() };
        let turn = Turn::from(Request { options, ..Request::user("Señora Núñez") });
        let (text, spans) =
            kept::spans(|| local.complete(&turn, &Stop::never(), quiet).unwrap().text.clone());
        let holds =
            |name: &str, word: &str| spans[0].get(name).is_some_and(|value| value.contains(word));
        assert_eq!(holds("gen_ai.input.messages", "Señora Núñez"), told, "{content:?}");
        assert_eq!(spans[0].contains_key("gen_ai.output.messages"), told, "{content:?}: {text}");
    }
}
