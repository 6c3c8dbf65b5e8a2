//! Vectors of texts against plain numpy in f64 (`tools/goldens/embed.py`): a tiny BERT always, the
//! real MiniLM where it is among the test models.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_engine::{
    Embedding, Encoder, Kind, Level, Model, OpenOptions, Pin, Pooling, Shape, Stop, Text,
};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed")
}

fn rows(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder().join(name)).expect(name);
    let value: Value = serde_json::from_str(&text).expect(name);
    value["rows"].as_array().unwrap().clone()
}

fn open(options: &OpenOptions) -> Encoder {
    Encoder::open(&folder().join("tiny-bert"), options).expect("a tiny encoder")
}

fn far(name: &str, got: &[f32], want: &Value) -> f64 {
    let want = want.as_array().unwrap();
    assert!(!want.is_empty() && got.len() >= want.len(), "{name}");
    got.iter()
        .zip(want)
        .map(|(a, b)| (f64::from(*a) - b.as_f64().unwrap()).abs())
        .fold(0.0, f64::max)
}

/// Every way of pooling of every text, and the token ids.
fn holds(name: &str, encoder: &Encoder, rows: &[Value], limit: f64) {
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    let embed = |pooling, normalize| {
        encoder.embed(&texts, Shape { pooling, normalize }, false, &Stop::never()).unwrap()
    };
    let ways = [
        ("mean", embed(Pooling::Mean, true)),
        ("raw_mean", embed(Pooling::Mean, false)),
        ("cls", embed(Pooling::Cls, false)),
        ("last", embed(Pooling::Last, false)),
    ];
    let mut worst = 0.0f64;
    for (way, found) in &ways {
        for (row, Embedding { vector, tokens }) in rows.iter().zip(found) {
            let text = format!("{name}, {way}, {}", row["text"]);
            assert_eq!(*tokens, row["ids"].as_array().unwrap().len(), "{text}");
            assert_eq!(vector.len(), encoder.width(), "{text}");
            worst = worst.max(far(&text, vector, &row[*way]));
        }
    }
    println!("{name}: vectors within {worst:.2e}");
    assert!(worst < limit, "{name}: {worst:e}");
    for row in rows {
        let tokenizer = encoder.tokenizer();
        let tokens = tokenizer.encode_plain(row["text"].as_str().unwrap()).unwrap();
        let framed = tokenizer.frame(&tokens, None).unwrap();
        let ids: Vec<u64> = framed.iter().map(|placed| placed.token.id.into()).collect();
        let want: Vec<u64> =
            row["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        assert_eq!(ids, want, "{name}: {}", row["text"]);
    }
}

#[test]
fn a_tiny_encoder_agrees_with_numpy() {
    let encoder = open(&OpenOptions::default());
    holds("tiny-bert", &encoder, &rows("tiny-bert.json"), 2e-6);
    let shape = encoder.shape().unwrap();
    assert_eq!(shape, Shape { pooling: Pooling::Mean, normalize: true }, "as its files say");
    let facts = encoder.facts();
    assert_eq!((facts.architecture.as_str(), facts.files), ("bert-checkpoint", 5));
    assert_eq!((facts.context, encoder.room()), (Some(512), Some(512)));
}

#[test]
fn the_real_minilm_agrees_with_numpy() {
    let Some(models) = std::env::var_os("RECINTO_TEST_MODELS") else {
        println!("skipped: the_real_minilm_agrees_with_numpy: RECINTO_TEST_MODELS is not set");
        return;
    };
    let path = Path::new(&models).join("all-minilm-l6-v2");
    if !path.exists() {
        println!("skipped: the_real_minilm_agrees_with_numpy: {} is not there", path.display());
        return;
    }
    let encoder = Encoder::open(&path, &OpenOptions::default()).unwrap();
    holds("all-minilm-l6-v2", &encoder, &rows("all-minilm-l6-v2.json"), 2e-6);
    assert_eq!(encoder.room(), Some(256), "what its makers trained it for");
    let shape = encoder.shape().unwrap();
    let texts = ["¿Dónde está mi pedido?", "Where is my order?", "Photosynthesis in plants"];
    let found = encoder.embed(&texts, shape, false, &Stop::never()).unwrap();
    let cosine = |a: usize, b: usize| -> f32 {
        found[a].vector.iter().zip(&found[b].vector).map(|(a, b)| a * b).sum()
    };
    assert!(cosine(0, 1) > cosine(0, 2) && cosine(0, 1) > cosine(1, 2));
}

/// The memory that is asked for counts every tensor that is read: all three tables of embeddings,
/// norms, matrices and biases; not the layer above the first token, which is skipped.
#[test]
fn memory_that_is_asked_for() {
    let encoder = open(&OpenOptions::default());
    let read = encoder.model().file().tensors().iter().filter(|t| !t.name.starts_with("pooler."));
    let bytes: u64 = read.map(|tensor| tensor.bytes() as u64).sum();
    assert_eq!(encoder.facts().need.weights, bytes);
}

/// No bit depends on threads, level, what else is read, or where the weights lie.
#[test]
fn same_bits_everywhere() {
    let rows = rows("tiny-bert.json");
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    let many: Vec<&str> = texts.iter().copied().cycle().take(80).collect();
    let shape = Shape { pooling: Pooling::Mean, normalize: true };
    let embed = |options: &OpenOptions, texts: &[&str]| -> Vec<Vec<f32>> {
        let found = open(options).embed(texts, shape, false, &Stop::never()).unwrap();
        found.into_iter().map(|embedding| embedding.vector).collect()
    };
    let plain =
        OpenOptions { threads: Some(1), level: Some(Level::Portable), ..OpenOptions::default() };
    let want: Vec<Vec<f32>> =
        texts.iter().flat_map(|text| embed(&plain, std::slice::from_ref(text))).collect();
    for (threads, pin) in [(1, Pin::Off), (2, Pin::Off), (3, Pin::Memory)] {
        let options = OpenOptions { threads: Some(threads), pin, ..OpenOptions::default() };
        let found = embed(&options, &many);
        for (at, vector) in found.iter().enumerate() {
            assert_eq!(*vector, want[at % want.len()], "{threads} threads, {pin:?}, text {at}");
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let encoder = open(&OpenOptions::default());
    let shape = encoder.shape().unwrap();
    let stop = Stop::never();
    let long = "one ".repeat(600);
    let error = encoder.embed(&["a", &long], shape, false, &stop).unwrap_err();
    assert_eq!(*error.kind(), Kind::Overflow { needed: 602, available: 512 }, "{error}");
    assert!(error.to_string().contains("text 2 has 602 tokens"), "{error}");
    let cut = encoder.embed(&[&long], shape, true, &stop).unwrap();
    let same = encoder.embed(&["one ".repeat(510).as_str()], shape, false, &stop).unwrap();
    assert_eq!((cut[0].tokens, &cut[0].vector), (512, &same[0].vector), "its end was left out");
    let none = encoder.embed(&[], shape, false, &stop).unwrap();
    assert!(none.is_empty());
    let empty = encoder.embed(&[""], shape, false, &stop).unwrap();
    assert_eq!(empty[0].tokens, 2, "the marks around nothing");
    let ids = [2u32, 5, 3];
    type Case<'a> = (&'a str, Text<'a>);
    let cases: [Case<'_>; 6] = [
        ("no token", Text::of(&[])),
        ("an id beyond", Text::of(&[1_000_000])),
        ("a type beyond", Text { types: &[0, 0, 2], ..Text::of(&ids) }),
        ("types of another text", Text { types: &[0], ..Text::of(&ids) }),
        ("a row beyond", Text { rows: &[3], ..Text::of(&ids) }),
        ("rows out of order", Text { rows: &[1, 0], ..Text::of(&ids) }),
    ];
    for (name, text) in cases {
        let error = encoder.read(&[Text::of(&ids), text], &stop).err();
        let error = error.unwrap_or_else(|| panic!("{name}"));
        assert_eq!(*error.kind(), Kind::Request, "{name}: {error}");
    }
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let stopped = encoder.read(&[Text::of(&ids)], &Stop::new(flag, None)).err().unwrap();
    assert_eq!(*stopped.kind(), Kind::Cancelled, "{stopped}");
}

/// A model that writes is no encoder, and an encoder writes nothing.
#[test]
fn each_for_its_own_use() {
    let error = Model::open(&folder().join("tiny-bert"), &OpenOptions::default()).err().unwrap();
    assert!(error.to_string().contains("gives no logits"), "{error}");
    let encoder = open(&OpenOptions::default());
    assert!(encoder.model().session(&Default::default()).is_err());
    let tiny = folder().join("../tiny/qwen2-plain.gguf");
    let error = Encoder::open(&tiny, &OpenOptions::default()).err().unwrap();
    assert!(error.to_string().contains("is no encoder"), "{error}");
}

/// Weights that are no numbers are found, with the line where it happened.
#[test]
fn damaged_weights_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::copy(folder().join("tiny-bert").join(file), dir.path().join(file)).unwrap();
    }
    let path = dir.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    // The last tensor by name is the word embedding's neighbour: fill a norm's weight.
    let size = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + size]).unwrap();
    let entry = &header["encoder.layer.1.output.LayerNorm.weight"]["data_offsets"];
    let at = 8 + size + entry[0].as_u64().unwrap() as usize;
    bytes[at..at + 2].copy_from_slice(&[0xc0, 0x7f]);
    fs::write(&path, &bytes).unwrap();
    let encoder = Encoder::open(dir.path(), &OpenOptions::default()).unwrap();
    let shape = encoder.shape().unwrap();
    let error = encoder.embed(&["one two"], shape, false, &Stop::never()).unwrap_err();
    assert!(matches!(error.kind(), Kind::NonFinite { layer: Some(1), .. }), "{error}");
    assert!(error.to_string().contains("output.LayerNorm"), "{error}");
}
