//! What ran and what came out: digests and the record, in canonical bytes.
//!
//! A [`Receipt`] holds digests and numbers, never a word of a prompt or of an answer. Its bytes
//! are one for one receipt, so that [`Receipt::digest`] names it.
#![forbid(unsafe_code)]

mod canonical;
mod digest;
mod error;
mod hasher;
mod record;
mod setting;

pub use digest::Digest;
pub use error::{Error, Kind};
pub use hasher::{Hasher, sha256, sha256_ids, sha256_read, sha256_until};
pub use record::{
    Architecture, Claim, Engine, Finish, Held, Model, Origin, Output, Receipt, SCHEMA, Source,
    Times, Usage,
};
pub use setting::{Setting, Word};
