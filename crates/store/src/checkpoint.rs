//! Folders with a checkpoint: `config.json` beside `.safetensors` files. They are recognised, so
//! that whoever opens them, or does not yet, can say so.

use std::path::PathBuf;

/// The weights among the files of a folder, given by name and path; `None` when they are no
/// checkpoint.
pub(crate) fn weights(files: &[(&str, &PathBuf)]) -> Option<Vec<PathBuf>> {
    let config = files.iter().any(|(name, _)| *name == "config.json");
    let weights = files.iter().filter(|(name, _)| name.ends_with(".safetensors"));
    let mut found: Vec<PathBuf> = weights.map(|(_, path)| (*path).clone()).collect();
    found.sort();
    (config && !found.is_empty()).then_some(found)
}
