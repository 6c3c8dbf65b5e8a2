//! Models that must be refused, with the name of what is wrong.

use crate::common;

use common::{Key, key, tiny};
use recinto_arch::{Archs, Kind, Options, compile};
use recinto_testkit::gguf::Value;

struct Case {
    name: &'static str,
    arch: &'static str,
    keys: Vec<Key>,
    tensors: &'static [(&'static str, &'static [u64])],
    kind: Kind,
    says: &'static str,
}

fn case(
    name: &'static str,
    arch: &'static str,
    keys: Vec<Key>,
    tensors: &'static [(&'static str, &'static [u64])],
    kind: Kind,
    says: &'static str,
) -> Case {
    Case { name, arch, keys, tensors, kind, says }
}

/// A key of `arch` alone is wrong, and the error names it.
fn wrong(arch: &'static str, name: &'static str, value: impl Into<Value>, kind: Kind) -> Case {
    case(name, arch, vec![key(name, value)], &[], kind, name)
}

fn cases() -> Vec<Case> {
    let lost = ("attention.layer_norm_rms_epsilon", None);
    vec![
        // GGUF-13 of docs/cases.md
        wrong("llama", "block_count", 0u32, Kind::Value),
        wrong("llama", "block_count", 513u32, Kind::Value),
        wrong("llama", "block_count", 1u32 << 31, Kind::Value),
        wrong("llama", "block_count", -1i32, Kind::Value),
        wrong("llama", "block_count", "three", Kind::Value),
        wrong("llama", "attention.head_count", 0u32, Kind::Value),
        wrong("llama", "attention.head_count_kv", 0u32, Kind::Value),
        wrong("llama", "attention.head_count_kv", 3u32, Kind::Value),
        wrong("llama", "embedding_length", 0u32, Kind::Value),
        wrong("llama", "embedding_length", u64::MAX, Kind::Value),
        wrong("llama", "feed_forward_length", 0u32, Kind::Value),
        wrong("llama", "context_length", vec![64u32, 64], Kind::Value),
        wrong("llama", "block_count", vec![2u32], Kind::Value),
        // GGUF-17 of docs/cases.md
        wrong("llama", "vocab_size", 0u32, Kind::Value),
        wrong("llama", "vocab_size", 1u64 << 32, Kind::Value),
        wrong("llama", "vocab_size", "many", Kind::Value),
        // More values than layers: which ones are meant?
        wrong("llama", "rope.dimension_count", vec![8u32; 600], Kind::Value),
        // Keys that change the mathematics
        wrong("qwen2", "expert_count", 8u32, Kind::UnusedKey),
        wrong("qwen2", "attention.scale", 0.5f32, Kind::UnusedKey),
        wrong("qwen2", "logit_scale", 0.5f32, Kind::UnusedKey),
        wrong("qwen2", "residual_scale", 0.5f32, Kind::UnusedKey),
        wrong("qwen2", "embedding_scale", 12.0f32, Kind::UnusedKey),
        wrong("qwen2", "attn_logit_softcapping", 50.0f32, Kind::UnusedKey),
        wrong("qwen2", "final_logit_softcapping", 30.0f32, Kind::UnusedKey),
        wrong("qwen2", "attention.sliding_window", 16u32, Kind::UnusedKey),
        wrong("qwen2", "attention.clamp_kqv", 8.0f32, Kind::UnusedKey),
        wrong("qwen2", "use_parallel_residual", true, Kind::UnusedKey),
        wrong("qwen2", "attention.causal", false, Kind::UnusedKey),
        wrong("qwen2", "pooling_type", 3u32, Kind::UnusedKey),
        wrong("qwen2", "attention.max_alibi_bias", 8.0f32, Kind::UnusedKey),
        wrong("qwen2", "rope.scaling.alpha", 1000.0f32, Kind::UnusedKey),
        wrong("gemma3", "rope.scaling.yarn_ext_factor", 1.0f32, Kind::UnusedKey),
        wrong("gemma3", "rope.scaling.attn_factor", 2.0f32, Kind::UnusedKey),
        wrong("llama", "something.new", 1u32, Kind::UnusedKey),
        wrong("llama", "other.expert_count", 4u32, Kind::UnusedKey),
        wrong("llama", "rope.scaling.type", "longrope", Kind::Value),
        wrong("gemma3", "rope.scaling.type", "yarn", Kind::Value),
        wrong("llama", "rope.scaling.factor", -2.0f32, Kind::Value).says("rotary factor"),
        wrong("llama", "rope.freq_base", 0.5f32, Kind::Value).says("rotary base"),
        wrong("llama", "rope.freq_base", f32::NAN, Kind::Value),
        wrong("llama", "rope.dimension_count", 3u32, Kind::Shape).says("3 rotated values"),
        wrong("llama", "rope.dimension_count", 6u32, Kind::Shape).says("6 rotated values"),
        wrong("qwen2", "rope.dimension_count", 2u32, Kind::Value),
        wrong("llama", "attention.layer_norm_rms_epsilon", "x", Kind::Value)
            .says("expected a number"),
        wrong("llama", "feed_forward_length", vec![16u32, 16], Kind::Value),
        case("no epsilon", "llama", vec![lost], &[], Kind::MissingKey, "layer_norm_rms_epsilon"),
        case(
            "no layers",
            "qwen2",
            vec![("block_count", None)],
            &[],
            Kind::MissingKey,
            "block_count",
        ),
        case(
            "width that heads do not divide",
            "llama",
            vec![
                ("attention.key_length", None),
                key("attention.head_count", 3u32),
                key("attention.head_count_kv", 3u32),
            ],
            &[],
            Kind::Value,
            "3 does not divide 8",
        ),
        case(
            "no tensor",
            "qwen2",
            vec![],
            &[("blk.1.attn_q.weight", &[])],
            Kind::MissingTensor,
            "missing tensor `blk.1.attn_q.weight`\n  --> qwen2.arch:",
        ),
        case(
            "no embedding table",
            "llama",
            vec![],
            &[("token_embd.weight", &[])],
            Kind::MissingTensor,
            "`token_embd.weight`",
        ),
        case(
            "one tensor too many",
            "llama",
            vec![],
            &[("blk.1.attn_q_norm.weight", &[4])],
            Kind::UnusedTensor,
            "`blk.1.attn_q_norm.weight`",
        ),
        case(
            "a layer too many",
            "llama",
            vec![key("block_count", 2u32)],
            &[],
            Kind::UnusedTensor,
            "`blk.2.attn_norm.weight`",
        ),
        case(
            "experts' tensors",
            "qwen2",
            vec![],
            &[("blk.0.ffn_gate_exps.weight", &[8, 16, 2])],
            Kind::UnusedTensor,
            "ffn_gate_exps",
        ),
        case(
            "transposed",
            "llama",
            vec![],
            &[("blk.0.ffn_up.weight", &[16, 8])],
            Kind::Shape,
            "`blk.0.ffn_up.weight` is [16, 8]; this step needs [8, 16]",
        ),
        case(
            "three dimensions",
            "llama",
            vec![],
            &[("blk.0.ffn_up.weight", &[8, 16, 2])],
            Kind::Shape,
            "blk.0.ffn_up.weight",
        ),
        case(
            "long norm",
            "llama",
            vec![],
            &[("blk.2.ffn_norm.weight", &[9])],
            Kind::Shape,
            "blk.2.ffn_norm.weight",
        ),
        case(
            "long bias",
            "qwen2",
            vec![],
            &[("blk.2.attn_k.bias", &[5])],
            Kind::Shape,
            "blk.2.attn_k.bias",
        ),
        case(
            "few factors",
            "llama",
            vec![],
            &[("rope_freqs.weight", &[1])],
            Kind::Shape,
            "rope_freqs.weight",
        ),
        case(
            "other vocabulary",
            "llama",
            vec![],
            &[("output.weight", &[8, 12])],
            Kind::Shape,
            "12 logits for 10 rows",
        ),
    ]
}

