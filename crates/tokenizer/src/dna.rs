//! HybridDNA's cut: what stands between `<dna>` and `</dna>` is read in groups of six bases.
//!
//! The rest of the text is byte-pair encoded. A group is a piece whose text ends with a mark that
//! keeps it apart from ordinary pieces of the same letters; what has no such piece, an unknown base
//! among others, becomes `<oov>`. Small letters count as large ones, and a last group that is not
//! full is filled with A. Source: the tokenizer published with Carbon, as the reference has it.

use std::ops::Range;

use crate::pieces::Pieces;

const OPEN: &str = "<dna>";
const CLOSE: &str = "</dna>";
const UNKNOWN: &str = "<oov>";
/// Bases of a group.
const BASES: usize = 6;
/// What the piece of a group ends with.
pub(crate) const MARK: char = '\u{e000}';
const MARK_BYTES: usize = MARK.len_utf8();

/// The pieces around groups, and the one for a group that has none.
pub(crate) struct Dna {
    open: u32,
    close: u32,
    unknown: u32,
}

/// A part of a text: a piece by itself, or text for byte-pair encoding.
pub(crate) type Part = (Range<usize>, Option<u32>);

impl Dna {
    /// Nothing where one of its pieces is missing or `barred`: such text is ordinary then.
    pub(crate) fn new(pieces: &Pieces, barred: impl Fn(u32) -> bool) -> Option<Dna> {
        let find = |piece: &str| pieces.find(piece.as_bytes()).filter(|id| !barred(*id));
        Some(Dna { open: find(OPEN)?, close: find(CLOSE)?, unknown: find(UNKNOWN)? })
    }

    /// The parts of `text`, in order; `find` gives the id of a piece that text may become.
    pub(crate) fn parts<'t>(
        &'t self,
        text: &'t str,
        find: impl Fn(&[u8]) -> Option<u32> + 't,
    ) -> impl Iterator<Item = Part> + 't {
        // Where to go on, and where the bases end when that is among them.
        let (mut at, mut bases): (usize, Option<usize>) = (0, None);
        std::iter::from_fn(move || {
            let rest = text.get(at..).filter(|rest| !rest.is_empty());
            let (end, id) = match bases {
                Some(end) if at < end => {
                    let next = end.min(at + BASES);
                    let id = find(&group(&text.as_bytes()[at..next])).unwrap_or(self.unknown);
                    (next, Some(id))
                }
                Some(_) => {
                    rest?;
                    bases = None;
                    (at + CLOSE.len(), Some(self.close))
                }
                None => match rest?.find(OPEN) {
                    Some(0) => {
                        let first = at + OPEN.len();
                        let end = text[first..].find(CLOSE).map_or(text.len(), |end| first + end);
                        bases = Some(end);
                        (first, Some(self.open))
                    }
                    found => (found.map_or(text.len(), |found| at + found), None),
                },
            };
            Some((std::mem::replace(&mut at, end)..end, id))
        })
    }
}

/// The piece of a group of one to six bases.
fn group(bases: &[u8]) -> [u8; BASES + MARK_BYTES] {
    let mut out = [b'A'; BASES + MARK_BYTES];
    for (to, base) in out.iter_mut().zip(bases) {
        *to = base.to_ascii_uppercase();
    }
    MARK.encode_utf8(&mut out[BASES..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_texts() {
        let pieces = [OPEN, CLOSE, UNKNOWN, "ACGTAC\u{e000}", "GAAAAA\u{e000}", "ACGTAC"];
        let pieces = Pieces::from_list(&pieces).expect("pieces");
        assert!(Dna::new(&pieces, |id| id == 1).is_none(), "a piece that text may not become");
        let dna = Dna::new(&pieces, |_| false).expect("its pieces");
        // Ends of parts and their ids.
        type Want<'r> = &'r [(usize, Option<u32>)];
        let cases: &[(&str, Want<'_>)] = &[
            ("", &[]),
            ("ñ ACGTAC", &[(9, None)]),
            (
                "ñ<dna>acgTACg</dna>a",
                &[(2, None), (7, Some(0)), (13, Some(3)), (14, Some(4)), (20, Some(1)), (21, None)],
            ),
            ("<dna></dna>", &[(5, Some(0)), (11, Some(1))]),
            ("<dna>", &[(5, Some(0))]),
            ("<dna>ACGTAC", &[(5, Some(0)), (11, Some(3))]),
            // An opening mark among the bases is bases, and half a ñ is none.
            ("<dna>ñACGT<dna>", &[(5, Some(0)), (11, Some(2)), (16, Some(2))]),
            ("</dna>x<DNA>", &[(12, None)]),
        ];
        for (text, want) in cases {
            let mut at = 0;
            let find = |piece: &[u8]| pieces.find(piece);
            let got: Vec<_> = dna
                .parts(text, find)
                .map(|(range, id)| {
                    assert_eq!(std::mem::replace(&mut at, range.end), range.start, "{text}");
                    (range.end, id)
                })
                .collect();
            assert_eq!(got, *want, "{text}");
        }
    }
}
