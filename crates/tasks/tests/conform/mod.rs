//! The conformance program: who is asked, and what.

mod asked;
mod steps;

pub use asked::{Ready, providers};
pub use steps::{STEPS, Step};

/// Columns of the table: `openai-compatible` with its first wire, as most services speak it.
pub const COLUMNS: [&str; 6] =
    ["local", "mock", "openai, chat", "openai, responses", "anthropic", "openai-compatible"];
