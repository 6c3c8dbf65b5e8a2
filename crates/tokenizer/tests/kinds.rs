//! Small vocabularies of every kind against the ids another engine gives for them.

use crate::common;

use common::{build, try_build};
use recinto_testkit::gguf::{Builder, Value};
use recinto_tokenizer::{Kind, Tokenizer};
use serde_json::Value as Json;

fn golden() -> Json {
    serde_json::from_str(include_str!("golden/kinds.json")).expect("JSON")
}

/// The file of a vocabulary of `kinds.json`, whose keys are those of `tokenizer.ggml`.
fn file(vocabulary: &Json) -> Builder {
    let mut out = Builder::new().key("general.architecture", "tiny");
    for (name, value) in vocabulary.as_object().expect("an object") {
        let key = format!("tokenizer.ggml.{name}");
        let list = |value: &Json| value.as_array().expect("a list").clone();
        out = match value {
            Json::String(text) => out.key(&key, text.as_str()),
            Json::Bool(flag) => out.key(&key, *flag),
            Json::Number(number) => out.key(&key, number.as_u64().expect("an id") as u32),
            _ if name.ends_with("charsmap") => {
                let bytes = list(value);
                let byte = |value: &Json| value.as_u64().expect("a byte") as u8;
                out.key(&key, bytes.iter().map(byte).collect::<Vec<u8>>())
            }
            _ if name == "scores" => {
                let scores = list(value);
                let score = |value: &Json| value.as_f64().expect("a score") as f32;
                out.key(&key, scores.iter().map(score).collect::<Vec<f32>>())
            }
            _ if name == "token_type" => {
                let kinds = list(value);
                let kind = |value: &Json| value.as_i64().expect("a kind") as i32;
                out.key(&key, kinds.iter().map(kind).collect::<Vec<i32>>())
            }
            _ => {
                let texts = list(value);
                let text = |value: &Json| Value::Str(value.as_str().expect("a text").into());
                out.key(&key, Value::ArrayOf(8, texts.iter().map(text).collect()))
            }
        };
    }
    out
}

fn ids(tokenizer: &Tokenizer, text: &str, content: bool) -> Vec<i64> {
    let tokens = if content { tokenizer.encode_plain(text) } else { tokenizer.encode(text, &[]) };
    tokens.expect("encodes").iter().map(|token| i64::from(token.id)).collect()
}

/// The texts of a kind: those of all, then its own.
fn texts<'g>(golden: &'g Json, kind: &'g Json) -> Vec<&'g str> {
    let own = kind.get("more").and_then(Json::as_array);
    let all = golden["texts"].as_array().expect("texts").iter().chain(own.into_iter().flatten());
    all.map(|text| text.as_str().expect("a text")).collect()
}

#[test]
fn every_kind_gives_the_ids_of_another_engine() {
    let golden = golden();
    for (name, kind) in golden["kinds"].as_object().expect("kinds") {
        let tokenizer = build(&file(&kind["vocabulary"]));
        assert_eq!(tokenizer.describe().model, *name);
        let texts = texts(&golden, kind);
        for (mode, content) in [("special", false), ("plain", true)] {
            let rows = kind[mode].as_array().expect(mode);
            assert_eq!(rows.len(), texts.len(), "{name}");
            for (text, want) in texts.iter().zip(rows) {
                let want: Vec<i64> = serde_json::from_value(want.clone()).expect("ids");
                assert_eq!(ids(&tokenizer, text, content), want, "{name} {mode}: {text:?}");
            }
        }
    }
}

/// The merges of this vocabulary cross every border, so what a splitter cuts shows.
#[test]
fn every_pre_tokenizer_gives_the_ids_of_another_engine() {
    let golden = golden();
    let splitters = &golden["splitters"];
    let texts = splitters["texts"].as_array().expect("texts");
    let mut words = 0;
    for row in splitters["rows"].as_array().expect("rows") {
        for word in row["words"].as_array().expect("words") {
            let word = word.as_str().expect("a word");
            words += 1;
            let tokenizer = build(&file(&splitters["vocabulary"]).key("tokenizer.ggml.pre", word));
            for (text, want) in texts.iter().zip(row["ids"].as_array().expect("ids")) {
                let text = text.as_str().expect("a text");
                let want: Vec<i64> = serde_json::from_value(want.clone()).expect("ids");
                assert_eq!(ids(&tokenizer, text, false), want, "{word}: {text:?}");
            }
        }
    }
    assert!(words > 80, "{words} words");
}

