//! PLaMo 2's cut: the cheapest way through the text, found from its end.
//!
//! Costs are whole numbers, ten thousand times the scores; a character without a piece costs a
//! thousand and becomes its bytes. Of equal costs the longest piece wins. Source: the tokenizer
//! published with PLaMo 2, as the reference has it.

use recinto_os::Wiped;

use crate::{merge::NONE, trie::Trie};

const SCALE: f32 = 1e4;
/// What a character without a piece costs.
const UNKNOWN: i64 = 10_000_000;
/// Pieces that cost this much or more are not used.
const TOO_MUCH: i64 = 20_000_000;

/// The pieces of PLaMo 2 and what they cost.
pub(crate) struct Plamo {
    trie: Trie,
    /// By id.
    costs: Vec<i64>,
}

/// Cost to the end, length of the first piece, that piece.
pub(crate) type Step = (i64, u32, u32);

impl Plamo {
    pub(crate) fn new(trie: Trie, scores: &[f32]) -> Plamo {
        let cost = |score: &f32| {
            let whole = -i64::from((score * SCALE).round() as i32);
            if score.is_finite() { whole } else { TOO_MUCH }
        };
        Plamo { trie, costs: scores.iter().map(cost).collect() }
    }

    /// Calls `each` with the range and the id of every piece; [`NONE`] is a character without one.
    pub(crate) fn word(
        &self,
        word: &str,
        steps: &mut Wiped<Step>,
        mut each: impl FnMut(usize, usize, u32),
    ) {
        steps.clear();
        for _ in 0..=word.len() {
            steps.push((i64::MAX, 0, NONE));
        }
        steps[word.len()].0 = 0;
        for (at, c) in word.char_indices().rev() {
            let mut best = (UNKNOWN.saturating_add(steps[at + c.len_utf8()].0), c.len_utf8(), NONE);
            // Shortest first, so that of equal costs the last one counts.
            self.trie.walk(0, &word.as_bytes()[at..], |len, id| {
                let cost = self.costs[id as usize];
                let sum = cost.saturating_add(steps[at + len].0);
                if cost < TOO_MUCH && steps[at + len].0 != i64::MAX && sum <= best.0 {
                    best = (sum, len, id);
                }
            });
            steps[at] = (best.0, best.1 as u32, best.2);
        }
        let mut at = 0;
        while at < word.len() {
            let (_, len, id) = steps[at];
            each(at, at + len as usize, id);
            at += len as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheapest_ways() {
        let pieces: &[(&str, f32)] =
            &[("a", -3.0), ("aa", -6.0), ("b", -1.0), ("ab", -4.0), ("ñ", f32::NAN), ("c", -2e3)];
        let numbered = (0..).zip(pieces.iter().map(|row| row.0.as_bytes()));
        let scores: Vec<f32> = pieces.iter().map(|row| row.1).collect();
        let model = Plamo::new(Trie::new(numbered).expect("a tree"), &scores);
        let mut steps = Wiped::default();
        let mut split = |word: &str| {
            let mut out = Vec::new();
            model.word(word, &mut steps, |_, _, id| out.push(id));
            out
        };
        let cases: &[(&str, &[u32])] = &[
            ("aa", &[1]),
            ("ab", &[3]),
            ("aab", &[1, 2]),
            ("ñ", &[NONE]),
            ("c", &[NONE]),
            ("中a", &[NONE, 0]),
        ];
        for (word, want) in cases {
            assert_eq!(split(word), *want, "{word}");
        }
    }
}
