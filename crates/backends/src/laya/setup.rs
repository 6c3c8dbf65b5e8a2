//! What a checkpoint says of its prompt and its readout.

use recinto_engine::{Encoder, Error, Kind};
use recinto_judge::calibrate::Published;
use recinto_weights::{Metadata, Value as Stored};
use serde_json::Value;

use super::{
    llama_cpp,
    row::{Layout, Reader},
};

/// Budgets where a configuration says none.
pub(super) const ROW: usize = 512;
pub(super) const HEAD: usize = 192;

/// The tokens that the prompt is built with.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pub cls: u32,
    pub sep: u32,
    pub mask: u32,
    /// The text of the last, which is taken out of what users write.
    pub mask_text: String,
}

/// All of it.
pub(super) struct Setup {
    pub marks: Marks,
    /// With the budgets of the configuration.
    pub reader: Reader,
    pub temperatures: Option<Published>,
}

/// How a model of Laya's says what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// By the files of its checkpoint, or a GGUF file with their keys.
    Checkpoint,
    /// By the keys of llama.cpp.
    LlamaCpp,
}

/// How the model says what it is; none where it is not Laya's.
fn told(encoder: &Encoder) -> Option<Told> {
    let metadata = encoder.model().file().metadata();
    match metadata.str("general.architecture").ok().flatten()? {
        "laya" => Some(Told::Checkpoint),
        "modern-bert" => {
            let kind = metadata.str("modern-bert.decision.type").ok().flatten()?;
            (kind == "laya").then_some(Told::LlamaCpp)
        }
        _ => None,
    }
}

/// Whether the model is one of Laya's.
pub(super) fn is_laya(encoder: &Encoder) -> bool {
    told(encoder).is_some()
}

pub(super) fn wrong(what: impl Into<String>) -> Error {
    Error::new(Kind::Open, what)
}

impl Setup {
    pub fn of(encoder: &Encoder) -> Result<Setup, Error> {
        match told(encoder) {
            Some(Told::Checkpoint) => {}
            Some(Told::LlamaCpp) => return llama_cpp::setup(encoder),
            None => {
                let name = &encoder.model().program().name;
                return Err(wrong(format!("architecture `{name}` is not Laya's"))
                    .hint("a Laya checkpoint has `rl_agent_config.json` in its folder"));
            }
        }
        let metadata = encoder.model().file().metadata();
        let layout = match metadata.str("laya.config.option_layout")? {
            None | Some("sequential") => Layout::Sequential,
            Some("parallel") => Layout::Parallel,
            Some(_) => return Err(wrong("key `laya.config.option_layout` is not known here")),
        };
        let row = budget(metadata, "laya.config.max_len", ROW)?;
        let head = budget(metadata, "laya.config.head_max_len", HEAD)?;
        Ok(Setup {
            marks: Marks::of(encoder, metadata)?,
            reader: Reader { row, head, layout, guarded: false },
            temperatures: temperatures(metadata)?,
        })
    }
}

/// A number of tokens, where the key is there.
pub(super) fn budget(metadata: Metadata<'_>, key: &str, default: usize) -> Result<usize, Error> {
    let Some(value) = metadata.u64(key)? else { return Ok(default) };
    let value = usize::try_from(value).ok().filter(|v| (8..=1 << 20).contains(v));
    value.ok_or_else(|| wrong(format!("key `{key}` is no budget of tokens")))
}

impl Marks {
    /// By the vocabulary's own file, never by the encoder's configuration, which in one published
    /// model names other ids.
    fn of(encoder: &Encoder, metadata: Metadata<'_>) -> Result<Marks, Error> {
        let text = |name: &str| {
            let keys = ["", ".content"].map(|end| format!("tokenizer.config.{name}_token{end}"));
            keys.iter().find_map(|key| metadata.str(key).ok().flatten())
        };
        let find = |name: &str| {
            let text = text(name).ok_or_else(|| {
                wrong(format!("tokenizer_config.json names no {name} token, which prompts need"))
            })?;
            let id = encoder.tokenizer().find(text).ok_or_else(|| {
                wrong(format!("the vocabulary has no piece for its {name} token"))
            })?;
            Ok::<_, Error>((id, text.to_owned()))
        };
        let (mask, mask_text) = find("mask")?;
        Ok(Marks { cls: find("cls")?.0, sep: find("sep")?.0, mask, mask_text })
    }
}

/// A value as JSON has it.
pub(super) fn number(stored: Stored<'_>) -> Value {
    match stored {
        Stored::Bool(truth) => Value::Bool(truth),
        Stored::Str(text) => Value::String(text.into()),
        other => other.as_f64().map_or(Value::Null, Value::from),
    }
}

/// The temperatures of the configuration, where it has any.
fn temperatures(metadata: Metadata<'_>) -> Result<Option<Published>, Error> {
    const FORMS: &str = "laya.config.temperature";
    let forms = match metadata.get(FORMS) {
        None => return Ok(None),
        Some(Stored::Array(array)) => match array.scalars() {
            Some(list) => Value::Array(list.map(number).collect()),
            None => Value::Array(array.strings().into_iter().flatten().map(Value::from).collect()),
        },
        Some(other) => number(other),
    };
    let prefix = format!("{FORMS}_by_options.");
    let buckets = metadata
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_owned(), number(value))));
    let published = Published::from_config(&forms, &Value::Object(buckets.collect()));
    published.map(Some).map_err(|error| wrong(format!("the checkpoint's temperatures: {error}")))
}
