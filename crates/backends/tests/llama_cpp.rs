//! Laya in GGUF files as llama.cpp has them: the tiny checkpoint under those names and keys answers
//! with the bits of the checkpoint, as stored and with its layers in bytes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_backends::Laya;
use recinto_engine::{Encoder, OpenOptions};
use recinto_judge::{Backend, Choice, Form, Question, Shown, State};
use recinto_testkit::{gguf::Builder, write_anew};
use recinto_weights::File;
use serde_json::Value;

/// Layers of the tiny checkpoint's encoder, and of its head.
const LAYERS: usize = 5;
const OWN: usize = 2;
/// What is called otherwise outside of blocks, in layers, and in layers of the head.
const OUTSIDE: &[(&str, &str)] = &[
    ("encoder.embeddings.tok_embeddings.weight", "token_embd.weight"),
    ("encoder.embeddings.norm.weight", "token_embd_norm.weight"),
    ("encoder.final_norm.weight", "output_norm.weight"),
    ("type_emb.weight", "token_types.weight"),
    ("scorer.0.", "cls.norm."),
    ("scorer.1.", "cls."),
    ("scorer.3.", "cls.output."),
];
const LAYER: &[(&str, &str)] = &[
    ("attn_norm.", "attn_norm."),
    ("attn.Wqkv.", "attn_qkv."),
    ("attn.Wo.", "attn_output."),
    ("mlp_norm.", "ffn_norm."),
    ("mlp.Wi.", "ffn_up."),
    ("mlp.Wo.", "ffn_down."),
];
const HEAD: &[(&str, &str)] = &[
    ("norm1.", "attn_norm."),
    ("self_attn.in_proj_", "attn_qkv."),
    ("self_attn.out_proj.", "attn_output."),
    ("norm2.", "ffn_norm."),
    ("linear1.", "ffn_up."),
    ("linear2.", "ffn_down."),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/laya/ckpt")
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(folder().join(path)).unwrap()).unwrap()
}

/// A tensor's name in such a file; none for what is left out there.
fn called(name: &str) -> Option<String> {
    let by = |table: &[(&str, &str)], name: &str, prefix: String| {
        let row = table.iter().find(|row| name.starts_with(row.0))?;
        Some(format!("{prefix}{}{}", row.1, &name[row.0.len()..]))
    };
    let block = |rest: &str, from: usize, table: &[(&str, &str)]| {
        let (number, rest) = rest.split_once('.')?;
        by(table, rest, format!("blk.{}.", number.parse::<usize>().ok()? + from))
    };
    match (name.strip_prefix("encoder.layers."), name.strip_prefix("head.layers.")) {
        (Some(rest), _) => block(rest, 0, LAYER),
        (_, Some(rest)) => block(rest, LAYERS, HEAD),
        _ => by(OUTSIDE, name, String::new()),
    }
}

/// The file, its tensors as they are in the checkpoint.
fn file() -> Builder {
    let (tokenizer, config) = (json("tokenizer/tokenizer.json"), json("rl_agent_config.json"));
    let model = &tokenizer["model"];
    let mut pieces: Vec<(u64, String, i32)> = (model["vocab"].as_object().unwrap().iter())
        .map(|(piece, id)| (id.as_u64().unwrap(), piece.clone(), 1))
        .collect();
    for added in tokenizer["added_tokens"].as_array().unwrap() {
        let kind = if added["special"].as_bool().unwrap() { 3 } else { 4 };
        let piece = added["content"].as_str().unwrap().to_owned();
        pieces.push((added["id"].as_u64().unwrap(), piece, kind));
    }
    pieces.sort();
    let id = |text: &str| pieces.iter().find(|row| row.1 == text).unwrap().0 as u32;
    let merges = model["merges"].as_array().unwrap().iter();
    let merges: Vec<String> =
        merges.map(|m| format!("{} {}", m[0].as_str().unwrap(), m[1].as_str().unwrap())).collect();
    let widths: Vec<u32> = (0..LAYERS + OWN).map(|n| if n < LAYERS { 160 } else { 512 }).collect();
    let ids = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"].map(id);
    let mut out = Builder::new()
        .key("general.architecture", "modern-bert")
        .key("general.name", "Laya")
        .key("modern-bert.block_count", (LAYERS + OWN) as u32)
        .key("modern-bert.context_length", 8192u32)
        .key("modern-bert.embedding_length", 128u32)
        .key("modern-bert.feed_forward_length", widths)
        .key("modern-bert.attention.head_count", 4u32)
        .key("modern-bert.attention.layer_norm_epsilon", 1e-5f32)
        .key("modern-bert.attention.causal", false)
        .key("modern-bert.attention.sliding_window", 16u32)
        .key("modern-bert.attention.sliding_window_pattern", 3u32)
        .key("modern-bert.rope.freq_base", 160_000f32)
        .key("modern-bert.rope.freq_base_swa", 10_000f32)
        .key("modern-bert.token_type_count", 3u32)
        .key("modern-bert.decision.type", "laya")
        .key("modern-bert.decision.block_count", OWN as u32)
        .key("modern-bert.decision.max_head_tokens", 96u32)
        .key("tokenizer.ggml.model", "gpt2")
        .key("tokenizer.ggml.pre", "modern-bert")
        .key("tokenizer.ggml.tokens", pieces.iter().map(|r| r.1.clone()).collect::<Vec<String>>())
        .key("tokenizer.ggml.token_type", pieces.iter().map(|row| row.2).collect::<Vec<i32>>())
        .key("tokenizer.ggml.merges", merges)
        .key("tokenizer.ggml.cls_token_id", ids[0])
        .key("tokenizer.ggml.seperator_token_id", ids[1])
        .key("tokenizer.ggml.mask_token_id", ids[2])
        .key("tokenizer.ggml.padding_token_id", ids[3])
        .key("tokenizer.ggml.unknown_token_id", ids[4]);
    let temperature = config["temperature"].as_array().unwrap().iter();
    for (form, value) in ["choice", "score", "noul"].iter().zip(temperature) {
        let key = format!("modern-bert.decision.temperature.{form}");
        out = out.key(&key, value.as_f64().unwrap() as f32);
    }
    for (bucket, value) in config["temperature_by_options"].as_object().unwrap() {
        let spelled = bucket.replace(':', ".").replace('-', "_").replace('+', "");
        let key = format!("modern-bert.decision.temperature.{spelled}");
        out = out.key(&key, value.as_f64().unwrap() as f32);
    }
    let checkpoint = File::open(&folder()).unwrap();
    for info in checkpoint.tensors() {
        let Some(name) = called(&info.name) else { continue };
        let bytes = checkpoint.tensor(checkpoint.find(&info.name).unwrap()).bytes;
        out = out.tensor(&name, &info.dims, info.dtype, bytes);
    }
    out
}

