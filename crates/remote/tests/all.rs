//! Every test of this crate that needs no process of its own, linked once.

mod common;
mod decisions;
mod faults;
mod tls;
mod wires;
