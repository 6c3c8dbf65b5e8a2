//! WordPiece: a word is the longest pieces from the left, or unknown as a whole.

use crate::{merge::NONE, trie::Trie};

/// The pieces of a WordPiece vocabulary.
pub(crate) struct WordPiece {
    trie: Trie,
    /// Where pieces that begin a word are found, and those that go on one; `None`: there are none.
    first: Option<usize>,
    more: Option<usize>,
    /// Longest word that is looked at, in characters; a longer one is unknown.
    most: usize,
}

impl WordPiece {
    /// `first` and `more` stand in front of the pieces that begin and go on a word.
    pub(crate) fn new(trie: Trie, first: &str, more: &str, most: usize) -> WordPiece {
        let (first, more) = (trie.at(first.as_bytes()), trie.at(more.as_bytes()));
        WordPiece { trie, first, more, most }
    }

    /// Calls `each` with the range and the id of every piece of `word`; [`NONE`] is the unknown.
    pub(crate) fn word(&self, word: &[u8], mut each: impl FnMut(usize, usize, u32)) {
        let chars = word.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        let longest = |at: usize| {
            let node = if at == 0 { self.first } else { self.more }?;
            self.trie.longest(node, &word[at..])
        };
        let mut at = 0;
        while chars <= self.most && at < word.len() {
            let Some((len, _)) = longest(at) else { break };
            at += len;
        }
        if at < word.len() {
            return each(0, word.len(), NONE);
        }
        let mut at = 0;
        while let Some((len, id)) = longest(at).filter(|_| at < word.len()) {
            each(at, at + len, id);
            at += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let pieces = ["un", "a", "una", "##a", "##do", "##d", "ñ", "##ñ"];
        let numbered = (0..).zip(pieces.iter().map(|piece| piece.as_bytes()));
        let model = WordPiece::new(Trie::new(numbered).expect("a tree"), "", "##", 8);
        let split = |word: &str| {
            let mut out = Vec::new();
            model.word(word.as_bytes(), |start, end, id| out.push((start, end, id)));
            out
        };
        let unknown = |len| vec![(0, len, NONE)];
        type Piece = (usize, usize, u32);
        let cases: &[(&str, Vec<Piece>)] = &[
            ("una", vec![(0, 3, 2)]),
            ("unado", vec![(0, 3, 2), (3, 5, 4)]),
            ("añad", vec![(0, 1, 1), (1, 3, 7), (3, 4, 3), (4, 5, 5)]),
            ("do", unknown(2)),
            ("unax", unknown(4)),
            ("aaaaaaaa", (0..8).map(|at| (at, at + 1, if at == 0 { 1 } else { 3 })).collect()),
            ("aaaaaaaaa", unknown(9)),
            ("", vec![]),
        ];
        for (word, want) in cases {
            assert_eq!(split(word), *want, "{word}");
        }
    }
}
