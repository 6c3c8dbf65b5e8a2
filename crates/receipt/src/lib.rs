//! What ran and what came out: digests and the record, in canonical bytes.
//!
//! A [`Receipt`] holds digests and numbers, never a word of a prompt or of an answer. Its bytes
//! are one for one receipt, so that [`Receipt::digest`] names it.
#![forbid(unsafe_code)]

mod canonical;
mod digest;
mod error;
mod hasher;
mod other;
mod record;
mod setting;

pub use canonical::to_bytes as canonical_bytes;
pub use digest::Digest;
pub use error::{Error, Kind};
pub use hasher::{Hasher, sha256, sha256_ids, sha256_read, sha256_until};
pub use other::{Label, Named, Program, Record, Remote, Scored};
pub use record::{
    Architecture, Claimant, Engine, Finish, Held, Model, Origin, Output, Part, Receipt, SCHEMA,
    Shard, Source, Times, Usage, Verdict, of_files,
};
pub use setting::{Setting, Word};
