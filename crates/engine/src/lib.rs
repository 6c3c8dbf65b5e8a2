//! Model and Session: open, feed, sample, reply.
//!
//! [`Model::open`] settles every name; after it there are only numbers. The one loop is
//! [`Session::reply`]; its single edge upward is the caller's sink.
#![forbid(unsafe_code)]

mod cost;
mod digest;
mod error;
mod exec;
mod model;
mod options;
mod profile;
mod prompt;
mod record;
mod reply;
mod sampler;
mod session;
mod stream;

pub use cost::Cost;
pub use digest::Digests;
pub use error::{Error, Kind};
pub use model::{Facts, Model, OpenOptions, VERSION};
pub use options::Options;
pub use profile::{Line, Profile};
pub use prompt::{Mode, Prompt, Request};
pub use recinto_chat::{Message, Role};
pub use recinto_kernels::{Level, NUMERICS, Stop};
pub use recinto_receipt::{Digest, Receipt};
pub use reply::{Finish, Reply, Times, Usage};
pub use session::{Session, SessionOptions, Want};
pub use stream::{Piece, Sink};
