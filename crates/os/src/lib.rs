//! The operating system behind one door: mapping, advice, cores, signals, what stays behind.
//!
//! Everything that differs from one system to the next is here, so that the rest of the house
//! speaks of bytes and threads only. Measured on Linux x86-64. What is read from `/proc` and
//! `/sys` takes the root folder as a parameter, so that tests can show it other machines.
#![deny(unsafe_code)]

pub mod append;
mod cgroup;
#[allow(unsafe_code)]
pub mod child;
pub mod code;
pub mod cpus;
#[allow(unsafe_code)]
mod map;
#[allow(unsafe_code)]
pub mod memory;
pub mod owner;
mod pages;
pub mod private;
#[allow(unsafe_code)]
pub mod probe;
pub mod shield;
#[allow(unsafe_code)]
pub mod signal;
pub mod terminal;
pub mod usage;
mod wiped;

pub use map::{Advice, Identity, Map};
pub use pages::{LARGE, Pages, Pinned};
pub use wiped::{Wiped, WipedText};

#[cfg(test)]
mod tree;