impl Case {
    fn says(self, says: &'static str) -> Case {
        Case { says, ..self }
    }
}

#[test]
fn refused_by_name() {
    let archs = Archs::built_in();
    for Case { name, arch, keys, tensors, kind, says } in cases() {
        let file = tiny(arch, &keys, tensors);
        let bound = compile(archs.get(arch).unwrap(), &file, &Options::default());
        let error = bound.err().unwrap_or_else(|| panic!("{arch}, {name}: no error"));
        assert_eq!(error.kind(), kind, "{arch}, {name}: {error}");
        assert!(error.to_string().contains(says), "{arch}, {name}: {error}");
    }
}

#[test]
fn neutral_values_pass() {
    let archs = Archs::built_in();
    let neutral = [
        key("expert_count", 0u32),
        key("expert_used_count", 0u32),
        key("attention.clamp_kqv", 0.0f32),
        key("logit_scale", 1.0f32),
        key("attn_logit_softcapping", 0.0f32),
        key("attention.causal", true),
        key("use_parallel_residual", false),
        key("rope.scaling.finetuned", true),
        key("rope.dimension_count", 4u32),
        key("vocab_size", 12u32),
        key("general.file_type", 1u32),
    ];
    for arch in ["llama", "qwen2", "qwen3", "gemma3"] {
        let file = tiny(arch, &neutral, &[]);
        let program = compile(archs.find(&file).unwrap(), &file, &Options::default());
        let program = program.unwrap_or_else(|e| panic!("{arch}: {e}"));
        assert!(program.allowed_keys.is_empty(), "{arch}");
    }
}

