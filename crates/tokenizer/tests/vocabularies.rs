//! Published vocabularies against the ids the reference gives for them.

use std::path::{Path, PathBuf};

use recinto_tokenizer::{Kind, Tokenizer};
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

fn open(folder: &Path, name: &str) -> Tokenizer {
    let file = File::open(&path(folder, name)).expect(name);
    Tokenizer::from_metadata(file.metadata()).expect(name)
}

#[test]
fn rows_of_the_reference() {
    let Some(folder) = folder("rows_of_the_reference") else { return };
    for name in NAMES {
        let tokenizer = open(&folder, name);
        let read = |ext: &str| {
            let path = folder.join(format!("ggml-vocab-{name}.gguf.{ext}"));
            std::fs::read_to_string(path).expect(name)
        };
        let inputs = read("inp");
        let outputs = read("out");
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

#[test]
fn other_tokenizers_are_refused_by_name() {
    let Some(folder) = folder("other_tokenizers_are_refused_by_name") else { return };
    for (name, word) in [("bert-bge", "bert"), ("nomic-bert-moe", "t5")] {
        let file = File::open(&path(&folder, name)).expect(name);
        let error = Tokenizer::from_metadata(file.metadata()).err().expect(name);
        assert_eq!(error.kind(), Kind::Unsupported, "{name}");
        assert!(error.to_string().contains(&format!("`{word}`")), "{name}: {error}");
    }
}
