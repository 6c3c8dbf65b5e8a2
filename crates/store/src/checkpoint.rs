//! Folders with a checkpoint: `.safetensors` files beside the small file that says what they are.

use std::path::PathBuf;

/// Files that mark a folder as a checkpoint.
const MARKERS: [&str; 2] = ["config.json", "rl_agent_config.json"];

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
