//! A beginning for a model that no arch file serves: which one is nearest, and what is said of it.

use std::{fs, path::Path};

use recinto_arch::{ArchFile, Archs, Kind, Options, Origin, compile};
use recinto_testkit::gguf::Builder;
use recinto_weights::File;

/// A tiny model that calls its architecture by another name, as long as its own.
fn renamed(model: &str, from: &str, to: &str) -> File {
    assert_eq!(from.len(), to.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let mut bytes = fs::read(root.join(model).with_extension("gguf")).expect("a tiny model");
    let end = bytes.len() - from.len();
    for at in 0..end {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    File::from_bytes(bytes).expect("a model")
}

#[test]
fn a_model_under_another_name_is_known_again() {
    let archs = Archs::built_in();
    let cases = [
        ("qwen3-plain", "qwen3", "olmo9"),
        ("qwen2-plain", "qwen2", "olmo9"),
        ("gemma3-quant", "gemma3", "olmo99"),
    ];
    for (model, from, to) in cases {
        let model = renamed(model, from, to);
        assert_eq!(archs.find(&model).unwrap_err().kind(), Kind::NoMatch, "{from}");
        let near = archs.nearest(&model).unwrap();
        assert_eq!(near.stated, to);
        // Names alone do not tell these two apart.
        let alike = near.alike.iter().any(|name| name == from);
        assert!(near.arch.name() == from || (from == "qwen2" && alike), "{from}: {near:?}");
        assert!(near.lacking.is_empty() && near.unnamed.is_empty(), "{from}: {near:?}");
        let text = near.text().unwrap();
        assert!(text.contains(&format!("\narch {to}\n")), "{text}");
        let mut said = text.lines().filter(|line| line.starts_with('#'));
        assert!(said.all(|line| line.chars().count() <= 100), "{text}");
        let arch = ArchFile::new(to, &text, Origin::BuiltIn).unwrap();
        if near.arch.name() == from {
            compile(&arch, &model, &Options::default()).unwrap_or_else(|e| panic!("{from}: {e}"));
        }
    }
}

#[test]
fn what_does_not_fit_is_listed() {
    let mut builder = Builder::new()
        .key("general.architecture", "phi9")
        .key("phi9.embedding_length", 4u32)
        .key("phi9.año", 7u32);
    for layer in 0..2 {
        for name in ["attn_norm.weight", "attn_qkv.weight", "ffn_up.weight", "ffn_up.bias"] {
            builder = builder.floats(&format!("blk.{layer}.{name}"), &[4], &[0.0; 4]);
        }
    }
    builder = builder.floats("token_embd.weight", &[4, 2], &[0.0; 8]);
    let model = File::from_bytes(builder.floats("raro qué", &[4], &[0.0; 4]).build()).unwrap();
    let archs = Archs::built_in();
    let near = archs.nearest(&model).unwrap();
    assert_eq!(
        near.shared,
        ["blk.*.attn_norm", "blk.*.ffn_up", "blk.*.ffn_up.bias", "token_embd"],
        "{near:?}"
    );
    assert!(near.lacking.contains(&"blk.*.attn_q".to_owned()), "{near:?}");
    assert!(near.lacking.contains(&"output_norm".to_owned()), "{near:?}");
    let unnamed = ["blk.*.attn_qkv [4]", "raro qué [4]"];
    assert_eq!(near.unnamed, unnamed);
    assert_eq!(near.unread, ["phi9.año"]);
    let text = near.text().unwrap();
    assert!(text.contains("# Keys of the model that no line reads (1): phi9.año\n"), "{text}");
    let arch = ArchFile::new("phi9", &text, Origin::BuiltIn).unwrap();
    assert!(compile(&arch, &model, &Options::default()).is_err(), "the rest is for people");
}

#[test]
fn names_that_no_arch_file_can_have() {
    for name in ["dos palabras", "a\nb", "", "#", "año nuevo"] {
        let model = Builder::new().key("general.architecture", name).floats(
            "token_embd.weight",
            &[4],
            &[0.0; 4],
        );
        let model = File::from_bytes(model.build()).unwrap();
        let error = Archs::built_in().nearest(&model).and_then(|near| near.text()).unwrap_err();
        assert_eq!(error.kind(), Kind::Value, "{name:?}: {error}");
        assert!(!error.to_string().contains('\n') || error.to_string().contains("hint"), "{error}");
    }
}
