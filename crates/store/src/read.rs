//! Small files of stores, read with a bound and never through a link that leads out.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use crate::error::{Error, Kind, shown};

/// Most entries of one folder that are looked at.
pub(crate) const MAX_ENTRIES: usize = 10_000;

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

/// The entries of a folder, sorted by name; names that are not plain text are left out.
pub(crate) fn entries(folder: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(folder)?
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            (!name.contains(char::is_control)).then(|| (name, entry.path()))
        })
        .collect();
    found.sort();
    Ok(found)
}
