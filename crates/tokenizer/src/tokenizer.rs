//! The tokenizer: built once from metadata, then only read.

use std::ops::Range;

use recinto_weights::Metadata;
use zeroize::Zeroize;

use crate::{
    Decoder, Error, PieceKind, Stream,
    bytes::{CHARS, byte_of, byte_piece},
    encode,
    error::{Kind, shown},
    kinds, load,
    merge::NONE,
    merges::Merges,
    pieces::Pieces,
    special::{Special, Specials, Strip},
    split::{self, Pre},
};

/// A token and where it stands in the text that was encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroize)]
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
    /// Byte-pair encoding with ranked merges.
    Bpe { merges: Merges, pre: &'static Pre },
    /// SentencePiece-style: the merged piece with the best score first.
    Spm { priorities: Vec<u32>, prefix: bool },
}

/// Text to ids and back; immutable, to be shared.
pub struct Tokenizer {
    pub(crate) pieces: Pieces,
    pub(crate) kinds: Vec<PieceKind>,
    pub(crate) model: Model,
    pub(crate) specials: Specials,
    /// The id of each byte, or `NONE`.
    pub(crate) bytes: [u32; 256],
    pub(crate) unknown: Option<u32>,
    guarded: Vec<u64>,
    model_word: String,
    pre_word: String,
    bos: Option<u32>,
    eos: Option<u32>,
    add_bos: bool,
    add_eos: bool,
    ends: Vec<u32>,
    notes: Vec<String>,
}

/// What a file says about its tokenizer, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The word of `tokenizer.ggml.model`.
    pub model: String,
    /// The word of `tokenizer.ggml.pre`; `default` where the file has none or it has no meaning.
    pub pre: String,
    /// Number of pieces.
    pub pieces: usize,
    /// Number of merges; 0 for SentencePiece-style vocabularies.
    pub merges: usize,
}

