//! Files that are there whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// A file to be written: refused early if its folder is missing, in place only when whole.
pub struct Target {
    path: PathBuf,
    folder: PathBuf,
}

impl Target {
    /// Checks that `path` can be written to at all.
    pub fn new(path: &Path) -> Result<Target, Failure> {
        let shown = path.display();
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if path.file_name().is_none() || path.is_dir() {
            return Err(Failure::usage(format!("cannot write {shown}: it is a folder")));
        }
        if !folder.is_dir() {
            let what = format!("cannot write {shown}: the folder {} is missing", folder.display());
            return Err(Failure::usage(what));
        }
        Ok(Target { path: path.to_owned(), folder })
    }

    /// Writes `bytes` beside the place, then renames.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.try_write(bytes)
            .map_err(|e| Failure::running(format!("cannot write {}: {e}", self.path.display())))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.folder.join(format!(".{name}.{}.tmp", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        // The rename itself reaches the disk with its folder; a file system may refuse.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recibo.json");
        for bytes in [&b"first"[..], b"second"] {
            Target::new(&path).unwrap().write(bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
        }
        let gone = dir.path().join("gone");
        fs::create_dir(&gone).unwrap();
        let target = Target::new(&gone.join("r")).unwrap();
        fs::remove_dir(&gone).unwrap();
        assert!(target.write(b"x").is_err());
        assert!(Target::new(&gone.join("r")).is_err(), "no folder");
        assert!(Target::new(dir.path()).is_err(), "a folder");
    }
}
