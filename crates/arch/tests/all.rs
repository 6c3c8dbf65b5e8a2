//! Every test of this crate that needs no process of its own, linked once.

mod common;
mod encoders;
mod fixtures;
mod golden_tiny;
mod hostile;
mod models;
mod near;
mod refused;
mod variants;
