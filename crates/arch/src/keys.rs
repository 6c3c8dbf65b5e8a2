//! What is known about metadata keys: harmless ones, ones that change the result, sane sizes.

use recinto_weights::{Metadata, Value};

use crate::error::{Error, Kind};

/// Keys under the architecture's prefix that change nothing of what is computed. A `*` at the end
/// stands for anything.
const HARMLESS: &[&str] = &[
    "block_count",            // read by the compiler itself
    "context_length",         // read by the compiler itself
    "vocab_size",             // checked below; the tensors say it
    "rope.scaling.finetuned", // how it was trained
    "tensor_data_layout",     // how it was converted
    "source.*",               // where it comes from
    "vision.*",               // image tower, skipped by name with its tensors
    "mm.*",                   // joins the image tower to the text
];

/// Keys of a checkpoint's `config.json`, or of the one of a part of it, that change nothing of what
/// is computed: how it was trained, what it is called, what ids and shapes say anyway.
const CONFIG: &[&str] = &[
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "auto_map.*",
    "bos_token_id",
    "classifier_*",
    "cls_token_id",
    "dtype", // how it was stored; computed in f32
    "embedding_dropout",
    "eos_token_id",
    "gradient_checkpointing",
    "hidden_dropout_prob",
    "id2label*",
    "initializer_*",
    "label2id*",
    "max_position_embeddings", // read by the compiler itself
    "mlp_dropout",
    "model_type",
    "num_hidden_layers", // read by the compiler itself
    "pad_token_id",
    "problem_type",
    "return_dict",
    "sep_token_id",
    "tie_word_embeddings",
    "torch_dtype",
    "transformers_version",
    "type_vocab_size", // its tensor says it
    "use_cache",
    "vocab_size", // its tensor says it
];

/// What the values of a checkpoint's `config.json`, and of the one in `encoder`, are called.
const PARTS: &[&str] = &["config.", "encoder."];

