//! Conversations and templates of the goldens, for the tests of this crate.
#![allow(dead_code)]

use std::io::Read;
use std::path::{Path, PathBuf};

use recinto_chat::{Message, Moment, RenderOptions};
use serde_json::Value;

pub const OWN: &[(&str, &str)] = &[
    ("chatml", include_str!("../templates/chatml.jinja")),
    ("gemma", include_str!("../templates/gemma.jinja")),
    ("llama3", include_str!("../templates/llama3.jinja")),
    ("mistral", include_str!("../templates/mistral.jinja")),
    ("strings", include_str!("../templates/strings.jinja")),
    ("thinking", include_str!("../templates/thinking.jinja")),
];

pub struct Conversation {
    pub name: String,
    pub messages: Vec<Message>,
    pub options: RenderOptions,
}

pub fn own(name: &str) -> &'static str {
    OWN.iter().find(|(known, _)| *known == name).map(|(_, source)| *source).unwrap()
}

/// The day on which the goldens were made.
pub fn golden_day() -> Moment {
    Moment { hour: 14, minute: 5, second: 6, ..Moment::day(2026, 2, 3) }
}

pub fn conversations() -> Vec<Conversation> {
    let all: Value = serde_json::from_str(include_str!("../golden/conversations.json")).unwrap();
    all.as_array().unwrap().iter().map(conversation).collect()
}

fn conversation(given: &Value) -> Conversation {
    let mut options = RenderOptions::new();
    options.add_generation_prompt = given["add_generation_prompt"].as_bool().unwrap_or(false);
    options.tools = given["tools"].as_array().cloned().unwrap_or_default();
    options.variables = given["variables"].as_object().cloned().unwrap_or_default();
    options.date = Some(golden_day());
    Conversation {
        name: given["name"].as_str().unwrap().to_owned(),
        messages: serde_json::from_value(given["messages"].clone()).unwrap(),
        options,
    }
}

/// The folder with real models, or a line that says why `test` is skipped.
pub fn models(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("RECINTO_TEST_MODELS").filter(|v| !v.is_empty());
    if found.is_none() {
        println!("skipped: {test}: RECINTO_TEST_MODELS is not set");
    }
    found.map(PathBuf::from)
}

/// The template a golden speaks of: one of ours, a file, or the one inside a model file.
pub fn source(name: &str, models: Option<&Path>) -> Option<String> {
    if let Some(file) = name.strip_prefix("own/") {
        return Some(own(file.trim_end_matches(".jinja")).to_owned());
    }
    let path = models?.join(name);
    if !name.ends_with(".gguf") {
        return std::fs::read_to_string(path).ok();
    }
    // Key, type 8 (string), length, bytes; metadata comes first in the file.
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(32 << 20).read_to_end(&mut head).ok()?;
    let key = b"tokenizer.chat_template\x08\0\0\0";
    let at = head.windows(key.len()).position(|bytes| bytes == key)? + key.len();
    let (length, rest) = head[at..].split_first_chunk::<8>()?;
    let bytes = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    String::from_utf8(bytes.to_vec()).ok()
}