/// Decoding gives the text back where the vocabulary keeps all of it.
#[test]
fn kinds_decode_what_they_encode() {
    let golden = golden();
    let texts = golden["texts"].as_array().expect("texts");
    for name in ["rwkv", "plamo2"] {
        let tokenizer = build(&file(&golden["kinds"][name]["vocabulary"]));
        for text in texts.iter().map(|text| text.as_str().expect("a text")) {
            let tokens = tokenizer.encode_plain(text).expect("encodes");
            let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
            assert_eq!(tokenizer.decode(&ids).expect("ids"), text, "{name}");
            let mut at = 0;
            for token in tokens.iter() {
                assert_eq!(token.start, at, "{name}: {text:?}: {:?}", &tokens[..]);
                at = token.end;
            }
            assert_eq!(at as usize, text.len(), "{name}: {text:?}");
        }
    }
    let tokenizer = build(&file(&golden["kinds"]["t5"]["vocabulary"]));
    let tokens = tokenizer.encode_plain("  el  niño ﬁn ").expect("encodes");
    let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
    assert_eq!(tokenizer.decode(&ids).expect("ids"), "el niño fin");
    let end = tokens.last().map(|token| token.end);
    assert_eq!(end, Some(16), "the last word ends before the space");
}

/// What another engine makes of the ids again: groups of bases without their mark.
#[test]
fn genes_are_decoded_as_another_engine_does() {
    let golden = golden();
    let kind = &golden["kinds"]["hybriddna"];
    let tokenizer = build(&file(&kind["vocabulary"]));
    assert!(tokenizer.notes().is_empty(), "{:?}", tokenizer.notes());
    let back = kind["back"].as_array().expect("texts");
    let genes = back.iter().filter_map(Json::as_str).filter(|text| text.contains("<dna>"));
    assert!(genes.count() > 10);
    for (text, want) in texts(&golden, kind).into_iter().zip(back) {
        let mut decoder = tokenizer.decoder().show_specials(true);
        let mut got = String::new();
        for token in tokenizer.encode(text, &[]).expect("encodes").iter() {
            got.push_str(decoder.push(token.id).expect("an id"));
        }
        got.push_str(&decoder.finish());
        assert_eq!(got, want.as_str().expect("a text"), "{text:?}");
    }
    // Genes in content and across its border; a mark of another kind is not made by content.
    let text = "Año: <dna>ACGTACAAAAAA</dna> fin";
    let whole = ids(&tokenizer, text, false);
    assert_eq!(ids(&tokenizer, text, true), whole);
    for border in [0..8, 12..20, 16..text.len()] {
        let tokens = tokenizer.encode(text, &[border]).expect("encodes");
        assert_eq!(tokens.iter().map(|token| i64::from(token.id)).collect::<Vec<_>>(), whole);
        let mut at = 0;
        for token in tokens.iter() {
            assert_eq!(std::mem::replace(&mut at, token.end), token.start);
        }
        assert_eq!(at as usize, text.len());
    }
}

/// Where a piece for genes is missing, or marked as one that text never becomes, they are text.
#[test]
fn genes_without_their_pieces_are_text() {
    let golden = golden();
    let vocabulary = &golden["kinds"]["hybriddna"]["vocabulary"];
    let mut kinds: Vec<i32> = serde_json::from_value(vocabulary["token_type"].clone()).unwrap();
    let tokens: Vec<String> = serde_json::from_value(vocabulary["tokens"].clone()).unwrap();
    let at = |piece: &str| tokens.iter().position(|token| token == piece).expect(piece);
    kinds[at("<dna>")] = 3;
    let marked = file(vocabulary).replace("tokenizer.ggml.token_type", kinds);
    let missing = tokens.iter().map(|token| token.replace("<oov>", "<none>")).collect::<Vec<_>>();
    let missing = file(vocabulary).replace("tokenizer.ggml.tokens", missing);
    let plain = file(vocabulary).replace("tokenizer.ggml.model", "gpt2");
    let (text, plain) = ("<dna>ACGTAC</dna>", build(&plain));
    for (name, builder) in [("marked", marked), ("missing", missing)] {
        let tokenizer = build(&builder);
        assert_eq!(ids(&tokenizer, text, true), ids(&plain, text, true), "{name}");
        assert!(tokenizer.notes().iter().any(|note| note.contains("genes")), "{name}");
    }
}

/// BERT's vocabularies as GGUF files have them: `▁` begins a word.
fn bert() -> Builder {
    let pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "▁nino",
        "▁la",
        "va",
        "▁,",
        "▁中",
        "▁a",
        "s",
        "▁[",
        "▁]",
        "cls",
        "▁\u{1112}",
        "\u{1161}",
        "\u{11ab}",
    ];
    let kinds: Vec<i32> = (0..pieces.len()).map(|at| if at < 4 { 3 } else { 1 }).collect();
    Builder::new()
        .key("tokenizer.ggml.model", "bert")
        .key("tokenizer.ggml.tokens", pieces.map(String::from).to_vec())
        .key("tokenizer.ggml.token_type", kinds)
        .key("tokenizer.ggml.unknown_token_id", 1u32)
        .key("tokenizer.ggml.cls_token_id", 2u32)
        .key("tokenizer.ggml.seperator_token_id", 3u32)
}

