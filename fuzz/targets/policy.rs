//! Any text as an operator's policy: read or refused, with the place that is wrong.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use recinto_policy::Policy;

fuzz_target!(|text: &str| {
    match Policy::parse(Path::new("policy.toml"), text) {
        Ok(policy) => assert!(policy.rows().iter().all(|row| row.labels().count() > 0)),
        Err(error) => assert!(error.to_string().contains("policy.toml")),
    }
});
