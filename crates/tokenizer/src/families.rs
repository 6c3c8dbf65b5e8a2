//! The kinds of vocabularies GGUF files name in `tokenizer.ggml.model`, one row a word, and the
//! steps of those that are a [`Flow`].

use recinto_weights::Metadata;

use crate::{
    Error, PieceKind,
    charsmap::Charsmap,
    cut::Cut,
    error::{Kind, shown},
    flow::{Bpe, Flow, Model},
    forms::NFD,
    load,
    merges::Merges,
    normal::Normal,
    pieces::Pieces,
    plamo::Plamo,
    rwkv, split,
    trie::Trie,
    unigram::Unigram,
    wordpiece::WordPiece,
};

/// One kind of vocabulary.
pub(crate) struct Family {
    pub word: &'static str,
    pub make: Make,
    /// BOS, EOS and the piece for the unknown where the file names none, if those pieces are what
    /// they should be.
    pub usual: [Option<u32>; 3],
    /// Whether BOS and EOS are added, unless the file says otherwise.
    pub adds: [bool; 2],
    /// How pieces are written.
    pub spelling: Spelling,
}

/// What becomes of ordinary text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Scored,
    Ranked,
    Dna,
    WordPiece,
    Unigram,
    Greedy,
    Plamo,
    Spaced,
}

/// How a piece stands for text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// In GPT-2's alphabet of bytes.
    Alphabet,
    /// The same, and a mark after the pieces that are groups of bases.
    Bases,
    /// Spaces are `▁`.
    Escaped,
    /// Words begin with a space; this prefix says that a piece goes on with one.
    Prefixed(String),
    /// As it is.
    Plain,
    /// With backslashes and hexadecimal bytes.
    Backslashed,
}

const NONE: [Option<u32>; 3] = [None; 3];

/// All kinds; the only place that knows their words.
const FAMILIES: &[Family] = &[
    Family {
        word: "llama",
        make: Make::Scored,
        usual: [Some(1), Some(2), Some(0)],
        adds: [true, false],
        spelling: Spelling::Escaped,
    },
    Family {
        word: "gpt2",
        make: Make::Ranked,
        usual: NONE,
        adds: [false, false],
        spelling: Spelling::Alphabet,
    },
    Family {
        word: "hybriddna",
        make: Make::Dna,
        usual: NONE,
        adds: [false, false],
        spelling: Spelling::Bases,
    },
    Family {
        word: "gemma4",
        make: Make::Ranked,
        usual: NONE,
        adds: [true, false],
        spelling: Spelling::Escaped,
    },
    Family {
        word: "bert",
        make: Make::WordPiece,
        usual: [Some(101), Some(102), Some(100)],
        adds: [true, true],
        spelling: Spelling::Escaped,
    },
    Family {
        word: "t5",
        make: Make::Unigram,
        usual: [None, Some(1), Some(2)],
        adds: [false, true],
        spelling: Spelling::Escaped,
    },
    Family {
        word: "rwkv",
        make: Make::Greedy,
        usual: NONE,
        adds: [false, false],
        spelling: Spelling::Backslashed,
    },
    Family {
        word: "plamo2",
        make: Make::Plamo,
        usual: [Some(1), Some(2), Some(0)],
        adds: [false, false],
        spelling: Spelling::Plain,
    },
    Family {
        word: "whitespace",
        make: Make::Spaced,
        usual: NONE,
        adds: [false, false],
        spelling: Spelling::Plain,
    },
];

