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
/// A word in the names of projectors for images: GGUF, and no language model.
const PROJECTOR: &str = "mmproj";
/// A word in the names of tables for quantizing; models that were made with one have it too.
const TABLE: &str = "imatrix";

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

    /// How `pick` names it, if it does.
    fn answers_to(&self, pick: &str) -> Option<By> {
        let parts = self.parts.iter().map(|part| part.file.as_str());
        let files = || parts.clone().chain([self.file.as_str()]);
        let last = |file: &str| file.rsplit('/').next() == Some(pick);
        let bare = |file: &str| file.strip_suffix(".gguf").map(str::to_owned);
        let label = self.label.as_deref();
        let ways = [
            (By::Path, parts.clone().any(|file| file == pick)),
            (By::BarePath, files().any(|file| file == pick || bare(file).as_deref() == Some(pick))),
            (By::Name, parts.clone().any(last)),
            (By::BareName, files().any(|file| last(file) || bare(file).is_some_and(|f| last(&f)))),
            (By::Label, label.is_some_and(|label| label.eq_ignore_ascii_case(pick))),
            (By::PartOfLabel, label.is_some_and(|label| quant::is(label, pick))),
        ];
        ways.into_iter().find(|(_, fits)| *fits).map(|(by, _)| by)
    }

    /// Its path for a whole name: that of its first part where another of `all` has its own.
    pub fn path<'a>(&'a self, all: &[Candidate]) -> &'a str {
        let taken = |c: &Candidate| c.parts.iter().any(|part| part.file == self.file);
        match self.parts.first() {
            Some(first) if self.parts.len() > 1 && all.iter().any(taken) => &first.file,
            _ => &self.file,
        }
    }
}

/// What a name chooses a model by; the first that any model answers to counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// The path of its file, or of one of its parts, below the snapshot.
    Path,
    /// The same without the ending, or without the numbers of parts.
    BarePath,
    /// The file's name alone.
    Name,
    /// The same without the ending, or without the numbers of parts.
    BareName,
    /// Its whole quantization.
    Label,
    /// Its quantization without the mark of dynamic ones.
    PartOfLabel,
}

/// Those of `all` that `pick` means.
pub(crate) fn meant<'a>(all: &'a [Candidate], pick: &str) -> Vec<&'a Candidate> {
    let fit: Vec<(By, &Candidate)> =
        all.iter().filter_map(|one| Some((one.answers_to(pick)?, one))).collect();
    let best = fit.iter().map(|row| row.0).min();
    fit.into_iter().filter(|row| Some(row.0) == best).map(|row| row.1).collect()
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

/// The models among `entries`: parts of one together, with those that are missing. `pick` may be
/// the name of a file that does not look like a model.
pub(crate) fn candidates(entries: &[Entry], pick: Option<&str>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let by_file: HashMap<&str, &Entry> =
        entries.iter().map(|entry| (entry.file.as_str(), entry)).collect();
    let mut taken: HashSet<&str> = HashSet::new();
    for entry in entries.iter().filter(|entry| is_model(&entry.file, pick)) {
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

fn is_model(file: &str, pick: Option<&str>) -> bool {
    let last = file.rsplit('/').next().unwrap_or(file);
    let name = last.to_ascii_lowercase();
    let has = |wanted: &str| name.split(['-', '.', '_']).any(|word| word == wanted);
    let asked = || pick.is_some_and(|pick| pick == file || pick == last);
    let table = || has(TABLE) && quant::label(last).is_none() && !asked();
    name.ends_with(".gguf") && !has(PROJECTOR) && !table()
}
