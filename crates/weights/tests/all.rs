//! Every test of this crate that needs no process of its own, linked once.

mod attacks;
mod disk;
mod golden;
mod pin;
mod raw;
mod safetensors;
mod shards;
