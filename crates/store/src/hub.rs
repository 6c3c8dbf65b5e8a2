//! Names in the Hugging Face cache: repository, revision, file. Nothing is downloaded.
//!
//! Layout: `models--org--repo/{refs/<ref>, snapshots/<commit>/<path>, blobs/<etag>}`. Source: the
//! hub's documentation of its cache.

mod card;
mod name;
mod snapshot;

use std::{
    io,
    path::{Path, PathBuf},
};

pub(crate) use self::name::Name;
use self::snapshot::{Candidate, Entry};
use crate::{
    checkpoint,
    error::{Error, Kind, shown, some_of},
    files::{Files, Form, Note, Store},
    layers::Layers,
    look::{Look, Odd},
    read,
};

/// Bytes of a file in `refs`: a commit and perhaps a line end.
const MAX_REF: u64 = 1024;
/// Names that are listed in an error.
const SHOWN: usize = 12;

/// A repository that the cache has.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub root: PathBuf,
    pub name: Name,
    pub repo: PathBuf,
}

/// The repository of `name` in the cache at `root`, if it is there.
pub(crate) fn locate(name: &Name, root: &Path) -> Option<Held> {
    let repo = root.join(name.folder());
    repo.is_dir().then(|| Held { root: root.to_owned(), name: name.clone(), repo })
}

/// Every repository in the cache at `root`, sorted.
pub(crate) fn repositories(root: &Path) -> io::Result<Look<Held>> {
    let found = read::folder(root)?;
    let mut look = Look::new();
    if found.more {
        look.odd(Odd::Beyond, root.to_owned());
    }
    let is_model = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"models--"))
    };
    found.odd.into_iter().filter(is_model).for_each(|path| look.odd(Odd::Name, path));
    // The cache keeps data sets and notes of its own beside models.
    for (folder, repo) in found.entries.into_iter().filter(|(_, path)| is_model(path)) {
        let name = name::of_folder(&folder).and_then(|repo| Name::read(&repo).ok());
        match (name, std::fs::metadata(&repo)) {
            (None, _) => look.odd(Odd::Name, repo),
            (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                look.odd(Odd::Link, repo);
            }
            (_, Err(error)) => look.close(&repo, &error),
            (_, Ok(meta)) if !meta.is_dir() => look.odd(Odd::Shape, repo),
            (Some(name), Ok(_)) => look.held.push(Held { root: root.to_owned(), name, repo }),
        }
    }
    Ok(look)
}

/// One revision of a repository, looked through.
struct Found<'a> {
    held: &'a Held,
    commit: String,
    folder: PathBuf,
    entries: Vec<Entry>,
    /// Folders of it that cannot be read, and why.
    closed: Vec<(String, String)>,
    note: Option<Note>,
}

/// The files that a name chooses.
pub(crate) fn files(held: &Held) -> Result<Files, Error> {
    found(held).and_then(|found| found.chosen()).map_err(|e| e.of(&held.name.repo))
}

/// Every model of a repository, by its shortest name; broken ones too. Empty for repositories
/// that hold none.
pub(crate) fn models(held: &Held) -> Vec<(String, Result<Files, Error>)> {
    let repo = &held.name.repo;
    let found = match found(held) {
        Ok(found) => found,
        Err(error) => return vec![(repo.clone(), Err(error.of(repo)))],
    };
    let candidates = snapshot::candidates(&found.entries);
    if candidates.is_empty() {
        let listed = match (found.checkpoint(), found.closed.is_empty()) {
            (Some(files), _) => Some(Ok(files)),
            (None, false) => Some(found.chosen().map_err(|e| e.of(repo))),
            (None, true) => None,
        };
        return listed.into_iter().map(|files| (repo.clone(), files)).collect();
    }
    let only = candidates.len() == 1;
    let named = |candidate: &Candidate| match only {
        true => repo.clone(),
        false => format!("{repo}:{}", short(candidate, &candidates)),
    };
    candidates.iter().map(|c| (named(c), found.files(c).map_err(|e| e.of(repo)))).collect()
}

