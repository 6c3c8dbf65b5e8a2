//! Merges neighbouring symbols, best pair first, in n log n steps.
//!
//! Both models end here: byte-pair encoding (pairs have ranks) and SentencePiece-style (the merged
//! piece has a score). Equal pairs are merged from the left.

use std::{cmp::Reverse, collections::BinaryHeap};

use recinto_os::Wiped;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// No symbol, no id.
pub(crate) const NONE: u32 = u32::MAX;
/// No id either: there is one, but text may not become it.
pub(crate) const BARRED: u32 = u32::MAX - 1;

/// A run of the text that is one piece so far; `id` is [`NONE`] when it is no piece.
#[derive(Clone, Copy, Default, Zeroize)]
pub(crate) struct Symbol {
    /// Byte range in the normalized text.
    pub start: u32,
    pub end: u32,
    pub id: u32,
    prev: u32,
    next: u32,
}

/// A candidate: priority and left symbol in one number (small is first), where it ends, its id.
type Pair = Reverse<(u64, u32, u32)>;

/// Reusable buffers; wiped when dropped.
#[derive(Default)]
pub(crate) struct Merger {
    symbols: Wiped<Symbol>,
    heap: BinaryHeap<Pair>,
}

impl Merger {
    /// Starts a new word.
    pub(crate) fn clear(&mut self) {
        self.symbols.clear();
        self.heap.clear();
    }

    /// Adds the next symbol of the word.
    #[inline]
    pub(crate) fn push(&mut self, start: u32, end: u32, id: u32) {
        let at = self.symbols.len() as u32;
        if let Some(last) = self.symbols.last_mut() {
            last.next = at;
        }
        self.symbols.push(Symbol { start, end, id, prev: at.wrapping_sub(1), next: NONE });
    }

    /// Merges until no pair is left. `rule` gives a pair's priority (small is first) and id.
    pub(crate) fn run(&mut self, rule: impl Fn(&Symbol, &Symbol) -> Option<(u32, u32)>) {
        let Merger { symbols, heap } = self;
        let pair = |symbols: &[Symbol], left: u32| -> Option<Pair> {
            let first = symbols.get(left as usize)?;
            let second = symbols.get(first.next as usize)?;
            let (priority, id) = rule(first, second)?;
            Some(Reverse((u64::from(priority) << 32 | u64::from(left), second.end, id)))
        };
        let mut start = roomy(heap, symbols.len());
        start.extend((0..symbols.len() as u32).filter_map(|left| pair(symbols, left)));
        *heap = start.into();
        while let Some(Reverse((key, end, id))) = heap.pop() {
            let left = key as u32;
            let first = symbols[left as usize];
            // A pair is stale when its left side is gone or its right side has grown.
            let Some(second) = symbols.get(first.next as usize).copied() else { continue };
            if first.start == first.end || second.end != end {
                continue;
            }
            symbols[first.next as usize].start = second.end;
            let merged = &mut symbols[left as usize];
            (merged.end, merged.id, merged.next) = (end, id, second.next);
            if let Some(after) = symbols.get_mut(second.next as usize) {
                after.prev = left;
            }
            heap.extend(pair(symbols, first.prev));
            heap.extend(pair(symbols, left));
        }
    }

    /// What is left, in order: each with the index of its first symbol as pushed.
    pub(crate) fn result(&self) -> impl Iterator<Item = (u32, Symbol)> + '_ {
        let mut at = if self.symbols.is_empty() { NONE } else { 0 };
        std::iter::from_fn(move || {
            let symbol = *self.symbols.get(at as usize)?;
            Some((std::mem::replace(&mut at, symbol.next), symbol))
        })
    }

    /// The number of symbols as pushed.
    pub(crate) fn len(&self) -> u32 {
        self.symbols.len() as u32
    }
}

/// The memory of an empty `heap`, large enough for a word of so many symbols: a pair for each of
/// them at first, and one more pair than before with each merge. It never grows by itself, which
/// would leave a copy behind.
fn roomy(heap: &mut BinaryHeap<Pair>, symbols: usize) -> Vec<Pair> {
    let mut pairs = std::mem::take(heap).into_vec();
    if pairs.capacity() < symbols * 2 {
        wipe(&mut pairs);
        pairs = Vec::with_capacity(symbols * 2);
    }
    pairs
}

fn wipe(pairs: &mut Vec<Pair>) {
    pairs.clear();
    pairs.spare_capacity_mut().zeroize();
}

impl Drop for Merger {
    fn drop(&mut self) {
        wipe(&mut std::mem::take(&mut self.heap).into_vec());
    }
}

impl ZeroizeOnDrop for Merger {}
