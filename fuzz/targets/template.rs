//! Any text as a chat template: it renders fixed messages within its limits, or is refused.
#![no_main]

mod conversation;

use conversation::check;
use libfuzzer_sys::fuzz_target;
use recinto_chat::Template;

fuzz_target!(|source: &str| check(source, Template::new(source, "<s>", "</s>")));
