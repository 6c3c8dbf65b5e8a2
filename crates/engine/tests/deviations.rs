//! Files that leave keys out, spell them otherwise or carry more than the text model needs, as the
//! Ollama store has them: each answers as a file that states everything, and says what is assumed.

use crate::common;

use std::fs;

use common::{bits, ids, remake::changed, sink, tiny};
use recinto_engine::{Finish, Model, OpenOptions, Request, SessionOptions, Stop, Want};
use recinto_testkit::gguf::{Builder, Value};
use recinto_weights::File;

/// A model and the folder it lies in, which must not go before it.
struct Opened {
    model: Model,
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for Opened {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

fn open(name: &str, change: impl FnOnce(Builder) -> Builder) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("modelo.gguf");
    fs::write(&path, changed(&tiny(name), change)).unwrap();
    let model = Model::open(&path, &OpenOptions::default());
    Opened { model: model.unwrap_or_else(|e| panic!("{name}: {e}")), _folder: folder }
}

/// Logits of 40 positions: past the window of eight.
fn logits(model: &Model) -> Vec<u32> {
    let mut session = model.session(&SessionOptions::default()).unwrap();
    bits(session.feed(&ids(40, 3), Want::All, &Stop::never()).unwrap())
}

#[test]
fn gemma3_files_that_say_less_give_the_same_bits() {
    const EPS: &str = "gemma3.attention.layer_norm_rms_epsilon";
    const FAR: &str = "gemma3.rope.freq_base";
    const NEAR: &str = "gemma3.rope.freq_base_swa";
    const CONTEXT: &str = "gemma3.context_length";
    const FACTOR: &str = "gemma3.rope.scaling.factor";
    const PATTERN: &str = "gemma3.attention.sliding_window_pattern";
    type Change = fn(Builder) -> Builder;
    fn all(b: Builder) -> Builder {
        b.replace(FAR, 1e6f32).replace(NEAR, 1e4f32)
    }
    // Two changes of one file that must come to the same, and what the notes of the second name.
    let cases: [(&str, Change, Change, &[&str]); 9] = [
        (
            "bases by their other names",
            |b| b.replace(FAR, 2e5f32).replace(NEAR, 500f32),
            |b| {
                let b = b.without(FAR).without(NEAR);
                b.key("gemma3.rope.global.freq_base", 2e5f32)
                    .key("gemma3.rope.local.freq_base", 500f32)
            },
            &[],
        ),
        ("no global base", all, |b| all(b).without(FAR), &["freq_base is missing; 1000000"]),
        ("no local base", all, |b| all(b).without(NEAR), &["freq_base_swa is missing; 10000"]),
        ("no epsilon", |b| all(b).replace(EPS, 1e-6f32), |b| all(b).without(EPS), &["1e-6"]),
        (
            "no factor",
            |b| all(b).replace(CONTEXT, 131072u32).replace(FACTOR, 8f32),
            |b| all(b).replace(CONTEXT, 131072u32),
            &["rope.scaling.factor is missing; 8"],
        ),
        (
            "nothing at all",
            |b| all(b).replace(EPS, 1e-6f32).replace(CONTEXT, 131072u32).replace(FACTOR, 8f32),
            |b| b.replace(CONTEXT, 131072u32).without(EPS).without(FAR).without(NEAR),
            &["1e-6", "1000000", "10000 for local", "rope.scaling.factor"],
        ),
        (
            "an array of windows",
            |b| all(b).replace(PATTERN, 3u32),
            |b| all(b).replace(PATTERN, [true, true, false, true, true, false, true]),
            &[],
        ),
        (
            "an image tower",
            all,
            |b| {
                all(b)
                    .key("gemma3.vision.block_count", 27u32)
                    .key("gemma3.mm.tokens_per_image", 256u32)
                    .floats("v.patch_embd.weight", &[4, 4], &[0.5; 16])
                    .floats("v.blk.0.attn_q.weight", &[4, 4], &[f32::NAN; 16])
                    .floats("mm.mm_input_projection.weight", &[4, 4], &[0.5; 16])
            },
            &[],
        ),
        (
            "a stated factor is taken",
            |b| all(b).replace(FACTOR, 4f32),
            |b| all(b).replace(CONTEXT, 131072u32).replace(FACTOR, 4f32),
            &[],
        ),
    ];
    for (name, stated, left_out, says) in cases {
        for file in ["gemma3-1b-like", "gemma3-quant"] {
            let (stated, left_out) = (open(file, stated), open(file, left_out));
            assert_eq!(stated.program().notes, [""; 0], "{name}, {file}");
            assert!(logits(&stated) == logits(&left_out), "{name}, {file}");
            let notes = &left_out.facts().notes;
            let said = |part: &&str| notes.iter().any(|note| note.contains(part));
            assert!(says.iter().all(said) && notes.len() == says.len(), "{name}: {notes:?}");
        }
    }
    // What is assumed is not indifferent.
    let other =
        open("gemma3-1b-like", |b| all(b).replace(CONTEXT, 131072u32).replace(FACTOR, 1f32));
    let assumed = open("gemma3-1b-like", |b| all(b).replace(CONTEXT, 131072u32));
    assert!(logits(&other) != logits(&assumed));
    // Image tensors are no part of what is read.
    let tower = open("gemma3-1b-like", |b| b.floats("v.x.weight", &[4096], &[0.0; 4096]));
    let plain = open("gemma3-1b-like", |b| b);
    assert_eq!(tower.need().weights, plain.need().weights);
}

fn longer(file: &File, builder: Builder, name: &str, more: impl Fn(usize) -> Value) -> Builder {
    let key = format!("tokenizer.ggml.{name}");
    let stored = file.metadata().get(&key).unwrap();
    let Value::ArrayOf(kind, mut values) = common::remake::value(stored) else { panic!("{name}") };
    values.extend((0..3).map(more));
    builder.replace(&key, Value::ArrayOf(kind, values))
}

#[test]
fn a_vocabulary_longer_than_the_embedding() {
    let path = tiny("gemma3-1b-like");
    let file = File::open(&path).unwrap();
    let rows = file.metadata().array("tokenizer.ggml.tokens").unwrap().unwrap().len();
    let model = open("gemma3-1b-like", |b| {
        let b = longer(&file, b, "tokens", |i| ["<image>", "ñandú", "cola"][i].into());
        let b = longer(&file, b, "scores", |_| 9f32.into());
        longer(&file, b, "token_type", |i| [3i32, 4, 1][i].into())
    });
    let plain = Model::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!((model.tokenizer().size(), model.program().vocabulary), (rows + 3, rows));
    let note = format!("3 pieces from id {rows} on have no row in the embedding");
    assert!(model.facts().notes.contains(&note), "{:?}", model.facts().notes);
    // Words that would be such pieces are read as they were without them.
    for text in ["¿Un ñandú con cola?", "<image> cola ñandú"] {
        let mut request = Request::user(text);
        request.options.max_tokens = 6;
        let [got, want] = [&*model, &plain]
            .map(|model| model.reply(&request, &Stop::never(), &mut sink()).unwrap());
        assert_eq!(got.receipt.input, want.receipt.input, "{text}");
        assert_eq!(got.receipt.output, want.receipt.output, "{text}");
    }
}

#[test]
fn llama_3_without_its_splitter_ends_its_turns() {
    let stated = Model::open(&tiny("llama-plain"), &OpenOptions::default()).unwrap();
    let find = |piece: &str| stated.tokenizer().find(piece).expect(piece);
    let (end_of_text, end_of_turn) = (find("<|end_of_text|>"), find("<|eot_id|>"));
    let old = open("llama-plain", |b| {
        b.without("tokenizer.ggml.pre").replace("tokenizer.ggml.eos_token_id", end_of_text)
    });
    assert_eq!(old.tokenizer().eos(), Some(end_of_text));
    let notes = old.facts().notes;
    assert!(notes.len() == 1 && notes[0].contains("`llama-bpe`"), "{notes:?}");
    for end in [end_of_turn, end_of_text] {
        let mut request = Request::user("¿Cuánto es 12345 + 678?");
        request.options.max_tokens = 20;
        request.options.logit_bias.insert(end, 1000.0);
        let got = old.reply(&request, &Stop::never(), &mut sink()).unwrap();
        assert_eq!((&got.finish, got.text.as_str()), (&Finish::End, ""), "end {end}");
    }
    let text = "año 12345 ¿qué? 678";
    let ids = |model: &Model| {
        let tokens = model.tokenizer().encode(text, &[]).unwrap();
        tokens.iter().map(|token| token.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&old), ids(&stated));
}
