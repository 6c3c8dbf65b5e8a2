//! What may come next, said by somebody else: two verbs between the loop and a grammar.

use crate::error::Error;

/// Restricts a reply token by token. The loop asks before each pick and tells what came.
///
/// It is in force for the answer only: what a model thinks before is free.
pub trait Constraint {
    /// Inserts every id that may come next into `mask`, which is empty. Ids that end a reply
    /// ([`Tokenizer::ends`](recinto_tokenizer::Tokenizer::ends)) are among them where the text may
    /// stop here; where no text may follow they are all there is.
    ///
    /// # Errors
    ///
    /// When it cannot say; the reply then fails with what it returns.
    fn allowed(&mut self, mask: &mut Mask) -> Result<(), Error>;

    /// Takes the id that came, which was allowed, and says what must follow.
    ///
    /// # Errors
    ///
    /// As [`Constraint::allowed`].
    fn commit(&mut self, id: u32) -> Result<Follow, Error>;
}

/// What must follow a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Ids that must come next, in this order; they are read as one block and not picked. The
    /// constraint counts them as committed.
    pub forced: Vec<u32>,
    /// Nothing more may come after these: the reply is complete.
    pub complete: bool,
}

/// A set of token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    words: Vec<u32>,
    size: usize,
}

impl Mask {
    /// No id of a vocabulary of `size`.
    pub fn new(size: usize) -> Mask {
        Mask { words: vec![0; size.div_ceil(32)], size }
    }

    /// Number of ids the vocabulary has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes every id out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Puts an id in; one that is outside the vocabulary changes nothing.
    pub fn insert(&mut self, id: u32) {
        if (id as usize) < self.size {
            self.words[id as usize / 32] |= 1 << (id % 32);
        }
    }

    /// Puts in the ids of `words`: bit `id % 32` of word `id / 32`.
    pub fn insert_words(&mut self, words: &[u32]) {
        for (mine, theirs) in self.words.iter_mut().zip(words) {
            *mine |= theirs;
        }
        if let (rest @ 1.., Some(last)) = (self.size % 32, self.words.last_mut()) {
            *last &= (1 << rest) - 1;
        }
    }

    /// Whether an id is in.
    pub fn contains(&self, id: u32) -> bool {
        (id as usize) < self.size && self.words[id as usize / 32] >> (id % 32) & 1 == 1
    }

    /// Whether no id is in.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Makes every logit whose id is not in minus infinity.
    pub(crate) fn apply(&self, logits: &mut [f32]) {
        for (logits, word) in logits.chunks_mut(32).zip(&self.words) {
            if *word == u32::MAX {
                continue;
            }
            for (bit, logit) in logits.iter_mut().enumerate() {
                if word >> bit & 1 == 0 {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        // A row of logits may be longer than the vocabulary of whoever made the mask.
        let covered = (self.words.len() * 32).min(logits.len());
        logits[covered..].fill(f32::NEG_INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_hold_what_was_put_in() {
        let mut mask = Mask::new(70);
        for id in [0, 31, 32, 69, 70, u32::MAX] {
            mask.insert(id);
        }
        let held: Vec<u32> = (0..100).filter(|id| mask.contains(*id)).collect();
        assert_eq!(held, [0, 31, 32, 69]);
        let mut logits = vec![1.0; 75];
        mask.apply(&mut logits);
        let left: Vec<usize> = (0..75).filter(|id| logits[*id] == 1.0).collect();
        assert_eq!(left, [0, 31, 32, 69]);
        mask.clear();
        assert!(mask.is_empty());
        mask.insert_words(&[1, 0, u32::MAX]);
        assert_eq!((0..100).filter(|id| mask.contains(*id)).count(), 7);
    }
}
