//! Pre-tokenizers: where text is cut before merging, one row a word of `tokenizer.ggml.pre`.
//!
//! Splitters are scanners written by hand over Unicode general categories. Each takes linear time,
//! none calls itself, and each cuts where the regular expressions of the reference cut.

mod cased;
mod chars;
mod matches;
mod patterns;
mod phrases;
mod runs;
mod sides;
mod table;
mod words;

use recinto_os::Wiped;

pub(crate) use chars::{Chars, bits};
use chars::{L, M, N, P, Part, S, W};
pub(crate) use patterns::{REPLACED, SPLIT};
use runs::Lead;
pub(crate) use sides::{
    Side, bert, digits, is_bert_han, is_word, numbers, punctuation, punctuations, unpunctuated,
    white, whitespace,
};
pub(crate) use table::{DEFAULT, GEMMA4, GPT2, TABLE};

/// One pass over the text; each cuts inside the pieces of the one before.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    /// GPT-2's expression.
    Gpt2,
    /// The family of Llama 3 and Qwen 2.
    Words(words::Rule),
    /// The family of o200k: words are cut where the case changes.
    Cased(cased::Rule),
    /// DeepSeek V3's last expression; `tail`: line ends stay with the punctuation before them.
    Marks { tail: bool },
    /// Runs of a class, at most `most` long; what lies between stays whole.
    Runs { lead: Lead, class: Class, most: u32 },
    /// Digits in threes, counted from the right.
    Threes,
    /// White space at the end.
    Tail,
    /// Lines and runs of line ends.
    Lines,
    /// Groups of three digits, counted from the right end of a run; nothing else is cut.
    Groups,
    /// EXAONE MoE's expression: words with single spaces between them stay together.
    Phrases,
    /// Kimi K2's, with Chinese by itself.
    Kimi,
    /// Cuts out what a matcher finds, from the left.
    Matches(Matcher),
}

/// Where what begins at a character ends; the character itself when nothing does.
pub(crate) type Matcher = fn(Part<'_>, usize) -> usize;

/// A set of characters, from the character and its class bits.
pub(crate) type Class = fn(char, u8) -> bool;

/// One pre-tokenizer.
#[derive(Clone, Copy)]
pub(crate) struct Pre {
    /// Every word of `tokenizer.ggml.pre` that means it.
    pub words: &'static [&'static str],
    pub stages: &'static [Stage],
    /// A word that is a piece is taken whole.
    pub whole: bool,
    /// BOS is added unless the file says otherwise.
    pub add_bos: bool,
    /// Spaces become `▁` and bytes have pieces such as `<0x0A>`; else the byte-level alphabet.
    pub escaped: bool,
    /// A run of line ends that is a piece is taken whole, and BOS is added whatever the file says.
    pub lines_whole: bool,
    /// Special pieces that swallow the white space before them.
    pub strips_before: &'static [&'static str],
}

/// The pre-tokenizer with this word.
pub(crate) fn find(word: &str) -> Option<&'static Pre> {
    TABLE.iter().find(|pre| pre.words.contains(&word))
}

/// Cuts `chars` by all stages; `ends` gets the end of each piece, in characters.
pub(crate) fn cut(chars: &Chars, stages: &[Stage], ends: &mut Wiped<u32>) {
    ends.clear();
    if chars.len() == 0 {
        return;
    }
    ends.push(chars.len());
    let mut before = Wiped::default();
    for stage in stages {
        std::mem::swap(ends, &mut before);
        ends.clear();
        let mut start = 0;
        for end in before.iter().copied() {
            let part = chars.part(start, end);
            match *stage {
                Stage::Gpt2 => words::gpt2(part, ends),
                Stage::Words(rule) => words::words(part, rule, ends),
                Stage::Cased(rule) => cased::cased(part, rule, ends),
                Stage::Marks { tail } => words::marks(part, tail, ends),
                Stage::Runs { lead, class, most } => runs::runs(part, lead, class, most, ends),
                Stage::Threes => runs::threes(part, ends),
                Stage::Tail => runs::tail(part, ends),
                Stage::Lines => runs::lines(part, ends),
                Stage::Groups => runs::groups(part, ends),
                Stage::Phrases => phrases::phrases(part, ends),
                Stage::Kimi => phrases::kimi(part, ends),
                Stage::Matches(matcher) => matches::matches(part, matcher, ends),
            }
            start = end;
        }
    }
}

/// Bits that are neither white space nor letter nor number.
#[inline]
fn other(bits: u8) -> bool {
    bits & (W | L | N) == 0
}

#[inline]
fn mark_or_letter(bits: u8) -> bool {
    bits & (L | M) != 0
}

#[inline]
fn point_or_symbol(bits: u8) -> bool {
    bits & (P | S) != 0
}

#[cfg(test)]
mod tests;
