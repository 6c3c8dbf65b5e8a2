//! Finds special pieces in text, never where they would touch a byte of content.
//!
//! Longer pieces win over shorter ones anywhere in the text, and among equals the leftmost wins,
//! as in the reference. Time is linear in the text for a given vocabulary, whatever the text is.

mod leftmost;

use std::ops::Range;

use recinto_os::Wiped;
use zeroize::Zeroize;

use crate::{
    Error,
    error::{Kind, shown},
};

/// Longest special piece that is accepted, in bytes; the longest known one has about 60.
const MAX_BYTES: usize = 512;
/// Length classes handled in one pass: the bits of a mask.
const PASS: usize = 64;

/// One special piece.
pub(crate) struct Special<'p> {
    pub piece: &'p str,
    pub id: u32,
    /// Content can never make it.
    pub guarded: bool,
    /// White space before and after it is dropped.
    pub strip: Strip,
    /// Letters and digits may not touch it; only where `tokenizer.json` says so.
    pub word: bool,
}

/// Which white space a special swallows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Strip {
    pub before: bool,
    pub after: bool,
}

/// A special found in the text.
#[derive(Clone, Copy, Default, Zeroize)]
pub(crate) struct Hit {
    pub id: u32,
    /// The special with the white space it swallows: first byte, one past the last.
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Copy)]
struct Node {
    child: u32,
    sibling: u32,
    /// Index into `entries` + 1.
    entry: u32,
    byte: u8,
}

#[derive(Clone, Copy)]
struct Entry {
    id: u32,
    class: u32,
    guarded: bool,
    strip: Strip,
    word: bool,
}

/// All special pieces of a vocabulary as a tree of bytes.
pub(crate) struct Specials {
    nodes: Vec<Node>,
    /// First nodes by first byte.
    roots: [u32; 256],
    entries: Vec<Entry>,
    /// Distinct lengths, longest first.
    lengths: Vec<u32>,
}

