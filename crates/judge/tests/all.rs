//! Every test of this crate that needs no process of its own, linked once.

mod among;
mod common;
mod gate;
mod metrics;
mod pipeline;
mod promises;
mod questions;
mod report;
mod statistics;
