//! The folder of a batch: three files that only grow, a line a record, and what is in them.
//!
//! A line is written in one piece and counts once its end is there: what a killed process left
//! half written is cut off by the next one. Two processes cannot write at once.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{failure::Failure, write::Target};

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Decided,
    Person,
    Unavailable,
}

/// Each part, its file, and its word in a record.
const PARTS: [(Part, &str, &str); 3] = [
    (Part::Decided, "decided.jsonl", "pass"),
    (Part::Person, "person.jsonl", "review"),
    (Part::Unavailable, "unavailable.jsonl", "unavailable"),
];
/// Lines that could not be read.
const BAD: &str = "bad.jsonl";
/// Held while somebody writes.
const LOCK: &str = ".lock";
/// Records between two waits for the disk.
const SYNC: u64 = 64;

impl Part {
    /// The name of its file.
    pub fn file(self) -> &'static str {
        PARTS[self as usize].1
    }

    /// The outcome of its records.
    pub fn outcome(self) -> &'static str {
        PARTS[self as usize].2
    }
}

/// An opened folder.
pub struct Folder {
    path: PathBuf,
    files: [File; 3],
    done: BTreeSet<String>,
    fresh: u64,
    _lock: File,
}

impl Folder {
    /// Opens or makes the folder at `path`, and reads what is done.
    pub fn open(path: &Path) -> Result<Folder, Failure> {
        let shown = path.display();
        let fault = |e: io::Error| Failure::usage(format!("cannot write into {shown}: {e}"));
        match fs::create_dir(path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(fault(e)),
            _ => {}
        }
        if !path.is_dir() {
            return Err(Failure::usage(format!("{shown} is there and is no folder")));
        }
        let open = |name: &str| {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true);
            let at = path.join(name);
            if fs::symlink_metadata(&at).is_ok_and(|meta| !meta.is_file()) {
                return Err(io::Error::other(format!("{name} is no regular file")));
            }
            options.open(at)
        };
        let lock = open(LOCK).map_err(fault)?;
        if let Err(e) = lock.try_lock() {
            let why = match e {
                fs::TryLockError::WouldBlock => "another run writes there".into(),
                fs::TryLockError::Error(e) => e.to_string(),
            };
            return Err(Failure::running(format!("cannot write into {shown}: {why}")));
        }
        let mut done = BTreeSet::new();
        let mut files = Vec::with_capacity(PARTS.len());
        for (_, name, _) in PARTS {
            let mut file = open(name).map_err(fault)?;
            let read = known(&mut file, &mut done).map_err(fault)?;
            if let Some(line) = read {
                let what = format!("{}: line {line} is no record", path.join(name).display());
                return Err(Failure::usage(what)
                    .hint("it was not written by `recinto judge run`; give another folder"));
            }
            files.push(file);
        }
        let files = files.try_into().map_err(|_| Failure::running("not three files"))?;
        Ok(Folder { path: path.to_owned(), files, done, fresh: 0, _lock: lock })
    }

    /// Whether the record with this key is in one of the files.
    pub fn is_done(&self, input: &str) -> bool {
        self.done.contains(input)
    }

    /// Writes a record down.
    pub fn append(
        &mut self,
        part: Part,
        input: &str,
        record: &impl Serialize,
    ) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(record)
            .map_err(|_| Failure::running("a record cannot be written as JSON"))?;
        line.push(b'\n');
        let file = &mut self.files[part as usize];
        file.write_all(&line).map_err(|e| self::fault(&self.path, part, &e))?;
        self.done.insert(input.to_owned());
        self.fresh += 1;
        match self.fresh.is_multiple_of(SYNC) {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Waits until all is on the disk.
    pub fn sync(&mut self) -> Result<(), Failure> {
        for (part, file) in PARTS.iter().zip(&self.files) {
            file.sync_data().map_err(|e| fault(&self.path, part.0, &e))?;
        }
        Ok(())
    }

    /// The lines of this run that could not be read, as a whole file; none where there are none.
    pub fn write_bad(&self, bad: &[(u64, String)]) -> Result<(), Failure> {
        let path = self.path.join(BAD);
        if bad.is_empty() {
            return match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    Err(Failure::running(format!("cannot remove {}: {e}", path.display())))
                }
                _ => Ok(()),
            };
        }
        let lines =
            bad.iter().map(|(line, why)| format!("{}\n", json!({"line": line, "why": why})));
        Target::new(&path, &[])?.write(lines.collect::<String>().as_bytes())
    }
}

fn fault(folder: &Path, part: Part, error: &io::Error) -> Failure {
    Failure::running(format!("cannot write {}: {error}", folder.join(part.file()).display()))
}

/// Reads the keys of a file, and cuts off a last line without an end; the number of a line that is
/// no record.
fn known(file: &mut File, done: &mut BTreeSet<String>) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(0))?;
    let mut from = BufReader::new(&mut *file);
    let (mut line, mut whole, mut number) = (Vec::new(), 0u64, 0);
    loop {
        line.clear();
        let read = from.read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        number += 1;
        if line.last() != Some(&b'\n') {
            break;
        }
        let record: Option<Value> = serde_json::from_slice(&line).ok();
        let input = record.as_ref().and_then(|record| record["input"].as_str());
        let Some(input) = input else { return Ok(Some(number)) };
        done.insert(input.to_owned());
        whole += read as u64;
    }
    drop(from);
    file.set_len(whole)?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(input: &str) -> Value {
        json!({ "input": input, "año": "ñ" })
    }

    #[test]
    fn what_is_half_written_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("salida");
        let mut folder = Folder::open(&path).unwrap();
        folder.append(Part::Decided, "a", &record("a")).unwrap();
        folder.append(Part::Person, "b", &record("b")).unwrap();
        assert!(Folder::open(&path).is_err(), "somebody writes");
        drop(folder);
        let decided = path.join("decided.jsonl");
        let whole = fs::read(&decided).unwrap();
        for cut in 1..whole.len() {
            let mut bytes = whole.clone();
            bytes.extend_from_slice(&whole[..cut]);
            fs::write(&decided, bytes).unwrap();
            let mut folder = Folder::open(&path).unwrap();
            assert!(folder.is_done("a") && folder.is_done("b") && !folder.is_done("c"), "{cut}");
            folder.append(Part::Unavailable, "c", &record("c")).unwrap();
            assert_eq!(fs::read(&decided).unwrap(), whole, "{cut}");
            fs::remove_file(path.join("unavailable.jsonl")).unwrap();
        }
    }

    #[test]
    fn what_is_no_folder_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("person.jsonl"), "hola\n").unwrap();
        assert!(Folder::open(dir.path()).is_err(), "a line that is no record");
        fs::write(dir.path().join("x"), "").unwrap();
        assert!(Folder::open(&dir.path().join("x")).is_err(), "a file");
        assert!(Folder::open(&dir.path().join("no/hay")).is_err(), "no folder above");
        let linked = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/hosts", linked.path().join("decided.jsonl")).unwrap();
        assert!(Folder::open(linked.path()).is_err(), "a link");
    }

    #[test]
    fn bad_lines_are_those_of_this_run() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        folder.write_bad(&[(3, "not UTF-8".into())]).unwrap();
        let bad = dir.path().join("bad.jsonl");
        assert_eq!(fs::read_to_string(&bad).unwrap(), "{\"line\":3,\"why\":\"not UTF-8\"}\n");
        folder.write_bad(&[]).unwrap();
        assert!(!bad.exists());
        folder.write_bad(&[]).unwrap();
    }
}
