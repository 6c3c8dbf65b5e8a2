//! Every test of this crate that needs no process of its own, linked once.

mod attend;
mod common;
mod levels;
mod linear;
mod math;
mod point;
mod pool;
mod whole;
