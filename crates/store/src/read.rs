//! Small files of stores, read with a bound and never through a link that leads out.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::error::{Error, Kind, shown};

/// Most entries of one folder that are looked at.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// Whether an error says that nothing is there, rather than that it cannot be looked at.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// The bytes of a regular file of at most `most` bytes.
pub(crate) fn bounded(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    // Before it is opened: to open a pipe would wait for its other end.
    let meta = fs::metadata(path).map_err(|e| Error::io(path, &e))?;
    if !meta.is_file() {
        let what = format!("{} is not a regular file", shown(path));
        return Err(Error::new(Kind::NotAFile, what));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|e| Error::io(path, &e))?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|e| Error::io(path, &e))?;
    if bytes.len() as u64 > most {
        let what = format!("{} has more than the {most} bytes that are read", shown(path));
        return Err(Error::new(Kind::Broken, what));
    }
    Ok(bytes)
}

/// The place that `path` leads to, which must be below one of `folders`, links followed.
pub(crate) fn within(path: &Path, folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let real = path.canonicalize().map_err(|e| Error::io(path, &e))?;
    let inside = |folder: &PathBuf| folder.canonicalize().is_ok_and(|base| real.starts_with(base));
    if folders.iter().any(inside) {
        return Ok(real);
    }
    let what = format!("{} is a link out of the store, to {}", shown(path), shown(&real));
    Err(Error::new(Kind::Outside, what)
        .with_hint("name the file itself by its path, if that is what you want"))
}

/// What is in a folder.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Entries whose names are plain text, sorted.
    pub entries: Vec<(String, PathBuf)>,
    /// Those whose names are not.
    pub odd: Vec<PathBuf>,
    /// Whether there are more than were looked at.
    pub more: bool,
}

/// What is in a folder, sorted by name.
pub(crate) fn folder(path: &Path) -> io::Result<Folder> {
    let mut found = Folder::default();
    let mut left = fs::read_dir(path)?;
    for entry in left.by_ref().take(MAX_ENTRIES) {
        let entry = entry?;
        match entry.file_name().into_string() {
            Ok(name) if !name.contains(char::is_control) => {
                found.entries.push((name, entry.path()));
            }
            _ => found.odd.push(entry.path()),
        }
    }
    found.more = left.next().is_some();
    found.entries.sort();
    Ok(found)
}

/// The entries of a folder, sorted by name; names that are not plain text are left out.
pub(crate) fn entries(path: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    Ok(folder(path)?.entries)
}
