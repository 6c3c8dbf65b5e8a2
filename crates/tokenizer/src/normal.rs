//! Normalizers: what is rewritten before a text is cut, one row a rule, applied in turn.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::{
    charsmap::Charsmap,
    forms::Form,
    split,
    traced::{Span, Traced},
};

/// One rule.
pub(crate) enum Normal {
    /// A normalization form of Unicode.
    Form(Form),
    /// Lower case, character by character.
    Lowercase,
    /// Drops the accents that stand above or below: nonspacing marks, or with `all` every mark.
    StripMarks { all: bool },
    /// BERT's: drops control characters and U+FFFD; white space becomes a space.
    Clean,
    /// Puts a space on both sides of every Chinese character.
    PadHan,
    /// Drops white space at the beginning, at the end.
    Trim { left: bool, right: bool },
    /// Rewrites every match from the left.
    Replace { from: Pattern, to: String },
    /// Puts a text in front of one that is not empty.
    Prepend(String),
    /// Drops this character at the very beginning of a stretch.
    DropFirst(char),
    /// SentencePiece's map.
    Charsmap(Charsmap),
    /// The characters that SentencePiece's NMT rules drop or make spaces.
    Nmt,
    /// SentencePiece's white space: spaces as `▁`, `prefix` one before the first word, `merge`
    /// one for each run and none at the end.
    Spaces { prefix: bool, merge: bool },
}

/// What [`Normal::Replace`] looks for.
pub(crate) enum Pattern {
    Literal(String),
    /// This many characters of a class or more.
    Run {
        class: split::Class,
        least: usize,
    },
}

impl Normal {
    pub(crate) fn apply(&self, from: &Traced, to: &mut Traced) {
        match self {
            Normal::Form(form) => form.apply(from, to),
            Normal::Lowercase => {
                for (_, c, span) in from.chars() {
                    c.to_lowercase().for_each(|c| to.push(c, span));
                }
            }
            Normal::StripMarks { all } => keep(from, to, |c| !is_mark(c, *all)),
            Normal::Clean => {
                for (_, c, span) in from.chars() {
                    match c {
                        '\t' | '\n' | '\r' => to.push(' ', span),
                        '\0' | '\u{fffd}' => {}
                        _ if is_control(c) => {}
                        _ if c.is_whitespace() => to.push(' ', span),
                        _ => to.push(c, span),
                    }
                }
            }
            Normal::PadHan => {
                for (_, c, span) in from.chars() {
                    let (before, after) = ((span.0, span.0), (span.1, span.1));
                    if split::is_bert_han(c) {
                        to.push(' ', before);
                        to.push(c, span);
                        to.push(' ', after);
                    } else {
                        to.push(c, span);
                    }
                }
            }
            Normal::Trim { left, right } => {
                let text = from.as_str();
                let start = if *left { text.len() - text.trim_start().len() } else { 0 };
                let end = if *right { text.trim_end().len() } else { text.len() };
                to.copy(from, start, end.max(start));
            }
            Normal::Replace { from: pattern, to: with } => replace(from, to, pattern, with),
            Normal::Prepend(prefix) => {
                if from.len() > 0 {
                    let start = from.span(0).0;
                    to.push_str(prefix, (start, start));
                    to.copy(from, 0, from.len());
                }
            }
            Normal::DropFirst(first) => {
                let has = from.as_str().starts_with(*first);
                to.copy(from, if has { first.len_utf8() } else { 0 }, from.len());
            }
            Normal::Charsmap(map) => {
                let text = from.as_str();
                let mut at = 0;
                while let Some(c) = text[at..].chars().next() {
                    if let Some((len, with)) = map.longest(&text[at..]) {
                        to.push_str(with, from.spans(at, at + len));
                        at += len;
                    } else {
                        to.push(c, from.span(at));
                        at += c.len_utf8();
                    }
                }
            }
            Normal::Nmt => {
                for (_, c, span) in from.chars() {
                    match c {
                        '\u{1}'..='\u{8}'
                        | '\u{b}'
                        | '\u{e}'..='\u{1f}'
                        | '\u{7f}'
                        | '\u{8f}'
                        | '\u{9f}' => {}
                        '\t'
                        | '\n'
                        | '\u{c}'
                        | '\r'
                        | '\u{1680}'
                        | '\u{200b}'..='\u{200f}'
                        | '\u{2028}'
                        | '\u{2029}'
                        | '\u{2581}'
                        | '\u{feff}'
                        | '\u{fffd}' => {
                            to.push(' ', span);
                        }
                        _ => to.push(c, span),
                    }
                }
            }
            Normal::Spaces { prefix, merge } => spaces(from, to, *prefix, *merge),
        }
    }
}

