//! Every test of this crate that needs no process of its own, linked once.

mod common;
mod faults;
mod json;
mod kinds;
mod long;
mod properties;
mod small;
mod vocabularies;