impl Tokenizer {
    /// Builds the tokenizer that `tokenizer.ggml.*` describes; everything in it is checked.
    pub fn from_metadata(m: Metadata<'_>) -> Result<Tokenizer, Error> {
        let mut notes = Vec::new();
        let model_word = load::text(m, "model")?.ok_or_else(|| {
            Error::new(Kind::Missing, "key `tokenizer.ggml.model` is missing")
                .hint("the file holds no tokenizer")
        })?;
        let spm = match model_word {
            "llama" => true,
            "gpt2" | "gemma4" => false,
            other => {
                let what = format!("tokenizer `{}` is not supported", shown(other));
                return Err(Error::new(Kind::Unsupported, what)
                    .hint("`gpt2`, `llama` and `gemma4` in `tokenizer.ggml.model` are"));
            }
        };
        let pre_word = load::text(m, "pre")?;
        let pre = if spm { None } else { Some(find_pre(model_word, pre_word, &mut notes)?) };
        let list = load::pieces(m)?;
        let count = list.len();
        let pieces = Pieces::new(list)?;
        if pieces.repeated > 0 {
            let repeated = pieces.repeated;
            notes.push(format!("{repeated} pieces appear more than once; the last id is used"));
        }
        let kinds = load::kinds(m, count)?;
        if kinds.is_none() {
            notes.push("the file does not say what kind its pieces are".into());
        }
        let mut kinds = kinds.unwrap_or_else(|| vec![PieceKind::Normal; count]);
        let mut ids = [None; 6];
        for (name, id) in ["bos", "eos", "eot", "eom", "unknown", "padding"].iter().zip(&mut ids) {
            *id = load::id(m, name, count)?;
        }
        let [mut bos, mut eos, eot, eom, mut unknown, _] = ids;
        if spm {
            // SentencePiece's own defaults, where those pieces are what they should be.
            let control = |id: u32| kinds.get(id as usize) == Some(&PieceKind::Control);
            bos = bos.or(Some(1).filter(|id| control(*id)));
            eos = eos.or(Some(2).filter(|id| control(*id)));
            let zero = kinds.first() == Some(&PieceKind::Unknown);
            unknown = unknown.or(zero.then_some(0));
        }
        let mut middle = Vec::new();
        for (name, key) in MIDDLE_KEYS {
            if let Some(id) = load::id(m, key, count)? {
                middle.push((*name, id));
            }
        }
        let named: Vec<u32> = [eos, eot, eom].into_iter().flatten().collect();
        let ends = kinds::settle(
            &pieces,
            &mut kinds,
            &kinds::Named {
                ends: &named,
                middle: &|name| middle.iter().find(|row| row.0 == name).map(|row| row.1),
            },
        );
        let mut guarded = vec![0u64; count.div_ceil(64)];
        for id in 0..count as u32 {
            let named = Some(id) == bos || ends.contains(&id);
            let piece = pieces.get(id).unwrap_or_default();
            if kinds::guarded(piece, kinds[id as usize], named) {
                guarded[id as usize / 64] |= 1 << (id % 64);
            }
        }
        let barred = |id: u32| guarded[id as usize / 64] >> (id % 64) & 1 == 1;
        let model = match pre {
            Some(pre) => {
                let merges = Merges::new(load::strings(m, "merges")?, &pieces, barred)?;
                Model::Bpe { merges, pre }
            }
            None => {
                let priorities = load::priorities(m, count)?.ok_or_else(|| {
                    Error::new(Kind::Missing, "key `tokenizer.ggml.scores` is missing")
                })?;
                let prefix = load::flag(m, "add_space_prefix")?.unwrap_or(true);
                Model::Spm { priorities, prefix }
            }
        };
        let strips = strips(m, &pieces, pre)?;
        let specials: Vec<Special<'_>> = (0..count as u32)
            .filter(|id| {
                use PieceKind::{Control, Unknown, UserDefined};
                matches!(kinds[*id as usize], Control | Unknown | UserDefined)
            })
            .map(|id| {
                let piece = pieces.get(id).unwrap_or_default();
                Special { piece, id, guarded: barred(id), strip: strips(piece) }
            })
            .collect();
        let specials = Specials::new(&specials)?;
        let escaped = pre.is_none_or(|pre| pre.escaped);
        let add_bos = load::flag(m, "add_bos_token")?.unwrap_or(pre.is_none_or(|pre| pre.add_bos));
        let add_bos = add_bos || pre.is_some_and(|pre| pre.escaped);
        let add_eos = load::flag(m, "add_eos_token")?.unwrap_or(false);
        for (flag, id, name) in [(add_bos, bos, "bos"), (add_eos, eos, "eos")] {
            if flag && id.is_none() {
                notes.push(format!("{name} should be added but the file names none; it is not"));
            }
        }
        let bytes = byte_ids(&pieces, escaped, pre.is_none());
        // Some bytes never occur in UTF-8.
        let needed = |byte: usize| !matches!(byte, 0xc0 | 0xc1 | 0xf5..);
        let missing = (0..256).filter(|byte| needed(*byte) && bytes[*byte] == NONE).count();
        if missing > 0 && !escaped {
            notes.push(format!("{missing} bytes have no piece and give no id"));
        }
        Ok(Tokenizer {
            bytes,
            model,
            specials,
            unknown,
            guarded,
            model_word: model_word.into(),
            pre_word: pre.map_or("default", |_| pre_word.unwrap_or("default")).into(),
            bos,
            eos,
            add_bos: add_bos && bos.is_some(),
            add_eos: add_eos && eos.is_some(),
            ends,
            notes,
            pieces,
            kinds,
        })
    }

    /// Ids of `text` with their byte ranges. No BOS or EOS is added.
    ///
    /// Specials are matched everywhere except where they would touch a byte of `content`; apart
    /// from that, content is text like any other. Ranges may come in any order and may overlap.
    pub fn encode(&self, text: &str, content: &[Range<usize>]) -> Result<Vec<Token>, Error> {
        encode::encode(self, text, content)
    }

    /// The same, where all of `text` is content.
    pub fn encode_plain(&self, text: &str) -> Result<Vec<Token>, Error> {
        self.encode(text, std::slice::from_ref(&(0..text.len())))
    }

