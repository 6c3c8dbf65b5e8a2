//! Vocabularies that contradict themselves are refused with a typed error.

use crate::common;

use common::{byte_level, scored, try_build};
use recinto_testkit::gguf::{Builder, Value};
use recinto_tokenizer::Kind;

const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";

fn bpe() -> Builder {
    byte_level("gpt-2", &[("a", "b")], &[])
}

fn spm() -> Builder {
    scored(&[("▁", -1.0, 1)])
}

/// Two faults in the middle of the lines, in this order.
fn faults(first: &'static str, second: &'static str) -> Builder {
    let mut lines = vec!["a b"; 200];
    (lines[67], lines[70]) = (first, second);
    bpe().replace(MERGES, lines)
}

#[test]
fn faults_have_a_kind_and_a_name() {
    let long = format!("<{}>", "x".repeat(600));
    let cases: Vec<(&str, Builder, Kind, &str)> = vec![
        ("nothing", Builder::new(), Kind::Missing, "`tokenizer.ggml.model`"),
        ("no model", bpe().replace("tokenizer.ggml.model", "none"), Kind::Unsupported, "`none`"),
        (
            "genes without merges",
            bpe().replace("tokenizer.ggml.model", "hybriddna").without("tokenizer.ggml.merges"),
            Kind::Missing,
            "`tokenizer.ggml.merges`",
        ),
        (
            "an unknown splitter",
            bpe().replace("tokenizer.ggml.pre", "qwen-vieja"),
            Kind::Unsupported,
            "`qwen-vieja`",
        ),
        ("pre is a number", bpe().replace("tokenizer.ggml.pre", 7u32), Kind::WrongType, "pre"),
        ("no tokens", bpe().without("tokenizer.ggml.tokens"), Kind::Missing, "tokens"),
        (
            "an empty list",
            bpe().replace("tokenizer.ggml.tokens", Value::ArrayOf(8, vec![])),
            Kind::Invalid,
            "no pieces",
        ),
        (
            "tokens are numbers",
            bpe().replace("tokenizer.ggml.tokens", vec![1u32, 2]),
            Kind::WrongType,
            "wrong element type",
        ),
        (
            "types are u8",
            bpe().replace(TYPES, vec![1u8; 257]),
            Kind::WrongType,
            "wrong element type",
        ),
        ("types are text", bpe().replace(TYPES, "normal"), Kind::WrongType, "token_type"),
        (
            "too few types",
            bpe().replace(TYPES, vec![1i32; 256]),
            Kind::Invalid,
            "256 values for 257",
        ),
        ("type 9", bpe().replace(TYPES, vec![9i32; 257]), Kind::Invalid, "type 9"),
        ("no merges", bpe().without(MERGES), Kind::Missing, "merges"),
        ("merges are numbers", bpe().replace(MERGES, vec![0i32]), Kind::WrongType, "element type"),
        ("one part", bpe().replace(MERGES, vec!["ab"]), Kind::Invalid, "merge 0 `ab`"),
        (
            "unknown part",
            bpe().replace(MERGES, vec!["a b", "a zz"]),
            Kind::Invalid,
            "merge 1 `a zz`",
        ),
        ("unknown result", bpe().replace(MERGES, vec!["b a"]), Kind::Invalid, "merge 0 `b a`"),
        ("no right part", bpe().replace(MERGES, vec!["a b", "a "]), Kind::Invalid, "merge 1 `a `"),
        ("an empty line", bpe().replace(MERGES, vec!["a b", ""]), Kind::Invalid, "merge 1 ``"),
        ("only a space", bpe().replace(MERGES, vec![" "]), Kind::Invalid, "merge 0 ` `"),
        (
            "a long line without a space",
            bpe().replace(MERGES, vec!["abcdefghijklmnopqrstuvwxyz"]),
            Kind::Invalid,
            "is not two pieces",
        ),
        ("the first fault, absent", faults("a zz", "ab"), Kind::Invalid, "merge 67 `a zz`"),
        ("the first fault, undivided", faults("ab", "a zz"), Kind::Invalid, "merge 67 `ab`"),
        (
            "eos out of range",
            bpe().key("tokenizer.ggml.eos_token_id", 257u32),
            Kind::Invalid,
            "eos_token_id` is 257",
        ),
        (
            "bos far out of range",
            bpe().key("tokenizer.ggml.bos_token_id", 1u64 << 32),
            Kind::Invalid,
            "bos_token_id",
        ),
        (
            "bos is text",
            bpe().key("tokenizer.ggml.bos_token_id", "<s>"),
            Kind::WrongType,
            "bos_token_id",
        ),
        (
            "add_bos is a number",
            bpe().key("tokenizer.ggml.add_bos_token", 1u32),
            Kind::WrongType,
            "add_bos_token",
        ),
        ("no scores", spm().without("tokenizer.ggml.scores"), Kind::Missing, "scores"),
        (
            "scores are u8",
            spm().replace("tokenizer.ggml.scores", vec![1u8; 260]),
            Kind::WrongType,
            "wrong element type",
        ),
        (
            "9 scores",
            spm().replace("tokenizer.ggml.scores", vec![1f32; 9]),
            Kind::Invalid,
            "9 values for 260",
        ),
        (
            "a score that is no number",
            spm().replace("tokenizer.ggml.scores", vec![f32::NAN; 260]),
            Kind::Invalid,
            "score of piece 0",
        ),
        (
            "an endless special",
            byte_level("gpt-2", &[], &[(&long, common::CONTROL)]),
            Kind::Invalid,
            "602 bytes",
        ),
        (
            "vocab_size without a list",
            Builder::new().key("tokenizer.ggml.model", "gpt2").key("tiny.vocab_size", 1u64 << 32),
            Kind::Missing,
            "tokens",
        ),
    ];
    for (name, builder, kind, part) in cases {
        let error = try_build(&builder).err().unwrap_or_else(|| panic!("{name} was accepted"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
}

#[test]
fn what_is_unusual_is_noted() {
    let tokenizer = try_build(&bpe().without("tokenizer.ggml.pre")).expect("the default splitter");
    assert!(tokenizer.notes()[0].contains("no pre-tokenizer"), "{:?}", tokenizer.notes());
    assert_eq!(tokenizer.describe().pre, "default");

    let repeated = byte_level("gpt-2", &[], &[("uno", 4), ("uno", 4)]);
    let tokenizer = try_build(&repeated).expect("repeated pieces");
    assert!(tokenizer.notes()[0].contains("more than once"), "{:?}", tokenizer.notes());
    assert_eq!(tokenizer.find("uno"), Some(257), "the last one");
    assert_eq!(tokenizer.encode("uno", &[]).expect("encodes")[0].id, 257);
}

/// Pieces of every length, and several ways to each of them.
#[test]
fn pieces_of_every_length_are_found() {
    let text: String = "añ中🦙zorro¿".chars().cycle().take(60).collect();
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let mut pieces: Vec<String> = cuts.iter().map(|cut| text[..*cut].into()).collect();
    pieces.extend(cuts.iter().map(|cut| text[*cut..].into()));
    // The same lengths and the same ends; only the middle differs.
    pieces.extend((17..80).map(|len| format!("12345678{}87654321", "x".repeat(len - 16))));
    pieces.extend((17..80).map(|len| format!("12345678{}87654321", "y".repeat(len - 16))));
    pieces.sort();
    pieces.dedup();
    let extra: Vec<(&str, i32)> = pieces.iter().map(|piece| (piece.as_str(), 1)).collect();
    let lines: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let known = |part: &str| pieces.iter().any(|piece| piece == part);
    let lines: Vec<String> = lines
        .iter()
        .flat_map(|piece| piece.char_indices().skip(1).map(|(cut, _)| piece.split_at(cut)))
        .filter(|(left, right)| known(left) && known(right))
        .map(|(left, right)| format!("{left} {right}"))
        .collect();
    assert!(lines.len() > 10, "{} lines", lines.len());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tokenizer = try_build(&byte_level("gpt-2", &[], &extra).replace(MERGES, lines.clone()));
    let tokenizer = tokenizer.expect("sound");
    assert_eq!(tokenizer.describe().merges, lines.len());
    for (id, (piece, _)) in (256..).zip(&extra) {
        assert_eq!(tokenizer.find(piece), Some(id), "{piece}");
        assert_eq!(tokenizer.piece(id), Some(*piece), "{piece}");
    }
    for absent in ["", "añ中🦙zorro¿?", "12345678zzz87654321"] {
        assert_eq!(tokenizer.find(absent), None, "{absent}");
    }
}

#[test]
fn ids_and_bytes_that_are_not_there() {
    let tokenizer = try_build(&bpe()).expect("sound");
    assert_eq!(tokenizer.decode(&[0, 257]).expect_err("no such id").kind(), Kind::Argument);
    assert_eq!(tokenizer.piece(257), None);
    assert_eq!(tokenizer.kind(u32::MAX), None);
    assert!(!tokenizer.is_special(u32::MAX));
    // No byte pieces and nothing for the unknown.
    let builder = Builder::new()
        .key("tokenizer.ggml.model", "llama")
        .key("tokenizer.ggml.tokens", vec!["▁a"])
        .key("tokenizer.ggml.scores", vec![0f32]);
    let tokenizer = try_build(&builder).expect("sound");
    assert_eq!(tokenizer.encode("z", &[]).expect_err("no piece").kind(), Kind::Unencodable);
    for (text, at) in [("zorro", 0), ("a zorro", 1), ("añ", 1)] {
        let message = tokenizer.encode(text, &[]).expect_err("no piece").to_string();
        assert!(message.contains(&format!("byte {at} of")), "{text}: {message}");
        for part in ["zorro", "0x7a", "122", "0xc3", "195", "ñ"] {
            assert!(!message.contains(part), "no prompt text in errors: {message}");
        }
    }
}