#[test]
fn wordpiece_of_gguf_files() {
    let tokenizer = build(&bert());
    type Row<'r> = (&'r str, &'r [(u32, u32, u32)]);
    let cases: &[Row<'_>] = &[
        ("Niño,lava", &[(4, 0, 5), (7, 5, 6), (5, 6, 8), (6, 8, 10)]),
        (" las 中a\u{7}s", &[(5, 1, 3), (10, 3, 4), (8, 5, 8), (9, 8, 9), (10, 10, 11)]),
        ("lavax niño", &[(1, 0, 5), (4, 6, 11)]),
        ("한", &[(14, 0, 3), (15, 0, 3), (16, 0, 3)]),
        ("", &[]),
        (" \n", &[]),
    ];
    for (text, want) in cases {
        let tokens = tokenizer.encode_plain(text).expect("encodes");
        let got: Vec<_> = tokens.iter().map(|token| (token.id, token.start, token.end)).collect();
        assert_eq!(got, *want, "{text:?}");
    }
    assert_eq!(ids(&tokenizer, "[CLS]", false), [2], "as scaffold");
    assert_eq!(ids(&tokenizer, "[CLS]", true), [11, 1, 12], "as content");
    assert_eq!((tokenizer.bos(), tokenizer.eos()), (Some(2), Some(3)));
    assert!(tokenizer.add_bos() && tokenizer.add_eos());
    let first = tokenizer.encode_plain("niño").expect("encodes");
    let second = tokenizer.encode_plain("la").expect("encodes");
    let row = |second| -> Vec<(u32, u32, Option<u8>)> {
        let placed = tokenizer.frame(&first, second).expect("a frame");
        placed.iter().map(|placed| (placed.token.id, placed.type_id, placed.text)).collect()
    };
    assert_eq!(row(None), [(2, 0, None), (4, 0, Some(0)), (3, 0, None)]);
    let pair = [(2, 0, None), (4, 0, Some(0)), (3, 0, None), (5, 1, Some(1)), (3, 1, None)];
    assert_eq!(row(Some(&second[..])), pair);
    // Cased: neither lower case nor accents are touched.
    let cased = build(&bert().key("tokenizer.ggml.normalizer.lowercase", false));
    assert_eq!(ids(&cased, "Nino nino niño", true), [1, 4, 1]);
    let no_pair = common::byte_level("gpt-2", &[], &[]);
    let error = build(&no_pair).frame(&first, Some(&second)).expect_err("no divider");
    assert_eq!(error.kind(), Kind::Argument);
}

#[test]
fn faults_of_the_new_kinds() {
    let golden = golden();
    let t5 = || file(&golden["kinds"]["t5"]["vocabulary"]);
    let long = vec!["x".repeat(600)];
    let cases: Vec<(&str, Builder, Kind, &str)> = vec![
        (
            "half a charsmap",
            t5().replace("tokenizer.ggml.precompiled_charsmap", vec![0xffu8; 40]),
            Kind::Invalid,
            "charsmap",
        ),
        (
            "a charsmap of numbers",
            t5().replace("tokenizer.ggml.precompiled_charsmap", vec![1u32; 40]),
            Kind::WrongType,
            "charsmap",
        ),
        ("no scores", t5().without("tokenizer.ggml.scores"), Kind::Missing, "scores"),
        (
            "an endless piece",
            Builder::new().key("tokenizer.ggml.model", "rwkv").key("tokenizer.ggml.tokens", long),
            Kind::Invalid,
            "600 bytes",
        ),
        (
            "lowercase is text",
            bert().key("tokenizer.ggml.normalizer.lowercase", "yes"),
            Kind::WrongType,
            "lowercase",
        ),
    ];
    for (name, builder, kind, part) in cases {
        let error = try_build(&builder).err().unwrap_or_else(|| panic!("{name} was accepted"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
    // Nothing for a byte, and nothing for the unknown.
    let few = Builder::new()
        .key("tokenizer.ggml.model", "rwkv")
        .key("tokenizer.ggml.tokens", vec!["a".to_owned(), "ab".into(), "abcd".into()]);
    let few = build(&few);
    assert_eq!(ids(&few, "abab", true), [1, 1]);
    assert_eq!(few.encode_plain("abz").expect_err("no piece").kind(), Kind::Unencodable);
}