fn open(builder: &Builder, dir: &Path) -> Result<Laya, recinto_engine::Error> {
    let path = dir.join("laya.gguf");
    write_anew(&path, &builder.build());
    Laya::open(&path, &OpenOptions::default())
}

fn answers(laya: &mut Laya) -> String {
    let questions = [
        Question::whether("¿Es urgente?"),
        Question::choose("Who handles it?", ["pagos", "acceso", "otros"].map(Choice::plain)),
        Question::rate("How angry is it?", ["calm", "annoyed", "furious"]),
    ];
    let orders: Vec<Vec<usize>> = questions.iter().map(|q| (0..q.options()).collect()).collect();
    let shown: Vec<Shown<'_>> =
        questions.iter().zip(&orders).map(|(question, order)| Shown { question, order }).collect();
    let states = ["No puedo entrar desde ayer, ñandú incluido [MASK] y [SEP] nada", "  a  b\n\nc"];
    let read = |text: &&str| format!("{:?}", laya.read(&State::text(*text), &shown).unwrap());
    states.iter().map(read).collect()
}

#[test]
fn the_bits_of_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let mut checkpoint = Laya::open(&folder(), &OpenOptions::default()).unwrap();
    // The file does not say how long a row is.
    let mut file = open(&file(), dir.path()).unwrap().with_budgets(256, 96);
    assert_eq!(answers(&mut file), answers(&mut checkpoint));
    for (form, options) in [
        (Form::Choose, 2),
        (Form::Choose, 4),
        (Form::Choose, 12),
        (Form::Rate, 3),
        (Form::Rate, 7),
        (Form::Whether, 2),
    ] {
        let [a, b] = [&file, &checkpoint].map(|laya| laya.temperature(form, options));
        assert!((a - b).abs() < 1e-6, "{form:?} of {options}: {a} for {b}");
    }
    // The same with bytes in the layers.
    let [a, b] = [file.encoder(), checkpoint.encoder()].map(|encoder: &Encoder| {
        let mut bytes = Vec::new();
        encoder.quantize(&mut bytes).unwrap();
        let path = dir.path().join("int8.gguf");
        write_anew(&path, &bytes);
        let laya = Laya::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(laya.encoder().model().precision().name(), "int8");
        answers(&mut laya.with_budgets(256, 96))
    });
    assert_eq!(a, b);
}

#[test]
fn what_the_file_says_of_budgets() {
    let dir = tempfile::tempdir().unwrap();
    for (head, row) in [(96u32, 512), (192, 512), (256, 1024), (600, 600)] {
        let file = file().replace("modern-bert.decision.max_head_tokens", head);
        let reader = *open(&file, dir.path()).unwrap().reader();
        assert_eq!((reader.head, reader.row), (head as usize, row));
    }
}

#[test]
fn what_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    type Change = fn(Builder) -> Builder;
    let cases: [(&str, Change, &str); 8] = [
        ("another head", |f| f.replace("modern-bert.decision.type", "kev"), "decision.type"),
        ("no mask", |f| f.without("tokenizer.ggml.mask_token_id"), "mask_token_id"),
        (
            "a mask beyond the vocabulary",
            |f| f.replace("tokenizer.ggml.mask_token_id", 9999u32),
            "mask_token_id",
        ),
        (
            "no budget",
            |f| f.replace("modern-bert.decision.max_head_tokens", 1u32),
            "max_head_tokens",
        ),
        (
            "a form nobody knows",
            |f| f.key("modern-bert.decision.temperature.elige", 1f32),
            "temperature.elige",
        ),
        (
            "a bucket nobody knows",
            |f| f.key("modern-bert.decision.temperature.noul.5", 1f32),
            "temperature.noul.5",
        ),
        (
            "a head of all layers",
            |f| f.replace("modern-bert.decision.block_count", 7u32),
            "blk.0.attn_norm",
        ),
        ("another activation", |f| f.key("modern-bert.hidden_act", "silu"), "hidden_act"),
    ];
    for (name, change, says) in cases {
        let error = open(&change(file()), dir.path()).err().unwrap_or_else(|| panic!("{name}"));
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    // An encoder of that kind without a head is none of Laya's.
    let plain = file().without("modern-bert.decision.type");
    assert!(open(&plain, dir.path()).is_err(), "no type");
}
