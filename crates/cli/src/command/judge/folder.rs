//! The folder of a batch: three files that only grow, a line a record, and what is in them.
//!
//! A line is written in one piece and counts once its end is there: what a killed process left
//! half written is cut off by the next one. Two processes cannot write at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use recinto_receipt::Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::Failure;

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
/// How each line begins.
const BEGINNING: &[u8] = b"{\"input\":\"sha256:";

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
    done: BTreeSet<Digest>,
    /// How many records were judged by what.
    bases: BTreeMap<Option<Digest>, u64>,
    bad: Option<File>,
    fresh: u64,
    _lock: File,
}

/// What of a line is looked at again.
#[derive(Deserialize)]
struct Known {
    input: Digest,
    basis: Option<Digest>,
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
        let open = |name: &str| open(path, name);
        let lock = open(LOCK).map_err(fault)?;
        if let Err(e) = lock.try_lock() {
            let why = match e {
                fs::TryLockError::WouldBlock => "another run writes there".into(),
                fs::TryLockError::Error(e) => e.to_string(),
            };
            return Err(Failure::running(format!("cannot write into {shown}: {why}")));
        }
        let (mut done, mut bases) = (BTreeSet::new(), BTreeMap::new());
        let mut files = Vec::with_capacity(PARTS.len());
        for (_, name, _) in PARTS {
            let mut file = open(name).map_err(fault)?;
            let mut keep = |line: Known| {
                done.insert(line.input);
                *bases.entry(line.basis).or_default() += 1;
            };
            if let Some(line) = known(&mut file, &mut keep).map_err(fault)? {
                let what = format!("{}: line {line} is no record", path.join(name).display());
                return Err(Failure::usage(what)
                    .hint("it was not written by `recinto judge run`; give another folder"));
            }
            files.push(file);
        }
        let files = files.try_into().map_err(|_| Failure::running("not three files"))?;
        // It is about the lines of one run.
        match fs::remove_file(path.join(BAD)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(fault(e)),
            _ => {}
        }
        let path = path.to_owned();
        Ok(Folder { path, files, done, bases, bad: None, fresh: 0, _lock: lock })
    }

    /// Whether the record with this key is in one of the files.
    pub fn is_done(&self, input: &Digest) -> bool {
        self.done.contains(input)
    }

    /// How many records of earlier runs were judged by something else than `basis`.
    pub fn others(&self, basis: Digest) -> u64 {
        self.bases.iter().filter(|row| *row.0 != Some(basis)).map(|row| row.1).sum()
    }

    /// Writes a record down.
    pub fn append(
        &mut self,
        part: Part,
        input: Digest,
        record: &impl Serialize,
    ) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(record)
            .map_err(|_| Failure::running("a record cannot be written as JSON"))?;
        line.push(b'\n');
        let file = &mut self.files[part as usize];
        file.write_all(&line).map_err(|e| fault(&self.path, part.file(), &e))?;
        self.done.insert(input);
        self.fresh += 1;
        match self.fresh.is_multiple_of(SYNC) {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Waits until all is on the disk.
    pub fn sync(&mut self) -> Result<(), Failure> {
        for (part, file) in PARTS.iter().zip(&self.files) {
            file.sync_data().map_err(|e| fault(&self.path, part.1, &e))?;
        }
        Ok(())
    }

    /// Writes down that a line of this run could not be read.
    pub fn append_bad(&mut self, line: u64, why: &str) -> Result<(), Failure> {
        let file = match &mut self.bad {
            Some(file) => file,
            none => none.insert(open(&self.path, BAD).map_err(|e| fault(&self.path, BAD, &e))?),
        };
        let told = format!("{}\n", json!({"line": line, "why": why}));
        file.write_all(told.as_bytes()).map_err(|e| fault(&self.path, BAD, &e))
    }
}

/// A file of the folder, to be read and added to; nothing but a regular one.
fn open(folder: &Path, name: &str) -> io::Result<File> {
    let at = folder.join(name);
    if fs::symlink_metadata(&at).is_ok_and(|meta| !meta.is_file()) {
        return Err(io::Error::other(format!("{name} is no regular file")));
    }
    OpenOptions::new().read(true).append(true).create(true).open(at)
}

