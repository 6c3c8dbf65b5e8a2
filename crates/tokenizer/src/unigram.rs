//! Unigram: of all ways to cut a text into pieces, the one with the best sum of scores.
//!
//! One pass from the left (Viterbi's), each step as long as the longest piece. Sums are of
//! doubles and the first of equal sums wins, as in the published implementations, so that ids are
//! the same.

use recinto_os::Wiped;

use crate::{merge::NONE, trie::Trie};

/// How much worse than the worst piece a character without a piece is.
const PENALTY: f64 = 10.0;

/// The pieces of a unigram vocabulary and their scores.
pub(crate) struct Unigram {
    trie: Trie,
    /// By id.
    scores: Vec<f64>,
    unknown: f64,
}

/// The best way to a place in the text: its score, where its last piece begins, that piece.
type Way = (f64, u32, u32);

/// Buffers for one word; wiped when dropped.
#[derive(Default)]
pub(crate) struct Ways {
    ways: Wiped<Way>,
    /// The chosen pieces, from the last to the first.
    path: Wiped<(u32, u32, u32)>,
}

impl Unigram {
    /// `worst` is the lowest score of a piece that counts for what has no piece.
    pub(crate) fn new(trie: Trie, scores: Vec<f64>, worst: f64) -> Unigram {
        Unigram { trie, scores, unknown: worst - PENALTY }
    }

    /// Calls `each` with the range and the id of every piece of `word`; a run of characters
    /// without a piece is one [`NONE`].
    pub(crate) fn word(
        &self,
        word: &str,
        work: &mut Ways,
        mut each: impl FnMut(usize, usize, u32),
    ) {
        let bytes = word.as_bytes();
        work.ways.clear();
        for at in 0..=bytes.len() {
            work.ways.push((if at == 0 { 0.0 } else { f64::NEG_INFINITY }, 0, NONE));
        }
        let ways = &mut work.ways;
        for (at, c) in word.char_indices() {
            let before = ways[at].0;
            let mut way = |end: usize, score: f64, id: u32| {
                if before + score > ways[end].0 {
                    ways[end] = (before + score, at as u32, id);
                }
            };
            let mut single = false;
            self.trie.walk(0, &bytes[at..], |len, id| {
                single |= len == c.len_utf8();
                way(at + len, self.scores[id as usize], id);
            });
            if !single {
                way(at + c.len_utf8(), self.unknown, NONE);
            }
        }
        work.path.clear();
        let mut end = bytes.len();
        while end > 0 {
            let (_, start, id) = ways[end];
            match work.path.last_mut() {
                Some(after) if id == NONE && after.2 == NONE => after.0 = start,
                _ => work.path.push((start, end as u32, id)),
            }
            end = start as usize;
        }
        for (start, end, id) in work.path.iter().rev() {
            each(*start as usize, *end as usize, *id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_sums() {
        let pieces: &[(&str, f64)] = &[
            ("a", -3.0),
            ("b", -3.0),
            ("ab", -4.0),
            ("abc", -9.5),
            ("c", -5.0),
            ("ñ", -2.0),
            ("bc", -6.0),
        ];
        let numbered = (0..).zip(pieces.iter().map(|row| row.0.as_bytes()));
        let scores = pieces.iter().map(|row| row.1).collect();
        let model = Unigram::new(Trie::new(numbered).expect("a tree"), scores, -9.5);
        let mut work = Ways::default();
        let mut split = |word: &str| {
            let mut out = Vec::new();
            model.word(word, &mut work, |start, end, id| {
                out.push((word[start..end].to_owned(), id));
            });
            out
        };
        let row = |text: &str, id: u32| (text.to_owned(), id);
        let cases = [
            ("ab", vec![row("ab", 2)]),
            ("abc", vec![row("a", 0), row("bc", 6)]),
            ("ñab", vec![row("ñ", 5), row("ab", 2)]),
            ("xyab中", vec![row("xy", NONE), row("ab", 2), row("中", NONE)]),
            ("", vec![]),
        ];
        for (word, want) in cases {
            assert_eq!(split(word), want, "{word}");
        }
    }
}
