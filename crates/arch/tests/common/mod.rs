//! Tiny models for the tests: three layers, eight values wide.
#![allow(dead_code)] // not every test file uses all of it

use recinto_testkit::gguf::{Builder, Value};
use recinto_weights::File;

/// A key without its prefix, and its value.
pub type Key = (&'static str, Option<Value>);

/// A key set to `value`; `None` leaves it out.
pub fn key(name: &'static str, value: impl Into<Value>) -> Key {
    (name, Some(value.into()))
}

/// A tiny model of `arch`: the usual keys and tensors, then changed. Keys without their prefix;
/// tensors given again replace the usual ones, with `&[]` as dimensions they are left out.
pub fn tiny(arch: &str, keys: &[Key], tensors: &[(&str, &[u64])]) -> File {
    tiny_of(arch, 3, keys, tensors)
}

/// The same with `layers` layers.
pub fn tiny_of(arch: &str, layers: u32, keys: &[Key], tensors: &[(&str, &[u64])]) -> File {
    let eps = "attention.layer_norm_rms_epsilon";
    let mut all: Vec<(String, Value)> = vec![("general.architecture".into(), arch.into())];
    let usual: &[(&str, Value)] = &[
        ("block_count", layers.into()),
        ("context_length", 64u32.into()),
        ("embedding_length", 8u32.into()),
        ("feed_forward_length", 16u32.into()),
        ("attention.head_count", 2u32.into()),
        ("attention.head_count_kv", 1u32.into()),
        ("attention.key_length", 4u32.into()),
        ("attention.value_length", 4u32.into()),
        (eps, 1e-6f32.into()),
    ];
    let named = |name: &str| {
        let apart = name.contains("general.") || name.starts_with("other.");
        if apart { name.to_owned() } else { format!("{arch}.{name}") }
    };
    all.extend(usual.iter().map(|(name, value)| (named(name), value.clone())));
    let mut builder = Builder::new();
    for (name, value) in all {
        builder = builder.replace(&name, value);
    }
    for (name, value) in keys {
        builder = match value {
            Some(value) => builder.replace(&named(name), value.clone()),
            None => builder.without(&named(name)),
        };
    }
    let mut list: Vec<(String, Vec<u64>)> =
        vec![("token_embd.weight".into(), vec![8, 10]), ("output_norm.weight".into(), vec![8])];
    for layer in 0..layers {
        let mut add = |name: &str, dims: &[u64]| {
            list.push((format!("blk.{layer}.{name}.weight"), dims.to_vec()));
        };
        for (name, dims) in [
            ("attn_norm", &[8][..]),
            ("attn_q", &[8, 8]),
            ("attn_k", &[8, 4]),
            ("attn_v", &[8, 4]),
            ("attn_output", &[8, 8]),
            ("ffn_norm", &[8]),
            ("ffn_gate", &[8, 16]),
            ("ffn_up", &[8, 16]),
            ("ffn_down", &[16, 8]),
        ] {
            add(name, dims);
        }
        if arch == "qwen3" || arch == "gemma3" {
            add("attn_q_norm", &[4]);
            add("attn_k_norm", &[4]);
        }
        if arch == "gemma3" {
            add("post_attention_norm", &[8]);
            add("post_ffw_norm", &[8]);
        }
    }
    for (name, dims) in tensors {
        list.retain(|(known, _)| known != name);
        if !dims.is_empty() {
            list.push(((*name).to_owned(), dims.to_vec()));
        }
    }
    for (name, dims) in list {
        let count = dims.iter().product::<u64>() as usize;
        let value = |i: usize| 1.0 + i as f32;
        let values: Vec<f32> = (0..count).map(value).collect();
        builder = builder.floats(&name, &dims, &values);
    }
    File::from_bytes(builder.build()).unwrap_or_else(|e| panic!("{arch}: {e}"))
}
