//! Pre-tokenizers that come one after the other: each cuts, drops or rewrites the words before it.

use recinto_os::Wiped;
use zeroize::Zeroize;

use crate::{
    bytes::CHARS,
    merge::NONE,
    split::{self, Chars, Side, Stage},
    traced::Traced,
};

/// One pre-tokenizer.
pub(crate) enum Cut {
    /// Cuts where stages of the table of splitters cut; nothing is dropped.
    Stages(&'static [Stage]),
    /// Cuts and drops by what each character is.
    Sides(fn(char, u8) -> Side),
    /// Cuts at a text.
    Literal { text: String, how: How },
    /// Puts a space before words that do not begin with one.
    Space,
    /// Writes each byte in the byte-level alphabet.
    Bytes,
    /// Writes spaces as `mark`; with `split`, words begin at each of them.
    Marks { mark: char, prefix: Prefix, split: bool },
}

/// What becomes of a text that divides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Removed,
    Isolated,
    /// Isolated, neighbours together.
    Contiguous,
    WithPrevious,
    WithNext,
}

/// Which words get a mark in front that have none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    Never,
    /// Those at the very beginning of the original.
    First,
    Always,
}

/// A word: a range of the rewritten text, or a token with its range of the original.
#[derive(Clone, Copy, Default, Zeroize)]
pub(crate) struct Word {
    pub start: u32,
    pub end: u32,
    /// [`NONE`] for text that is not a token yet.
    pub id: u32,
}

/// The text and its words, and buffers for the next ones; wiped when dropped.
#[derive(Default)]
pub(crate) struct Words {
    pub text: Traced,
    pub words: Wiped<Word>,
    next: Wiped<Word>,
    rewritten: Traced,
    chars: Chars,
    ends: Wiped<u32>,
}

fn add(words: &mut Wiped<Word>, start: usize, end: usize) {
    if start < end {
        words.push(Word { start: start as u32, end: end as u32, id: NONE });
    }
}

impl Words {
    /// Neither the text nor a rewritten one takes more bytes than `most`.
    pub(crate) fn limit(&mut self, most: usize) {
        self.text.limit(most);
        self.rewritten.limit(most);
    }

    /// Applies one pre-tokenizer to every word that is not a token.
    pub(crate) fn cut(&mut self, cut: &Cut) {
        let Words { text, words, next, rewritten, chars, ends } = self;
        next.clear();
        rewritten.clear();
        let all = text.as_str();
        for word in words.iter() {
            if word.id != NONE {
                next.push(*word);
                continue;
            }
            let (start, end) = (word.start as usize, word.end as usize);
            let part = all.get(start..end).unwrap_or_default();
            let begun = rewritten.len();
            match cut {
                Cut::Stages(stages) => {
                    chars.read(part);
                    split::cut(chars, stages, ends);
                    let mut from = start;
                    for end in ends.iter().map(|end| start + chars.byte(*end) as usize) {
                        add(next, from, end);
                        from = end;
                    }
                }
                Cut::Sides(side) => sides(part, start, *side, next),
                Cut::Literal { text, how } => literal(part, start, text, *how, next),
                Cut::Space => {
                    if !part.starts_with(' ') {
                        let at = text.span(start).0;
                        rewritten.push(' ', (at, at));
                    }
                    rewritten.copy(text, start, end);
                    add(next, begun, rewritten.len());
                }
                Cut::Bytes => {
                    for (at, byte) in part.bytes().enumerate() {
                        rewritten.push(CHARS[usize::from(byte)], text.byte_span(start + at));
                    }
                    add(next, begun, rewritten.len());
                }
                Cut::Marks { mark, prefix, split } => {
                    let at = text.span(start).0;
                    let wanted = match prefix {
                        Prefix::Never => false,
                        Prefix::First => at == 0,
                        Prefix::Always => true,
                    };
                    if wanted && !part.starts_with([' ', *mark]) {
                        rewritten.push(*mark, (at, at));
                    }
                    let mut from = begun;
                    for (at, c) in part.char_indices() {
                        let c = if c == ' ' { *mark } else { c };
                        if *split && c == *mark {
                            add(next, from, rewritten.len());
                            from = rewritten.len();
                        }
                        rewritten.push(c, text.span(start + at));
                    }
                    add(next, from, rewritten.len());
                }
            }
        }
        std::mem::swap(words, next);
        if matches!(cut, Cut::Space | Cut::Bytes | Cut::Marks { .. }) {
            std::mem::swap(text, rewritten);
        }
    }
}

