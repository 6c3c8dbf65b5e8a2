//! Pieces as a tree of bytes: all pieces that begin a text, shortest first, in one walk.

use crate::{Error, error::Kind, merge::NONE};

/// Longest piece a tree takes, in bytes: with it, every walk is short whatever the file says.
pub(crate) const MAX_BYTES: usize = 512;

#[derive(Clone, Copy)]
struct Node {
    /// The piece that ends here, or [`NONE`].
    id: u32,
    /// The first child; the others follow it, in the order of their bytes.
    first: u32,
    /// How many children there are.
    count: u16,
    byte: u8,
}

/// The tree; node 0 is the root.
pub(crate) struct Trie {
    nodes: Vec<Node>,
}

impl Trie {
    /// From pieces and their ids, which come in rising order; of equal pieces the last id counts.
    pub(crate) fn new<'p>(pieces: impl Iterator<Item = (u32, &'p [u8])>) -> Result<Trie, Error> {
        let mut sorted: Vec<(&[u8], u32)> = Vec::new();
        for (id, piece) in pieces.filter(|(_, piece)| !piece.is_empty()) {
            if piece.len() > MAX_BYTES {
                let what =
                    format!("piece {id} has {} bytes; {MAX_BYTES} are allowed here", piece.len());
                return Err(Error::new(Kind::Invalid, what));
            }
            sorted.push((piece, id));
        }
        sorted.sort_unstable();
        let mut nodes = vec![Node { id: NONE, first: 0, count: 0, byte: 0 }];
        // Ranges of `sorted` that share what leads to a node.
        let mut open = std::collections::VecDeque::from([(0, sorted.len(), 0usize, 0usize)]);
        while let Some((mut from, to, depth, node)) = open.pop_front() {
            while from < to && sorted[from].0.len() == depth {
                nodes[node].id = sorted[from].1;
                from += 1;
            }
            nodes[node].first = nodes.len() as u32;
            while from < to {
                let byte = sorted[from].0[depth];
                let same = sorted[from..to].partition_point(|(piece, _)| piece[depth] == byte);
                open.push_back((from, from + same, depth + 1, nodes.len()));
                nodes.push(Node { id: NONE, first: 0, count: 0, byte });
                nodes[node].count += 1;
                from += same;
            }
            if u32::try_from(nodes.len()).is_err() {
                return Err(Error::new(Kind::Invalid, "the pieces need too large a tree"));
            }
        }
        Ok(Trie { nodes })
    }

    /// The node that `bytes` lead to from the root.
    pub(crate) fn at(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().try_fold(0, |node, byte| self.child(node, *byte))
    }

    #[inline]
    fn child(&self, node: usize, byte: u8) -> Option<usize> {
        let Node { first, count, .. } = self.nodes[node];
        let children = &self.nodes[first as usize..first as usize + usize::from(count)];
        let at = children.partition_point(|child| child.byte < byte);
        children.get(at).filter(|child| child.byte == byte).map(|_| first as usize + at)
    }

    /// Calls `each` with the length and the id of every piece that begins `text`, shortest first,
    /// for the pieces below `node`; what leads to it is not counted.
    #[inline]
    pub(crate) fn walk(&self, node: usize, text: &[u8], mut each: impl FnMut(usize, u32)) {
        let mut node = node;
        for (at, byte) in text.iter().enumerate() {
            let Some(child) = self.child(node, *byte) else { return };
            node = child;
            if self.nodes[node].id != NONE {
                each(at + 1, self.nodes[node].id);
            }
        }
    }

    /// The longest piece that begins `text`.
    #[inline]
    pub(crate) fn longest(&self, node: usize, text: &[u8]) -> Option<(usize, u32)> {
        let mut found = None;
        self.walk(node, text, |len, id| found = Some((len, id)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_begin_a_text() {
        let pieces = ["a", "ab", "añ", "", "abcd", "b", "ab"];
        let numbered = (0..).zip(pieces.iter().map(|piece| piece.as_bytes()));
        let trie = Trie::new(numbered).expect("a tree");
        let all = |text: &str| {
            let mut found = Vec::new();
            trie.walk(0, text.as_bytes(), |len, id| found.push((len, id)));
            found
        };
        assert_eq!(all("abcde"), [(1, 0), (2, 6), (4, 4)], "the last of equal pieces");
        assert_eq!(all("año"), [(1, 0), (3, 2)]);
        assert_eq!(all("c"), []);
        assert_eq!(trie.longest(0, b"abc"), Some((2, 6)));
        let below = trie.at(b"ab").expect("a node");
        assert_eq!(trie.longest(below, b"cd!"), Some((2, 4)), "below a node");
        assert_eq!(trie.at(b"x"), None);
        let long = [b'x'; MAX_BYTES + 1];
        assert!(Trie::new([(0, &long[..])].into_iter()).is_err());
    }
}