impl Specials {
    pub(crate) fn new(specials: &[Special<'_>]) -> Result<Specials, Error> {
        let mut lengths: Vec<u32> = Vec::new();
        for special in specials {
            if special.piece.len() > MAX_BYTES {
                let what = format!(
                    "special piece {} `{}` has {} bytes; {MAX_BYTES} are allowed",
                    special.id,
                    shown(special.piece),
                    special.piece.len()
                );
                return Err(Error::new(Kind::Invalid, what));
            }
            lengths.push(special.piece.len() as u32);
        }
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        lengths.retain(|length| *length > 0);
        let mut out =
            Specials { nodes: Vec::new(), roots: [u32::MAX; 256], entries: Vec::new(), lengths };
        for special in specials.iter().filter(|special| !special.piece.is_empty()) {
            out.insert(special);
        }
        Ok(out)
    }

    fn insert(&mut self, special: &Special<'_>) {
        let mut parent: Option<u32> = None;
        for byte in special.piece.bytes() {
            let first = match parent {
                None => self.roots[byte as usize],
                Some(node) => self.nodes[node as usize].child,
            };
            let node = self.sibling(first, byte).unwrap_or_else(|| {
                let node = self.nodes.len() as u32;
                let sibling = if parent.is_none() { u32::MAX } else { first };
                self.nodes.push(Node { child: u32::MAX, sibling, entry: 0, byte });
                match parent {
                    None => self.roots[byte as usize] = node,
                    Some(parent) => self.nodes[parent as usize].child = node,
                }
                node
            });
            parent = Some(node);
        }
        let Some(node) = parent else { return };
        let length = special.piece.len() as u32;
        let class = self.lengths.iter().position(|l| *l == length).unwrap_or_default() as u32;
        let Special { id, guarded, strip, word, .. } = *special;
        self.entries.push(Entry { id, class, guarded, strip, word });
        self.nodes[node as usize].entry = self.entries.len() as u32;
    }

    fn sibling(&self, mut node: u32, byte: u8) -> Option<u32> {
        loop {
            let found = self.nodes.get(node as usize)?;
            if found.byte == byte {
                return Some(node);
            }
            node = found.sibling;
        }
    }

    /// Calls `each` with every special that begins `text`, shortest first.
    #[inline]
    fn prefixes(&self, text: &[u8], mut each: impl FnMut(&Entry, usize)) {
        let Some(first) = text.first() else { return };
        let mut node = self.roots[*first as usize];
        for (at, byte) in text.iter().enumerate() {
            let Some(found) = self.sibling(node, *byte) else { return };
            let found = &self.nodes[found as usize];
            if let Some(entry) = found.entry.checked_sub(1) {
                each(&self.entries[entry as usize], at + 1);
            }
            node = found.child;
        }
    }

    /// The specials in `text`, in order and apart. `content` is sorted and apart.
    pub(crate) fn find(&self, text: &str, content: &[Range<usize>]) -> Wiped<Hit> {
        let bytes = text.as_bytes();
        let mut hits = Wiped::default();
        let mut taken = Taken(Wiped::default(), bytes.len());
        for pass in 0..self.lengths.len().div_ceil(PASS) {
            let base = (pass * PASS) as u32;
            let found = self.candidates(bytes, content, base);
            let any = found.iter().fold(0, |any, (_, mask)| any | mask);
            for class in (0..PASS as u32).filter(|class| any >> class & 1 == 1) {
                let length = self.lengths[(base + class) as usize] as usize;
                for (start, _) in found.iter().filter(|(_, mask)| mask >> class & 1 == 1) {
                    let range = *start as usize..*start as usize + length;
                    // Whatever is taken is at least as long: its ends tell.
                    if taken.has(range.start) || taken.has(range.end - 1) {
                        continue;
                    }
                    let Some(entry) = self.exact(&bytes[range.clone()]) else { continue };
                    let range = swallow(bytes, range, entry.strip, &taken);
                    taken.add(range.clone());
                    let (start, end) = (range.start as u32, range.end as u32);
                    hits.push(Hit { id: entry.id, start, end });
                }
            }
        }
        hits.sort_unstable_by_key(|hit| hit.start);
        hits
    }

    fn exact(&self, piece: &[u8]) -> Option<Entry> {
        let mut out = None;
        self.prefixes(piece, |entry, length| {
            if length == piece.len() {
                out = Some(*entry);
            }
        });
        out
    }

    /// Positions where specials of this pass begin, with a bit for each length class.
    fn candidates(&self, text: &[u8], content: &[Range<usize>], base: u32) -> Wiped<(u32, u64)> {
        let mut out = Wiped::default();
        let mut ahead = content.iter().peekable();
        for start in 0..text.len() {
            if self.roots[text[start] as usize] == u32::MAX {
                continue;
            }
            while ahead.next_if(|range| range.end <= start).is_some() {}
            let border = ahead.peek().map_or(usize::MAX, |range| range.start);
            let mut mask = 0u64;
            self.prefixes(&text[start..], |entry, length| {
                if entry.guarded && start + length > border {
                    return;
                }
                if let Some(bit) = entry.class.checked_sub(base).filter(|bit| *bit < PASS as u32) {
                    mask |= 1 << bit;
                }
            });
            if mask != 0 {
                out.push((start as u32, mask));
            }
        }
        out
    }
}

fn swallow(text: &[u8], range: Range<usize>, strip: Strip, taken: &Taken) -> Range<usize> {
    let space = |at: usize| matches!(text[at], b' ' | 9..=13) && !taken.has(at);
    let Range { mut start, mut end } = range;
    while strip.before && start > 0 && space(start - 1) {
        start -= 1;
    }
    while strip.after && end < text.len() && space(end) {
        end += 1;
    }
    start..end
}

/// A bit for each byte that belongs to a special, and how many bytes the text has.
struct Taken(Wiped<u64>, usize);

impl Taken {
    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn add(&mut self, range: Range<usize>) {
        while self.0.len() < self.1.div_ceil(64) {
            self.0.push(0);
        }
        for at in range {
            self.0[at / 64] |= 1 << (at % 64);
        }
    }
}
