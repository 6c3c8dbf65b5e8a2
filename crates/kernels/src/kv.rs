//! Keys and values of one layer, in pages of absolute positions that several may share.
//!
//! A clone shares every page. Whoever writes into a shared page gets a copy of it first.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::page::{KvType, PAGE, Page, Shape, Stored};

/// There was no memory for another page of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {bytes} more bytes of keys and values")]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub bytes: usize,
}

/// One layer's cache of keys and values. A clone shares all pages and copies none; a page is
/// wiped when the last cache that holds it lets go.
#[derive(Clone)]
pub struct Kv {
    shape: Shape,
    locked: bool,
    /// By number; `None` where a page was released.
    pages: Vec<Option<Arc<Page>>>,
}

impl Kv {
    /// An empty cache of bf16 for `kv_heads` heads; keys and values may differ in size.
    pub fn new(kv_heads: usize, key_dim: usize, value_dim: usize) -> Kv {
        Kv::stored_as(KvType::Bf16, kv_heads, key_dim, value_dim)
    }

    /// The same, stored as `kind`.
    pub fn stored_as(kind: KvType, kv_heads: usize, key_dim: usize, value_dim: usize) -> Kv {
        let shape = Shape { kind, kv_heads, key_dim, value_dim };
        Kv { shape, locked: false, pages: Vec::new() }
    }

    /// Keeps the pages out of the swap from now on; [`Kv::reserve`] then also fails where the
    /// system does not allow it.
    pub fn lock(&mut self) {
        self.locked = true;
    }

    /// Key-value heads.
    pub fn kv_heads(&self) -> usize {
        self.shape.kv_heads
    }

    /// Values of one key.
    pub fn key_dim(&self) -> usize {
        self.shape.key_dim
    }

    /// Values of one value vector.
    pub fn value_dim(&self) -> usize {
        self.shape.value_dim
    }

    /// Makes room for positions `0..positions` of a cache that shares nothing.
    pub fn reserve(&mut self, positions: usize) -> Result<(), OutOfMemory> {
        self.make_room(0..positions)
    }

    /// Makes room for `positions` to be stored: pages that are not there are made, pages that
    /// others hold too are copied as far as they hold earlier positions.
    pub fn make_room(&mut self, positions: Range<usize>) -> Result<(), OutOfMemory> {
        let short = OutOfMemory { bytes: self.shape.bytes().unwrap_or(usize::MAX) };
        let (first, end) = (positions.start / PAGE, positions.end.div_ceil(PAGE));
        if end > self.pages.len() {
            self.pages.try_reserve(end - self.pages.len()).map_err(|_| short)?;
            self.pages.resize_with(end, || None);
        }
        for (index, page) in self.pages.iter_mut().enumerate().take(end).skip(first) {
            if page.as_mut().is_some_and(|page| Arc::get_mut(page).is_some()) {
                continue;
            }
            let mut own = Page::new(&self.shape, self.locked).ok_or(short)?;
            if let Some(shared) = page
                && index * PAGE < positions.start
            {
                own.copy_from(shared);
            }
            *page = Some(Arc::new(own));
        }
        Ok(())
    }

    /// Bytes that [`Kv::make_room`] would take for `positions`.
    pub fn missing(&self, positions: Range<usize>) -> usize {
        let pages = positions.start / PAGE..positions.end.div_ceil(PAGE);
        let own = |page: &Arc<Page>| Arc::strong_count(page) == 1;
        let missing = pages.filter(|at| !self.page(*at).is_some_and(own)).count();
        missing.saturating_mul(self.shape.bytes().unwrap_or(usize::MAX))
    }

    /// Lets go of every page that holds only positions below `position`.
    pub fn release(&mut self, position: usize) {
        // From the back: earlier ones went before.
        for page in self.pages.iter_mut().take(position / PAGE).rev() {
            if page.take().is_none() {
                break;
            }
        }
    }

    /// Lets go of every page that holds only positions from `position` on.
    pub fn shorten(&mut self, position: usize) {
        self.pages.truncate(position.div_ceil(PAGE));
    }

