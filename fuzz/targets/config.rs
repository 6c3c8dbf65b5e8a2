//! Any text as a `recinto.toml`: read or refused at a place within it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recinto_provider::texts;

fuzz_target!(|text: &str| {
    if let Err(error) = texts::config(text) {
        let said = error.to_string();
        let line = said.split("line ").nth(1).and_then(|rest| rest.split(',').next());
        let line: usize = line.and_then(|line| line.parse().ok()).expect("a line");
        assert!((1..=text.lines().count() + 1).contains(&line), "{said}");
    }
});
