//! Files that only grow, a whole piece at a time, such as a log: this user's alone, and whole
//! although several processes write at once.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;

use crate::{owner::Facts, private};

/// Pause between two looks at a lock that somebody else holds.
const PAUSE: Duration = Duration::from_millis(2);
/// How often a file is opened anew because another one took its place meanwhile.
const TRIES: usize = 5;

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.into())
}

/// Puts `piece` at the end of the file at `path`, in one write, and waits for the disk where
/// `sync` says so. A file that is missing is made with mode 0600, its folder with 0700. A piece
/// that would stand behind half a line begins on a new one. Whoever else is writing is waited for,
/// `patience` long. A write that is cut short is taken back.
///
/// # Errors
///
/// A link, what is no regular file, a file of somebody else or one that others may read or write,
/// a folder in which others may replace it, a lock that stays held, a full disk.
pub fn add(path: &Path, piece: &[u8], patience: Duration, sync: bool) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    private::make(folder)?;
    let facts = Facts::at(folder)?;
    if !facts.is_mine() && !facts.is_roots() {
        return Err(refused("its folder belongs to another user"));
    }
    if facts.writable_by_others() && facts.mode & 0o1000 == 0 {
        return Err(refused(format!("others may write to its folder (mode {:04o})", facts.mode)));
    }
    let until = Instant::now() + patience;
    for _ in 0..TRIES {
        let mut file = open(path)?;
        lock(&file, until)?;
        // Somebody may have put another file in its place while this one was waited for.
        if is_at(&file, path) {
            return write(&mut file, piece, sync);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another file took its place again and again"))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(path);
    let file = opened.map_err(|e| match path.is_symlink() {
        true => refused("it is a link"),
        false => e,
    })?;
    if !file.metadata()?.is_file() {
        return Err(refused("it is no regular file"));
    }
    let facts = Facts::of(&file)?;
    if !facts.is_mine() {
        return Err(refused("it belongs to another user"));
    }
    if facts.mode & 0o077 != 0 {
        let what = format!("others may read or write it (mode {:04o}, not 0600)", facts.mode);
        return Err(refused(what));
    }
    Ok(file)
}

fn lock(file: &File, until: Instant) -> io::Result<()> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds it"));
            }
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let place = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let (opened, there) = (file.metadata().map(place), path.symlink_metadata().map(place));
    matches!((opened, there), (Ok(opened), Ok(there)) if opened == there)
}

/// Writes while the lock is held; it goes with the file.
fn write(file: &mut File, piece: &[u8], sync: bool) -> io::Result<()> {
    let before = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if before > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let whole = match last {
        [b'\n'] => piece.to_vec(),
        _ => [b"\n", piece].concat(),
    };
    let written = loop {
        match file.write(&whole) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    let done = match written {
        Ok(len) if len == whole.len() => Ok(()),
        Ok(_) => {
            Err(io::Error::new(io::ErrorKind::StorageFull, "it could be written in part only"))
        }
        Err(e) => Err(e),
    };
    if done.is_err() {
        // Half a line would be told as damage; where this fails, it is.
        let _ = file.set_len(before);
        return done;
    }
    if sync { file.sync_data() } else { Ok(()) }
}

/// Opens the file at `path` for reading, if it is a regular one and no link.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|e| if path.is_symlink() { refused("it is a link") } else { e })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused("it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn it_grows_by_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("estado/añadido.jsonl");
        add(&path, b"uno\n", SOON, false).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        add(&path, b"dos\n", SOON, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"uno\ndos\n");
        // What was cut keeps its line; the next one begins its own.
        fs::write(&path, b"uno\nmed").unwrap();
        add(&path, b"tres\n", SOON, false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"uno\nmed\ntres\n");
    }

    #[test]
    fn what_is_not_this_users_alone_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("f");
        let path = folder.join("x");
        let refusal = |want: &str| {
            let error = add(&path, b"x\n", SOON, false).unwrap_err().to_string();
            assert!(error.contains(want), "{want}: {error}");
        };
        add(&path, b"x\n", SOON, false).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o602] {
            chmod(&path, mode);
            refusal("others may read or write it");
        }
        fs::remove_file(&path).unwrap();
        let target = dir.path().join("blanco");
        fs::write(&target, "").unwrap();
        chmod(&target, 0o600);
        symlink(&target, &path).unwrap();
        refusal("it is a link");
        assert!(open_to_read(&path).unwrap_err().to_string().contains("it is a link"));
        assert_eq!(fs::read(&target).unwrap(), b"");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(add(&path, b"x\n", SOON, false).is_err(), "a folder");
        assert!(open_to_read(&path).is_err(), "a folder");
        fs::remove_dir(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(add(&path, b"x\n", SOON, false).is_err(), "a pipe that nobody reads");
        fs::remove_file(&path).unwrap();
        chmod(&folder, 0o777);
        refusal("others may write to its folder");
        chmod(&folder, 0o1777);
        add(&path, b"x\n", SOON, false).unwrap();
        const SOMEBODY: u32 = 64_242;
        if std::os::unix::fs::chown(&path, Some(SOMEBODY), None).is_ok() {
            refusal("it belongs to another user");
        }
        let full = add(Path::new("/dev/full"), b"x\n", SOON, false).unwrap_err();
        assert!(full.to_string().contains("no regular file"), "{full}");
    }

    #[test]
    fn many_writers_and_a_file_that_is_moved_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let old = dir.path().join("x.1");
        thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..50 {
                        let line = format!("{writer} {n} {}\n", "ñ".repeat(n * 7));
                        add(path, line.as_bytes(), SOON, false).unwrap();
                    }
                });
            }
            thread::sleep(Duration::from_millis(5));
            let _ = fs::rename(&path, &old);
        });
        // Whether anybody writes after the move is chance.
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        text.push_str(&fs::read_to_string(&old).unwrap_or_default());
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 200);
        for line in lines {
            let n: usize = line.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(line.ends_with(&"ñ".repeat(n * 7)), "{line}");
        }
        // Who never lets go is waited for, but not for ever.
        add(&path, "más\n".as_bytes(), SOON, false).unwrap();
        let held = File::open(&path).unwrap();
        held.lock().unwrap();
        let error = add(&path, b"x\n", Duration::from_millis(20), false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
