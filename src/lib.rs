//! Runs a quantized language model inside the process that already holds the data: no server
//! beside it, no API key, no socket.
//!
//! ```
//! use std::{ops::ControlFlow, path::Path};
//! use recinto::{Model, OpenOptions, Piece, Request, Stop};
//!
//! # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tiny/qwen2-plain.gguf"));
//! let model = Model::open(path, &OpenOptions::default())?;
//! let mut request = Request::user("¿Qué ventanilla atiende los reembolsos?");
//! # request.options.max_tokens = 8;
//! let reply = model.reply(&request, &Stop::never(), &mut |piece| {
//!     if let Piece::Text(text) = piece { /* show it while it comes */ let _ = text; }
//!     ControlFlow::Continue(())
//! })?;
//! let (answer, made_by) = (&reply.text, reply.digests.weights);
//! # assert_eq!(made_by, recinto::sha256(&std::fs::read(path)?)); let _ = answer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Model`] is one file on disk, mapped, with the architecture that its metadata names; it is
//! immutable and can be shared between threads. A [`Session`] is one conversation's memory.
//! A [`Reply`] keeps reasoning and answer apart and carries what made it: the SHA-256 of the
//! weights, of the architecture's text and of the object that holds the engine's code, with the
//! options and the seed that were used. The library prints nothing and opens no connection.
//!
//! Where to read on: [`Model::open`], [`Options`], [`Session::feed`] for raw logits, and
//! `docs/arch-format.md` for adding an architecture without a compiler.
#![forbid(unsafe_code)]

pub use recinto_engine::{
    Batch, Claim, Claimant, Digest, Digests, Error, Facts, Feed, Finish, Held, Kind, KvType, Level,
    Mark, Message, Mode, Model, NUMERICS, OpenOptions, Options, Origin, Part, Piece, Pin, Prompt,
    Receipt, Reply, Request, Role, Session, SessionOptions, Sink, Stop, Times, Usage, VERSION,
    Verdict, Verify, Want,
};
pub use recinto_receipt::sha256;

/// Architectures as text: the built-in ones, a folder's, and the check without a model.
pub mod arch {
    pub use recinto_arch::*;
}

/// A name to the files on this disk.
pub mod store {
    pub use recinto_store::*;
}

/// Who answers, and where each setting came from.
pub mod provider {
    pub use recinto_provider::*;
}

/// Tasks with a typed answer: decide, extract, complete.
pub mod tasks {
    pub use recinto_tasks::*;
}

/// The model file itself: metadata and tensors.
pub mod weights {
    pub use recinto_weights::*;
}

/// Text to ids and back.
pub mod tokenizer {
    pub use recinto_tokenizer::*;
}
