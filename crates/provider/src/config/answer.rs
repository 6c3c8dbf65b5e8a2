//! The table `[options]`: how answers are made, judged as the command line's options are.

use recinto_engine::Options;

use super::{Entry, Fault, File, Value, unknown};
use crate::{error::Error, settings::Source, values::but_not};

/// What is said about an option of an answer.
pub struct OptionRow {
    /// Its key, as in `-o KEY=VALUE`.
    pub key: &'static str,
    /// A value as it may stand in `recinto.toml`; the default where there is one.
    pub example: &'static str,
    /// What it does, in one sentence without a full stop.
    pub about: &'static str,
}

macro_rules! rows {
    ($($key:literal $example:literal $about:literal;)*) => {
        /// Every option of an answer, in the engine's order.
        pub const OPTIONS: &[OptionRow] =
            &[$(OptionRow { key: $key, example: $example, about: $about },)*];
    };
}

rows! {
    "temperature" "0.0" "0 takes the likeliest token each time; above, draws are freer";
    "top_k" "0" "draw among that many of the likeliest tokens; 0 is off";
    "top_p" "1.0" "draw among the likeliest whose probabilities reach this sum; 1 is off";
    "min_p" "0.0" "draw among those at least this fraction as likely as the likeliest; 0 is off";
    "repeat_penalty" "1.0" "makes recent tokens less likely, by a factor; 1 is off";
    "repeat_last_n" "64" "how many recent tokens the three penalties look at";
    "presence_penalty" "0.0" "taken once from the logit of each recent token; 0 is off";
    "frequency_penalty" "0.0" "taken from the logit for each time a token appears; 0 is off";
    "logit_bias" "{ 42 = -1.5 }" "added to the logit of a token id";
    "seed" "1" "fixes the draws; without one each answer has its own";
    "max_tokens" "1024" "most tokens of an answer";
    "stop" "[\"END\"]" "texts that end an answer; they are not part of it";
    "thinking" "false" "whether a model that can think aloud does; the template's choice otherwise";
    "thinking_tokens" "512" "most tokens of thought; the model is made to answer then";
    "logprobs" "5" "tells how likely each token was, with so many of the likeliest beside it";
    "date" "2026-01-31" "the date that a template may ask for; today otherwise";
    "deadline" "60" "longest time for an answer, in seconds; none otherwise";
    "block" "256" "positions of a prompt that are read at once; changes speed and memory only";
}

/// An option that a file sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSetting {
    /// Its key.
    pub key: &'static str,
    /// What is set, in turn; several for an option that adds up.
    pub values: Vec<String>,
    /// Where.
    pub source: Source,
}

/// Options that are lists: a file's list is one thing, and a nearer one replaces it.
pub const LISTS: [&str; 2] = ["stop", "logit_bias"];

/// Whether the entries of `[options]` are options with values they can have.
pub(super) fn check(entries: &[Entry]) -> Result<(), Fault> {
    for entry in entries {
        let (key, values) = read(entry)?;
        let mut options = Options::default();
        for value in &values {
            options.set(key, value).map_err(|e| fault(entry, &e))?;
        }
        // Ids are checked when the vocabulary is known.
        options.check(usize::MAX).map_err(|e| fault(entry, &e))?;
    }
    Ok(())
}

fn fault(entry: &Entry, error: &recinto_engine::Error) -> Fault {
    let what = entry
        .value
        .single()
        .map_or_else(|| error.what().into(), |value| but_not(error.what(), value));
    let fault = Fault::new(entry.value_at, what);
    match error.what_to_do() {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// The option's key and what is set, as texts for [`Options::set`].
fn read(entry: &Entry) -> Result<(&'static str, Vec<String>), Fault> {
    let Some(key) = Options::KEYS.iter().find(|key| **key == entry.key) else {
        return Err(unknown("option", &entry.key, Options::KEYS, entry.at));
    };
    let form = |form: &str| Fault::new(entry.value_at, format!("option `{key}` must be {form}"));
    let single = |value: &Value| value.single().map(ToOwned::to_owned);
    let values = match (*key, &entry.value) {
        ("stop", Value::List(list)) => list.iter().map(single).collect::<Option<Vec<_>>>(),
        ("logit_bias", Value::Table(pairs)) => pairs
            .iter()
            .map(|pair| Some(format!("{}:{}", pair.key, pair.value.single()?)))
            .collect::<Option<Vec<_>>>(),
        (_, value) => single(value).map(|value| vec![value]),
    };
    let needed = match *key {
        "stop" => "a text or a list of texts",
        "logit_bias" => "a table of ids and numbers, as in `{ 42 = -1.5 }`",
        _ => "one value",
    };
    Ok((key, values.ok_or_else(|| form(needed))?))
}

/// The options of all files, nearer files first; each in the words of the nearest that sets it.
pub(crate) fn merged(files: &[File]) -> Result<Vec<OptionSetting>, Error> {
    let mut out: Vec<OptionSetting> = Vec::new();
    for file in files {
        for (.., entries) in file.tables.iter().filter(|(name, ..)| *name == "options") {
            for entry in entries {
                let (key, values) = read(entry).map_err(|fault| file.fault(fault))?;
                if out.iter().all(|before| before.key != key) {
                    out.push(OptionSetting { key, values, source: file.source(entry.at) });
                }
            }
        }
    }
    Ok(out)
}
