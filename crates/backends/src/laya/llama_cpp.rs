//! What a GGUF file says of its prompt and its readout in the keys of llama.cpp: another spelling
//! of a checkpoint's configuration. Source: its reader of `modern-bert` files with a decision head,
//! and the constants of the Python package `gguf`.

use recinto_engine::{Encoder, Error};
use recinto_judge::calibrate::Published;
use recinto_weights::Metadata;
use serde_json::{Map, Value};

use super::{
    row::{Layout, Reader},
    setup::{HEAD, Marks, ROW, Setup, budget, number, wrong},
};

/// The forms of questions as keys name them, in the order of a configuration.
const FORMS: [&str; 3] = ["choice", "score", "noul"];
/// How a key spells the number of options, and how a configuration does.
const BUCKETS: [(&str, &str); 4] = [("2", "2"), ("3_5", "3-5"), ("6_10", "6-10"), ("11", "11+")];
/// Checkpoints with this budget of the question have this one of the row; the file does not say it.
const LONG: (usize, usize) = (256, 1024);

pub(super) fn setup(encoder: &Encoder) -> Result<Setup, Error> {
    let metadata = encoder.model().file().metadata();
    let head = budget(metadata, "modern-bert.decision.max_head_tokens", HEAD)?;
    let row = if head == LONG.0 { LONG.1 } else { ROW.max(head) };
    Ok(Setup {
        marks: marks(encoder, metadata)?,
        reader: Reader { row, head, layout: Layout::Sequential, guarded: false },
        temperatures: temperatures(metadata)?,
    })
}

/// The ids of the prompt's marks; a file without one of its own for the first or the divider has
/// the usual ones for begin and end.
fn marks(encoder: &Encoder, metadata: Metadata<'_>) -> Result<Marks, Error> {
    let tokenizer = encoder.tokenizer();
    let find = |names: &[&str]| {
        let keys: Vec<String> =
            names.iter().map(|name| format!("tokenizer.ggml.{name}_token_id")).collect();
        let id = keys.iter().find_map(|key| metadata.u64(key).ok().flatten());
        let id = id.and_then(|id| u32::try_from(id).ok());
        let found = id.and_then(|id| Some((id, tokenizer.piece(id)?.to_owned())));
        found.ok_or_else(|| wrong(format!("key `{}` names no piece, which prompts need", keys[0])))
    };
    let (mask, mask_text) = find(&["mask"])?;
    let sep = find(&["seperator", "separator", "eos"])?.0;
    Ok(Marks { cls: find(&["cls", "bos"])?.0, sep, mask, mask_text })
}

/// `decision.temperature.choice`, and `decision.temperature.choice.3_5` for so many options.
fn temperatures(metadata: Metadata<'_>) -> Result<Option<Published>, Error> {
    const PREFIX: &str = "modern-bert.decision.temperature.";
    let mut forms = [const { Value::Null }; FORMS.len()];
    let (mut buckets, mut any) = (Map::new(), false);
    for (key, stored) in metadata.iter() {
        let Some(name) = key.strip_prefix(PREFIX) else { continue };
        let (form, options) = name.split_once('.').map_or((name, None), |(f, o)| (f, Some(o)));
        let unknown =
            || wrong(format!("key `{key}` is of no form or number of options known here"));
        let place = FORMS.iter().position(|known| *known == form).ok_or_else(unknown)?;
        any = true;
        match options {
            None => forms[place] = number(stored),
            Some(options) => {
                let bucket = BUCKETS.iter().find(|row| row.0 == options).ok_or_else(unknown)?;
                buckets.insert(format!("{form}:{}", bucket.1), number(stored));
            }
        }
    }
    if !any {
        return Ok(None);
    }
    let published = Published::from_config(&Value::Array(forms.into()), &Value::Object(buckets));
    published.map(Some).map_err(|error| wrong(format!("the file's temperatures: {error}")))
}