    /// The text of `ids`; control and unknown pieces give none. An error names an id that is not
    /// in the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String, Error> {
        let mut stream = Stream::new();
        let mut out = String::new();
        for id in ids {
            out.push_str(stream.push(self, *id)?);
        }
        out.push_str(&stream.finish());
        Ok(out)
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
    pub fn bytes(&self, id: u32) -> Option<Vec<u8>> {
        let mut out = Vec::new();
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
        matches!(self.model, Model::Spm { prefix: true, .. })
    }

    /// Adds the bytes of a piece to `out`.
    pub(crate) fn write(&self, id: u32, specials: bool, out: &mut Vec<u8>) -> Result<(), Error> {
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
            PieceKind::Normal if self.is_escaped() => {
                for (at, part) in piece.split('▁').enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(part.as_bytes());
                }
            }
            PieceKind::Normal => {
                for c in piece.chars() {
                    match byte_of(c) {
                        Some(byte) => out.push(byte),
                        None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn is_byte(&self, id: u32) -> bool {
        self.kind(id) == Some(PieceKind::Byte)
    }

    /// `id`, or the piece for the unknown in its place.
    pub(crate) fn known(&self, id: u32, byte: u8) -> Result<u32, Error> {
        let id = Some(id).filter(|id| *id != NONE).or(self.unknown);
        id.ok_or_else(|| {
            let what = format!("the vocabulary has no piece for byte {byte:#04x} of the text");
            Error::new(Kind::Unencodable, what)
        })
    }

    fn is_escaped(&self) -> bool {
        match &self.model {
            Model::Bpe { pre, .. } => pre.escaped,
            Model::Spm { .. } => true,
        }
    }
}

/// Names of fill-in-the-middle pieces and the keys, new and old, that give them.
const MIDDLE_KEYS: &[(&str, &str)] = &[
    ("fim_pre", "fim_pre"),
    ("fim_suf", "fim_suf"),
    ("fim_mid", "fim_mid"),
    ("fim_pad", "fim_pad"),
    ("fim_rep", "fim_rep"),
    ("fim_sep", "fim_sep"),
    ("fim_pre", "prefix"),
    ("fim_suf", "suffix"),
    ("fim_mid", "middle"),
];

fn find_pre(
    model: &str,
    word: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<&'static Pre, Error> {
    match word {
        _ if model == "gemma4" => Ok(&split::GEMMA4),
        None | Some("") => {
            notes.push("the file names no pre-tokenizer; the default one is used".into());
            Ok(&split::DEFAULT)
        }
        Some(word) => split::find(word).ok_or_else(|| {
            let what = format!("pre-tokenizer `{}` is not known", shown(word));
            Error::new(Kind::Unsupported, what)
                .hint("key `tokenizer.ggml.pre`; another splitter would give wrong ids silently")
        }),
    }
}

/// The id that stands for each byte.
fn byte_ids(pieces: &Pieces, escaped: bool, plain: bool) -> [u32; 256] {
    let mut out = [NONE; 256];
    for (byte, id) in out.iter_mut().enumerate() {
        let found = if escaped {
            let hex = format!("<0x{byte:02X}>");
            let itself = [byte as u8];
            let itself = if plain { &itself[..] } else { &[] };
            pieces.find(hex.as_bytes()).or_else(|| pieces.find(itself))
        } else {
            pieces.find(CHARS[byte].encode_utf8(&mut [0; 4]).as_bytes())
        };
        *id = found.unwrap_or(NONE);
    }
    out
}

/// Which specials swallow white space. The files do not say: the reference goes by the model's
/// name and the pre-tokenizer's word, and so must this.
fn strips(
    m: Metadata<'_>,
    pieces: &Pieces,
    pre: Option<&'static Pre>,
) -> Result<impl Fn(&str) -> Strip + use<>, Error> {
    let name = m.str("general.name")?.unwrap_or_default().to_lowercase();
    let before = pre.map_or(&[][..], |pre| pre.strips_before);
    let phi3 = before.is_empty() && (name.contains("phi-3") || name.contains("phi3"));
    let phi3 = phi3 && pieces.find(b"</s>").is_some();
    Ok(move |piece: &str| Strip {
        before: before.contains(&piece),
        after: phi3 && !matches!(piece, "<unk>" | "<s>" | "<|endoftext|>"),
    })
}