fn keep(from: &Traced, to: &mut Traced, wanted: impl Fn(char) -> bool) {
    from.chars().filter(|(_, c, _)| wanted(*c)).for_each(|(_, c, span)| to.push(c, span));
}

fn is_mark(c: char, all: bool) -> bool {
    if c.is_ascii() {
        return false;
    }
    match c.general_category() {
        GeneralCategory::NonspacingMark => true,
        GeneralCategory::SpacingMark | GeneralCategory::EnclosingMark => all,
        _ => false,
    }
}

/// Control, format and private-use characters.
fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    use GeneralCategory::{Control, Format, PrivateUse};
    matches!(c.general_category(), Control | Format | PrivateUse)
}

fn replace(from: &Traced, to: &mut Traced, pattern: &Pattern, with: &str) {
    let text = from.as_str();
    match pattern {
        Pattern::Literal(literal) => {
            let mut at = 0;
            for (start, found) in text.match_indices(literal.as_str()) {
                to.copy(from, at, start);
                at = start + found.len();
                to.push_str(with, from.spans(start, at));
            }
            to.copy(from, at, text.len());
        }
        Pattern::Run { class, least } => {
            let is = |c: char| class(c, split::bits(c));
            let mut at = 0;
            while at < text.len() {
                let rest = &text[at..];
                let other = rest.find(is).unwrap_or(rest.len());
                to.copy(from, at, at + other);
                at += other;
                let rest = &text[at..];
                let run = rest.find(|c: char| !is(c)).unwrap_or(rest.len());
                if rest[..run].chars().take(*least).count() == *least {
                    to.push_str(with, from.spans(at, at + run));
                } else {
                    to.copy(from, at, at + run);
                }
                at += run;
            }
        }
    }
}

fn spaces(from: &Traced, to: &mut Traced, prefix: bool, merge: bool) {
    let mut inside = false;
    let mut begun = false;
    let mut last: Option<Span> = None;
    for (_, c, span) in from.chars() {
        if c == ' ' {
            inside = false;
            if merge {
                last = Some(span);
            } else {
                to.push('▁', span);
            }
            continue;
        }
        if !inside {
            inside = true;
            if merge || prefix && !begun {
                to.push('▁', last.take().unwrap_or((span.0, span.0)));
                begun = true;
            }
        }
        to.push(c, span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(rule: &Normal, text: &str) -> (String, Vec<Span>) {
        let (mut from, mut to) = (Traced::default(), Traced::default());
        from.read(text, 0);
        rule.apply(&from, &mut to);
        (to.as_str().to_owned(), to.chars().map(|(_, _, span)| span).collect())
    }

    #[test]
    fn rules_and_texts() {
        let literal = |text: &str| Pattern::Literal(text.into());
        let two = || Pattern::Run { class: |c, _| c == ' ', least: 2 };
        let cases: &[(Normal, &str, &str)] = &[
            (Normal::Lowercase, "ÑANDÚ İ ß", "ñandú i\u{307} ß"),
            (Normal::StripMarks { all: false }, "n\u{303}o\u{301}", "no"),
            (Normal::Clean, "a\u{0}\u{7}\tb\u{a0}c\u{ad}\u{fffd}", "a b c"),
            (Normal::PadHan, "a中b", "a 中 b"),
            (Normal::Trim { left: true, right: false }, " \ta b ", "a b "),
            (Normal::Trim { left: true, right: true }, "  ", ""),
            (Normal::Prepend("▁".into()), "año", "▁año"),
            (Normal::Prepend("▁".into()), "", ""),
            (Normal::Replace { from: literal(" "), to: "▁".into() }, " a  b", "▁a▁▁b"),
            (Normal::Replace { from: literal("``"), to: "\"".into() }, "```a", "\"`a"),
            (Normal::Replace { from: two(), to: " ".into() }, "a   b c  ", "a b c "),
            (Normal::DropFirst('\u{feff}'), "\u{feff}a\u{feff}", "a\u{feff}"),
            (Normal::Nmt, "a\u{200b}b\u{1}c\t", "a bc "),
            (Normal::Spaces { prefix: true, merge: true }, "  a  ñ ", "▁a▁ñ"),
            (Normal::Spaces { prefix: true, merge: false }, " a b", "▁▁a▁b"),
            (Normal::Spaces { prefix: false, merge: false }, "a b", "a▁b"),
            (Normal::Spaces { prefix: false, merge: true }, "a", "▁a"),
        ];
        for (at, (rule, text, want)) in cases.iter().enumerate() {
            assert_eq!(apply(rule, text).0, *want, "case {at}: {text:?}");
        }
        let merged = apply(&Normal::Spaces { prefix: true, merge: true }, "a  ñ").1;
        assert_eq!(merged, [(0, 0), (0, 1), (2, 3), (3, 5)]);
    }
}
