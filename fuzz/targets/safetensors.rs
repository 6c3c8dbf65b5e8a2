//! Any bytes as a checkpoint: a byte that says how long config.json is, that file, and
//! model.safetensors. Opened and looked at everywhere, or refused.
#![no_main]

mod shared;

use std::{fs, path::PathBuf, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use recinto_weights::File;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("fuzz-safetensors-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder of its own");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first() else { return };
    let (config, weights) = rest.split_at(usize::from(*length).min(rest.len()));
    fs::write(FOLDER.join("config.json"), config).expect("written");
    fs::write(FOLDER.join("model.safetensors"), weights).expect("written");
    match File::open(&FOLDER) {
        Ok(file) => walk(&file),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fn walk(file: &File) {
    assert!(file.metadata().iter().all(|(name, _)| file.metadata().get(name).is_some()));
    shared::tensors(file);
}
