//! Where the bytes are: GGUF files and checkpoints of safetensors, mapped read-only and checked
//! once.
//!
//! [`File::open`] settles every bound; afterwards a [`Tensor`] is a name, dimensions, a storage
//! type and bytes known to be long enough. A model may lie in several shards; any of them leads to
//! the others.
#![forbid(unsafe_code)]

mod checkpoint;
mod entries;
mod error;
mod file;
mod gguf;
mod json;
mod pin;
mod reader;
mod safetensors;
mod shards;
mod utf8;
mod value;
mod write;

pub use checkpoint::papers;
pub use error::{Error, Kind};
pub use file::{File, Format, Metadata, Other, Tensor, TensorInfo};
pub use pin::Rewrite;
pub use recinto_os::{Advice, Identity};
pub use shards::{Shard, siblings};
pub use value::{Array, Element, Value};
pub use write::Draft;
