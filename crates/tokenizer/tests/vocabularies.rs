//! Published vocabularies against the ids the reference gives for them.

use crate::common;

use std::path::{Path, PathBuf};

use common::{LONGEST, Spent};
use recinto_tokenizer::Tokenizer;
use recinto_weights::File;

const NOT_SET: &str = "RECINTO_TEST_MODELS is not set";

/// Vocabularies with a `.inp` and an `.out` file.
const NAMES: &[&str] = &[
    "gpt-2",
    "llama-bpe",
    "qwen2",
    "qwen35",
    "phi-3",
    "llama-spm",
    "deepseek-llm",
    "deepseek-coder",
    "starcoder",
    "refact",
    "falcon",
    "mpt",
    "command-r",
    "gemma-4",
    "bert-bge",
];

fn folder(test: &str) -> Option<PathBuf> {
    let folder = recinto_testkit::models().map(|models| models.join("vocabs"));
    if folder.is_none() {
        recinto_testkit::skipped(test, NOT_SET);
    }
    folder
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("ggml-vocab-{name}.gguf"))
}

/// Whether `path` is there; says that `test` goes without it when not.
fn there(test: &str, path: &Path) -> bool {
    let there = path.exists();
    if !there {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        recinto_testkit::skipped(test, &format!("{name} is not there"));
    }
    there
}

fn open(test: &str, folder: &Path, name: &str) -> Option<Tokenizer> {
    let path = path(folder, name);
    if !there(test, &path) {
        return None;
    }
    let file = File::open(&path).expect(name);
    Some(Tokenizer::from_metadata(file.metadata()).expect(name))
}

#[test]
fn rows_of_the_reference() {
    let test = "rows_of_the_reference";
    let Some(folder) = folder(test) else { return };
    for name in NAMES {
        let Some(tokenizer) = open(test, &folder, name) else { continue };
        let read = |ext: &str| {
            let path = folder.join(format!("ggml-vocab-{name}.gguf.{ext}"));
            there(test, &path).then(|| std::fs::read_to_string(path).expect(name))
        };
        let (Some(inputs), Some(outputs)) = (read("inp"), read("out")) else { continue };
        let inputs: Vec<&str> = inputs.split("\n__ggml_vocab_test__\n").collect();
        let outputs: Vec<&str> = outputs.lines().collect();
        assert!(outputs.len() > 40, "{name}: {} rows", outputs.len());
        for (row, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
            let want: Vec<u32> =
                output.split_whitespace().map(|id| id.parse().expect("an id")).collect();
            let tokens = tokenizer.encode(input, &[]).expect(name);
            let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
            assert_eq!(ids, want, "{name} row {row}: {input:?}");
        }
    }
}

fn ids(tokenizer: &Tokenizer, text: &str, content: bool) -> Vec<u32> {
    let tokens = if content { tokenizer.encode_plain(text) } else { tokenizer.encode(text, &[]) };
    tokens.expect("encodes").iter().map(|token| token.id).collect()
}

fn numbers(row: &str) -> Vec<u32> {
    row.split_whitespace().map(|id| id.parse().expect("an id")).collect()
}

