//! `model` of `tokenizer.json`: the vocabulary and what makes pieces of a word.

use super::{
    Added,
    part::{Part, invalid},
};
use crate::{
    Error, PieceKind,
    bytes::byte_piece,
    error::shown,
    families::LONGEST_WORD,
    flow::{Bpe, Model},
    merges::Merges,
    pieces::Pieces,
    trie::Trie,
    unigram::Unigram,
    wordpiece::WordPiece,
};

/// A vocabulary before its pieces are indexed.
pub(crate) struct Vocabulary<'j> {
    /// Its kind, one lower-case word.
    pub word: &'static str,
    /// In front of pieces that go on a word.
    pub joint: String,
    pub unknown: Option<u32>,
    /// By id; a gap is empty.
    texts: Vec<&'j str>,
    how: How<'j>,
}

enum How<'j> {
    WordPiece { most: usize },
    Unigram { scores: Vec<f64>, bytes: bool },
    Bpe { merges: Vec<(&'j str, &'j str)>, whole: bool, bytes: bool, fuse: bool },
}

pub(crate) fn vocabulary<'j>(model: &Part<'j>) -> Result<Vocabulary<'j>, Error> {
    let word = match model.text("type")? {
        Some(word) => word,
        // Files of early versions do not say.
        None if model.get("merges").is_some() => "BPE",
        None if model.get("max_input_chars_per_word").is_some() => "WordPiece",
        None if model.get("unk_id").is_some() => "Unigram",
        None => model.kind()?,
    };
    match word {
        "WordPiece" => wordpiece(model),
        "Unigram" => unigram(model),
        "BPE" => bpe(model),
        other => Err(model.unsupported("the model", other)),
    }
}

/// Puts `text` at its place among `texts`.
fn put<'j>(texts: &mut Vec<&'j str>, id: u32, text: &'j str) {
    if texts.len() <= id as usize {
        texts.resize(id as usize + 1, "");
    }
    texts[id as usize] = text;
}

fn texts<'j>(model: &Part<'j>) -> Result<Vec<&'j str>, Error> {
    let mut out = Vec::new();
    for (text, id) in model.need("vocab")?.entries()? {
        put(&mut out, id.id()?, text);
    }
    if out.is_empty() {
        return Err(invalid("`model.vocab` in tokenizer.json has no pieces"));
    }
    Ok(out)
}

/// The id of the piece that a field of the model names.
fn unknown(model: &Part<'_>, texts: &[&str]) -> Result<Option<u32>, Error> {
    let Some(word) = model.text("unk_token")? else { return Ok(None) };
    let at = texts.iter().position(|text| *text == word);
    let at = at.ok_or_else(|| {
        invalid(format!("`model.unk_token` is `{}`, which is no piece", shown(word)))
    })?;
    Ok(Some(at as u32))
}

fn wordpiece<'j>(model: &Part<'j>) -> Result<Vocabulary<'j>, Error> {
    let texts = texts(model)?;
    let unknown = unknown(model, &texts)?;
    if unknown.is_none() {
        return Err(invalid("`model.unk_token` is missing, which WordPiece needs"));
    }
    let most = match model.get("max_input_chars_per_word") {
        Some(part) => part.value.as_u64().and_then(|most| usize::try_from(most).ok()),
        None => Some(LONGEST_WORD),
    };
    let most = most.ok_or_else(|| invalid("`model.max_input_chars_per_word` is not a count"))?;
    let joint = model.text("continuing_subword_prefix")?.unwrap_or("##").to_owned();
    Ok(Vocabulary { word: "wordpiece", joint, unknown, texts, how: How::WordPiece { most } })
}

fn unigram<'j>(model: &Part<'j>) -> Result<Vocabulary<'j>, Error> {
    let (mut texts, mut scores) = (Vec::new(), Vec::new());
    for row in model.need("vocab")?.array()? {
        let mut row = row.array()?;
        let (Some(text), Some(score)) = (row.next(), row.next()) else {
            return Err(invalid("a row of `model.vocab` is not a piece and a score"));
        };
        texts.push(text.str()?);
        scores.push(score.number()?);
    }
    if texts.is_empty() || texts.len() > crate::load::MAX_PIECES {
        return Err(invalid(format!("`model.vocab` has {} pieces", texts.len())));
    }
    let unknown = model.get("unk_id").map(|part| part.id()).transpose()?;
    if let Some(id) = unknown.filter(|id| *id as usize >= texts.len()) {
        return Err(invalid(format!("`model.unk_id` is {id} of {} pieces", texts.len())));
    }
    let bytes = model.flag("byte_fallback", false)?;
    let how = How::Unigram { scores, bytes };
    Ok(Vocabulary { word: "unigram", joint: String::new(), unknown, texts, how })
}

