//! The operator's key for digests of what was sent.
//!
//! A plain digest of a short text can be found by trying texts. One that is keyed cannot, without
//! the key; with it, the operator can show that a text is the one that was sent.

use std::{
    io::{self, Read},
    path::Path,
};

use recinto_os::{Wiped, append, owner::Facts};
use recinto_receipt::{Digest, Hasher};

use crate::error::{Error, Kind};

/// Bytes of a block of SHA-256 (FIPS 180-4, section 1).
const BLOCK: usize = 64;
/// Fewest bytes of a key: as many as the digest has (RFC 2104, section 3).
const MIN_BYTES: usize = 32;
/// Most bytes of a key's file.
const MAX_BYTES: usize = 4096;

/// HMAC with SHA-256 (RFC 2104).
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> Digest {
    let mut block = Wiped::<u8>::new(false);
    match key.len() > BLOCK {
        true => {
            let mut hasher = Hasher::new();
            hasher.update(key);
            block.extend_from_slice(hasher.finish().as_bytes());
        }
        false => block.extend_from_slice(key),
    }
    let padded = |pad: u8| {
        let mut hasher = Hasher::new();
        for at in 0..BLOCK {
            hasher.update(&[block.get(at).copied().unwrap_or(0) ^ pad]);
        }
        hasher
    };
    let mut inner = padded(0x36);
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = padded(0x5c);
    outer.update(inner.finish().as_bytes());
    outer.finish()
}

/// A key, read from a file of the operator's; wiped when it is dropped, and never shown.
pub struct EgressKey(Wiped<u8>);

impl EgressKey {
    /// Reads the key in the file at `path`: all its bytes as they are, a line's end among them.
    ///
    /// # Errors
    ///
    /// A link, a file of somebody else's but root, one that others may read or write, one of fewer
    /// than 32 or more than 4096 bytes.
    pub fn read(path: &Path) -> Result<EgressKey, Error> {
        let fault =
            |what: String| Error::new(Kind::Egress, format!("the key {}: {what}", path.display()));
        let io = |e: io::Error| fault(e.to_string()).hint("name a key that can be read, or none");
        let file = append::open_to_read(path).map_err(io)?;
        let facts = Facts::of(&file).map_err(io)?;
        if !facts.is_mine() && !facts.is_roots() {
            return Err(fault("it belongs to another user".into()).hint("`chown` makes it yours"));
        }
        if facts.mode & 0o037 != 0 || (facts.mode & 0o040 != 0 && facts.is_mine()) {
            let what = format!("others may read or write it (mode {:04o})", facts.mode);
            return Err(fault(what).hint("`chmod 600`, and a new key, since this one may be known"));
        }
        let mut bytes = Wiped::<u8>::new(false);
        bytes.try_resize(MAX_BYTES + 1).map_err(io)?;
        let mut len = 0;
        while len < bytes.len() {
            match (&file).read(&mut bytes[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(io(e)),
            }
        }
        bytes.truncate(len);
        match len {
            MIN_BYTES..=MAX_BYTES => Ok(EgressKey(bytes)),
            _ => Err(fault(format!("a key has {MIN_BYTES} to {MAX_BYTES} bytes"))
                .hint("`head -c 32 /dev/urandom` makes one")),
        }
    }

    /// The keyed digest of `bytes`.
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        hmac(&self.0, &[bytes])
    }
}

impl std::fmt::Debug for EgressKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EgressKey")
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn vectors_of_the_standard() {
        // RFC 4231, sections 4.2 to 4.8; the fifth gives its first 128 bits only.
        let counted: Vec<u8> = (1..=25).collect();
        let cases: [(&str, &[u8], &[u8], &str); 7] = [
            (
                "1",
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                "2",
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                "3",
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                "4",
                &counted,
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            ("5", &[0x0c; 20], b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
            (
                "6",
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                "7",
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size \
                  data. The key needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (name, key, text, want) in cases {
            assert!(hmac(key, &[text]).to_string().starts_with(want), "{name}");
            let (front, back) = text.split_at(text.len() / 2);
            assert_eq!(hmac(key, &[front, back]), hmac(key, &[text]), "{name} in parts");
        }
    }

    #[test]
    fn keys_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("clave");
        let cases: [(&str, usize, u32, Option<&str>); 7] = [
            ("a key", 32, 0o600, None),
            ("the longest", 4096, 0o400, None),
            ("short", 31, 0o600, Some("32 to 4096 bytes")),
            ("long", 4097, 0o600, Some("32 to 4096 bytes")),
            ("empty", 0, 0o600, Some("32 to 4096 bytes")),
            ("others may read", 32, 0o604, Some("others may read")),
            ("a group may read", 32, 0o640, Some("others may read")),
        ];
        for (name, len, mode, want) in cases {
            let _ = fs::remove_file(&path);
            fs::write(&path, vec![b'k'; len]).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match (EgressKey::read(&path), want) {
                (Ok(key), None) => {
                    assert_eq!(key.digest(b"x"), hmac(&vec![b'k'; len], &[b"x"]), "{name}");
                    assert_eq!(format!("{key:?}"), "EgressKey");
                }
                (Err(e), Some(part)) => assert!(e.to_string().contains(part), "{name}: {e}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
        assert!(EgressKey::read(&dir.path().join("nada")).is_err());
        assert!(EgressKey::read(dir.path()).is_err());
        std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
        assert!(EgressKey::read(&dir.path().join("link")).is_err());
    }
}
