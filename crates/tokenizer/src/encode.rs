//! Text to tokens: specials first, then the text between them.

use std::ops::Range;

use recinto_os::Wiped;

use crate::{
    Error, Token, Tokenizer,
    bytes::CHARS,
    error::Kind,
    flow,
    merge::{BARRED, Merger, NONE},
    merges::Merges,
    special::Hit,
    split::{self, Chars, Pre},
    tokenizer::Model,
};

/// See [`Tokenizer::encode`].
pub(crate) fn encode(
    tokenizer: &Tokenizer,
    text: &str,
    content: &[Range<usize>],
) -> Result<Wiped<Token>, Error> {
    if text.len() >= NONE as usize {
        let what = format!("a text of {} bytes is too long; split it", text.len());
        return Err(Error::new(Kind::Argument, what));
    }
    let content = tidy(content, text.len())?;
    let hits = match tokenizer.leftmost {
        true => tokenizer.specials.leftmost(text, &content),
        false => tokenizer.specials.find(text, &content),
    };
    let (out, work) = (Wiped::default(), Work::default());
    let mut run = Run { tokenizer, text, content: &content, out, work };
    let mut at = 0;
    for Hit { id, start, end } in hits.iter().copied() {
        run.ordinary(at..start as usize)?;
        run.out.push(Token { id, start, end });
        at = end as usize;
    }
    run.ordinary(at..text.len())?;
    // Bytes without a piece belong to a neighbour's range, but not white space that is dropped.
    if let Some(first) = run.out.first_mut().filter(|_| !matches!(tokenizer.model, Model::Flow(_)))
    {
        first.start = 0;
    }
    Ok(run.out)
}

/// Sorted, apart and not empty.
fn tidy(content: &[Range<usize>], len: usize) -> Result<Vec<Range<usize>>, Error> {
    let mut out: Vec<Range<usize>> = Vec::with_capacity(content.len());
    for range in content {
        if range.start > range.end || range.end > len {
            let what = format!(
                "content range {}..{} does not fit a text of {len} bytes",
                range.start, range.end
            );
            return Err(Error::new(Kind::Argument, what));
        }
        if !range.is_empty() {
            out.push(range.clone());
        }
    }
    out.sort_unstable_by_key(|range| range.start);
    out.dedup_by(|next, last| {
        let joined = next.start <= last.end;
        if joined {
            last.end = last.end.max(next.end);
        }
        joined
    });
    Ok(out)
}

/// Buffers that are used again for every stretch and wiped at the end.
#[derive(Default)]
struct Work {
    chars: Chars,
    ends: Wiped<u32>,
    merger: Merger,
    /// Text with spaces as `▁`, or a word in the byte-level alphabet.
    written: Wiped<u8>,
    /// Where each symbol begins in the original text.
    origin: Wiped<u32>,
    flow: flow::Work,
}

struct Run<'a> {
    tokenizer: &'a Tokenizer,
    text: &'a str,
    content: &'a [Range<usize>],
    out: Wiped<Token>,
    work: Work,
}

