//! The tokenizer: built once from metadata, then only read.

use std::ops::Range;

use recinto_os::{Wiped, WipedText};
use recinto_weights::Metadata;
use zeroize::Zeroize;

use crate::{
    Decoder, Error, PieceKind, Stream, build,
    bytes::{byte_of, byte_piece},
    dna::{Dna, MARK},
    encode,
    error::Kind,
    families::Spelling,
    flow::{self, Flow},
    frame::{Frame, Placed},
    json,
    merge::{BARRED, NONE},
    merges::Merges,
    pieces::Pieces,
    rwkv,
    special::Specials,
    split::Pre,
};

/// A token and where it stands in the text that was encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
pub struct Token {
    /// Index in the vocabulary.
    pub id: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte. Equal to `start` for a token that stands for nothing in the text.
    pub end: u32,
}

/// How ordinary text becomes pieces.
pub(crate) enum Model {
    /// Byte-pair encoding with ranked merges, of all but genes where the vocabulary has them.
    Bpe { merges: Merges, pre: &'static Pre, dna: Option<Dna> },
    /// SentencePiece-style: the merged piece with the best score first.
    Spm { priorities: Vec<u32>, prefix: bool },
    /// Step by step: normalizers, pre-tokenizers, a model for each word.
    Flow(Box<Flow>),
}

/// Text to ids and back; immutable, to be shared.
pub struct Tokenizer {
    pub(crate) pieces: Pieces,
    pub(crate) kinds: Vec<PieceKind>,
    pub(crate) model: Model,
    pub(crate) specials: Specials,
    /// Specials are taken from the left, as in `tokenizer.json`, not the longest ones first.
    pub(crate) leftmost: bool,
    pub(crate) frame: Frame,
    pub(crate) spelling: Spelling,
    /// The id of each byte, or `NONE` or `BARRED`.
    pub(crate) bytes: [u32; 256],
    pub(crate) unknown: Option<u32>,
    pub(crate) guarded: Vec<u64>,
    pub(crate) model_word: String,
    pub(crate) pre_word: String,
    pub(crate) bos: Option<u32>,
    pub(crate) eos: Option<u32>,
    pub(crate) add_bos: bool,
    pub(crate) add_eos: bool,
    pub(crate) ends: Vec<u32>,
    pub(crate) notes: Vec<String>,
}

/// What a file says about its tokenizer, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The word of `tokenizer.ggml.model`, or of the model in `tokenizer.json`.
    pub model: String,
    /// The word of `tokenizer.ggml.pre`; `default` where the file has none or it has no meaning.
    pub pre: String,
    /// Number of pieces.
    pub pieces: usize,
    /// Number of merges; 0 for vocabularies that go by scores or by length.
    pub merges: usize,
}

impl Tokenizer {
    /// Builds the tokenizer that `tokenizer.ggml.*` describes; everything in it is checked.
    pub fn from_metadata(m: Metadata<'_>) -> Result<Tokenizer, Error> {
        build::build(m, None)
    }

    /// The same for a model whose embedding has `rows` rows. Where the vocabulary is longer, no
    /// text becomes a piece without a row; [`Tokenizer::notes`] says so. In scaffold a mark
    /// without a row keeps its id, which no model can be fed.
    pub fn with_rows(m: Metadata<'_>, rows: usize) -> Result<Tokenizer, Error> {
        build::build(m, Some(rows))
    }

    /// Builds the tokenizer of a `tokenizer.json`, as Hugging Face's library writes it. What is not
    /// known in it is refused by its name; the ids are those of that library. Truncation and
    /// padding are the caller's.
    pub fn from_json(bytes: &[u8]) -> Result<Tokenizer, Error> {
        json::read(bytes)
    }

    /// Puts one text or two, as [`Tokenizer::encode`] gave them, into the form that the model
    /// reads: BOS, separators, EOS and the segment of each token. An error where two texts have no
    /// form.
    pub fn frame(&self, first: &[Token], second: Option<&[Token]>) -> Result<Wiped<Placed>, Error> {
        self.frame.place(first, second)
    }

    /// Ids of `text` with their byte ranges. No BOS or EOS is added.
    ///
    /// Specials are matched everywhere except where they would touch a byte of `content`; apart
    /// from that, content is text like any other. Ranges may come in any order and may overlap.
    /// What is returned, and whatever was needed to make it, is wiped when dropped.
    pub fn encode(&self, text: &str, content: &[Range<usize>]) -> Result<Wiped<Token>, Error> {
        encode::encode(self, text, content)
    }

    /// The same, where all of `text` is content.
    pub fn encode_plain(&self, text: &str) -> Result<Wiped<Token>, Error> {
        self.encode(text, std::slice::from_ref(&(0..text.len())))
    }

    /// The text of `ids`; control and unknown pieces give none. An error names an id that is not
    /// in the vocabulary. The string is made once, at its length; to wipe it is the caller's.
    pub fn decode(&self, ids: &[u32]) -> Result<String, Error> {
        let mut stream = Stream::new();
        let mut out = WipedText::default();
        for id in ids {
            out.push_str(stream.push(self, *id)?);
        }
        out.push_str(&stream.finish());
        Ok(out.as_str().to_owned())
    }