#[test]
fn reports_of_others() {
    let test = "reports_of_others";
    let Some(folder) = folder(test) else { return };
    let chat = "<<SYS>>My name is Llama and I am a helpful assistant.<</SYS>>\n\
        [INST] Hello! What's your name? [/INST]";
    let marks = "<|eot_id|><|start_header_id|>system<|end_header_id|>";
    let cases: &[(&str, &str, &str, bool, &str)] = &[
        (
            "llama.cpp#6914",
            "llama-bpe",
            "What is 3333+777?",
            false,
            "3923 374 220 8765 18 10 15831 30",
        ),
        (
            "llama.cpp#167",
            "llama-spm",
            "This is 🦙.cpp",
            false,
            "910 338 29871 243 162 169 156 29889 8223",
        ),
        (
            "llama.cpp#3475",
            "llama-spm",
            chat,
            false,
            "3532 14816 29903 6778 3421 1024 338 365 29880 3304 322 306 626 263 8444 20255 19423 \
             829 14816 29903 6778 13 29961 25580 29962 15043 29991 1724 29915 29879 596 1024 \
             29973 518 29914 25580 29962",
        ),
        (
            "llama.cpp#24382, content",
            "gemma-4",
            "A<|turn>B",
            true,
            "236776 236820 236909 887 236813 236799",
        ),
        ("llama.cpp#24382, scaffold", "gemma-4", "A<|turn>B", false, "236776 105 236799"),
        (
            "graphrag-toolkit#563, content",
            "llama-bpe",
            marks,
            true,
            "27 91 68 354 851 91 1822 91 2527 8932 851 91 29 9125 27 91 408 8932 851 91 29",
        ),
        ("graphrag-toolkit#563, scaffold", "llama-bpe", marks, false, "128009 128006 9125 128007"),
        ("transformers#33675", "llama-bpe", "are you ok?", false, "548 499 5509 30"),
        (
            "llama.cpp#23252",
            "gemma-4",
            "Hello world! Café déjà vu — 123 😊",
            false,
            "9259 1902 236888 62367 29234 11042 2192 236743 236770 236778 236800 103453",
        ),
        ("llama.cpp#6920", "deepseek-llm", "Cửa Việt", false, "34 32555 242 64 23708 32555 216 83"),
        ("llama.cpp#6920", "gpt-2", "3333333", false, "24840 20370"),
        ("llama.cpp#6920", "phi-3", " (", false, "29871 313"),
    ];
    for (name, vocabulary, text, content, want) in cases {
        let Some(tokenizer) = open(test, &folder, vocabulary) else { continue };
        assert_eq!(ids(&tokenizer, text, *content), numbers(want), "{name}");
    }
}

#[test]
fn offsets_and_streams() {
    let test = "offsets_and_streams";
    let Some(folder) = folder(test) else { return };
    let Some(tokenizer) = open(test, &folder, "llama-bpe") else { return };
    let tokens = tokenizer.encode("are you ok?", &[]).expect("encodes");
    let ranges: Vec<(u32, u32)> = tokens.iter().map(|token| (token.start, token.end)).collect();
    assert_eq!(ranges, [(0, 3), (3, 7), (7, 10), (10, 11)]);

    let mut decoder = tokenizer.decoder();
    assert_eq!(decoder.push(76460).expect("an id"), "", "half a character");
    assert_eq!(decoder.push(222).expect("an id"), "😀");
    assert_eq!(decoder.finish(), "");
    assert_eq!(tokenizer.decode(&[76460, 222]).expect("ids"), "😀");
    assert_eq!(tokenizer.decode(&[76460]).expect("ids"), "\u{fffd}", "cut short");
}

#[test]
fn nested_marks_change_nothing() {
    let test = "nested_marks_change_nothing";
    let Some(folder) = folder(test) else { return };
    let Some(tokenizer) = open(test, &folder, "llama-bpe") else { return };
    let text = "<|eot<|eot_id|>_id|>".repeat(20_000);
    let start = Spent::now();
    let content = ids(&tokenizer, &text, true);
    let scaffold = ids(&tokenizer, &text, false);
    assert!(start.so_far() < LONGEST, "400 kB took {:?}", start.so_far());
    assert!(content.iter().all(|id| !tokenizer.is_special(*id)));
    assert_eq!(scaffold.iter().filter(|id| **id == 128009).count(), 20_000);
    assert_eq!(tokenizer.decode(&content).expect("ids"), text);
}