fn bpe<'j>(model: &Part<'j>) -> Result<Vocabulary<'j>, Error> {
    model.refuse("dropout")?;
    model.refuse("end_of_word_suffix")?;
    model.refuse("continuing_subword_prefix")?;
    let texts = texts(model)?;
    let mut merges = Vec::new();
    for part in model.need("merges")?.array()? {
        let pair = match part.value {
            serde_json::Value::String(line) => line.split_once(' '),
            _ => {
                let mut both = part.array()?;
                let (left, right, more) = (both.next(), both.next(), both.next());
                match (left, right, more) {
                    (Some(left), Some(right), None) => Some((left.str()?, right.str()?)),
                    _ => None,
                }
            }
        };
        let pair =
            pair.ok_or_else(|| invalid(format!("merge {} is not two pieces", merges.len())))?;
        merges.push(pair);
    }
    let how = How::Bpe {
        merges,
        whole: model.flag("ignore_merges", false)?,
        bytes: model.flag("byte_fallback", false)?,
        fuse: model.flag("fuse_unk", false)?,
    };
    let unknown = unknown(model, &texts)?;
    Ok(Vocabulary { word: "bpe", joint: String::new(), unknown, texts, how })
}

impl<'j> Vocabulary<'j> {
    /// All pieces by id, the added ones among them.
    pub(crate) fn with(&self, added: &[Added<'j>]) -> Result<Vec<&'j str>, Error> {
        let mut out = self.texts.clone();
        for added in added {
            put(&mut out, added.id, added.content);
        }
        Ok(out)
    }

    /// Pieces such as `<0x0A>` are bytes where the model says so.
    pub(crate) fn mark_bytes(&self, pieces: &Pieces, kinds: &mut [PieceKind]) {
        if !matches!(self.how, How::Unigram { bytes: true, .. } | How::Bpe { bytes: true, .. }) {
            return;
        }
        for (id, kind) in (0..).zip(kinds) {
            if pieces.get(id).is_some_and(|piece| byte_piece(piece).is_some()) {
                *kind = PieceKind::Byte;
            }
        }
    }

    /// What makes pieces of a word; never one that `barred` names.
    pub(crate) fn model(
        &self,
        pieces: &Pieces,
        barred: impl Fn(u32) -> bool,
    ) -> Result<Model, Error> {
        let usable = (0..).zip(&self.texts).filter(|(id, _)| !barred(*id));
        let trie = || Trie::new(usable.clone().map(|(id, text)| (id, text.as_bytes())));
        Ok(match &self.how {
            How::WordPiece { most } => {
                Model::WordPiece(WordPiece::new(trie()?, "", &self.joint, *most))
            }
            How::Unigram { scores, bytes } => {
                let worst = scores.iter().copied().fold(f64::MAX, f64::min);
                let model = Unigram::new(trie()?, scores.clone(), worst);
                Model::Unigram { model, bytes: *bytes }
            }
            How::Bpe { merges, whole, bytes, fuse } => Model::Bpe(Bpe {
                merges: Merges::from_pairs(merges, &self.joint, pieces, &barred)?,
                whole: *whole,
                bytes: *bytes,
                fuse: *fuse,
                unknown: true,
            }),
        })
    }
}

/// Decoders only undo what the steps before did; those that do more are refused.
pub(crate) fn decoder(root: &Part<'_>) -> Result<(), Error> {
    fn check(part: &Part<'_>) -> Result<(), Error> {
        match part.kind()? {
            "Sequence" => part.need("decoders")?.array()?.try_for_each(|part| check(&part)),
            "ByteLevel" | "Metaspace" | "WordPiece" | "ByteFallback" | "Fuse" | "Strip"
            | "Replace" => Ok(()),
            other => Err(part.unsupported("the decoder", other)),
        }
    }
    root.get("decoder").map_or(Ok(()), |part| check(&part))
}