    /// Whether every page of `positions` is there.
    pub fn holds(&self, positions: Range<usize>) -> bool {
        let mut pages = positions.start / PAGE..positions.end.div_ceil(PAGE);
        pages.all(|at| self.page(at).is_some())
    }

    fn page(&self, at: usize) -> Option<&Arc<Page>> {
        self.pages.get(at)?.as_ref()
    }

    /// Positions there is room for; pages in front may have been released.
    pub fn capacity(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Bytes of all pages this cache holds, alone or with others.
    pub fn bytes(&self) -> usize {
        let pages = self.pages.iter().flatten().count();
        pages * self.shape.bytes().unwrap_or(0)
    }

    /// Stores keys and values of positions `start..`, position-major `[n][kv_heads · dim]`.
    ///
    /// # Panics
    /// When `k` and `v` are not of the same whole number of positions, or no room was made.
    pub fn store(&mut self, start: usize, k: &[f32], v: &[f32]) {
        let key_width = self.shape.kv_heads * self.shape.key_dim;
        let value_width = self.shape.kv_heads * self.shape.value_dim;
        let n = k.len().checked_div(key_width).unwrap_or(0);
        assert!(n * key_width == k.len() && n * value_width == v.len(), "keys and values");
        assert!(start + n <= self.capacity(), "positions {start}..{} have no room", start + n);
        let mut done = 0;
        while done < n {
            let (at, first) = ((start + done) / PAGE, (start + done) % PAGE);
            let many = (PAGE - first).min(n - done);
            let page = self.pages[at].as_mut().and_then(Arc::get_mut);
            let page = page.unwrap_or_else(|| panic!("page {at} has no room of its own"));
            let k = &k[done * key_width..(done + many) * key_width];
            let v = &v[done * value_width..(done + many) * value_width];
            page.store(&self.shape, first, k, v);
            done += many;
        }
    }

    /// Gives the stored bytes of `positions`, which begin with a page and must be there, to
    /// `sink` in pieces: pages in order, of each only what belongs to `positions`.
    pub fn write(
        &self,
        positions: Range<usize>,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for (at, filled) in pieces(positions) {
            let page = self.page(at).ok_or(io::ErrorKind::NotFound)?;
            page.write(&self.shape, filled, sink)?;
        }
        Ok(())
    }

    /// Reads what [`Kv::write`] gave for the same positions into an empty cache, one page of
    /// memory at a time. `source` fills the buffer it is given, or fails.
    pub fn read(
        &mut self,
        positions: Range<usize>,
        source: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for (at, filled) in pieces(positions) {
            let room = at * PAGE..at * PAGE + filled;
            self.make_room(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let page = self.pages[at].as_mut().and_then(Arc::get_mut);
            page.ok_or(io::ErrorKind::NotFound)?.read(&self.shape, filled, source)?;
        }
        Ok(())
    }

    /// Keys of one head in one page, `[key_dim][PAGE]`.
    pub(crate) fn keys(&self, page: usize, head: usize) -> Stored<'_> {
        self.page(page).expect("a page that is seen").keys(&self.shape, head)
    }

    /// Values of one head in one page, `[PAGE][value_dim]`.
    pub(crate) fn values(&self, page: usize, head: usize) -> Stored<'_> {
        self.page(page).expect("a page that is seen").values(&self.shape, head)
    }
}

