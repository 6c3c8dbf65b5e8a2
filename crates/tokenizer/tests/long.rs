//! A million characters of one kind: linear time and little stack, whatever the text is.

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{LONGEST, NORMAL, Spent, build, byte_level, scored};
use recinto_tokenizer::Tokenizer;

const RUNS: &[&str] =
    &["A", "a", " ", "7", "中", "\n", "É", "'", "Aa", "A's", "\u{301}", "é7", "¿", " ñ"];

/// Pieces of one, two, four … of a character, so that merging has work at every length.
fn doubles(part: &str) -> Vec<(String, String)> {
    (0..12).map(|power| part.repeat(1 << power)).map(|half| (half.clone(), half)).collect()
}

fn ranked(pre: &str, model: &str) -> Tokenizer {
    let rows: Vec<(String, String)> =
        ["a", "A", " ", "7", "\n", "'"].iter().flat_map(|part| doubles(part)).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(l, r)| (l.as_str(), r.as_str())).collect();
    let extra: Vec<(String, i32)> =
        (0..=255).map(|byte| (format!("<0x{byte:02X}>"), common::BYTE)).collect();
    let extra: Vec<(&str, i32)> = extra.iter().map(|(piece, kind)| (&piece[..], *kind)).collect();
    build(&byte_level(pre, &rows, &extra).replace("tokenizer.ggml.model", model))
}

fn by_score() -> Tokenizer {
    let mut rows = vec![("▁".to_owned(), -1.0)];
    for part in ["a", "A", "▁", "7", "中", "ñ"] {
        rows.push((part.to_owned(), -1.0));
        let wholes = doubles(part).into_iter().map(|(left, right)| left + &right);
        rows.extend(wholes.zip(0u8..).map(|(piece, power)| (piece, -2.0 - f32::from(power))));
    }
    let rows: Vec<(&str, f32, i32)> =
        rows.iter().map(|(piece, score)| (piece.as_str(), *score, NORMAL)).collect();
    build(&scored(&rows))
}

/// A vocabulary whose pieces have scores and come without merges: runs of every kind, each twice
/// as long as the one before, with `first` in front of half of them.
fn longest(model: &str, first: &str) -> Tokenizer {
    let mut rows = Vec::new();
    for part in ["a", "A", "▁", "7", "中", "ñ", "n", " ", "'"] {
        for power in 0..5u8 {
            let run = part.repeat(1 << power);
            let score = -2.0 - f32::from(power);
            rows.extend([(format!("{first}{run}"), score, NORMAL), (run, score - 1.0, NORMAL)]);
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows.dedup_by(|a, b| a.0 == b.0);
    let rows: Vec<(&str, f32, i32)> =
        rows.iter().map(|(piece, score, kind)| (piece.as_str(), *score, *kind)).collect();
    let builder = scored(&rows)
        .replace("tokenizer.ggml.model", model)
        .key("tokenizer.ggml.unknown_token_id", 0u32)
        .key("tokenizer.ggml.remove_extra_whitespaces", false);
    build(&builder)
}

fn json(name: &str) -> Tokenizer {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/json");
    let bytes = std::fs::read(format!("{folder}/{name}.json")).expect(name);
    Tokenizer::from_json(&bytes).expect(name)
}

type Built = (&'static str, Tokenizer);

fn vocabularies() -> Vec<Built> {
    vec![
        ("gpt2, llama-bpe", ranked("llama-bpe", "gpt2")),
        ("gpt2, gpt-4o", ranked("gpt-4o", "gpt2")),
        ("gemma4", ranked("gemma4", "gemma4")),
        ("llama", by_score()),
        ("bert", longest("bert", "▁")),
        ("t5", longest("t5", "▁")),
        ("rwkv", longest("rwkv", "")),
        ("plamo2", longest("plamo2", "")),
        ("whitespace", ranked("whitespace", "whitespace")),
        ("tokenizer.json, digits", json("bpe-digits")),
        ("tokenizer.json, o200k", json("bpe-o200k")),
        ("tokenizer.json, metaspace", json("bpe-metaspace")),
        ("tokenizer.json, unigram", json("unigram-bytes")),
        ("tokenizer.json, wordpiece", json("wordpiece-uncased")),
    ]
}

fn every_run((name, tokenizer): &Built) {
    for run in RUNS {
        let text: String = run.chars().cycle().take(1_000_000).collect();
        let start = Spent::now();
        let tokens = tokenizer.encode_plain(&text).expect(name);
        let took = start.so_far();
        println!("{name} {run:?}: {} tokens, {took:?}", tokens.len());
        assert!(took < LONGEST, "{name} {run:?}: {took:?}");
        let end = tokens.last().map_or(0, |token| token.end as usize);
        // Some kinds drop white space, and pieces of digits may be nothing.
        let drops = !matches!(tokenizer.describe().model.as_str(), "gpt2" | "gemma4" | "llama");
        assert!(end == text.len() || drops, "{name} {run:?} ends at {end}");
    }
}

#[test]
fn a_million_characters_of_one_kind() {
    let vocabularies = vocabularies();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(built) = vocabularies.get(next.fetch_add(1, Ordering::Relaxed)) {
            every_run(built);
        }
    };
    // Each thread's own time is what is limited, so they may work side by side.
    std::thread::scope(|scope| {
        let small = || std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, work);
        for thread in [small(), small()] {
            thread.expect("a thread").join().expect("no overflow, no panic");
        }
    });
}
