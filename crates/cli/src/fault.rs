//! Faults on request, for the tests that look for what a crash leaves behind. Only in builds
//! with debug assertions.

/// Ends in the way that the variable names, if it does, with `text` in the panic's own words.
pub fn trip(text: &str) {
    match std::env::var("RECINTO_TEST_FAULT").as_deref() {
        Ok("panic") => panic!("{text}"),
        Ok("thread") => {
            let text = text.to_owned();
            let _ = std::thread::spawn(move || panic!("{text}")).join();
        }
        Ok("abort") => std::process::abort(),
        _ => {}
    }
}