impl Run<'_> {
    /// Encodes a stretch without specials.
    fn ordinary(&mut self, range: Range<usize>) -> Result<(), Error> {
        if range.is_empty() {
            return Ok(());
        }
        match &self.tokenizer.model {
            Model::Spm { priorities, prefix } => self.scored(range, priorities, *prefix),
            Model::Flow(flow) => {
                let (work, out) = (&mut self.work.flow, &mut self.out);
                flow.stretch(self.tokenizer, self.text, range, self.content, work, out)
            }
            Model::Bpe { merges, pre, dna: None } => self.ranked(range, merges, pre),
            Model::Bpe { merges, pre, dna: Some(dna) } => {
                let (tokenizer, from) = (self.tokenizer, range.start);
                let find =
                    |piece: &[u8]| tokenizer.pieces.find(piece).filter(|id| tokenizer.allows(*id));
                for (part, id) in dna.parts(&self.text[range], find) {
                    let (start, end) = (from + part.start, from + part.end);
                    match id {
                        Some(id) => {
                            self.out.push(Token { id, start: start as u32, end: end as u32 });
                        }
                        None => self.ranked(start..end, merges, pre)?,
                    }
                }
                Ok(())
            }
        }
    }

    /// Byte-pair encoding: cuts a stretch in words.
    fn ranked(&mut self, range: Range<usize>, merges: &Merges, pre: &Pre) -> Result<(), Error> {
        let mut chars = std::mem::take(&mut self.work.chars);
        let mut ends = std::mem::take(&mut self.work.ends);
        chars.read(&self.text[range.clone()]);
        split::cut(&chars, pre.stages, &mut ends);
        let mut start = range.start;
        let mut done = Ok(());
        for end in ends.iter().map(|end| range.start + chars.byte(*end) as usize) {
            done = done.and_then(|()| self.word(start..end, merges, pre));
            start = end;
        }
        (self.work.chars, self.work.ends) = (chars, ends);
        done
    }

    /// SentencePiece-style: the whole stretch is one word.
    fn scored(
        &mut self,
        range: Range<usize>,
        priorities: &[u32],
        prefix: bool,
    ) -> Result<(), Error> {
        self.escape(range, prefix);
        let Work { merger, written, .. } = &mut self.work;
        let tokenizer = self.tokenizer;
        merger.run(|left, right| {
            let id = tokenizer.pieces.find(&written[left.start as usize..right.end as usize])?;
            // Nothing but the text of a special itself, in the scaffold, makes a special.
            tokenizer.allows(id).then(|| (priorities[id as usize], id))
        });
        self.emit()
    }

    /// One word of byte-pair encoding.
    fn word(&mut self, range: Range<usize>, merges: &Merges, pre: &Pre) -> Result<(), Error> {
        if pre.escaped {
            self.escape(range.clone(), false);
            let lines = || self.text.as_bytes()[range.clone()].iter().all(|b| *b == b'\n');
            if pre.lines_whole && lines() && self.taken_whole(&range) {
                return Ok(());
            }
            self.work.merger.run(|left, right| merges.get(left.id, right.id));
            return self.emit();
        }
        let bytes = &self.text.as_bytes()[range.clone()];
        if pre.whole && bytes.len() <= self.tokenizer.pieces.longest {
            self.work.written.clear();
            for byte in bytes {
                let c = CHARS[*byte as usize];
                self.work.written.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            if self.taken_whole(&range) {
                return Ok(());
            }
        }
        let merger = &mut self.work.merger;
        merger.clear();
        for (at, byte) in bytes.iter().enumerate() {
            let start = (range.start + at) as u32;
            merger.push(start, start + 1, self.tokenizer.bytes[*byte as usize]);
        }
        merger.run(|left, right| merges.get(left.id, right.id));
        for (_, symbol) in merger.result() {
            if symbol.id == BARRED {
                return Err(self.tokenizer.unencodable(symbol.start));
            } else if symbol.id != NONE {
                self.out.push(Token { id: symbol.id, start: symbol.start, end: symbol.end });
            } else if let Some(last) = self.out.last_mut() {
                // A byte without a piece gives no id, as in the reference.
                last.end = symbol.end;
            }
        }
        Ok(())
    }

    /// Takes `written` as one piece if it is one.
    fn taken_whole(&mut self, range: &Range<usize>) -> bool {
        let id = self.tokenizer.pieces.find(&self.work.written);
        let Some(id) = id.filter(|id| !self.tokenizer.is_special(*id)) else { return false };
        self.out.push(Token { id, start: range.start as u32, end: range.end as u32 });
        true
    }

    /// Writes the stretch with spaces as `▁` and makes each character a symbol.
    fn escape(&mut self, range: Range<usize>, prefix: bool) {
        let Work { merger, written, origin, .. } = &mut self.work;
        merger.clear();
        written.clear();
        origin.clear();
        let first = prefix.then_some((0, ' '));
        let rest = self.text[range.clone()].char_indices();
        for (at, c) in first.into_iter().chain(rest) {
            let start = written.len();
            let c = if c == ' ' { '▁' } else { c };
            written.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            // As in merging, and the bytes are left for what may not be this character.
            let id = self.tokenizer.pieces.find(&written[start..]);
            let id = id.filter(|id| self.tokenizer.allows(*id)).unwrap_or(NONE);
            merger.push(start as u32, written.len() as u32, id);
            origin.push((range.start + at) as u32);
        }
        origin.push(range.end as u32);
    }

    /// Turns what [`Run::escape`] wrote and the merger left into tokens.
    fn emit(&mut self) -> Result<(), Error> {
        let Work { merger, written, origin, .. } = &mut self.work;
        let mut symbols = merger.result().peekable();
        while let Some((first, symbol)) = symbols.next() {
            let next = symbols.peek().map_or(merger.len(), |(next, _)| *next);
            let (start, end) = (origin[first as usize], origin[next as usize]);
            if symbol.id != NONE {
                self.out.push(Token { id: symbol.id, start, end });
                continue;
            }
            let bytes = &written[symbol.start as usize..symbol.end as usize];
            // A `▁` of three bytes may stand for a space of one, or for none.
            for (at, byte) in bytes.iter().enumerate() {
                let last = at + 1 == bytes.len();
                let (from, to) = ((start + at as u32).min(end), (start + at as u32 + 1).min(end));
                let id = self.tokenizer.bytes[*byte as usize];
                let id = Some(id).filter(|id| !matches!(*id, NONE | BARRED));
                let id = id.or(self.tokenizer.unknown);
                let id = id.ok_or_else(|| self.tokenizer.unencodable(from))?;
                self.out.push(Token { id, start: from, end: if last { end } else { to } });
            }
        }
        Ok(())
    }
}