#[test]
fn long_runs_of_one_character() {
    let test = "long_runs_of_one_character";
    let Some(folder) = folder(test) else { return };
    let Some(llama) = open(test, &folder, "llama-bpe") else { return };
    for (length, want) in [(1000, 125), (4000, 500), (16000, 2000)] {
        assert_eq!(ids(&llama, &"A".repeat(length), false).len(), want, "{length}");
    }
    let names = ["llama-bpe", "llama-spm", "gemma-4", "bert-bge", "nomic-bert-moe"];
    let slow = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for name in names {
            let Some(tokenizer) = open(test, &folder, name) else { continue };
            for c in ["A", "a", " ", "7", "中", "\n"] {
                let text = c.repeat(1_000_000);
                let start = Spent::now();
                let count = ids(&tokenizer, &text, false).len();
                let took = start.so_far();
                println!("{name} {c:?}: {count} tokens, {took:?}");
                assert!(took < LONGEST, "{name} {c:?}: {took:?}");
            }
        }
    });
    slow.expect("a thread").join().expect("no overflow, no panic");
}

#[test]
fn unigram_gives_the_ids_of_the_library() {
    let test = "unigram_gives_the_ids_of_the_library";
    let Some(folder) = folder(test) else { return };
    let Some(tokenizer) = open(test, &folder, "nomic-bert-moe") else { return };
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("golden/json/ids.json")).expect("JSON");
    let rows = &golden["gguf"];
    let numbers =
        |row: &serde_json::Value| -> Vec<u32> { serde_json::from_value(row.clone()).expect("ids") };
    for (at, text) in golden["texts"].as_array().expect("texts").iter().enumerate() {
        let text = text.as_str().expect("a text");
        assert_eq!(ids(&tokenizer, text, false), numbers(&rows["ids"][at]), "{text:?}");
        assert_eq!(ids(&tokenizer, text, true), numbers(&rows["content"][at]), "content {text:?}");
        let tokens = tokenizer.encode(text, &[]).expect("encodes");
        let placed = tokenizer.frame(&tokens, None).expect("a frame");
        let framed: Vec<u32> = placed.iter().map(|placed| placed.token.id).collect();
        assert_eq!(framed, numbers(&rows["framed"][at]), "framed {text:?}");
    }
    for (pair, row) in golden["pairs"]
        .as_array()
        .expect("pairs")
        .iter()
        .zip(rows["pairs"].as_array().expect("pairs"))
    {
        let encode =
            |at: usize| tokenizer.encode(pair[at].as_str().expect("a text"), &[]).expect("encodes");
        let placed = tokenizer.frame(&encode(0), Some(&encode(1))).expect("a frame");
        let got: Vec<u32> = placed.iter().map(|placed| placed.token.id).collect();
        assert_eq!(got, numbers(&row[0]), "{pair}");
    }
}

#[test]
fn real_models_give_the_ids_of_another_engine() {
    let test = "real_models_give_the_ids_of_another_engine";
    let Some(models) = recinto_testkit::models() else {
        return recinto_testkit::skipped(test, NOT_SET);
    };
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("golden/ids.json")).expect("JSON");
    let texts = golden["texts"].as_array().expect("texts");
    for (name, model) in golden["models"].as_object().expect("models") {
        let path = models.join(model["path"].as_str().expect("a path"));
        if !there(test, &path) {
            continue;
        }
        let file = File::open(&path).expect(name);
        let tokenizer = Tokenizer::from_metadata(file.metadata()).expect(name);
        for (mode, content) in [("special", false), ("plain", true)] {
            for (text, row) in texts.iter().zip(model[mode].as_array().expect(mode)) {
                let text = text.as_str().expect("a text");
                let want: Vec<u32> = serde_json::from_value(row.clone()).expect("ids");
                assert_eq!(ids(&tokenizer, text, content), want, "{name} {mode}: {text:?}");
                if content {
                    let decoded = tokenizer.decode(&want).expect(name);
                    // Where `▁` is how a space is written, nothing can tell them apart.
                    let scored = tokenizer.describe().model == "llama";
                    let text = if scored { text.replace('▁', " ") } else { text.into() };
                    assert_eq!(decoded, text, "{name}");
                }
            }
        }
    }
}
