//! Folders with a checkpoint: `.safetensors` files beside the small file that says what they are.

use std::path::{Path, PathBuf};

/// Files that mark a folder as a checkpoint.
const MARKERS: [&str; 2] = ["config.json", "rl_agent_config.json"];

/// Files that decide with the weights what a checkpoint is and says.
const BESIDE: [&str; 9] = [
    "config.json",
    "rl_agent_config.json",
    "encoder/config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer/tokenizer.json",
    "tokenizer/tokenizer_config.json",
    "modules.json",
    "model.safetensors.index.json",
];
/// The same of those that make one vector of a text.
const MORE: [&str; 2] = ["1_Pooling/config.json", "sentence_bert_config.json"];

/// Those of them that a checkpoint in `folder` has.
pub(crate) fn beside(folder: &Path) -> Vec<PathBuf> {
    let files = BESIDE.iter().chain(&MORE).map(|file| folder.join(file));
    files.filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// The weights among the files of a folder, given by name and path; `None` when they are no
/// checkpoint. `model.safetensors` goes before all others, and numbered parts before the rest: what
/// else lies there belongs to something else.
pub(crate) fn weights(files: &[(&str, &PathBuf)]) -> Option<Vec<PathBuf>> {
    let marked = files.iter().any(|(name, _)| MARKERS.contains(name));
    let part = |name: &str| name.strip_suffix(".safetensors").is_some_and(|n| n.contains("-of-"));
    let kinds: [&dyn Fn(&str) -> bool; 3] =
        [&|name| name == "model.safetensors", &part, &|name| name.ends_with(".safetensors")];
    let of = |kind: &&dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        let found = files.iter().filter(|(name, _)| kind(name));
        found.map(|(_, path)| (*path).clone()).collect()
    };
    let mut found = kinds.iter().map(of).find(|found| !found.is_empty())?;
    found.sort();
    marked.then_some(found)
}
