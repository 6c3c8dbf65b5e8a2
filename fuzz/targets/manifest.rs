//! Any bytes as a manifest of an Ollama store: what passes has digests that are digests, and no
//! kind of layer that could speak to a terminal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recinto_store::manifest::{Manifest, parse};

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes) {
        Ok(Manifest::Layers(layers)) => {
            for layer in layers {
                assert_eq!(layer.digest.to_string().len(), 64);
                plain(&layer.kind);
            }
        }
        Ok(Manifest::List(children)) => {
            for child in children {
                assert_eq!(child.digest.to_string().len(), 64);
                plain(&child.runner);
                plain(&child.format);
            }
        }
        Err(why) => plain(&why),
    }
});

fn plain(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(text.len() < 4000);
}