fn sides(part: &str, start: usize, side: fn(char, u8) -> Side, out: &mut Wiped<Word>) {
    let mut from = 0;
    let mut last = Side::Drop;
    for (at, c) in part.char_indices() {
        let now = side(c, split::bits(c));
        if now != last || last == Side::Alone {
            if last != Side::Drop {
                add(out, start + from, start + at);
            }
            (from, last) = (at, now);
        }
    }
    if last != Side::Drop {
        add(out, start + from, start + part.len());
    }
}

fn literal(part: &str, start: usize, text: &str, how: How, out: &mut Wiped<Word>) {
    // What is not given away yet, and whether the last thing was a match.
    let (mut from, mut matched) = (0, false);
    for (at, found) in part.match_indices(text) {
        let end = at + found.len();
        match how {
            How::Removed => add(out, start + from, start + at),
            How::Isolated => {
                add(out, start + from, start + at);
                add(out, start + at, start + end);
            }
            How::Contiguous => {
                if !(matched && from == at) {
                    add(out, start + from, start + at);
                } else if let Some(last) = out.last_mut() {
                    last.end = (start + end) as u32;
                }
                if !(matched && from == at) {
                    add(out, start + at, start + end);
                }
            }
            How::WithPrevious => add(out, start + from, start + end),
            How::WithNext => {
                add(out, start + from, start + at);
                from = at;
                continue;
            }
        }
        (from, matched) = (end, true);
    }
    add(out, start + from, start + part.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words `text` becomes, a gap marked by where each begins in the original.
    fn words(cuts: &[Cut], text: &str) -> Vec<(String, u32, u32)> {
        let mut all = Words::default();
        all.text.read(text, 0);
        add(&mut all.words, 0, text.len());
        cuts.iter().for_each(|cut| all.cut(cut));
        let read = all.text.as_str();
        let one = |word: &Word| {
            let (start, end) = (word.start as usize, word.end as usize);
            let (from, to) = all.text.spans(start, end);
            (read[start..end].to_owned(), from, to)
        };
        all.words.iter().map(one).collect()
    }

    fn texts(cuts: &[Cut], text: &str) -> Vec<String> {
        words(cuts, text).into_iter().map(|word| word.0).collect()
    }

    fn at(text: &str, how: How) -> Cut {
        Cut::Literal { text: text.into(), how }
    }

    #[test]
    fn rules_and_texts() {
        let marks = |prefix, split| Cut::Marks { mark: '▁', prefix, split };
        let cases: &[(Cut, &str, &[&str])] = &[
            (Cut::Sides(split::white), " uno \u{3000}dos\n", &["uno", "dos"]),
            (Cut::Sides(split::whitespace), "¿Qué tal_2?!", &["¿", "Qué", "tal_2", "?!"]),
            (Cut::Sides(split::bert), "a+b, ¿no?", &["a", "+", "b", ",", "¿", "no", "?"]),
            (Cut::Sides(split::digits), "a12b", &["a", "1", "2", "b"]),
            (at("-", How::Removed), "a--b-", &["a", "b"]),
            (at("-", How::Isolated), "a--b-", &["a", "-", "-", "b", "-"]),
            (at("-", How::Contiguous), "a--b-", &["a", "--", "b", "-"]),
            (at("-", How::WithPrevious), "a--b-c", &["a-", "-", "b-", "c"]),
            (at("-", How::WithNext), "a--b-", &["a", "-", "-b", "-"]),
            (marks(Prefix::Always, true), "el  año", &["▁el", "▁", "▁año"]),
            (marks(Prefix::Never, true), "a b", &["a", "▁b"]),
            (marks(Prefix::First, false), " a b", &["▁a▁b"]),
            (Cut::Space, "a", &[" a"]),
            (Cut::Bytes, " ñ", &["ĠÃ±"]),
        ];
        for (number, (cut, text, want)) in cases.iter().enumerate() {
            assert_eq!(texts(std::slice::from_ref(cut), text), *want, "case {number}: {text:?}");
        }
    }

    #[test]
    fn origins_survive() {
        let cuts = [Cut::Space, Cut::Sides(split::white), Cut::Bytes];
        let want = [("Ã±a".to_owned(), 0, 3), ("b".to_owned(), 4, 5)];
        assert_eq!(words(&cuts, "ña b"), want);
    }
}
