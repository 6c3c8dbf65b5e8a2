//! Every test of this crate that needs no process of its own, linked once.

#[cfg(feature = "remote")]
mod elsewhere;
mod kept;
#[cfg(feature = "remote")]
mod leaving;
mod lock;
mod policies;
mod prompt_cache;
mod stores;
