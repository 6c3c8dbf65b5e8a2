//! Files that are there whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// Links that are followed before they count as a circle; as many as Linux follows.
const LINKS: usize = 40;
/// Characters of a name that stand in that of the file beside it.
const NAMED: usize = 50;
/// Files of killed processes that may lie beside a place.
const TRIES: u32 = 1000;

/// A new file: whole, or not there.
pub fn new_file(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    // Others may read it and never write: it would not be believed.
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o644).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("{shown} is there and stays as it is"))
                .hint("move it away first, or write it to another place"));
        }
        Err(e) => return Err(Failure::running(format!("cannot write {shown}: {e}"))),
    };
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|e| {
        let _ = fs::remove_file(path);
        Failure::running(format!("cannot write {shown}: {e}"))
    })
}

/// A file to be written: what cannot be written is refused before anything is computed, and what
/// stands in the place is replaced only by a whole file.
///
/// A link is followed: the file it leads to is replaced, not the link. Everything else that is no
/// regular file is refused, and so is a file that this very command reads.
pub struct Target {
    /// The place, links followed.
    path: PathBuf,
}

/// A file beside its place; removed unless it got there.
struct Temporary {
    file: File,
    path: PathBuf,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Temporary {
    fn beside(place: &Path) -> io::Result<Temporary> {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        // Room for what comes after a name that is as long as names can be.
        let (name, id): (String, _) = (name.chars().take(NAMED).collect(), std::process::id());
        // Whatever the mask says: a lock that others could write to would not be believed.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o644);
        for try_ in 0.. {
            let path = folder_of(place).join(format!(".{name}.{id}.{try_}.tmp"));
            match options.open(&path) {
                Ok(file) => return Ok(Temporary { file, path }),
                // In a container each process has the number of one that was killed before.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && try_ < TRIES => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Becomes `place`, which holds then what was written.
    fn become_file(self, place: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, place)?;
        // The rename itself reaches the disk with its folder; a file system may refuse.
        let _ = File::open(folder_of(place)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Target {
    /// Checks that `path` can be written, and that it is none of the files in `read`.
    pub fn new(path: &Path, read: &[PathBuf]) -> Result<Target, Failure> {
        let refuse =
            |why: String| Err(Failure::usage(format!("cannot write {}: {why}", path.display())));
        let place = match place(path) {
            Ok(place) => place,
            Err(why) => return refuse(why),
        };
        if let Ok(there) = fs::metadata(&place) {
            let same =
                |other: &fs::Metadata| (other.dev(), other.ino()) == (there.dev(), there.ino());
            if let Some(other) = read.iter().find(|path| fs::metadata(path).is_ok_and(|m| same(&m)))
            {
                return refuse(format!("it is the same file as {}", other.display()));
            }
            for (name, fd) in [
                ("input", io::stdin().as_fd().try_clone_to_owned()),
                ("output", io::stdout().as_fd().try_clone_to_owned()),
                ("error", io::stderr().as_fd().try_clone_to_owned()),
            ] {
                let file = fd.map(File::from).and_then(|file| file.metadata());
                if file.is_ok_and(|m| same(&m)) {
                    return refuse(format!("it is the file of standard {name}"));
                }
            }
        }
        // Only to see that it can be made. It is not kept: a process that is killed meanwhile
        // would leave it behind.
        match Temporary::beside(&place) {
            Ok(_) => Ok(Target { path: place }),
            Err(e) => refuse(e.to_string()),
        }
    }

    /// Writes `bytes` beside the place, then renames.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_parts(|file| file.write_all(bytes).map_err(|e| self.refused(&e)))
    }

    /// The same of a file that is too large to be held in memory: `parts` writes it.
    pub fn write_parts<T>(
        &self,
        parts: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut next = Temporary::beside(&self.path).map_err(|e| self.refused(&e))?;
        let done = parts(&mut next.file)?;
        next.become_file(&self.path).map_err(|e| self.refused(&e))?;
        Ok(done)
    }

    /// The system does not let it be written.
    pub fn refused(&self, error: &io::Error) -> Failure {
        Failure::running(format!("cannot write {}: {error}", self.path.display()))
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Where a file called `path` is or would be, or why there can be none.
fn place(path: &Path) -> Result<PathBuf, String> {
    if path == Path::new("-") {
        return Err("it has to be a file; one of that name is `./-`".into());
    }
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder || path.file_name().is_none() || path.is_dir() {
        return Err("it is a folder".into());
    }
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err("it is there and is not a regular file".into()),
        Ok(_) => return fs::canonicalize(path).map_err(|e| e.to_string()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e.to_string()),
    }
    let mut place = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&place) {
            Ok(target) => place = folder_of(&place).join(target),
            Err(_) => {
                let folder = folder_of(&place);
                return match folder.is_dir() {
                    true => Ok(place),
                    false => Err(format!("the folder {} is missing", folder.display())),
                };
            }
        }
    }
    Err("its links lead nowhere".into())
}

/// The bytes of a small file; refuses what is no regular file or has more than `most` of them.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let refuse = |why: &str| Failure::usage(format!("cannot read {}: {why}", path.display()));
    let meta = fs::metadata(path).map_err(|e| refuse(&e.to_string()))?;
    if !meta.is_file() {
        return Err(refuse("it is not a regular file"));
    }
    let mut out = Vec::new();
    let file = File::open(path).map_err(|e| refuse(&e.to_string()))?;
    file.take(most + 1).read_to_end(&mut out).map_err(|e| refuse(&e.to_string()))?;
    if out.len() as u64 > most {
        return Err(refuse(&format!("it has more than {most} bytes")));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recibo.json");
        let target = Target::new(&path, &[]).unwrap();
        for bytes in [&b"first"[..], b"second"] {
            target.write(bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
        }
        let _target = Target::new(&path, &[]).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is there before");
        let gone = dir.path().join("gone");
        fs::create_dir(&gone).unwrap();
        let target = Target::new(&gone.join("r"), &[]).unwrap();
        fs::remove_dir(&gone).unwrap();
        assert!(target.write(b"x").is_err());
        assert!(Target::new(&gone.join("r"), &[]).is_err(), "no folder");
        assert!(Target::new(dir.path(), &[]).is_err(), "a folder");
        assert!(Target::new(Path::new("-"), &[]).is_err(), "what elsewhere is stdout");
    }

    #[test]
    fn what_a_killed_process_left_is_not_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ñ".repeat(127));
        let left = Temporary::beside(&path).unwrap();
        Target::new(&path, &[]).unwrap().write(b"x").unwrap();
        assert!(left.path.exists(), "another process may be at it");
        assert_eq!(fs::read(&path).unwrap(), b"x");
        drop(left);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("below")).unwrap();
        symlink("below/año.json", at("link")).unwrap();
        for bytes in [&b"absent"[..], b"there"] {
            Target::new(&at("link"), &[]).unwrap().write(bytes).unwrap();
            assert_eq!(fs::read(at("below/año.json")).unwrap(), bytes);
            assert!(at("link").is_symlink());
        }
        symlink("round", at("round")).unwrap();
        assert!(Target::new(&at("round"), &[]).is_err(), "a circle");
        symlink("no/r", at("lost")).unwrap();
        assert!(Target::new(&at("lost"), &[]).is_err(), "no folder there");
        fs::hard_link(at("below/año.json"), at("same")).unwrap();
        let read = [at("none"), at("same")];
        assert!(Target::new(&at("link"), &read).is_err(), "a file that is read");
    }
}