#[test]
fn a_key_can_be_let_pass_by_name() {
    let archs = Archs::built_in();
    let file = tiny("qwen2", &[key("logit_scale", 0.5f32), key("pooling_type", 1u32)], &[]);
    let arch = archs.find(&file).unwrap();
    let with = |keys: &[&str]| {
        let allow_keys = keys.iter().map(|k| k.to_string()).collect();
        compile(arch, &file, &Options { allow_keys })
    };
    let error = with(&["logit_scale"]).unwrap_err();
    assert!(error.to_string().contains("--allow-key qwen2.pooling_type"), "{error}");
    let program = with(&["logit_scale", "qwen2.pooling_type", "idle"]).unwrap();
    assert_eq!(program.allowed_keys, ["qwen2.logit_scale", "qwen2.pooling_type"]);
}

#[test]
fn experts_are_refused_when_the_file_is_chosen() {
    let archs = Archs::built_in();
    let file = tiny("llama", &[key("expert_count", 8u32)], &[]);
    let error = archs.find(&file).unwrap_err();
    assert_eq!(error.kind(), Kind::NoMatch);
    assert!(error.to_string().contains("expert_count"), "{error}");
    let error = archs.find(&tiny("mamba", &[], &[])).unwrap_err();
    assert!(error.to_string().contains("`mamba`"), "{error}");
}

/// The whole text of an error, as house style has it.
#[test]
fn an_error_shows_line_and_caret() {
    let archs = Archs::built_in();
    let text = "recinto-arch 1\narch qwen2\nx = embed token_embd\n\
                logits = linear x output_norm|token_embd bias\noutput logits\n";
    let arch = recinto_arch::ArchFile::new("mine", text, recinto_arch::Origin::BuiltIn).unwrap();
    let file = tiny("qwen2", &[], &[("output_norm.weight", &[])]);
    let keys = archs.get("qwen2").map(|_| Vec::new()).unwrap();
    let file_keys: Vec<String> = file.metadata().iter().map(|(k, _)| k.to_owned()).collect();
    let allow_keys = [keys, file_keys].concat();
    let error = compile(&arch, &file, &Options { allow_keys }).unwrap_err();
    let expected = "\
missing tensor `token_embd.bias`
  --> mine.arch:4
4 | logits = linear x output_norm|token_embd bias
  |                                          ^^^^

hint: `bias?` is a bias that may be missing";
    assert_eq!(error.to_string(), expected);
    let span = error.span().unwrap();
    assert_eq!((span.line, span.start, span.end, error.file()), (4, 41, 45, Some("mine.arch")));
}