    /// A decoder for one text.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::new(self)
    }

    /// Whether a prompt begins with [`Tokenizer::bos`].
    pub fn add_bos(&self) -> bool {
        self.add_bos
    }

    /// Whether the file asks for [`Tokenizer::eos`] after a text.
    pub fn add_eos(&self) -> bool {
        self.add_eos
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Every token that ends a reply, in order.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Number of pieces.
    pub fn size(&self) -> usize {
        self.pieces.len()
    }

    /// A piece as it stands in the file (byte-level or with `▁`); see [`Tokenizer::bytes`].
    pub fn piece(&self, id: u32) -> Option<&str> {
        self.pieces.get(id)
    }

    /// The bytes a piece stands for in a text, specials as their own text.
    pub fn bytes(&self, id: u32) -> Option<Wiped<u8>> {
        let mut out = Wiped::default();
        self.write(id, true, &mut out).ok()?;
        Some(out)
    }

    /// What a piece is.
    pub fn kind(&self, id: u32) -> Option<PieceKind> {
        self.kinds.get(id as usize).copied()
    }

    /// The id of a piece, written as in the file.
    pub fn find(&self, piece: &str) -> Option<u32> {
        self.pieces.find(piece.as_bytes())
    }

    /// Whether a piece is one that content can never make (see the crate's front page).
    pub fn is_special(&self, id: u32) -> bool {
        self.guarded.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// What was unusual about the file; one line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Model and pre-tokenizer words and counts.
    pub fn describe(&self) -> Description {
        let merges = match &self.model {
            Model::Bpe { merges, .. } => merges.len(),
            Model::Flow(flow) => match &flow.model {
                flow::Model::Bpe(bpe) => bpe.merges.len(),
                _ => 0,
            },
            Model::Spm { .. } => 0,
        };
        Description {
            model: self.model_word.clone(),
            pre: self.pre_word.clone(),
            pieces: self.size(),
            merges,
        }
    }

    /// Whether the vocabulary puts a space before every text, which decoding drops again.
    pub(crate) fn drops_first_space(&self) -> bool {
        match &self.model {
            Model::Spm { prefix, .. } => *prefix,
            Model::Flow(flow) => flow.prefixed,
            Model::Bpe { .. } => false,
        }
    }

    /// Adds the bytes of a piece to `out`.
    pub(crate) fn write(&self, id: u32, specials: bool, out: &mut Wiped<u8>) -> Result<(), Error> {
        let (Some(piece), Some(kind)) = (self.piece(id), self.kind(id)) else {
            let what = format!("id {id} is not in the vocabulary of {} pieces", self.size());
            return Err(Error::new(Kind::Argument, what));
        };
        match kind {
            PieceKind::Control | PieceKind::Unknown if !specials => {}
            PieceKind::Control | PieceKind::Unknown | PieceKind::UserDefined => {
                out.extend_from_slice(piece.as_bytes());
            }
            PieceKind::Byte => match byte_piece(piece) {
                Some(byte) => out.push(byte),
                None => out.extend_from_slice(piece.as_bytes()),
            },
            PieceKind::Unused => {}
            PieceKind::Normal => self.spelled(piece, out),
        }
        Ok(())
    }

    /// Whether a run of ordinary text may become this piece.
    pub(crate) fn allows(&self, id: u32) -> bool {
        !self.is_special(id) && self.kind(id) != Some(PieceKind::Byte)
    }

    /// No piece for what stands at `at`; where, never what.
    pub(crate) fn unencodable(&self, at: u32) -> Error {
        let what = format!("the vocabulary has no piece for byte {at} of the text");
        Error::new(Kind::Unencodable, what)
            .hint("bytes are counted from 0; `inspect` shows what is unusual about the vocabulary")
    }

    /// Whether each of these bytes has a piece that text may become.
    pub(crate) fn has_bytes(&self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| !matches!(self.bytes[usize::from(*byte)], NONE | BARRED))
    }

    /// Adds what an ordinary piece stands for.
    fn spelled(&self, piece: &str, out: &mut Wiped<u8>) {
        match &self.spelling {
            Spelling::Alphabet | Spelling::Bases => {
                let group = piece.strip_suffix(MARK).filter(|group| !group.is_empty());
                let group = group.filter(|_| self.spelling == Spelling::Bases);
                for c in group.unwrap_or(piece).chars() {
                    match byte_of(c) {
                        Some(byte) => out.push(byte),
                        None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    }
                }
            }
            Spelling::Escaped => {
                for (at, part) in piece.split('▁').enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(part.as_bytes());
                }
            }
            Spelling::Prefixed(prefix) => match piece.strip_prefix(prefix.as_str()) {
                Some(rest) if !prefix.is_empty() => out.extend_from_slice(rest.as_bytes()),
                _ => {
                    out.push(b' ');
                    out.extend_from_slice(piece.as_bytes());
                }
            },
            Spelling::Plain => out.extend_from_slice(piece.as_bytes()),
            Spelling::Backslashed => out.extend_from_slice(&rwkv::unescape(piece.as_bytes())),
        }
    }
}
