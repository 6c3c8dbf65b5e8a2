//! Unicode's normalization forms, with the origin of every character kept.
//!
//! The decompositions, classes and compositions are those of the crate `unicode-normalization`;
//! the algorithm is that of Unicode Standard Annex #15, here over buffers that are wiped.

use recinto_os::Wiped;
use unicode_normalization::char::{
    canonical_combining_class, compose, decompose_canonical, decompose_compatible,
};

use crate::traced::{Span, Traced};

/// One of the four forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// K: compatibility characters become plain ones too.
    pub compatible: bool,
    /// C: what can be composed is.
    pub composed: bool,
}

pub(crate) const NFD: Form = Form { compatible: false, composed: false };

/// A character, its combining class, where it comes from.
type Part = (char, u8, Span);

impl Form {
    pub(crate) fn apply(self, from: &Traced, to: &mut Traced) {
        let mut parts: Wiped<Part> = Wiped::default();
        for (_, c, span) in from.chars() {
            if c.is_ascii() {
                parts.push((c, 0, span));
                continue;
            }
            let each = |c: char| parts.push((c, canonical_combining_class(c), span));
            if self.compatible {
                decompose_compatible(c, each)
            } else {
                decompose_canonical(c, each)
            }
        }
        order(&mut parts);
        if self.composed {
            compose_all(&mut parts);
        }
        for (c, _, span) in parts.iter() {
            to.push(*c, *span);
        }
    }
}

/// Puts each run of combining characters in the order of their classes; equal ones stay.
fn order(parts: &mut [Part]) {
    let mut at = 0;
    while at < parts.len() {
        let rest = &parts[at..];
        let run = rest.iter().position(|part| part.1 == 0).unwrap_or(rest.len());
        let (first, last) = (at, at + run);
        if !parts[first..last].is_sorted_by_key(|part| part.1) {
            counting_sort(&mut parts[first..last]);
        }
        at = last + 1;
    }
}

/// A stable sort by class in a buffer that is wiped.
fn counting_sort(run: &mut [Part]) {
    let mut starts = [0usize; 257];
    for part in run.iter() {
        starts[usize::from(part.1) + 1] += 1;
    }
    for class in 0..256 {
        starts[class + 1] += starts[class];
    }
    let mut copy: Wiped<Part> = Wiped::default();
    copy.extend_from_slice(run);
    for part in copy.iter() {
        let start = &mut starts[usize::from(part.1)];
        run[*start] = *part;
        *start += 1;
    }
}

fn compose_all(parts: &mut Wiped<Part>) {
    let mut kept = 0;
    let mut starter: Option<usize> = None;
    // The class before; a starter right before blocks nothing, one further back all equal ones.
    let mut before: Option<u8> = None;
    for at in 0..parts.len() {
        let (c, class, span) = parts[at];
        let open = before.is_none_or(|before| before < class);
        if let Some(first) = starter.filter(|_| open)
            && let Some(whole) = compose(parts[first].0, c)
        {
            let (start, end) = parts[first].2;
            parts[first] = (whole, 0, (start.min(span.0), end.max(span.1)));
            continue;
        }
        (starter, before) = match class {
            0 => (Some(kept), None),
            _ => (starter, Some(class)),
        };
        parts[kept] = (c, class, span);
        kept += 1;
    }
    parts.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(form: Form, text: &str) -> (String, Vec<Span>) {
        let (mut from, mut to) = (Traced::default(), Traced::default());
        from.read(text, 10);
        form.apply(&from, &mut to);
        (to.as_str().to_owned(), to.chars().map(|(_, _, span)| span).collect())
    }

    #[test]
    fn forms_of_texts() {
        const NFC: Form = Form { compatible: false, composed: true };
        const NFKC: Form = Form { compatible: true, composed: true };
        let cases: &[(&str, Form, &str, &str)] = &[
            ("composed", NFC, "n\u{303}a", "ña"),
            ("decomposed", NFD, "año", "an\u{303}o"),
            ("reordered", NFD, "a\u{301}\u{323}", "a\u{323}\u{301}"),
            ("over another accent", NFC, "a\u{323}\u{302}", "ậ"),
            ("blocked by its own class", NFC, "a\u{300}\u{301}", "à\u{301}"),
            ("Hangul", NFC, "\u{1112}\u{1161}\u{11ab}", "한"),
            ("Hangul apart", NFD, "한", "\u{1112}\u{1161}\u{11ab}"),
            ("compatibility", NFKC, "ﬁ ①½", "fi 11\u{2044}2"),
            ("excluded from composition", NFC, "\u{958}", "\u{915}\u{93c}"),
            ("an accent alone", NFC, "\u{301}e", "\u{301}e"),
        ];
        for (name, form, text, want) in cases {
            assert_eq!(apply(*form, text).0, *want, "{name}");
        }
        assert_eq!(apply(NFC, "n\u{303}a").1, [(10, 13), (13, 14)], "an ñ of two characters");
        assert_eq!(apply(NFD, "ñ").1, [(10, 12), (10, 12)], "both parts of an ñ");
    }

    /// The same text as the crate's own iterator makes.
    #[test]
    fn forms_of_every_character() {
        use unicode_normalization::UnicodeNormalization;
        for c in (0..=0x10ffff).filter_map(char::from_u32).filter(|c| !c.is_ascii()) {
            let text = format!("a{c}\u{301}\u{323}{c}");
            let nfc = Form { compatible: false, composed: true };
            assert_eq!(apply(NFD, &text).0, text.nfd().collect::<String>(), "{c:?}");
            assert_eq!(apply(nfc, &text).0, text.nfc().collect::<String>(), "{c:?}");
            let nfkc = Form { compatible: true, composed: true };
            assert_eq!(apply(nfkc, &text).0, text.nfkc().collect::<String>(), "{c:?}");
        }
    }
}
