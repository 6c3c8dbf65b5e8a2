//! A file's bytes as memory: mapped read-only, or copied once into pages of this process, with the
//! identity the file had at that moment.

use std::{
    fs::{File, FileType, Metadata, OpenOptions},
    io,
    ops::{ControlFlow, Range},
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::OFlags;

use crate::pages::{Pages, Pinned, Source};

/// What tells one state of one file from another, as the system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub modified: i128,
    /// Last change of the inode, nanoseconds since 1970.
    pub changed: i128,
}

impl Identity {
    fn of(meta: &Metadata) -> Identity {
        let nanos =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Identity {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            modified: nanos(meta.mtime(), meta.mtime_nsec()),
            changed: nanos(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether both times lie at least `age` before `moment`. A younger state may still be
    /// written to without a new time: clocks of file systems go in steps, of up to two seconds.
    pub fn settled(&self, moment: SystemTime, age: Duration) -> bool {
        let Some(border) = moment.checked_sub(age) else { return false };
        let Ok(border) = border.duration_since(UNIX_EPOCH) else { return false };
        let border = i128::try_from(border.as_nanos()).unwrap_or(i128::MAX);
        self.modified <= border && self.changed <= border
    }
}

/// What the system may expect of the reads to come; advice, never a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Everything will be needed soon: read it ahead.
    WillNeed,
    /// Use large pages where the file system can.
    HugePage,
    /// Read from front to back.
    Sequential,
    /// No order to be expected; undoes `Sequential`.
    Normal,
}

impl Advice {
    fn flag(self) -> memmap2::Advice {
        match self {
            Advice::WillNeed => memmap2::Advice::WillNeed,
            Advice::HugePage => memmap2::Advice::HugePage,
            Advice::Sequential => memmap2::Advice::Sequential,
            Advice::Normal => memmap2::Advice::Normal,
        }
    }
}

/// Bytes of a file, mapped read-only or copied; or bytes in memory for tests and fuzzing.
pub struct Map {
    bytes: Bytes,
    source: Option<Opened>,
    identity: Option<Identity>,
}

/// The file behind a mapping.
struct Opened {
    file: File,
    /// Where it was found, whole; `None` when the working folder was gone.
    path: Option<PathBuf>,
}

enum Bytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
    Pinned(Pinned),
}

impl Map {
    /// Maps `path` read-only. An empty file gives an empty map; anything but a regular file is
    /// refused without waiting on it.
    pub fn open(path: &Path) -> io::Result<Map> {
        // Opening a device or a pipe can have effects or wait, so the kind is asked first; the
        // flags cover a path that is exchanged between the two calls.
        regular(std::fs::metadata(path)?.file_type())?;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
        regular(file.metadata()?.file_type())?;
        let identity = Identity::of(&file.metadata()?);
        let bytes = if identity.size == 0 {
            Bytes::Owned(Vec::new())
        } else {
            // SAFETY: the mapping is read-only and owned by this value, which keeps the file
            // open. Another process that truncates the file can still make a read fault;
            // `docs/unsafe.md` says how that is met.
            Bytes::Mapped(unsafe { memmap2::Mmap::map(&file)? })
        };
        let source = Opened { file, path: std::path::absolute(path).ok() };
        Ok(Map { bytes, source: Some(source), identity: Some(identity) })
    }

    /// Bytes that are already in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Map {
        Map { bytes: Bytes::Owned(bytes), source: None, identity: None }
    }

    /// A copy of the bytes in pages of this process, read from the file again, not through the
    /// mapping. `see` is shown every byte of the copy in order and may break off.
    pub fn copy(&self, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<Pages> {
        let source = match &self.source {
            Some(source) => Source::File(&source.file),
            None => Source::Bytes(self.bytes()),
        };
        Pages::copy(source, self.bytes().len(), see)
    }

    /// This map with `pages` as its bytes, read-only from here on; the mapping of the file ends.
    pub fn pinned(self, pages: Pages) -> io::Result<Map> {
        let bytes = Bytes::Pinned(pages.read_only()?);
        Ok(Map { bytes, source: None, identity: self.identity })
    }

    /// Whether the bytes are a copy that no file can change any more.
    pub fn is_pinned(&self) -> bool {
        matches!(self.bytes, Bytes::Pinned(_))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
            Bytes::Pinned(pages) => pages,
        }
    }

    /// Advises the system about all bytes; bytes in memory need no advice.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.advise_range(advice, 0..self.bytes().len())
    }

    /// Advises the system about the pages of `range`, which must lie inside the bytes.
    pub fn advise_range(&self, advice: Advice, range: Range<usize>) -> io::Result<()> {
        if range.start > range.end || range.end > self.bytes().len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "range outside the map"));
        }
        match &self.bytes {
            Bytes::Mapped(map) => map.advise_range(advice.flag(), range.start, range.len()),
            Bytes::Owned(_) | Bytes::Pinned(_) => Ok(()),
        }
    }

    /// The identity the file had when it was mapped; `None` for bytes in memory.
    pub fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Whether the file is still as it was when it was mapped (size, times), and still the one
    /// that its path leads to; true for a copy and for bytes in memory, which nobody else can
    /// change.
    ///
    /// A file that was replaced by another of its name stays mapped as it was, but it is no longer
    /// what its name says.
    pub fn unchanged(&self) -> io::Result<bool> {
        let (Some(source), Some(identity)) = (&self.source, self.identity) else {
            return Ok(true);
        };
        if Identity::of(&source.file.metadata()?) != identity {
            return Ok(false);
        }
        match &source.path {
            Some(path) => Ok(Identity::of(&std::fs::metadata(path)?) == identity),
            None => Ok(true),
        }
    }
}

