//! Every test of this crate that needs no process of its own, linked once.

mod cascade;
mod conform;
mod conformance;
mod tasks;
