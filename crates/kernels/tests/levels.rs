//! The levels of this CPU: that each agrees with the portable one, and how fast each could be.

use std::time::Duration;

use recinto_kernels::{Kernels, Level, limits::int8_rate};

/// A level that is wrong is left out everywhere else, so that no other test would notice.
#[test]
fn every_level_of_this_cpu_agrees() {
    for level in Level::all() {
        let here = level.features().is_some_and(|all| all.iter().all(|(_, here)| *here));
        assert_eq!(Kernels::at(level).is_some(), here, "{}", level.name());
    }
}

#[test]
fn every_level_of_this_cpu_has_a_rate() {
    for kernels in Kernels::available() {
        for threads in [0, 1, 2] {
            let rate = int8_rate(kernels, threads, Duration::from_millis(5));
            assert!(rate > 1e8 && rate < 1e14, "{kernels:?}, {threads} threads: {rate}");
        }
    }
    let rate = |level| {
        let rate = |k| int8_rate(k, 1, Duration::from_millis(20));
        Kernels::at(level).map(rate)
    };
    if let (Some(slow), Some(fast)) = (rate(Level::Portable), rate(Level::Avx2)) {
        assert!(fast > slow, "{slow} {fast}");
    }
}