fn found(held: &Held) -> Result<Found<'_>, Error> {
    let (commit, note) = commit(held)?;
    let folder = held.repo.join("snapshots").join(&commit);
    let (entries, closed) = snapshot::entries(&held.repo, &folder);
    Ok(Found { held, commit, folder, entries, closed, note })
}

/// The commit that a name means, and what should be said about how it was found.
fn commit(held: &Held) -> Result<(String, Option<Note>), Error> {
    let snapshots = held.repo.join("snapshots");
    let there: Vec<String> = match read::entries(&snapshots) {
        // A link to a folder could lead anywhere: a snapshot is a folder of its own.
        Ok(entries) => {
            let own = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
            entries.into_iter().filter(|(_, path)| own(path)).map(|entry| entry.0).collect()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io(&snapshots, &error)),
    };
    if there.is_empty() {
        let what = format!("{} has no snapshot", shown(&held.repo));
        return Err(Error::new(Kind::Missing, what)
            .with_hint("its download was not finished, or its files were removed"));
    }
    let asked = held.name.revision.as_deref();
    let wanted = asked.unwrap_or("main");
    if asked.is_some_and(|asked| there.iter().any(|commit| commit == asked)) {
        return Ok((wanted.into(), None));
    }
    let path = held.repo.join("refs").join(wanted.strip_prefix("refs/").unwrap_or(wanted));
    let refs = [held.repo.join("refs").join(wanted), path];
    let Some(path) = refs.iter().find(|path| path.is_file()) else {
        return match (asked, &there[..]) {
            (None, [only]) => Ok((only.clone(), Some(Note::OnlySnapshot { commit: only.clone() }))),
            (None, _) => {
                let what = format!("it has {} snapshots and no main branch", there.len());
                Err(Error::new(Kind::Ambiguous, what)
                    .with_hint(format!("put one after `@`: {}", some_of(&there, SHOWN))))
            }
            (Some(_), _) => {
                let what = format!("the cache has no revision `{wanted}` of it");
                let known = [revisions(&held.repo), there.clone()].concat();
                Err(Error::new(Kind::Missing, what)
                    .with_hint(format!("it has {}", some_of(&known, SHOWN))))
            }
        };
    };
    let real = read::within(path, &[held.repo.join("refs")])?;
    let text = read::bounded(&real, MAX_REF)?;
    let text = String::from_utf8_lossy(&text);
    let commit = text.trim();
    match there.iter().any(|known| known == commit) {
        true => Ok((commit.into(), None)),
        false => {
            let what = format!("{} names a commit whose snapshot is not there", shown(path));
            Err(Error::new(Kind::Missing, what)
                .with_hint(format!("put one after `@`: {}", some_of(&there, SHOWN))))
        }
    }
}

/// The names in `refs`.
fn revisions(repo: &Path) -> Vec<String> {
    let entries = read::entries(&repo.join("refs")).unwrap_or_default();
    entries.into_iter().filter(|(_, path)| path.is_file()).map(|entry| entry.0).collect()
}

/// How a model of several is asked for: its quantization where no other has it, else its file.
fn short(candidate: &Candidate, all: &[Candidate]) -> String {
    let same =
        |label: &String| all.iter().filter(|c| c.answers_to(label) != (false, false)).count();
    let label = candidate.label.clone().filter(|label| same(label) == 1);
    label.unwrap_or_else(|| candidate.file.clone())
}