/// The kind the file names.
pub(crate) fn find(m: Metadata<'_>) -> Result<&'static Family, Error> {
    let Some(word) = load::text(m, "model")? else {
        return Err(Error::new(Kind::Missing, "key `tokenizer.ggml.model` is missing")
            .hint("the file holds no tokenizer"));
    };
    FAMILIES.iter().find(|family| family.word == word).ok_or_else(|| {
        let words: Vec<String> = FAMILIES.iter().map(|f| format!("`{}`", f.word)).collect();
        let what = format!("tokenizer `{}` is not supported", shown(word));
        Error::new(Kind::Unsupported, what)
            .hint(format!("{} in `tokenizer.ggml.model` are", words.join(", ")))
    })
}

impl Family {
    /// Whether text is cut by a pre-tokenizer of the table.
    pub(crate) fn has_pre(&self) -> bool {
        matches!(self.make, Make::Ranked | Make::Dna)
    }

    /// The steps of a vocabulary that is a [`Flow`]; `barred` tells which pieces text never
    /// becomes.
    pub(crate) fn flow(
        &self,
        m: Metadata<'_>,
        pieces: &Pieces,
        kinds: &[PieceKind],
        barred: impl Fn(u32) -> bool,
    ) -> Result<Flow, Error> {
        let flag = |name, usual: bool| Ok::<_, Error>(load::flag(m, name)?.unwrap_or(usual));
        let usable = |id: &u32| !barred(*id) && kinds[*id as usize] != PieceKind::Byte;
        let ids = || (0..kinds.len() as u32).filter(usable);
        let texts = || ids().map(move |id| (id, pieces.get(id).unwrap_or_default().as_bytes()));
        let mut flow = Flow {
            normal: Vec::new(),
            added: None,
            cuts: Vec::new(),
            model: Model::Greedy(Trie::new(std::iter::empty())?),
            prefixed: false,
        };
        match self.make {
            Make::WordPiece => {
                let lowercase = flag("normalizer.lowercase", true)?;
                let strip = flag("normalizer.strip_accents", lowercase)?;
                flow.normal = bert(true, true, strip, lowercase);
                flow.cuts.push(Cut::Sides(split::bert));
                let trie = Trie::new(texts())?;
                flow.model = Model::WordPiece(WordPiece::new(trie, "▁", "", LONGEST_WORD));
                flow.prefixed = true;
            }
            Make::Unigram => {
                let (prefix, merge) =
                    (flag("add_space_prefix", false)?, flag("remove_extra_whitespaces", false)?);
                let map = load::bytes(m, "precompiled_charsmap")?.unwrap_or_default();
                flow.normal =
                    vec![Normal::Charsmap(Charsmap::new(&map)?), Normal::Spaces { prefix, merge }];
                let mut scores: Vec<f64> =
                    load::needed_scores(m, kinds.len())?.into_iter().map(f64::from).collect();
                let mut worst = f64::MAX;
                for (score, kind) in scores.iter_mut().zip(kinds) {
                    match kind {
                        PieceKind::Normal => worst = worst.min(*score),
                        PieceKind::UserDefined => *score = 0.0,
                        _ => {}
                    }
                }
                let worst = if worst == f64::MAX { 0.0 } else { worst };
                let model = Unigram::new(Trie::new(texts())?, scores, worst);
                flow.model = Model::Unigram { model, bytes: kinds.contains(&PieceKind::Byte) };
                flow.prefixed = prefix || merge;
            }
            Make::Greedy => {
                let read: Vec<(u32, Vec<u8>)> =
                    texts().map(|(id, piece)| (id, rwkv::unescape(piece))).collect();
                let read = read.iter().map(|(id, piece)| (*id, piece.as_slice()));
                flow.model = Model::Greedy(Trie::new(read)?);
            }
            Make::Plamo => {
                flow.normal.push(Normal::DropFirst('\u{feff}'));
                let scores = load::needed_scores(m, kinds.len())?;
                flow.model = Model::Plamo(Plamo::new(Trie::new(texts())?, &scores));
            }
            Make::Scored | Make::Ranked | Make::Dna | Make::Spaced => {
                if flag("normalizer.lowercase", false)? {
                    flow.normal.push(Normal::Lowercase);
                }
                flow.cuts.push(Cut::Sides(split::white));
                let merges = Merges::new(load::strings(m, "merges")?, pieces, &barred)?;
                flow.model = Model::Bpe(Bpe {
                    merges,
                    whole: false,
                    bytes: true,
                    fuse: false,
                    unknown: false,
                });
            }
        }
        Ok(flow)
    }
}

/// A longer word is unknown, as in the tokenizers BERT models were trained with.
pub(crate) const LONGEST_WORD: usize = 100;

/// BERT's normalizer.
pub(crate) fn bert(clean: bool, han: bool, strip: bool, lowercase: bool) -> Vec<Normal> {
    let mut out = Vec::new();
    if clean {
        out.push(Normal::Clean);
    }
    if han {
        out.push(Normal::PadHan);
    }
    if strip {
        out.extend([Normal::Form(NFD), Normal::StripMarks { all: false }]);
    }
    if lowercase {
        out.push(Normal::Lowercase);
    }
    out
}
