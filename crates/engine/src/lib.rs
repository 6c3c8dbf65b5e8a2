//! Model and Session: open, feed, sample, reply.
//!
//! [`Model::open`] settles every name; after it there are only numbers. The one loop is
//! [`Session::reply`]; its single edge upward is the caller's sink. An [`Encoder`] is a model that
//! reads whole texts and writes none. What sessions keep, how they go
//! back and how many are fed at once is in `docs/sessions.md`.
#![forbid(unsafe_code)]

mod ahead;
mod batch;
mod buffers;
mod calls;
mod claim;
mod constraint;
mod cost;
mod digest;
mod embed;
mod encoder;
mod error;
mod exec;
mod likelihood;
mod mark;
mod model;
mod need;
mod open;
mod options;
mod order;
mod profile;
mod prompt;
mod quantize;
mod record;
mod reply;
mod sampler;
mod saved;
mod score;
mod session;
mod stream;
mod templates;
mod watch;
mod whole;

pub use batch::{Batch, Feed};
pub use claim::{Claim, tokenizer_holds};
pub use constraint::{Constraint, Follow, Mask};
pub use cost::Cost;
pub use digest::Digests;
pub use embed::{Embedding, Pooling, Shape};
pub use encoder::{Encoder, See};
pub use error::{Error, Kind};
pub use likelihood::{Alternative, TokenScore};
pub use mark::Mark;
pub use model::{Facts, Model, VERSION};
pub use need::Need;
pub use open::{Beside, OpenOptions, Pin, StoreTemplate, TemplateSource, Verify};
pub use options::Options;
pub use profile::{Line, Profile};
pub use prompt::{Mode, Prompt, Request};
pub use quantize::{Precision, Quantized};
pub use recinto_chat::{Message, Role, ToolCall};
pub use recinto_kernels::{KvType, Level, NUMERICS, Places, Stop};
pub use recinto_receipt::{Claimant, Digest, Held, Origin, Part, Receipt, Shard, Verdict};
pub use record::Ran;
pub use reply::{Finish, Reply, Times, Usage};
pub use sampler::greedy;
pub use score::{LabelScore, Scores};
pub use session::{Session, SessionOptions, Want};
pub use stream::{Piece, Sink};
pub use whole::Text;