impl Found<'_> {
    fn chosen(&self) -> Result<Files, Error> {
        let all = snapshot::candidates(&self.entries);
        let picked: Vec<&Candidate> = match &self.held.name.pick {
            None => all.iter().collect(),
            Some(pick) => {
                let named = |c: &&Candidate| c.answers_to(pick).0;
                let labelled = |c: &&Candidate| c.answers_to(pick).1;
                let files: Vec<&Candidate> = all.iter().filter(named).collect();
                if files.is_empty() { all.iter().filter(labelled).collect() } else { files }
            }
        };
        let whole: Vec<&&Candidate> = picked.iter().filter(|c| c.fault().is_none()).collect();
        match (&picked[..], &whole[..]) {
            ([], _) => self.nothing(&all),
            (_, [one]) => {
                let mut files = self.files(one)?;
                let others = picked.iter().filter_map(|c| Some((c.file.clone(), c.fault()?)));
                files.notes.extend(others.map(|(file, why)| Note::BrokenFile { file, why }));
                Ok(files)
            }
            ([broken], []) => self.files(broken),
            (_, []) => {
                let faults: Vec<String> = picked.iter().filter_map(|c| c.fault()).collect();
                let what = format!("none of its models is whole: {}", some_of(&faults, 4));
                Err(Error::new(Kind::Missing, what).with_hint(self.again()))
            }
            _ => {
                let names: Vec<String> = whole
                    .iter()
                    .map(|c| format!("{}:{}", self.held.name.repo, short(c, &all)))
                    .collect();
                let what = format!("{} models could be meant", names.len());
                Err(Error::new(Kind::Ambiguous, what)
                    .with_hint(format!("choose one: {}", some_of(&names, SHOWN))))
            }
        }
    }

    /// No model is what was asked for.
    fn nothing(&self, all: &[Candidate]) -> Result<Files, Error> {
        match (&self.held.name.pick, all) {
            (None, _) => self.checkpoint().ok_or_else(|| {
                if let Some((folder, why)) = self.closed.first() {
                    let folder = self.folder.join(folder);
                    let what = format!("cannot read {}: {why}", shown(&folder));
                    return Error::new(Kind::Io, what);
                }
                let what = format!("{} has no .gguf file that is a model", shown(&self.folder));
                Error::new(Kind::Unsupported, what).with_hint(self.again())
            }),
            (Some(pick), []) => {
                let what = format!("it has no .gguf file, so none that is `{pick}`");
                Err(Error::new(Kind::Missing, what).with_hint(self.again()))
            }
            (Some(pick), all) => {
                let names: Vec<String> = all.iter().map(|c| short(c, all)).collect();
                let what = format!("it has no `{pick}`");
                Err(Error::new(Kind::Missing, what)
                    .with_hint(format!("it has {}", some_of(&names, SHOWN))))
            }
        }
    }

    fn files(&self, candidate: &Candidate) -> Result<Files, Error> {
        if let Some(fault) = candidate.fault() {
            return Err(Error::new(Kind::Missing, fault).with_hint(self.again()));
        }
        let mut files = self.blank(&candidate.file, Form::Gguf);
        for part in &candidate.parts {
            files.weights.extend(part.place.clone().ok());
            files.claimed.push(part.claimed);
        }
        Ok(files)
    }

    /// The checkpoint at the top of the snapshot, if all of its files can be used.
    fn checkpoint(&self) -> Option<Files> {
        let top = || self.entries.iter().filter(|entry| !entry.file.contains('/'));
        let files =
            top().filter_map(|entry| Some((entry.file.as_str(), entry.place.as_ref().ok()?)));
        let names: Vec<(&str, &PathBuf)> = files.collect();
        let weights = checkpoint::weights(&names)?;
        let claimed = |path: &PathBuf| top().find(|e| e.place.as_ref() == Ok(path))?.claimed;
        let claimed = weights.iter().map(claimed).collect();
        Some(Files { weights, claimed, ..self.blank("", Form::Checkpoint) })
    }

    fn blank(&self, file: &str, form: Form) -> Files {
        let mut name = format!("hf:{}@{}", self.held.name.repo, self.commit);
        if !file.is_empty() {
            name = format!("{name}:{file}");
        }
        let closed = self.closed.iter();
        let closed = closed
            .map(|(folder, why)| Note::ClosedFolder { folder: folder.clone(), why: why.clone() });
        Files {
            store: Store::Hub,
            name,
            root: self.held.root.clone(),
            form,
            weights: Vec::new(),
            claimed: Vec::new(),
            layers: Layers::default(),
            card: card::card(&self.entries),
            notes: self.note.iter().cloned().chain(closed).collect(),
        }
    }

    fn again(&self) -> String {
        format!("`hf download {}` brings its files again", self.held.name.repo)
    }
}