/// A value under which a key changes nothing.
enum Neutral {
    Never,
    Number(&'static [f64]),
    Bool(bool),
    Text(&'static str),
}
use Neutral::{Bool, Never, Number, Text};

/// Keys that change the mathematics, under whatever prefix, with their neutral values.
const MATHEMATICS: &[(&str, Neutral)] = &[
    ("add_cross_attention", Bool(false)),
    ("attention.causal", Bool(true)),
    ("attention.clamp_kqv", Number(&[0.0])),
    ("attention.key_length*", Never),
    ("attention.max_alibi_bias", Number(&[0.0])),
    ("attention.output_scale", Number(&[0.0, 1.0])),
    ("attention.scale", Number(&[0.0])),
    ("attention.shared_kv_layers", Number(&[0.0])),
    ("attention.sliding_window", Number(&[0.0])),
    ("attention.sliding_window_pattern", Never),
    ("attention.temperature_*", Number(&[0.0])),
    ("attention.value_length*", Never),
    ("attn_logit_softcapping", Number(&[0.0])),
    ("attention.logit_softcapping", Number(&[0.0])),
    ("embedding_scale", Number(&[0.0, 1.0])),
    ("expert_count", Number(&[0.0])),
    ("expert_used_count", Number(&[0.0])),
    ("expert_*", Never),
    ("final_logit_softcapping", Number(&[0.0])),
    ("is_decoder", Bool(false)),
    ("logit_scale", Number(&[0.0, 1.0])),
    ("nextn_predict_layers", Number(&[0.0])),
    ("pooling_type", Number(&[0.0])),
    ("residual_scale", Number(&[0.0, 1.0])),
    ("rope.dimension_count*", Never),
    ("rope.dimension_sections", Never),
    ("rope.freq_base*", Never),
    ("rope.global.*", Never),
    ("rope.local.*", Never),
    ("rope.scale_linear", Number(&[0.0, 1.0])),
    ("rope.scaling.alpha", Number(&[0.0])),
    ("rope.scaling.attn_factor", Number(&[1.0])),
    ("rope.scaling.factor", Number(&[0.0, 1.0])),
    ("rope.scaling.type", Text("none")),
    ("rope.scaling.*", Never),
    ("swin_norm", Bool(false)),
    ("use_parallel_residual", Bool(false)),
];

/// Prefixes of keys that do not describe the network.
#[rustfmt::skip]
const APART: &[&str] = &[
    "general.", "tokenizer.", "split.", "quantize.", "clip.", "imatrix.", "GGUF.", "modules.",
    "pooling.", "sentence.", "recinto.",
];

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// What a key means that no line of the arch file mentions.
pub(crate) enum Meaning {
    /// It may stay unread.
    Harmless,
    /// It changes the result.
    Mathematics,
    /// Nobody knows.
    Unknown,
}

/// The meaning of `key` for a model whose keys begin with `prefix`.
pub(crate) fn meaning(prefix: &str, key: &str, value: Value) -> Meaning {
    let own = key.strip_prefix(prefix);
    let name = match own {
        Some(name) => name,
        None if APART.iter().any(|apart| key.starts_with(apart)) => return Meaning::Harmless,
        None if key.starts_with("adapter.") => return Meaning::Mathematics,
        None => key.split_once('.').map_or("", |(_, name)| name),
    };
    let of_config = own.and_then(|own| PARTS.iter().find_map(|part| own.strip_prefix(part)));
    let table = if of_config.is_some() { CONFIG } else { HARMLESS };
    let name = of_config.unwrap_or(name);
    if own.is_some() && table.iter().any(|pattern| fits(pattern, name)) {
        return Meaning::Harmless;
    }
    match MATHEMATICS.iter().find(|(pattern, _)| fits(pattern, name)) {
        Some((_, neutral)) if neutral.holds(value) => Meaning::Harmless,
        Some(_) => Meaning::Mathematics,
        None if own.is_some() => Meaning::Unknown,
        None => Meaning::Harmless,
    }
}

impl Neutral {
    fn holds(&self, value: Value) -> bool {
        match self {
            Never => false,
            Number(list) => value.as_f64().is_some_and(|v| list.contains(&v)),
            Bool(wanted) => value.as_bool() == Some(*wanted),
            Text(wanted) => value.as_str() == Some(wanted),
        }
    }
}

const MAX_LAYERS: u64 = 512;

/// Sizes that every architecture has: name, limits, and whether an array with a value a layer
/// (zeros included) may stand for it.
const SANE: &[(&str, u64, u64, bool)] = &[
    ("block_count", 1, MAX_LAYERS, false),
    ("context_length", 1, 1 << 31, false),
    ("vocab_size", 1, 1 << 31, false),
    ("embedding_length", 1, 1 << 20, false),
    ("feed_forward_length", 1, 1 << 22, true),
    ("attention.head_count", 1, 1 << 12, true),
    ("attention.head_count_kv", 1, 1 << 12, true),
    ("attention.key_length", 1, 1 << 16, true),
    ("attention.value_length", 1, 1 << 16, true),
    ("rope.dimension_count", 0, 1 << 16, true),
];

/// Checks the sizes that are there and gives the number of layers.
pub(crate) fn sane(metadata: Metadata, prefix: &str) -> Result<usize, Error> {
    for (name, least, most, by_layer) in SANE {
        let key = format!("{prefix}{name}");
        let Some(value) = metadata.get(&key) else { continue };
        let scalar = |value: Value, least: u64| match value.as_u64() {
            Some(v) if (least..=*most).contains(&v) => Ok(()),
            Some(v) => Err(format!("key `{key}` is {v}; {least} to {most} are possible")),
            None => {
                let kind = value.type_name();
                Err(format!("key `{key}` is no whole number from 0 (its type is {kind})"))
            }
        };
        let checked = match value.as_array() {
            None => scalar(value, *least),
            Some(_) if !by_layer => Err(format!("key `{key}` is an array; one number is needed")),
            Some(array) => match array.scalars() {
                Some(mut list) => list.try_for_each(|v| scalar(v, 0)),
                None => Err(format!("key `{key}` is an array of {}s", array.element().name())),
            },
        };
        checked.map_err(|what| Error::new(Kind::Value, what))?;
    }
    let whole = |name: &str| metadata.get(&format!("{prefix}{name}")).and_then(Value::as_u64);
    let (heads, kv) = (whole("attention.head_count"), whole("attention.head_count_kv"));
    if let (Some(heads), Some(kv)) = (heads, kv)
        && (kv == 0 || heads % kv != 0)
    {
        let what = format!(
            "key `{prefix}attention.head_count_kv` is {kv}, which does not divide \
             `{prefix}attention.head_count` {heads}"
        );
        return Err(Error::new(Kind::Value, what));
    }
    let of_part = |part: &&str| whole(&format!("{part}num_hidden_layers"));
    match whole("block_count").or_else(|| PARTS.iter().find_map(of_part)) {
        Some(layers @ 1..=MAX_LAYERS) => Ok(layers as usize),
        Some(layers) => {
            let what = format!("{layers} layers; 1 to {MAX_LAYERS} are possible");
            Err(Error::new(Kind::Value, what))
        }
        None => {
            let what = format!("missing key `{prefix}block_count`, the number of layers");
            Err(Error::new(Kind::MissingKey, what))
        }
    }
}

/// The positions that the model was trained on, where it says so.
pub(crate) fn context(metadata: Metadata, prefix: &str) -> Option<u64> {
    let whole = |name: &str| metadata.get(&format!("{prefix}{name}")).and_then(Value::as_u64);
    let of_part = |part: &&str| whole(&format!("{part}max_position_embeddings"));
    whole("context_length").or_else(|| PARTS.iter().find_map(of_part))
}
