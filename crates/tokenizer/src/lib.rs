//! Text to token ids and back, from GGUF metadata alone.
//!
//! [`Tokenizer::from_metadata`] builds byte-level byte-pair encoders (`gpt2`), SentencePiece-style
//! ones (`llama`) and Gemma 4's mixture of both (`gemma4`). The ids equal those of llama.cpp, which
//! is called the reference here.
//!
//! # Scaffold and content
//!
//! A prompt is scaffold (what the template writes) and content (what people and documents say).
//! [`Tokenizer::encode`] takes the byte ranges that are content. A *special* is never made where it
//! would touch a byte of content; otherwise content is text like any other, and merges across its
//! borders as if there were none. Special are
//!
//! * control and unknown pieces;
//! * user-defined and reserved pieces shaped as marks, `<…>` or `[…]`, such as `</think>` and
//!   `<tool_call>`, but not the plain elements of HTML (`<table>`, `</h1>`, …) that some
//!   vocabularies add as text;
//! * BOS, EOS and every piece that ends a reply, whatever kind or shape the file gives them.
//!
//! Text that has no other piece than a special one is refused; only the piece for the unknown may
//! stand for what the vocabulary lacks.
//!
//! All other user-defined pieces (runs of white space, whole words) are text that is matched
//! first, in content as in scaffold, as in the reference. A piece that is special, or one such as
//! `<0x0A>` that stands for a byte, never comes out of merging either.
//!
//! # Decoding
//!
//! Control and unknown pieces give no text unless asked for; user-defined pieces give theirs, so
//! that a program can see `</think>`. See [`Stream`] and [`Decoder`].
//!
//! # Memory
//!
//! Whatever holds text, tokens or positions is wiped when it is dropped or moves.
#![forbid(unsafe_code)]

mod build;
mod bytes;
mod decode;
mod encode;
mod error;
mod hash;
mod kinds;
mod load;
mod merge;
mod merges;
mod pieces;
mod slots;
mod special;
mod split;
mod tokenizer;

pub use decode::{Decoder, Stream};
pub use error::{Error, Kind};
pub use pieces::PieceKind;
pub use tokenizer::{Description, Token, Tokenizer};
