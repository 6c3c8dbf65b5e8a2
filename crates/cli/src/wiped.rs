//! A buffer that leaves nothing behind: when it grows, the old bytes are wiped.

use std::io::{self, Read, Write};

use zeroize::Zeroizing;

/// Bytes that are wiped when they are dropped and when they move.
#[derive(Default)]
pub struct Wiped(Zeroizing<Vec<u8>>);

impl Wiped {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, still wiped when dropped.
    pub fn into_inner(self) -> Zeroizing<Vec<u8>> {
        self.0
    }

    fn reserve(&mut self, more: usize) {
        let needed = self.0.len() + more;
        if needed <= self.0.capacity() {
            return;
        }
        let room = needed.max(self.0.capacity() * 2).max(1 << 12);
        let mut grown = Zeroizing::new(Vec::with_capacity(room));
        grown.extend_from_slice(&self.0);
        self.0 = grown;
    }

    /// Reads to the end of `from`; `None` when there is more than `limit` bytes.
    pub fn read(mut from: impl Read, limit: usize) -> io::Result<Option<Wiped>> {
        let mut out = Wiped::default();
        let mut chunk = Zeroizing::new([0; 1 << 14]);
        loop {
            match from.read(&mut chunk[..]) {
                Ok(0) => return Ok(Some(out)),
                Ok(n) if out.0.len() + n > limit => return Ok(None),
                Ok(n) => out.write_all(&chunk[..n])?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Write for Wiped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reserve(bytes.len());
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whole_or_not_at_all() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
        let read = Wiped::read(&bytes[..], 100_000).unwrap().unwrap();
        assert_eq!(read.bytes(), bytes);
        assert!(Wiped::read(&bytes[..], 99_999).unwrap().is_none());
    }
}
