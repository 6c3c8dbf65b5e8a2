//! Keys and values of one layer, as bf16 in pages of absolute positions.

use recinto_os::memory;
use zeroize::Zeroize;

/// Positions of one page.
pub const PAGE: usize = 256;

/// A page of one layer.
struct Page {
    /// `[kv_head][key_dim][PAGE]`: sixteen positions side by side for the scores.
    k: Vec<u16>,
    /// `[kv_head][PAGE][value_dim]`: a row of columns for the weighed sum.
    v: Vec<u16>,
}

impl Drop for Page {
    fn drop(&mut self) {
        self.k.zeroize();
        self.v.zeroize();
    }
}

/// There was no memory for another page of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {bytes} more bytes of keys and values")]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub bytes: usize,
}

/// One layer's cache of keys and values. Pages are wiped when it is dropped.
pub struct Kv {
    kv_heads: usize,
    key_dim: usize,
    value_dim: usize,
    locked: bool,
    pages: Vec<Page>,
}

/// To bf16 (half to even); magnitudes below 2⁻⁴⁰ become 0, NaN stays NaN.
fn narrow(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    if magnitude < 0x2b80_0000 {
        0
    } else if magnitude > 0x7f80_0000 {
        (bits >> 16) as u16 | 0x40
    } else {
        ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
    }
}

/// Zeros, or nothing where memory is short.
fn zeros(len: usize) -> Option<Vec<u16>> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).ok()?;
    all.resize(len, 0);
    Some(all)
}

impl Kv {
    /// An empty cache for `kv_heads` heads; keys and values may differ in size.
    pub fn new(kv_heads: usize, key_dim: usize, value_dim: usize) -> Kv {
        Kv { kv_heads, key_dim, value_dim, locked: false, pages: Vec::new() }
    }

    /// Keeps the pages out of the swap from now on; [`Kv::reserve`] then also fails where the
    /// system does not allow it.
    pub fn lock(&mut self) {
        self.locked = true;
    }

    /// Key-value heads.
    pub fn kv_heads(&self) -> usize {
        self.kv_heads
    }

    /// Values of one key.
    pub fn key_dim(&self) -> usize {
        self.key_dim
    }

    /// Values of one value vector.
    pub fn value_dim(&self) -> usize {
        self.value_dim
    }

    /// Makes room for positions `0..positions`.
    pub fn reserve(&mut self, positions: usize) -> Result<(), OutOfMemory> {
        let each = |dim: usize| {
            self.kv_heads.checked_mul(dim)?.checked_mul(PAGE).filter(|n| *n < usize::MAX / 4)
        };
        let (Some(k), Some(v)) = (each(self.key_dim), each(self.value_dim)) else {
            return Err(OutOfMemory { bytes: usize::MAX });
        };
        let short = OutOfMemory { bytes: 2 * k.saturating_add(v).min(usize::MAX / 2) };
        let want = positions.div_ceil(PAGE);
        if want > self.pages.len() {
            self.pages.try_reserve(want - self.pages.len()).map_err(|_| short)?;
        }
        while self.pages.len() < want {
            let k = zeros(k).ok_or(short)?;
            let v = zeros(v).ok_or(short)?;
            if self.locked {
                // Locked memory stays so until it goes back to the system: an unlock here could
                // reach a neighbour on the same page of memory.
                memory::lock(&k).and_then(|()| memory::lock(&v)).map_err(|_| short)?;
            }
            self.pages.push(Page { k, v });
        }
        Ok(())
    }

    /// Positions there is room for.
    pub fn capacity(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> usize {
        self.pages.iter().map(|page| 2 * (page.k.len() + page.v.len())).sum()
    }

    /// Stores keys and values of positions `start..`, position-major `[n][kv_heads · dim]`.
    ///
    /// # Panics
    /// When `k` and `v` are not of the same whole number of positions, or there is no room.
    pub fn store(&mut self, start: usize, k: &[f32], v: &[f32]) {
        let key_width = self.kv_heads * self.key_dim;
        let value_width = self.kv_heads * self.value_dim;
        let n = k.len().checked_div(key_width).unwrap_or(0);
        assert!(n * key_width == k.len() && n * value_width == v.len(), "keys and values");
        assert!(start + n <= self.capacity(), "positions {start}..{} were not reserved", start + n);
        let rows = k.chunks_exact(key_width.max(1)).zip(v.chunks_exact(value_width.max(1)));
        for (i, (k, v)) in rows.enumerate() {
            let (page, j) = (&mut self.pages[(start + i) / PAGE], (start + i) % PAGE);
            for (row, x) in page.k.chunks_exact_mut(PAGE).zip(k) {
                row[j] = narrow(*x);
            }
            let heads = page.v.chunks_exact_mut(PAGE * self.value_dim);
            for (head, v) in heads.zip(v.chunks_exact(self.value_dim)) {
                for (to, x) in head[j * self.value_dim..].iter_mut().zip(v) {
                    *to = narrow(*x);
                }
            }
        }
    }

    /// Keys of one head in one page, `[key_dim][PAGE]`.
    pub(crate) fn keys(&self, page: usize, head: usize) -> &[u16] {
        let len = self.key_dim * PAGE;
        &self.pages[page].k[head * len..(head + 1) * len]
    }

    /// Values of one head in one page, `[PAGE][value_dim]`.
    pub(crate) fn values(&self, page: usize, head: usize) -> &[u16] {
        let len = self.value_dim * PAGE;
        &self.pages[page].v[head * len..(head + 1) * len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_rounds_and_flushes() {
        let cases = [
            ("one", 1.0, 0x3f80),
            ("half to even, down", f32::from_bits(0x3f80_8000), 0x3f80),
            ("half to even, up", f32::from_bits(0x3f81_8000), 0x3f82),
            ("just above half", f32::from_bits(0x3f80_8001), 0x3f81),
            ("smallest kept", 2f32.powi(-40), 0x2b80),
            ("below it", 2f32.powi(-41), 0),
            ("minus zero", -0.0, 0),
            ("negative", -2.0, 0xc000),
            ("infinity", f32::INFINITY, 0x7f80),
            ("largest", f32::MAX, 0x7f80),
            ("nan stays", f32::NAN, 0x7fc0),
        ];
        for (name, x, want) in cases {
            assert_eq!(narrow(x), want, "{name}");
        }
    }

    #[test]
    fn room_grows_by_pages_and_absurd_sizes_are_errors() {
        let mut kv = Kv::new(2, 8, 4);
        assert_eq!(kv.capacity(), 0);
        kv.reserve(257).unwrap();
        assert_eq!((kv.capacity(), kv.bytes()), (512, 2 * 2 * 2 * 256 * (8 + 4)));
        assert!(Kv::new(usize::MAX, 8, 4).reserve(1).is_err());
        assert!(Kv::new(1 << 20, 1 << 20, 4).reserve(1).is_err());
    }
}
