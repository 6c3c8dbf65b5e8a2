//! Any text as a lock file: what passes is what would be written, byte for byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recinto_provider::Lock;

fuzz_target!(|text: &str| {
    if let Ok(lock) = Lock::from_text(text) {
        assert_eq!(lock.to_text(), text);
        for entry in lock.models.values() {
            assert!(!entry.weights.is_empty());
            assert!(entry.compare(entry).iter().all(|row| row.matches));
        }
    }
});
