//! Limits of one rendering: steps, memory, depth.
//!
//! A rendering runs on a thread of its own (see `template.rs`), so its counters are the
//! thread's; every text and container counts itself in and out.

use std::cell::Cell;

use crate::error::Error;

/// Steps of one rendering; a step is one node of the template or 32 bytes of text made.
pub(crate) const MAX_STEPS: u64 = 30_000_000;
/// Bytes alive at once, all texts and containers together.
pub(crate) const MAX_LIVE: usize = 512 << 20;
/// Bytes of one text, the output included.
pub(crate) const MAX_TEXT: usize = 64 << 20;
/// Nested evaluations; macros that call themselves end here.
pub(crate) const MAX_DEPTH: u32 = 1000;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn take(bytes: usize) {
    LIVE.with(|live| live.set(live.get().saturating_add(bytes)));
}

pub(crate) fn release(bytes: usize) {
    // `try_with`: values may outlive the thread's counters when the thread ends.
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub(bytes)));
}

/// Counts `steps`; an error when the template has used all of its own.
pub(crate) fn step(steps: u64) -> Result<(), Error> {
    let used = STEPS.with(|cell| {
        let used = cell.get().saturating_add(steps);
        cell.set(used);
        used
    });
    if used > MAX_STEPS {
        return Err(Error::limit(format!("more than {MAX_STEPS} steps"))
            .hint("the template loops too long, or the conversation is too large for it"));
    }
    if LIVE.with(Cell::get) > MAX_LIVE {
        return Err(memory());
    }
    Ok(())
}

/// Asks for `bytes` more before they are made.
pub(crate) fn room(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_TEXT {
        return Err(Error::limit(format!("a text of more than {} MiB", MAX_TEXT >> 20)));
    }
    if LIVE.with(Cell::get).saturating_add(bytes) > MAX_LIVE {
        return Err(memory());
    }
    step(bytes as u64 / 32)
}

/// Whether a text that grows may go on to grow from `bytes`.
pub(crate) fn fits(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_TEXT { room(bytes) } else { Ok(()) }
}

fn memory() -> Error {
    Error::limit(format!("more than {} MiB of memory", MAX_LIVE >> 20))
}
