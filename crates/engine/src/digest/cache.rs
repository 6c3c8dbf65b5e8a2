//! Digests of files that were hashed in earlier runs, by the files' identity.
//!
//! A file that keeps device, inode, size and both times is taken for the same bytes. That is as
//! good as the system's word, so what comes from here is called `cached`, never computed.
//!
//! `digests` in the folder is a text. Its first line names the form and the SHA-256 of the lines
//! below; each of them is device, inode, size, the two times in nanoseconds, and the digest, the
//! latest file first. Whatever is not exactly that is no cache at all.

use std::{fmt::Write as _, io, path::PathBuf};

use recinto_os::private;
use recinto_receipt::{Digest, sha256};
use recinto_weights::Identity;

const NAME: &str = "digests";
const FORM: &str = "recinto digests 1";
/// Files that are remembered.
const MOST: usize = 64;
/// Bytes that are read: above what `MOST` lines can need.
const BYTES: usize = 32 << 10;

/// A folder that holds a cache of digests, or will.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// The digest that the file with this identity had; `None` also when the cache cannot be
    /// trusted or read.
    pub fn find(&self, identity: &Identity) -> Option<Digest> {
        let bytes = private::read(&self.folder, NAME, BYTES).ok()?;
        parse(&bytes)?.into_iter().find(|entry| entry.0 == *identity).map(|entry| entry.1)
    }

    /// Remembers it, as the latest.
    pub fn keep(&self, identity: &Identity, digest: &Digest) -> io::Result<()> {
        private::replace(&self.folder, NAME, BYTES, |old| {
            let mut entries = vec![(*identity, *digest)];
            let others = old.and_then(|bytes| parse(&bytes)).unwrap_or_default();
            // An inode has one state at a time.
            let same = |id: &Identity| (id.device, id.inode) == (identity.device, identity.inode);
            entries.extend(others.into_iter().filter(|(id, _)| !same(id)));
            entries.truncate(MOST);
            text(&entries).into_bytes()
        })
    }
}

fn text(entries: &[(Identity, Digest)]) -> String {
    let mut lines = String::new();
    for (id, digest) in entries {
        let Identity { device, inode, size, modified, changed } = id;
        // Writing to a text cannot fail.
        let _ = writeln!(lines, "{device} {inode} {size} {modified} {changed} {digest}");
    }
    format!("{FORM} {}\n{lines}", sha256(lines.as_bytes()))
}

/// The entries, if every byte is as [`text`] writes it.
fn parse(bytes: &[u8]) -> Option<Vec<(Identity, Digest)>> {
    let (head, lines) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    let sum: Digest = head.strip_prefix(FORM)?.strip_prefix(' ')?.parse().ok()?;
    if sha256(lines.as_bytes()) != sum {
        return None;
    }
    let entries: Option<Vec<_>> = lines.lines().map(entry).collect();
    entries.filter(|entries| entries.len() <= MOST)
}

fn entry(line: &str) -> Option<(Identity, Digest)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [device, inode, size, modified, changed, digest] = fields[..] else { return None };
    let identity = Identity {
        device: device.parse().ok()?,
        inode: inode.parse().ok()?,
        size: size.parse().ok()?,
        modified: modified.parse().ok()?,
        changed: changed.parse().ok()?,
    };
    Some((identity, digest.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn state(inode: u64) -> Identity {
        Identity { device: 7, inode, size: 9, modified: -1, changed: i128::from(u64::MAX) * 3 }
    }

    #[test]
    fn what_is_kept_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path().join("caché/recinto"));
        assert_eq!(cache.find(&state(1)), None, "no folder yet");
        let digest = |i: u64| sha256(&i.to_le_bytes());
        for i in 0..MOST as u64 + 3 {
            cache.keep(&state(i), &digest(i)).unwrap();
        }
        assert_eq!(cache.find(&state(MOST as u64 + 2)), Some(digest(MOST as u64 + 2)));
        assert_eq!(cache.find(&state(3)), Some(digest(3)), "the oldest that is kept");
        assert_eq!(cache.find(&state(2)), None, "the latest stay");
        let id = state(50);
        let others = [
            ("device", Identity { device: 8, ..id }),
            ("size", Identity { size: 8, ..id }),
            ("modified", Identity { modified: 0, ..id }),
            ("changed", Identity { changed: id.changed + 1, ..id }),
        ];
        for (name, other) in others {
            assert_eq!(cache.find(&other), None, "another {name}");
        }
        // A new state of a file takes the place of the old one.
        cache.keep(&others[2].1, &digest(99)).unwrap();
        assert_eq!(cache.find(&others[2].1), Some(digest(99)));
        assert_eq!(cache.find(&id), None);
        let bytes = fs::read(cache.folder.join(NAME)).unwrap();
        assert_eq!(parse(&bytes).unwrap().len(), MOST);
        assert!(bytes.len() < BYTES / 2);
    }

    #[test]
    fn what_was_tampered_with_is_no_cache() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path().to_owned());
        cache.keep(&state(1), &sha256(b"uno")).unwrap();
        cache.keep(&state(2), &sha256(b"dos")).unwrap();
        let path = dir.path().join(NAME);
        let good = fs::read_to_string(&path).unwrap();
        let hex = sha256(b"uno").to_string();
        let flipped = hex.replacen(&hex[..1], if hex.starts_with('0') { "1" } else { "0" }, 1);
        let sealed = |lines: &str| format!("{FORM} {}\n{lines}", sha256(lines.as_bytes()));
        let cases = [
            ("as it was", good.clone(), true),
            ("another digest", good.replace(&hex, &flipped), false),
            ("another inode", good.replace("7 1 9", "7 3 9"), false),
            ("a later form", good.replace("digests 1", "digests 2"), false),
            ("half of it", good[..good.len() / 2].into(), false),
            ("one byte less", good[..good.len() - 1].into(), false),
            ("a line twice", format!("{good}{}\n", good.lines().last().unwrap()), false),
            ("nothing", String::new(), false),
            ("too long", format!("{good}{}", " ".repeat(BYTES)), false),
            ("fields missing", sealed("7 1 9\n"), false),
            ("no number", sealed(&format!("7 x 9 1 1 {hex}\n")), false),
            ("too many", sealed(&format!("7 1 9 1 1 {hex}\n").repeat(MOST + 1)), false),
        ];
        for (name, text, want) in cases {
            fs::write(&path, text).unwrap();
            assert_eq!(cache.find(&state(1)).is_some(), want, "{name}");
        }
        fs::write(&path, b"\xff\xfe\n").unwrap();
        assert_eq!(cache.find(&state(1)), None, "no text");
        // A broken one does not stay in the way.
        cache.keep(&state(5), &sha256(b"cinco")).unwrap();
        assert_eq!(cache.find(&state(5)), Some(sha256(b"cinco")));
    }
}