/// Pages of `positions`, and how many positions of each are filled.
fn pieces(positions: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let pages = positions.start / PAGE..positions.end.div_ceil(PAGE);
    pages.map(move |at| (at, (positions.end - at * PAGE).min(PAGE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_by_pages_and_absurd_sizes_are_errors() {
        let mut kv = Kv::new(2, 8, 4);
        assert_eq!(kv.capacity(), 0);
        kv.reserve(257).unwrap();
        assert_eq!((kv.capacity(), kv.bytes()), (512, 2 * 2 * 2 * 256 * (8 + 4)));
        assert!(Kv::new(usize::MAX, 8, 4).reserve(1).is_err());
        assert!(Kv::new(1 << 30, 1 << 30, 4).reserve(1).is_err());
    }

    #[test]
    fn bytes_follow_the_type() {
        for (kind, want) in [(KvType::Bf16, 2 * 256 * 120), (KvType::Q8_0, 256 * (120 + 2 * 5))] {
            let mut kv = Kv::stored_as(kind, 1, 80, 40);
            kv.reserve(1).unwrap();
            assert_eq!(kv.bytes(), want, "{kind}");
        }
    }

    /// `n` positions of two heads from `start`, each number its own.
    fn numbers(start: usize, n: usize, dim: usize) -> Vec<f32> {
        (0..n * 2 * dim).map(|i| ((start * 2 * dim + i) % 251) as f32 - 125.0).collect()
    }

    fn filled(kind: KvType, positions: usize) -> Kv {
        let mut kv = Kv::stored_as(kind, 2, 40, 24);
        kv.reserve(positions).unwrap();
        kv.store(0, &numbers(0, positions, 40), &numbers(0, positions, 24));
        kv
    }

    fn bytes(kv: &Kv, positions: Range<usize>) -> Vec<u8> {
        let mut all = Vec::new();
        let mut sink = |bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        kv.write(positions, &mut sink).unwrap();
        all
    }

    #[test]
    fn a_shared_page_is_copied_when_it_is_written() {
        for kind in KvType::ALL {
            let mut kv = filled(kind, 300);
            let before = bytes(&kv, 0..300);
            let mut fork = kv.clone();
            assert_eq!(kv.missing(300..301), kv.bytes() / 2, "the last page is shared");
            assert_eq!(kv.missing(512..513), kv.bytes() / 2, "the next page is not there");
            fork.make_room(290..310).unwrap();
            fork.store(290, &numbers(7, 20, 40), &numbers(7, 20, 24));
            assert!(Arc::ptr_eq(fork.page(0).unwrap(), kv.page(0).unwrap()), "never written");
            assert!(!Arc::ptr_eq(fork.page(1).unwrap(), kv.page(1).unwrap()), "written");
            assert!(bytes(&kv, 0..300) == before, "{kind}: the other's page changed");
            assert!(bytes(&fork, 0..290) == bytes(&kv, 0..290), "{kind}: what came before");
            assert_eq!(kv.missing(300..301), 0, "nobody shares it any more");
            // A page that begins with what is written is not worth a copy.
            let other = kv.clone();
            kv.make_room(256..257).unwrap();
            assert!(!Arc::ptr_eq(other.page(1).unwrap(), kv.page(1).unwrap()));
        }
    }

    #[test]
    fn released_pages_are_gone_and_can_be_made_again() {
        let mut kv = filled(KvType::Bf16, 800);
        let page = kv.bytes() / 4;
        kv.release(511);
        assert_eq!((kv.bytes(), kv.holds(256..800), kv.holds(255..800)), (3 * page, true, false));
        kv.release(512);
        kv.release(100);
        assert_eq!((kv.bytes(), kv.capacity()), (2 * page, 1024));
        assert!(kv.holds(512..1024) && !kv.holds(512..1025) && !kv.holds(0..1));
        kv.make_room(0..10).unwrap();
        kv.store(0, &numbers(0, 10, 40), &numbers(0, 10, 24));
        assert!(kv.holds(0..256) && !kv.holds(256..257));
    }

    #[test]
    fn what_was_written_can_be_read_and_holds_nothing_later() {
        for kind in KvType::ALL {
            let kv = filled(kind, 300);
            let saved = bytes(&kv, 0..290);
            let one = 2 * (kind.bytes(40) + kind.bytes(24));
            assert_eq!(saved.len(), 290 * one, "{kind}");
            let mut again = Kv::stored_as(kind, 2, 40, 24);
            let mut rest = &saved[..];
            let mut source = |to: &mut [u8]| io::Read::read_exact(&mut rest, to);
            again.read(0..290, &mut source).unwrap();
            assert!(rest.is_empty() && bytes(&again, 0..290) == saved, "{kind}");
            let mut cut = &saved[..saved.len() - 1];
            let mut source = |to: &mut [u8]| io::Read::read_exact(&mut cut, to);
            let error = Kv::stored_as(kind, 2, 40, 24).read(0..290, &mut source).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
