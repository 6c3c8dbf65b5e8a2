//! Which file on disk holds a piece of running code: the executable, or the shared library when
//! another program has loaded us.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// The file that a code address was loaded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    path: PathBuf,
    executable: bool,
    deleted: bool,
}

impl Object {
    /// Where the file was when it was loaded.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the process's executable; otherwise it is a shared library.
    pub fn is_executable(&self) -> bool {
        self.executable
    }

    /// Opens the very file that runs. An executable can be read even after it was replaced; a
    /// library that was replaced since it was loaded is an error, never the new one.
    pub fn open(&self) -> io::Result<File> {
        if self.executable {
            return File::open("/proc/self/exe");
        }
        if self.deleted {
            let what = format!("{} was replaced since it was loaded", self.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        File::open(&self.path)
    }
}

/// The file that holds the code at `address`, such as `some_function as *const () as usize`.
pub fn object(address: usize) -> io::Result<Object> {
    let maps = std::fs::read("/proc/self/maps")?;
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no file holds this code");
    let (path, deleted) = find(&maps, address as u64).ok_or_else(missing)?;
    let link = std::fs::read_link("/proc/self/exe")?;
    let (link, _) = undeleted(link.as_os_str().as_bytes());
    Ok(Object { executable: path.as_os_str().as_bytes() == link, path, deleted })
}

/// The path of the mapping in `proc(5)`'s `maps` that contains `address`, and whether the file
/// is gone from its place.
fn find(maps: &[u8], address: u64) -> Option<(PathBuf, bool)> {
    for line in maps.split(|byte| *byte == b'\n') {
        let mut rest = line;
        let range = word(&mut rest);
        let Some((start, end)) = std::str::from_utf8(range).ok().and_then(|r| r.split_once('-'))
        else {
            continue;
        };
        let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16))
        else {
            continue;
        };
        if !(start..end).contains(&address) {
            continue;
        }
        // Permissions, offset, device and inode come before the path.
        for _ in 0..4 {
            word(&mut rest);
        }
        let (path, deleted) = undeleted(rest.trim_ascii_start());
        if !path.starts_with(b"/") {
            return None;
        }
        return Some((PathBuf::from(OsString::from_vec(unescape(path))), deleted));
    }
    None
}

fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

fn undeleted(path: &[u8]) -> (&[u8], bool) {
    match path.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    }
}

/// The kernel writes a line break in a path as `\012`.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            out.push(b'\n');
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"\
55d0a000-55d0b000 r--p 00000000 fe:00 131 /usr/bin/python3.12
55d0b000-55d0f000 r-xp 00001000 fe:00 131 /usr/bin/python3.12
7f3000000000-7f3000100000 rw-p 00000000 00:00 0
7f3000100000-7f3000200000 r-xp 00001000 fe:00 977 /opt/mi a\xc3\xb1o/recinto.so
7f3000200000-7f3000300000 r-xp 00001000 fe:00 978 /opt/old.so (deleted)
7f3000300000-7f3000400000 r-xp 00001000 fe:00 979 /opt/a\\012b.so
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";

    #[test]
    fn the_mapping_names_the_file() {
        let cases = [
            ("first byte", 0x55d0_a000, Some(("/usr/bin/python3.12", false))),
            ("code", 0x55d0_b123, Some(("/usr/bin/python3.12", false))),
            ("one past", 0x55d0_f000, None),
            ("no file", 0x7f30_0000_0010, None),
            ("blank and ñ", 0x7f30_0010_0001, Some(("/opt/mi año/recinto.so", false))),
            ("replaced", 0x7f30_0020_0001, Some(("/opt/old.so", true))),
            ("line break", 0x7f30_0030_0001, Some(("/opt/a\nb.so", false))),
            ("vdso", 0x7ffd_0000_0001, None),
            ("high", 0xffff_ffff_ff60_0000, None),
            ("zero", 0, None),
        ];
        for (name, address, want) in cases {
            let want = want.map(|(path, deleted)| (PathBuf::from(path), deleted));
            assert_eq!(find(MAPS, address), want, "{name}");
        }
        for text in [&b""[..], b"\n\n", b"x-y r", b"-", b"1-", b"55-66"] {
            assert_eq!(find(text, 0x5a), None);
        }
    }

    #[test]
    fn this_test_is_an_executable() {
        let found = object(this_test_is_an_executable as *const () as usize).unwrap();
        assert!(found.is_executable());
        assert_eq!(found.path(), std::env::current_exe().unwrap());
        let mut magic = [0; 4];
        io::Read::read_exact(&mut found.open().unwrap(), &mut magic).unwrap();
        assert_eq!(&magic, b"\x7fELF");
        assert!(object(0).is_err());
        let heap = Box::new(1u8);
        assert!(object(&raw const *heap as usize).is_err(), "heap is no code");
    }

    #[test]
    fn code_of_a_library_is_not_the_host() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.contains(" r-xp ") && line.contains("libc.so"));
        let Some(line) = line else { return println!("linked without libc.so") };
        let start = usize::from_str_radix(line.split_once('-').unwrap().0, 16).unwrap();
        let found = object(start).unwrap();
        assert!(!found.is_executable());
        assert!(found.path().to_str().unwrap().contains("libc.so"));
        found.open().unwrap();
    }
}