fn regular(kind: FileType) -> io::Result<()> {
    let name = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder, not a file",
        kind if kind.is_fifo() => "a named pipe, not a regular file",
        kind if kind.is_socket() => "a socket, not a regular file",
        kind if kind.is_char_device() || kind.is_block_device() => "a device, not a regular file",
        _ => "not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, name))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn maps_what_is_a_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("full"), "año").unwrap();
        std::fs::write(at("empty"), "").unwrap();
        std::os::unix::fs::symlink(at("full"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("loop"), at("loop")).unwrap();
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), kind, 0o600.into(), 0).unwrap();
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let cases: [(&str, Result<&[u8], &str>); 8] = [
            ("full", Ok("año".as_bytes())),
            ("empty", Ok(b"")),
            ("link", Ok("año".as_bytes())),
            ("loop", Err("symbolic links")),
            ("pipe", Err("a named pipe, not a regular file")),
            ("socket", Err("a socket, not a regular file")),
            (".", Err("a folder, not a file")),
            ("missing", Err("No such file")),
        ];
        for (name, want) in cases {
            match (Map::open(&at(name)), want) {
                (Ok(map), Ok(want)) => assert_eq!(map.bytes(), want, "{name}"),
                (Err(e), Err(want)) => assert!(e.to_string().contains(want), "{name}: {e}"),
                (Ok(_), Err(_)) => panic!("{name} was opened"),
                (Err(e), Ok(_)) => panic!("{name}: {e}"),
            }
        }
        assert!(Map::open(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn a_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (path, real) = (folder.path().join("model"), folder.path().join("real"));
        let other = folder.path().join("otro");
        let open = || std::fs::OpenOptions::new().write(true).open(&real).unwrap();
        let cases: [(&str, &dyn Fn()); 8] = [
            ("longer", &|| open().set_len(10_001).unwrap()),
            ("shorter", &|| open().set_len(9_999).unwrap()),
            ("written to in place", &|| open().write_all(b"x").unwrap()),
            ("the same bytes again", &|| open().write_all(&[7; 10_000]).unwrap()),
            ("another file of its name", &|| std::fs::rename(&other, &real).unwrap()),
            ("renamed", &|| std::fs::rename(&real, &other).unwrap()),
            ("removed", &|| std::fs::remove_file(&real).unwrap()),
            ("its link leads elsewhere", &|| {
                std::fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink(&other, &path).unwrap();
            }),
        ];
        for (name, change) in cases {
            let _ = std::fs::remove_file(&path);
            std::fs::write(&real, vec![7; 10_000]).unwrap();
            std::fs::write(&other, vec![7; 10_000]).unwrap();
            std::os::unix::fs::symlink(&real, &path).unwrap();
            // Longer than a step of the clock that file systems take their times from.
            std::thread::sleep(Duration::from_millis(20));
            let map = Map::open(&path).unwrap();
            assert!(map.unchanged().unwrap(), "{name}");
            assert_eq!(map.identity().unwrap().size, 10_000);
            change();
            assert!(!map.unchanged().unwrap_or(false), "{name}");
        }
        let memory = Map::from_bytes(vec![1]);
        assert!(memory.unchanged().unwrap() && memory.identity().is_none());
    }

    #[test]
    fn a_copy_does_not_change_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("modelo");
        for len in [0, 1, 10_000] {
            std::fs::write(&path, vec![7; len]).unwrap();
            let map = Map::open(&path).unwrap();
            let identity = map.identity();
            let mut seen = 0;
            let mut see = |bytes: &[u8]| {
                seen += bytes.len();
                ControlFlow::Continue(())
            };
            let pages = map.copy(&mut see).unwrap();
            let map = map.pinned(pages).unwrap();
            assert!(map.is_pinned() && seen == len);
            std::fs::write(&path, "año").unwrap();
            assert_eq!(map.bytes(), vec![7; len]);
            assert!(map.unchanged().unwrap() && map.identity() == identity);
            map.advise(Advice::WillNeed).unwrap();
        }
        // Cut short between the two: an error, no signal.
        let map = Map::open(&path).unwrap();
        std::fs::write(&path, "a").unwrap();
        let error = map.copy(&mut |_| ControlFlow::Continue(())).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_young_state_is_not_settled() {
        let at = |nanos: u64| UNIX_EPOCH + Duration::from_nanos(nanos);
        let second: i128 = 1_000_000_000;
        let state =
            |modified, changed| Identity { device: 1, inode: 2, size: 3, modified, changed };
        let cases = [
            ("old", state(second, second), 3 * second, true),
            ("content younger", state(second + 1, second), 3 * second, false),
            ("inode younger", state(second, second + 1), 3 * second, false),
            ("from the future", state(9 * second, second), 3 * second, false),
            ("before 1970", state(-second, -second), 3 * second, true),
            ("a clock before 1970", state(0, 0), 0, false),
        ];
        for (name, state, now, want) in cases {
            assert_eq!(state.settled(at(now as u64), Duration::from_secs(2)), want, "{name}");
        }
    }

    #[test]
    fn advice_stays_inside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        std::fs::write(&path, vec![7; 10_000]).unwrap();
        for map in [Map::open(&path).unwrap(), Map::from_bytes(vec![7; 10_000])] {
            map.advise(Advice::WillNeed).unwrap();
            map.advise(Advice::Sequential).unwrap();
            map.advise(Advice::Normal).unwrap();
            map.advise_range(Advice::WillNeed, 5000..6000).unwrap();
            // A kernel without large pages may refuse; the bytes stay what they are.
            let _ = map.advise(Advice::HugePage);
            assert!(map.advise_range(Advice::WillNeed, 9_000..10_001).is_err());
            assert_eq!(map.bytes(), vec![7; 10_000]);
        }
    }
}
