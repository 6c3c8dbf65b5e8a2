//! BERT in GGUF files as llama.cpp has them: a checkpoint under those names and keys gives the bits
//! of the checkpoint. Source of names and keys: the constants of the Python package `gguf`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_engine::{Encoder, OpenOptions, Pooling, Shape, Stop};
use recinto_testkit::{gguf::Builder, write_anew};
use recinto_weights::File;
use serde_json::Value;

const NAMES: &[(&str, &str)] = &[
    ("embeddings.word_embeddings.", "token_embd."),
    ("embeddings.position_embeddings.", "position_embd."),
    ("embeddings.token_type_embeddings.", "token_types."),
    ("embeddings.LayerNorm.", "token_embd_norm."),
    ("attention.self.query.", "attn_q."),
    ("attention.self.key.", "attn_k."),
    ("attention.self.value.", "attn_v."),
    ("attention.output.dense.", "attn_output."),
    ("attention.output.LayerNorm.", "attn_output_norm."),
    ("intermediate.dense.", "ffn_up."),
    ("output.dense.", "ffn_down."),
    ("output.LayerNorm.", "layer_output_norm."),
];

fn called(name: &str) -> Option<String> {
    let (prefix, name) = match name.strip_prefix("encoder.layer.") {
        Some(rest) => {
            let (number, rest) = rest.split_once('.')?;
            (format!("blk.{number}."), rest)
        }
        None => (String::new(), name),
    };
    let row = NAMES.iter().find(|row| name.starts_with(row.0))?;
    Some(format!("{prefix}{}{}", row.1, &name[row.0.len()..]))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The checkpoint in `folder` under other names.
fn file(folder: &Path) -> Builder {
    let config = json(&folder.join("config.json"));
    let tokenizer = json(&folder.join("tokenizer.json"));
    let number = |key: &str| config[key].as_u64().unwrap() as u32;
    let mut pieces: Vec<(u64, &str)> = (tokenizer["model"]["vocab"].as_object().unwrap().iter())
        .map(|(piece, id)| (id.as_u64().unwrap(), piece.as_str()))
        .collect();
    pieces.sort();
    let special = |piece: &str| {
        let mut added = tokenizer["added_tokens"].as_array().unwrap().iter();
        added.any(|added| added["content"] == piece && added["special"] == true)
    };
    // A piece that begins a word has a mark, one that goes on none.
    let spelled = |piece: &str| match piece.strip_prefix("##") {
        _ if special(piece) => piece.to_owned(),
        Some(rest) => rest.to_owned(),
        None => format!("▁{piece}"),
    };
    let tokens: Vec<String> = pieces.iter().map(|row| spelled(row.1)).collect();
    let kinds: Vec<i32> = pieces.iter().map(|row| if special(row.1) { 3 } else { 1 }).collect();
    let id = |text: &str| pieces.iter().find(|row| row.1 == text).unwrap().0 as u32;
    let mut out = Builder::new()
        .key("general.architecture", "bert")
        .key("bert.block_count", number("num_hidden_layers"))
        .key("bert.context_length", number("max_position_embeddings"))
        .key("bert.embedding_length", number("hidden_size"))
        .key("bert.feed_forward_length", number("intermediate_size"))
        .key("bert.attention.head_count", number("num_attention_heads"))
        .key("bert.attention.layer_norm_epsilon", 1e-12f32)
        .key("bert.attention.causal", false)
        .key("bert.pooling_type", 2u32)
        .key("tokenizer.ggml.model", "bert")
        .key("tokenizer.ggml.token_type_count", 2u32)
        .key("tokenizer.ggml.tokens", tokens)
        .key("tokenizer.ggml.token_type", kinds)
        .key("tokenizer.ggml.cls_token_id", id("[CLS]"))
        .key("tokenizer.ggml.seperator_token_id", id("[SEP]"))
        .key("tokenizer.ggml.mask_token_id", id("[MASK]"))
        .key("tokenizer.ggml.padding_token_id", id("[PAD]"))
        .key("tokenizer.ggml.unknown_token_id", id("[UNK]"));
    let checkpoint = File::open(folder).unwrap();
    for info in checkpoint.tensors() {
        let Some(name) = called(&info.name) else { continue };
        let bytes = checkpoint.tensor(checkpoint.find(&info.name).unwrap()).bytes;
        out = out.tensor(&name, &info.dims, info.dtype, bytes);
    }
    out
}

const TEXTS: [&str; 4] =
    ["where is my order?", "¿Dónde está mi pedido? ñandú", "a", "not a mark: [SEP] [MASK]"];

fn same(folder: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bert.gguf");
    write_anew(&path, &file(folder).build());
    let open = |path: &Path| Encoder::open(path, &OpenOptions::default()).unwrap();
    let (gguf, checkpoint) = (open(&path), open(folder));
    assert_eq!(gguf.facts().architecture, "bert");
    assert_eq!(gguf.shape().unwrap(), Shape { pooling: Pooling::Cls, normalize: true }, "its key");
    for pooling in [Pooling::Mean, Pooling::Cls] {
        let shape = Shape { pooling, normalize: true };
        let [a, b] = [&gguf, &checkpoint]
            .map(|encoder| encoder.embed(&TEXTS, shape, false, &Stop::never()).unwrap());
        assert_eq!(a, b, "{}", folder.display());
    }
    // In bytes: near, whichever of the two it is made of.
    let shape = Shape { pooling: Pooling::Mean, normalize: true };
    let whole = gguf.embed(&TEXTS, shape, false, &Stop::never()).unwrap();
    let [a, b] = [&gguf, &checkpoint].map(|encoder| {
        let mut bytes = Vec::new();
        let done = encoder.quantize(&mut bytes);
        // Rows of 24 values are no whole blocks; those of real ones are.
        let Ok(done) = done else { return None };
        assert!(done.matrices > 0);
        let path = dir.path().join("int8.gguf");
        write_anew(&path, &bytes);
        Some(open(&path).embed(&TEXTS, shape, false, &Stop::never()).unwrap())
    });
    assert_eq!(a, b);
    for (whole, bytes) in whole.iter().zip(a.iter().flatten()) {
        let cosine: f32 = whole.vector.iter().zip(&bytes.vector).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.99, "{cosine}");
    }
}

#[test]
fn the_bits_of_a_tiny_checkpoint() {
    same(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed/tiny-bert"));
}

#[test]
fn the_bits_of_the_real_minilm() {
    let Some(models) = std::env::var_os("RECINTO_TEST_MODELS") else {
        println!("skipped: the_bits_of_the_real_minilm: RECINTO_TEST_MODELS is not set");
        return;
    };
    let path = Path::new(&models).join("all-minilm-l6-v2");
    if !path.exists() {
        println!("skipped: the_bits_of_the_real_minilm: {} is not there", path.display());
        return;
    }
    same(&path);
}

#[test]
fn what_is_no_encoder_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/embed/tiny-bert");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bert.gguf");
    type Change = fn(Builder) -> Builder;
    let cases: [(&str, Change, &str); 3] = [
        ("a causal one", |f| f.replace("bert.attention.causal", true), "causal"),
        ("without norms", |f| f.without("bert.attention.layer_norm_epsilon"), "layer_norm_epsilon"),
        ("a key nobody reads", |f| f.key("bert.new_trick", 1u32), "new_trick"),
    ];
    for (name, change, says) in cases {
        write_anew(&path, &change(file(&folder)).build());
        let error = Encoder::open(&path, &OpenOptions::default()).err().expect(name).to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
}
