//! SHA-256 over bytes, token ids, files; large ones can be stopped on the way.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use sha2::{Digest as _, Sha256};

use crate::Digest;

/// Bytes between two looks at the stop flag: under a millisecond with SHA instructions.
const PIECE: usize = 1 << 20;

/// SHA-256 over bytes that come in pieces.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Hasher {
        Hasher::default()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Takes the next token ids, each as four little-endian bytes.
    pub fn update_ids(&mut self, ids: &[u32]) {
        for id in ids {
            self.0.update(id.to_le_bytes());
        }
    }

    /// The digest of all that was taken.
    pub fn finish(self) -> Digest {
        Digest::from_bytes(self.0.finalize().into())
    }
}

/// The digest of `bytes`.
pub fn sha256(bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher.finish()
}

/// The digest of token ids, each as four little-endian bytes.
pub fn sha256_ids(ids: &[u32]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update_ids(ids);
    hasher.finish()
}

/// The digest of `bytes`, or `None` when `stop` was set on the way.
pub fn sha256_until(bytes: &[u8], stop: &AtomicBool) -> Option<Digest> {
    let mut hasher = Hasher::new();
    for piece in bytes.chunks(PIECE) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        hasher.update(piece);
    }
    (!stop.load(Ordering::Relaxed)).then(|| hasher.finish())
}

/// The digest of everything `source` gives, and how many bytes that was; `None` when `stop` was
/// set on the way.
pub fn sha256_read(
    mut source: impl io::Read,
    stop: &AtomicBool,
) -> io::Result<Option<(Digest, u64)>> {
    let mut hasher = Hasher::new();
    let mut piece = vec![0; PIECE];
    let mut total = 0u64;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match source.read(&mut piece) {
            Ok(0) => return Ok(Some((hasher.finish(), total))),
            Ok(len) => {
                hasher.update(&piece[..len]);
                total = total.saturating_add(len as u64);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        // FIPS 180-2, appendix B, and the empty message.
        let million = vec![b'a'; 1_000_000];
        let cases: [(&str, &[u8], &str); 4] = [
            ("empty", b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "two blocks",
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                "a million",
                &million,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ];
        let go = AtomicBool::new(false);
        for (name, bytes, want) in cases {
            assert_eq!(sha256(bytes).to_string(), want, "{name}");
            assert_eq!(sha256_until(bytes, &go), Some(sha256(bytes)), "{name}");
            let read = sha256_read(bytes, &go).unwrap();
            assert_eq!(read, Some((sha256(bytes), bytes.len() as u64)), "{name}");
            let mut hasher = Hasher::new();
            bytes.chunks(7).for_each(|piece| hasher.update(piece));
            assert_eq!(hasher.finish(), sha256(bytes), "{name} in pieces");
        }
    }

    #[test]
    fn ids_are_little_endian_words() {
        let want = sha256(&[1, 0, 0, 0, 0x02, 0x01, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(sha256_ids(&[1, 0x0102, u32::MAX]), want);
        assert_eq!(sha256_ids(&[]), sha256(b""));
    }

    #[test]
    fn a_set_flag_stops() {
        let bytes = vec![1; PIECE + 1];
        let stop = AtomicBool::new(true);
        assert_eq!(sha256_until(&bytes, &stop), None);
        assert_eq!(sha256_until(&[], &stop), None);
        assert_eq!(sha256_read(&bytes[..], &stop).unwrap(), None);
        // Set by the source itself, in the middle.
        struct Source<'a>(usize, &'a AtomicBool);
        impl io::Read for Source<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                self.1.store(self.0 == 3, Ordering::Relaxed);
                Ok(out.len().min(10))
            }
        }
        let stop = AtomicBool::new(false);
        let mut source = Source(0, &stop);
        assert_eq!(sha256_read(&mut source, &stop).unwrap(), None);
        assert_eq!(source.0, 3);
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("unreadable"))
            }
        }
        assert!(sha256_read(Broken, &AtomicBool::new(false)).is_err());
    }
}
