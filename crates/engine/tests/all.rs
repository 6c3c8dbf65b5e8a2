//! Every test of this crate that needs no process of its own, linked once.

mod agreement;
mod batch;
mod bert_gguf;
mod bits;
mod calls;
mod common;
mod constrained;
mod continuing;
mod deviations;
mod embed;
mod golden;
mod golden_real;
mod goldens;
mod growth;
mod loading;
mod product;
mod profile;
mod saved;
mod score;
mod session;
mod shards;
mod thinking;
mod trust;
mod walks;
