//! The files of one revision: links into `blobs`, or real files where links are not possible.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use recinto_receipt::Digest;

use crate::{
    error::{reason, shown},
    quant, read,
    shards::{MAX_PARTS, Part},
};

/// Folders below a snapshot that are looked into.
const MAX_DEPTH: usize = 8;
/// Files that are GGUF and no language model: projectors for images, tables for quantizing.
const OTHERS: [&str; 2] = ["mmproj", "imatrix"];

/// One file of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its path below the snapshot.
    pub file: String,
    /// The whole path, or why it cannot be used.
    pub place: Result<PathBuf, String>,
    /// Its SHA-256, if the name of its blob claims one.
    pub claimed: Option<Digest>,
}

/// A model in a snapshot: a file, or the parts of one.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Its path below the snapshot, of parts without their numbers.
    pub file: String,
    /// Its quantization, as far as names tell.
    pub label: Option<String>,
    /// The parts in their order; one of a whole file.
    pub parts: Vec<Entry>,
}

impl Candidate {
    /// Why it cannot be used, if it cannot.
    pub fn fault(&self) -> Option<String> {
        let faults: Vec<String> = self
            .parts
            .iter()
            .filter_map(|part| part.place.as_ref().err().map(|why| format!("{} {why}", part.file)))
            .collect();
        (!faults.is_empty()).then(|| crate::error::some_of(&faults, 4))
    }

    /// Whether `pick` names its file, one of its parts, or its quantization.
    pub fn answers_to(&self, pick: &str) -> (bool, bool) {
        let same = |file: &str| {
            let last = file.rsplit('/').next().unwrap_or(file);
            [file, last].iter().any(|f| *f == pick || f.strip_suffix(".gguf") == Some(pick))
        };
        let named = same(&self.file) || self.parts.iter().any(|part| same(&part.file));
        (named, self.label.as_deref().is_some_and(|label| quant::is(label, pick)))
    }
}

/// Every file of a snapshot, sorted, and the folders below it that cannot be read, each with why.
pub(crate) fn entries(repo: &Path, snapshot: &Path) -> (Vec<Entry>, Vec<(String, String)>) {
    let (mut found, mut closed) = (Vec::new(), Vec::new());
    let folders = [repo.join("blobs"), snapshot.to_owned()];
    walk(snapshot, "", 0, &folders, &mut found, &mut closed);
    (found, closed)
}

fn walk(
    folder: &Path,
    above: &str,
    depth: usize,
    folders: &[PathBuf],
    found: &mut Vec<Entry>,
    closed: &mut Vec<(String, String)>,
) {
    let mut close = |why: String| {
        let name = if above.is_empty() { "./" } else { above };
        closed.push((name.to_owned(), why));
    };
    let entries = match read::folder(folder) {
        Ok(inside) if inside.more => {
            close(format!("it has more than the {} entries that are looked at", read::MAX_ENTRIES));
            inside.entries
        }
        Ok(inside) => inside.entries,
        Err(error) => return close(reason(&error)),
    };
    for (name, path) in entries {
        if found.len() >= read::MAX_ENTRIES {
            return;
        }
        let file = format!("{above}{name}");
        let meta = match path.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) => {
                closed.push((file, reason(&error)));
                continue;
            }
        };
        match meta.is_dir() {
            // A link to a folder is followed nowhere: it becomes an entry that is no file.
            true if depth < MAX_DEPTH => {
                walk(&path, &format!("{file}/"), depth + 1, folders, found, closed);
            }
            true => closed.push((file, format!("it is {MAX_DEPTH} folders deep"))),
            false => {
                let place = place(&path, folders);
                let claimed = place.as_ref().ok().and_then(|_| claim(&path));
                found.push(Entry { file, place, claimed });
            }
        }
    }
}

fn place(path: &Path, folders: &[PathBuf]) -> Result<PathBuf, String> {
    if let Err(error) = fs::metadata(path) {
        return Err(match path.read_link() {
            Ok(to) => format!("is a link to {}, which is {}", shown(&to), reason(&error)),
            Err(_) => format!("cannot be looked at: {}", reason(&error)),
        });
    }
    let real = read::within(path, folders).map_err(|_| "is a link out of its repository")?;
    match real.is_file() {
        true => Ok(path.to_owned()),
        false => Err("is no regular file".into()),
    }
}

/// For large files the name of the blob is the SHA-256 of its content.
fn claim(path: &Path) -> Option<Digest> {
    let to = path.read_link().ok()?;
    let name = to.file_name()?.to_str()?;
    (name.len() == 64).then(|| name.parse().ok()).flatten()
}

/// The models among `entries`: parts of one together, with those that are missing.
pub(crate) fn candidates(entries: &[Entry]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let by_file: HashMap<&str, &Entry> =
        entries.iter().map(|entry| (entry.file.as_str(), entry)).collect();
    let mut taken: HashSet<&str> = HashSet::new();
    for entry in entries.iter().filter(|entry| is_model(&entry.file)) {
        let (folder, name) = entry.file.rsplit_once('/').unwrap_or(("", &entry.file));
        let below = |name: &str| match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let candidate = match Part::of(name) {
            None => {
                let label = quant::label(&entry.file);
                Candidate { file: entry.file.clone(), label, parts: vec![entry.clone()] }
            }
            Some(part) => {
                let file = below(&format!("{}.gguf", part.base));
                if taken.contains(entry.file.as_str()) {
                    continue;
                }
                let label = quant::label(&file);
                if part.count > MAX_PARTS {
                    let what = "is one of";
                    let place = Err(format!("{what} {} parts, {MAX_PARTS} are read", part.count));
                    let parts = vec![Entry { place, ..entry.clone() }];
                    found.push(Candidate { file, label, parts });
                    continue;
                }
                let parts = part.names().map(|name| below(&name)).map(|file| {
                    let known = by_file.get(file.as_str()).copied();
                    taken.extend(known.map(|entry| entry.file.as_str()));
                    let place = Err("is missing".into());
                    known.cloned().unwrap_or(Entry { file, place, claimed: None })
                });
                let parts = parts.collect();
                Candidate { file, label, parts }
            }
        };
        found.push(candidate);
    }
    found
}

fn is_model(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    let other = |word: &str| OTHERS.contains(&word);
    name.ends_with(".gguf") && !name.split(['-', '.', '_']).any(other)
}
