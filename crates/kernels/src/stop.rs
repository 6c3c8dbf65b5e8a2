//! How a caller ends work that is under way: a flag, a deadline, or never.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Asked at every tile of work. Cheap to clone; clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Option<Arc<AtomicBool>>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Never stops.
    pub fn never() -> Stop {
        Stop::default()
    }

    /// Stops when `flag` is set or `deadline` has passed.
    pub fn new(flag: Arc<AtomicBool>, deadline: Option<Instant>) -> Stop {
        Stop { flag: Some(flag), deadline }
    }

    /// The same flag with the earlier of its own deadline and `deadline`.
    pub fn with_deadline(&self, deadline: Option<Instant>) -> Stop {
        let deadline = match (self.deadline, deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Stop { flag: self.flag.clone(), deadline }
    }

    /// Whether the flag is set, whatever the deadline says.
    pub fn cancelled(&self) -> bool {
        self.flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether to stop now.
    pub fn stopped(&self) -> bool {
        self.flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The same as an error, for `?`.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.stopped() { Err(Stopped) } else { Ok(()) }
    }
}

/// Work ended early because the caller said so; what it was writing is not to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped by the caller or by its deadline")]
pub struct Stopped;
