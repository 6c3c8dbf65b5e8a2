//! Word scanners: GPT-2's, the Llama 3 and Qwen 2 family's, and DeepSeek V3's.

use recinto_os::Wiped;

use super::{
    chars::{L, M, N, P, Part, S, W},
    mark_or_letter, other, point_or_symbol,
};

/// What sets the members of the Llama 3 and Qwen 2 family apart.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Longest run of digits that stays together.
    pub digits: u32,
    /// `'s`, `'re` and so on are words, in either case.
    pub contractions: bool,
    /// Accents are part of words.
    pub marks: bool,
    /// Line ends stay with the punctuation before them.
    pub tail: bool,
    /// White space is cut in runs of 512, 256, … 4, 2, 1.
    pub halves: bool,
}

/// Qwen 2's.
pub(crate) const PLAIN: Rule =
    Rule { digits: 1, contractions: true, marks: false, tail: true, halves: false };

/// Length of the English contraction at `at`, or 0; `lower` reads a character.
#[inline]
pub(super) fn contraction(part: Part<'_>, at: usize, lower: impl Fn(char) -> char) -> usize {
    if part.char(at) != '\'' {
        return 0;
    }
    match (lower(part.char(at + 1)), lower(part.char(at + 2))) {
        ('s' | 't' | 'm' | 'd', _) => 2,
        ('r' | 'v', 'e') | ('l', 'l') => 3,
        _ => 0,
    }
}

/// Where the white space at `at` is cut: all of it, or all but the last before a word.
fn white(part: Part<'_>, at: usize) -> usize {
    let end = part.run(at, |_, bits| bits & W != 0);
    if end - at > 1 && end < part.end() { end - 1 } else { end }
}

/// The same, but a line end cuts after the last one.
pub(super) fn white_lines(part: Part<'_>, at: usize) -> usize {
    let end = part.run(at, |_, bits| bits & W != 0);
    let mut last = end;
    while last > at && !matches!(part.char(last - 1), '\r' | '\n') {
        last -= 1;
    }
    if last > at {
        last
    } else if end - at > 1 && end < part.end() {
        end - 1
    } else {
        end
    }
}

/// Where a run of digits at `at`, at most `most` long, ends.
pub(super) fn digits(part: Part<'_>, at: usize, most: u32) -> usize {
    let stop = at.saturating_add(most as usize);
    let mut end = at;
    while end < stop && part.bits(end) & N != 0 {
        end += 1;
    }
    end
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
pub(crate) fn gpt2(part: Part<'_>, ends: &mut Wiped<u32>) {
    let mut at = part.start;
    while at < part.end() {
        let short = contraction(part, at, |c| c);
        let from = at + usize::from(part.char(at) == ' ' && at + 1 < part.end());
        let bits = part.bits(from);
        at = if short > 0 {
            at + short
        } else if bits & L != 0 {
            part.run(from, |_, bits| bits & L != 0)
        } else if bits & N != 0 {
            part.run(from, |_, bits| bits & N != 0)
        } else if other(bits) {
            part.run(from, |_, bits| other(bits))
        } else {
            white(part, at)
        };
        ends.push(at as u32);
    }
}

/// `contraction|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|…`
pub(crate) fn words(part: Part<'_>, rule: Rule, ends: &mut Wiped<u32>) {
    let letters = if rule.marks { L | M } else { L };
    let other = |c: char, bits: u8| {
        bits & (W | N | letters) == 0 && (rule.tail || !matches!(c, '\r' | '\n'))
    };
    let mut at = part.start;
    while at < part.end() {
        let (c, bits) = (part.char(at), part.bits(at));
        let short =
            if rule.contractions { contraction(part, at, |c| c.to_ascii_lowercase()) } else { 0 };
        let leads = !matches!(c, '\r' | '\n') && bits & N == 0;
        let from = at + usize::from(c == ' ' && at + 1 < part.end());
        at = if short > 0 {
            at + short
        } else if leads && (bits | part.bits(at + 1)) & letters != 0 {
            part.run(at + 1, |_, bits| bits & letters != 0)
        } else if bits & N != 0 {
            digits(part, at, rule.digits)
        } else if other(part.char(from), part.bits(from)) {
            let end = part.run(from, other);
            if rule.tail { part.run(end, |c, _| matches!(c, '\r' | '\n')) } else { end }
        } else if rule.halves {
            halved(part, at, ends)
        } else {
            white_lines(part, at)
        };
        if ends.last() != Some(&(at as u32)) {
            ends.push(at as u32);
        }
    }
}

/// `\s{512}(?!\\S)|…|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s` up to the last one before a word, after
/// lines: cuts all but the last piece, whose end it returns.
fn halved(part: Part<'_>, at: usize, ends: &mut Wiped<u32>) -> usize {
    let lines = white_lines(part, at);
    if matches!(part.char(lines - 1), '\r' | '\n') {
        return lines;
    }
    let end = part.run(at, |_, bits| bits & W != 0);
    // Before a word the last one is not among them, unless it is the only one.
    let stop = if end < part.end() { end - 1 } else { end };
    let mut from = at;
    while from < stop {
        let size = [512, 256, 128, 64, 32, 16, 8, 4, 2, 1].into_iter().find(|n| *n <= stop - from);
        from += size.unwrap_or(1);
        ends.push(from as u32);
    }
    if from == at { at + 1 } else { from }
}

/// One ASCII mark with the letters after it, words with accents, runs of marks; numbers and what
/// has no class stay whole between them.
pub(crate) fn marks(part: Part<'_>, tail: bool, ends: &mut Wiped<u32>) {
    let mut gap = part.start;
    let mut at = part.start;
    while at < part.end() {
        let (c, bits) = (part.char(at), part.bits(at));
        let next = part.char(at + 1);
        let leads = !matches!(c, '\r' | '\n') && bits & (L | P | S) == 0;
        let from = at + usize::from(c == ' ' && at + 1 < part.end());
        let end = if c.is_ascii_punctuation() && next.is_ascii_alphabetic() {
            part.run(at + 1, |c, _| c.is_ascii_alphabetic())
        } else if leads && mark_or_letter(part.bits(at + 1)) {
            part.run(at + 1, |_, bits| mark_or_letter(bits))
        } else if mark_or_letter(bits) {
            part.run(at, |_, bits| mark_or_letter(bits))
        } else if point_or_symbol(part.bits(from)) {
            let end = part.run(from, |_, bits| point_or_symbol(bits));
            if tail { part.run(end, |c, _| matches!(c, '\r' | '\n')) } else { end }
        } else if bits & W == 0 {
            at += 1;
            continue;
        } else if tail {
            white_lines(part, at)
        } else if matches!(c, '\r' | '\n') {
            at + 1
        } else {
            white(part, at)
        };
        if at > gap {
            ends.push(at as u32);
        }
        ends.push(end as u32);
        (gap, at) = (end, end);
    }
    if gap < part.end() {
        ends.push(part.end() as u32);
    }
}
