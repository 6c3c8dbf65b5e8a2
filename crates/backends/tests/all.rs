//! Every test of this crate that needs no process of its own, linked once.

mod causal;
mod int8;
mod laya;
mod llama_cpp;
