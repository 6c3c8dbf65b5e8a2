//! The scanner of o200k and Tekken: words are cut where lower case is followed by upper case.
//!
//! To the reference only ASCII letters have a case and any other letter fits both; the expressions
//! of `tokenizer.json` go by the case of every letter.

use recinto_os::Wiped;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::{
    chars::{L, M, N, Part},
    other, words,
};

/// What sets the members of the family apart.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Longest run of digits that stays together.
    pub digits: u32,
    /// `'s`, `'re` and so on stay with the word before them.
    pub contractions: bool,
    /// Accents are part of words.
    pub marks: bool,
    /// Which letters have a case.
    pub cases: Cases,
    /// Slashes stay with the punctuation before them.
    pub slash: bool,
}

/// Which letters have a case; the others fit both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cases {
    None,
    Ascii,
    Unicode,
}

impl Cases {
    /// Whether `c`, a letter or an accent, can stand among capitals.
    fn upper(self, c: char) -> bool {
        match self {
            Cases::None => true,
            Cases::Ascii => !c.is_ascii_lowercase(),
            Cases::Unicode if c.is_ascii() => !c.is_ascii_lowercase(),
            Cases::Unicode => c.general_category() != GeneralCategory::LowercaseLetter,
        }
    }

    /// Whether it can stand among small letters.
    fn lower(self, c: char) -> bool {
        use GeneralCategory::{TitlecaseLetter, UppercaseLetter};
        match self {
            Cases::None => true,
            Cases::Ascii => !c.is_ascii_uppercase(),
            Cases::Unicode if c.is_ascii() => !c.is_ascii_uppercase(),
            Cases::Unicode => !matches!(c.general_category(), UppercaseLetter | TitlecaseLetter),
        }
    }
}

/// GPT-4o's.
pub(crate) const O200K: Rule =
    Rule { digits: 3, contractions: true, marks: false, cases: Cases::Ascii, slash: true };

/// The word at `at` in the order the expression tries: `upper* lower+`, then `upper+ lower*`,
/// each first with one other character before it.
fn word(part: Part<'_>, at: usize, rule: Rule) -> Option<usize> {
    let letters = if rule.marks { L | M } else { L };
    let upper = |c: char, bits: u8| bits & letters != 0 && rule.cases.upper(c);
    let lower = |c: char, bits: u8| bits & letters != 0 && rule.cases.lower(c);
    let is_lower = |at: usize| lower(part.char(at), part.bits(at));
    let leads = !matches!(part.char(at), '\r' | '\n') && part.bits(at) & (L | N) == 0;
    let starts = [leads.then_some(at + 1), Some(at)];
    for from in starts.into_iter().flatten() {
        let top = part.run(from, upper);
        if is_lower(top) {
            return Some(part.run(top, lower));
        }
        // Gives back the last letter that can also be a lower one.
        let mut back = top;
        while back > from {
            back -= 1;
            if is_lower(back) {
                return Some(part.run(back, lower));
            }
        }
    }
    for from in starts.into_iter().flatten() {
        let top = part.run(from, upper);
        if top > from {
            return Some(top);
        }
    }
    None
}

/// Cuts the whole part.
pub(crate) fn cased(part: Part<'_>, rule: Rule, ends: &mut Wiped<u32>) {
    let mut at = part.start;
    while at < part.end() {
        let from = at + usize::from(part.char(at) == ' ' && at + 1 < part.end());
        at = if let Some(end) = word(part, at, rule) {
            let short = words::contraction(part, end, |c| c.to_ascii_lowercase());
            if rule.contractions { end + short } else { end }
        } else if part.bits(at) & N != 0 {
            words::digits(part, at, rule.digits)
        } else if other(part.bits(from)) {
            let end = part.run(from, |_, bits| other(bits));
            part.run(end, |c, _| matches!(c, '\r' | '\n') || c == '/' && rule.slash)
        } else {
            words::white_lines(part, at)
        };
        ends.push(at as u32);
    }
}
