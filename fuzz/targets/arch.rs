//! Any text as an arch file: checked, and bound to a tiny model where it passes.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use recinto_arch::{ArchFile, Options, Origin, Program, check, compile};
use recinto_weights::File;

static TINY: LazyLock<File> = LazyLock::new(|| {
    let bytes = include_bytes!("../../tests/golden/tiny/llama-plain.gguf");
    File::from_bytes(bytes.to_vec()).expect("a whole file")
});

/// As the built-in files are bound, and with every key let pass, which reaches further.
static SETTINGS: LazyLock<[Options; 2]> = LazyLock::new(|| {
    let allow_keys = TINY.metadata().iter().map(|(key, _)| key.to_owned()).collect();
    [Options::default(), Options { allow_keys }]
});

fuzz_target!(|text: &str| {
    let arch = match ArchFile::new("any", text, Origin::BuiltIn) {
        Ok(arch) => arch,
        Err(error) => {
            assert_eq!(check("any", text).map_err(|e| e.to_string()), Err(error.to_string()));
            return;
        }
    };
    for settings in &*SETTINGS {
        match compile(&arch, &TINY, settings) {
            Ok(program) => walk(&program, text),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn walk(program: &Program, text: &str) {
    assert_eq!(&*program.text, text);
    assert!(program.slots.iter().all(|width| *width > 0));
    assert!(program.slots[program.output.slot.0] >= program.output.width);
    assert!(program.vocabulary > 0 && !program.instructions.is_empty());
}
