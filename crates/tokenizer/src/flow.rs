//! Vocabularies that rewrite and cut text in steps: normalizers, added pieces, pre-tokenizers,
//! and a model that makes pieces of each word.

use std::ops::Range;

use recinto_os::Wiped;

use crate::{
    Error, Token, Tokenizer,
    cut::{Cut, Word, Words},
    error::Kind,
    merge::{BARRED, Merger, NONE},
    merges::Merges,
    normal::Normal,
    plamo::{Plamo, Step},
    special::Specials,
    traced::Traced,
    trie::Trie,
    unigram::{Unigram, Ways},
    wordpiece::WordPiece,
};

/// All steps of a vocabulary.
pub(crate) struct Flow {
    pub normal: Vec<Normal>,
    /// Pieces that are looked for in the normalized text.
    pub added: Option<Specials>,
    pub cuts: Vec<Cut>,
    pub model: Model,
    /// The first space of a decoded text was put there by the vocabulary.
    pub prefixed: bool,
}

/// What makes pieces of a word.
pub(crate) enum Model {
    Bpe(Bpe),
    WordPiece(WordPiece),
    /// `bytes`: what has no piece becomes its bytes where all of them have one.
    Unigram {
        model: Unigram,
        bytes: bool,
    },
    Plamo(Plamo),
    /// The longest piece, from the left; pieces are bytes, not characters.
    Greedy(Trie),
}

/// Byte-pair encoding over characters.
pub(crate) struct Bpe {
    pub merges: Merges,
    /// A word that is a piece is taken whole.
    pub whole: bool,
    /// Characters without a piece become their bytes where all of them have one.
    pub bytes: bool,
    /// Neighbours without a piece become one.
    pub fuse: bool,
    /// What has no piece becomes the one for the unknown; else it gives no id.
    pub unknown: bool,
}

/// Buffers of a run; wiped when dropped.
#[derive(Default)]
pub(crate) struct Work {
    words: Words,
    other: Traced,
    merger: Merger,
    ways: Ways,
    steps: Wiped<Step>,
}

impl Flow {
    /// Encodes the stretch of the original at `range`; `content` is sorted and apart.
    pub(crate) fn stretch(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        range: Range<usize>,
        content: &[Range<usize>],
        work: &mut Work,
        out: &mut Wiped<Token>,
    ) -> Result<(), Error> {
        let most = range.len().saturating_mul(GROWTH.0).saturating_add(GROWTH.1);
        work.words.limit(most);
        work.other.limit(most);
        work.words.text.read(&text[range.clone()], range.start as u32);
        for rule in &self.normal {
            work.other.clear();
            rule.apply(&work.words.text, &mut work.other);
            std::mem::swap(&mut work.words.text, &mut work.other);
            grown(&work.words.text)?;
        }
        self.divide(content, &mut work.words);
        for cut in &self.cuts {
            work.words.cut(cut);
            grown(&work.words.text)?;
        }
        let Work { words, merger, ways, steps, .. } = work;
        let read = words.text.as_str();
        for Word { start, end, id } in words.words.iter().copied() {
            if id != NONE {
                out.push(Token { id, start, end });
                continue;
            }
            let (start, end) = (start as usize, end as usize);
            let word = read.get(start..end).unwrap_or_default();
            let mut emit = Emit { tokenizer, text: &words.text, at: start, out, fault: None };
            match &self.model {
                Model::Bpe(bpe) => bpe.word(word, merger, &mut emit),
                Model::WordPiece(model) => {
                    model.word(word.as_bytes(), |from, to, id| emit.piece(from, to, id));
                }
                Model::Unigram { model, bytes } => {
                    model
                        .word(word, ways, |from, to, id| emit.piece_or_bytes(from, to, id, *bytes));
                }
                Model::Plamo(model) => {
                    model.word(word, steps, |from, to, id| emit.piece_or_bytes(from, to, id, true));
                }
                Model::Greedy(trie) => {
                    let mut at = 0;
                    while at < word.len() {
                        let found = trie.longest(0, &word.as_bytes()[at..]);
                        let (len, id) = found.unwrap_or((1, NONE));
                        emit.piece(at, at + len, id);
                        at += len;
                    }
                }
            }
            if let Some(at) = emit.fault {
                return Err(tokenizer.unencodable(at));
            }
        }
        Ok(())
    }

    /// The first words: what lies between the pieces that are looked for in normalized text.
    fn divide(&self, content: &[Range<usize>], all: &mut Words) {
        let Words { text, words, .. } = all;
        words.clear();
        let mut at = 0;
        let rest = |start: usize, end: usize, words: &mut Wiped<Word>| {
            if start < end {
                words.push(Word { start: start as u32, end: end as u32, id: NONE });
            }
        };
        if let Some(added) = &self.added {
            let content = rewritten(content, text);
            for hit in added.leftmost(text.as_str(), &content).iter() {
                let (start, end) = (hit.start as usize, hit.end as usize);
                rest(at, start, words);
                let (from, to) = text.spans(start, end);
                words.push(Word { start: from, end: to, id: hit.id });
                at = end;
            }
        }
        rest(at, text.len(), words);
    }
}

