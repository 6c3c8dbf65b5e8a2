//! Every test of this crate that needs no process of its own, linked once.

mod numbers;
mod shapes;
mod suite;
