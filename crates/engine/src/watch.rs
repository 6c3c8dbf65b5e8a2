//! When to look whether a mapped file is still as it was: now and then while it computes, so that
//! a reply does not go on for minutes over a file that is no longer the one that was opened.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Passes over the weights between two looks, and the time after which one is due anyway.
const PASSES: u32 = 64;
const PERIOD: Duration = Duration::from_millis(250);

/// Counts passes and time since the last look, for all sessions of a model together.
pub(crate) struct Watch {
    began: Instant,
    /// Milliseconds from `began` to the last look.
    looked: AtomicU64,
    passes: AtomicU32,
}

impl Watch {
    pub fn new() -> Watch {
        Watch { began: Instant::now(), looked: AtomicU64::new(0), passes: AtomicU32::new(0) }
    }

    /// Counts a pass; whether it is time to look. The counts then begin again.
    pub fn due(&self) -> bool {
        self.due_at(self.began.elapsed())
    }

    fn due_at(&self, now: Duration) -> bool {
        let passes = self.passes.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let since = now.saturating_sub(self.looked.load(Ordering::Relaxed));
        let due = passes >= PASSES || since >= PERIOD.as_millis() as u64;
        if due {
            self.passes.store(0, Ordering::Relaxed);
            self.looked.store(now, Ordering::Relaxed);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_passes_or_by_time() {
        let at = Duration::from_millis;
        let fast = Watch::new();
        let looks = (0..640).filter(|_| fast.due_at(at(3))).count();
        assert_eq!(looks, 10, "every 64 passes, however short they are");
        let slow = Watch::new();
        let cases =
            [(0, false), (249, false), (250, true), (499, false), (500, true), (501, false)];
        for (now, want) in cases {
            assert_eq!(slow.due_at(at(now)), want, "{now} ms");
        }
    }
}