/// How many times as long the steps of a vocabulary may make a text, and how many bytes besides.
/// The worst character of Unicode becomes eleven times as long; bytes of it are written in two.
const GROWTH: (usize, usize) = (32, 4096);

fn grown(text: &Traced) -> Result<(), Error> {
    if !text.is_full() {
        return Ok(());
    }
    let what = format!("the vocabulary's steps make the text more than {} times as long", GROWTH.0);
    Err(Error::new(Kind::Argument, what)
        .hint("its normalizers or pre-tokenizers repeat themselves"))
}

/// Where content lies in the normalized text.
fn rewritten(content: &[Range<usize>], text: &Traced) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut ahead = content.iter().peekable();
    for (at, c, (start, end)) in text.chars() {
        let (start, end) = (start as usize, end as usize);
        while ahead.next_if(|range| range.end <= start).is_some() {}
        if ahead.peek().is_some_and(|range| range.start < end.max(start + 1)) {
            let end = at + c.len_utf8();
            match out.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => out.push(at..end),
            }
        }
    }
    out
}

impl Bpe {
    fn word(&self, word: &str, merger: &mut Merger, emit: &mut Emit<'_>) {
        let tokenizer = emit.tokenizer;
        let find = |piece: &[u8]| tokenizer.pieces.find(piece).filter(|id| tokenizer.allows(*id));
        if let Some(id) = find(word.as_bytes()).filter(|_| self.whole) {
            return emit.piece(0, word.len(), id);
        }
        merger.clear();
        for (at, c) in word.char_indices() {
            let (start, end) = (at as u32, (at + c.len_utf8()) as u32);
            let bytes = &word.as_bytes()[at..end as usize];
            match find(bytes) {
                Some(id) => merger.push(start, end, id),
                None if self.bytes && tokenizer.has_bytes(bytes) => {
                    for (at, byte) in (start..).zip(bytes) {
                        merger.push(at, at + 1, tokenizer.bytes[usize::from(*byte)]);
                    }
                }
                None => merger.push(start, end, NONE),
            }
        }
        merger.run(|left, right| self.merges.get(left.id, right.id));
        let mut unknown: Option<(usize, usize)> = None;
        let unknowns = self.unknown && tokenizer.unknown.is_some();
        for (_, symbol) in merger.result() {
            let (start, end) = (symbol.start as usize, symbol.end as usize);
            if symbol.id == NONE {
                if !unknowns {
                    continue;
                }
                match &mut unknown {
                    Some(range) if self.fuse => range.1 = end,
                    _ => {
                        emit.unknown(unknown.take());
                        unknown = Some((start, end));
                    }
                }
                continue;
            }
            emit.unknown(unknown.take());
            emit.piece(start, end, symbol.id);
        }
        emit.unknown(unknown);
    }
}

/// Where the pieces of a word go.
struct Emit<'a> {
    tokenizer: &'a Tokenizer,
    text: &'a Traced,
    /// Where the word begins in the rewritten text.
    at: usize,
    out: &'a mut Wiped<Token>,
    /// The first byte of the original that nothing stands for.
    fault: Option<u32>,
}

impl Emit<'_> {
    /// The piece `id`, or the one for the unknown, for a part of the word.
    fn piece(&mut self, start: usize, end: usize, id: u32) {
        let (from, to) = self.text.spans(self.at + start, self.at + end);
        let id = Some(id).filter(|id| !matches!(*id, NONE | BARRED)).or(self.tokenizer.unknown);
        match id {
            Some(id) => self.out.push(Token { id, start: from, end: to }),
            None => self.fault = self.fault.or(Some(from)),
        }
    }

    fn piece_or_bytes(&mut self, start: usize, end: usize, id: u32, bytes: bool) {
        let text = self.text.bytes();
        let part = text.get(self.at + start..self.at + end).unwrap_or_default();
        if id != NONE || !bytes || !self.tokenizer.has_bytes(part) {
            return self.piece(start, end, id);
        }
        for (at, byte) in (start..).zip(part) {
            self.piece(at, at + 1, self.tokenizer.bytes[usize::from(*byte)]);
        }
    }

    /// The piece for the unknown, if there is a range for it.
    fn unknown(&mut self, range: Option<(usize, usize)>) {
        if let Some((start, end)) = range {
            self.piece(start, end, NONE);
        }
    }
}
