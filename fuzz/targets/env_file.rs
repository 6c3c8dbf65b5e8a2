//! Any text as a `.env` file: read or refused, and no refusal repeats a value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recinto_provider::texts;

/// What a value could be that nobody may see.
const SECRET: &str = "s3cr3t-c4n4ry";

fuzz_target!(|text: &str| {
    let _ = texts::env_file(text);
    let more = format!("{text}\nSOME_TOKEN={SECRET}\n");
    if let Err(error) = texts::env_file(&more) {
        assert!(!error.to_string().contains(SECRET));
    }
});