fn fault(folder: &Path, file: &str, error: &io::Error) -> Failure {
    Failure::running(format!("cannot write {}: {error}", folder.join(file).display()))
}

/// Reads the lines of a file, and cuts off a last one without an end, if it is one of ours; the
/// number of a line that is no record.
fn known(file: &mut File, keep: &mut impl FnMut(Known)) -> io::Result<Option<u64>> {
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
        let Ok(record) = serde_json::from_slice(&line) else { return Ok(Some(number)) };
        keep(record);
        whole += read as u64;
    }
    drop(from);
    // A power cut can leave room that nothing was written to.
    let ours = line.starts_with(BEGINNING) || BEGINNING.starts_with(&line);
    if !ours && line.iter().any(|byte| *byte != 0) {
        return Ok(Some(number));
    }
    file.set_len(whole)?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(of: &str) -> Digest {
        recinto_receipt::sha256(of.as_bytes())
    }

    fn record(input: &str, basis: &str) -> serde_json::Value {
        json!({ "input": digest(input), "basis": digest(basis), "año": "ñ" })
    }

    #[test]
    fn what_is_half_written_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("salida");
        let mut folder = Folder::open(&path).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(digest);
        folder.append(Part::Decided, a, &record("a", "basis")).unwrap();
        folder.append(Part::Person, b, &record("b", "another")).unwrap();
        assert!(Folder::open(&path).is_err(), "somebody writes");
        drop(folder);
        let decided = path.join("decided.jsonl");
        let whole = fs::read(&decided).unwrap();
        assert!(whole.starts_with(BEGINNING));
        for cut in 1..whole.len() {
            let mut bytes = whole.clone();
            bytes.extend_from_slice(&whole[..cut]);
            fs::write(&decided, bytes).unwrap();
            let mut folder = Folder::open(&path).unwrap();
            assert!(folder.is_done(&a) && folder.is_done(&b) && !folder.is_done(&c), "{cut}");
            assert_eq!(folder.others(digest("basis")), 1, "{cut}");
            folder.append(Part::Unavailable, c, &record("c", "basis")).unwrap();
            assert_eq!(fs::read(&decided).unwrap(), whole, "{cut}");
            fs::remove_file(path.join("unavailable.jsonl")).unwrap();
        }
    }

    #[test]
    fn what_is_no_folder_of_ours() {
        let zeros = "\0".repeat(40);
        let cases = [
            ("a line that is no record", "hola\n", false),
            ("a line of somebody else's", "{\"a\":1}\n", false),
            ("the same without an end", "{\"a\":1}", false),
            ("text without an end", "hola", false),
            ("another key", "{\"input\":\"año\"", false),
            ("room", zeros.as_str(), true),
            ("the first byte", "{", true),
        ];
        for (name, text, ours) in cases {
            let dir = tempfile::tempdir().unwrap();
            let at = dir.path().join("person.jsonl");
            fs::write(&at, text).unwrap();
            assert_eq!(Folder::open(dir.path()).is_ok(), ours, "{name}");
            let left = fs::read_to_string(&at).unwrap();
            assert_eq!(left, if ours { "" } else { text }, "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x"), "").unwrap();
        assert!(Folder::open(&dir.path().join("x")).is_err(), "a file");
        assert!(Folder::open(&dir.path().join("no/hay")).is_err(), "no folder above");
        std::os::unix::fs::symlink("/etc/hosts", dir.path().join("decided.jsonl")).unwrap();
        assert!(Folder::open(dir.path()).is_err(), "a link");
    }

    #[test]
    fn bad_lines_are_those_of_this_run() {
        let dir = tempfile::tempdir().unwrap();
        let bad = dir.path().join("bad.jsonl");
        for line in [3, 4] {
            let mut folder = Folder::open(dir.path()).unwrap();
            assert!(!bad.exists());
            folder.append_bad(line, "not UTF-8").unwrap();
            folder.append_bad(9, "no").unwrap();
            let text = format!("{{\"line\":{line},\"why\":\"not UTF-8\"}}\n");
            let text = text + "{\"line\":9,\"why\":\"no\"}\n";
            assert_eq!(fs::read_to_string(&bad).unwrap(), text);
        }
    }
}
