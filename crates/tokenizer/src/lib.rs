//! Text to token ids and back, from GGUF metadata or a `tokenizer.json` alone.
//!
//! [`Tokenizer::from_metadata`] builds byte-level byte-pair encoders (`gpt2`), SentencePiece-style
//! ones (`llama`), Gemma 4's mixture of both (`gemma4`), WordPiece (`bert`), unigram (`t5`), and
//! the kinds of RWKV (`rwkv`), PLaMo 2 (`plamo2`), Jina's Chinese encoder (`whitespace`) and Carbon,
//! whose text has genes in it (`hybriddna`). The ids equal those of llama.cpp, which is called the
//! reference here, but for two kinds where it departs from what the models were trained with: WordPiece follows Hugging Face's library, as to control
//! characters, Korean and words of more than a hundred characters, and unigram uses byte pieces
//! where the vocabulary has them.
//!
//! [`Tokenizer::from_json`] reads the format of that library, with its ids, and refuses by name
//! what it does not know. [`Tokenizer::frame`] puts one text or two into the form encoders read.
//!
//! # Ranges
//!
//! Each token says which bytes of the original text it stands for, whatever normalizers did between.
//! Where a vocabulary drops white space, no token stands for it. A piece of a rewritten character
//! stands for all of that character, and an added space for none.
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
mod charsmap;
mod cut;
mod decode;
mod dna;
mod encode;
mod error;
mod families;
mod flow;
mod forms;
mod frame;
mod hash;
mod json;
mod kinds;
mod load;
mod merge;
mod merges;
mod normal;
mod pieces;
mod plamo;
mod rwkv;
mod slots;
mod special;
mod split;
mod tokenizer;
mod traced;
mod trie;
mod unigram;
mod wordpiece;

pub use decode::{Decoder, Stream};
pub use error::{Error, Kind};
pub use frame::Placed;
pub use pieces::PieceKind;
pub use tokenizer::{Description, Token, Tokenizer};
