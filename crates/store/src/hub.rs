//! Names in the Hugging Face cache: repository, revision, file. Nothing is downloaded.
//!
//! Layout: `models--org--repo/{refs/<ref>, snapshots/<commit>/<path>, blobs/<etag>}`. Source: the
//! hub's documentation of its cache.

mod name;
mod snapshot;

use std::{
    io,
    path::{Path, PathBuf},
};

pub(crate) use self::name::Name;
use self::snapshot::{Candidate, Entry};
use crate::{
    card, checkpoint,
    error::{Error, Kind, Shut, reason, shown, some_of},
    files::{Card, Files, Form, Note, Store},
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
///
/// # Errors
///
/// Why it cannot be said whether it is.
pub(crate) fn locate(name: &Name, root: &Path) -> Result<Option<Held>, Shut> {
    let repo = root.join(name.folder());
    match std::fs::metadata(&repo) {
        Ok(meta) if !meta.is_dir() => Ok(None),
        Ok(_) => Ok(Some(Held { root: root.to_owned(), name: name.clone(), repo })),
        Err(error) if read::is_absent(&error) => Ok(None),
        Err(error) => Err(Shut { path: root.to_owned(), why: reason(&error) }),
    }
}

/// Whether the repository has something that its name could mean, as far as it can be looked at: a
/// folder that a download or a tokenizer left behind does not stand in the way of another store.
pub(crate) fn may_be(held: &Held) -> bool {
    match found(held) {
        Ok(found) => {
            let all = found.candidates();
            let files = !found.picked(&all).is_empty() || !found.closed.is_empty();
            files || (held.name.pick.is_none() && found.checkpoint().is_some())
        }
        Err(error) => error.kind() != Kind::Missing,
    }
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
    said_by: Option<PathBuf>,
}

/// The revision that a name means.
struct Meant {
    commit: String,
    /// What should be said about how it was found.
    note: Option<Note>,
    /// The file of a branch or tag that says so.
    said_by: Option<PathBuf>,
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
    let candidates = found.candidates();
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
    candidates
        .iter()
        .map(|c| (named(c), found.files(c, &candidates).map_err(|e| e.of(repo))))
        .collect()
}

fn found(held: &Held) -> Result<Found<'_>, Error> {
    let Meant { commit, note, said_by } = commit(held)?;
    let folder = held.repo.join("snapshots").join(&commit);
    let (entries, closed) = snapshot::entries(&held.repo, &folder);
    Ok(Found { held, commit, folder, entries, closed, note, said_by })
}

/// The commit that a name means.
fn commit(held: &Held) -> Result<Meant, Error> {
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
        return Ok(Meant { commit: wanted.into(), note: None, said_by: None });
    }
    let path = held.repo.join("refs").join(wanted.strip_prefix("refs/").unwrap_or(wanted));
    let refs = [held.repo.join("refs").join(wanted), path];
    let Some(path) = refs.iter().find(|path| path.is_file()) else {
        return match (asked, &there[..]) {
            (None, [only]) => {
                let note = Some(Note::OnlySnapshot { commit: only.clone() });
                Ok(Meant { commit: only.clone(), note, said_by: None })
            }
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
        true => Ok(Meant { commit: commit.into(), note: None, said_by: Some(path.clone()) }),
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

/// How a model of several is asked for: its quantization where that means no other, else its file.
fn short(candidate: &Candidate, all: &[Candidate]) -> String {
    let alone = |label: &String| {
        let meant = snapshot::meant(all, label);
        meant.len() == 1 && meant[0].file == candidate.file
    };
    candidate.label.clone().filter(alone).unwrap_or_else(|| candidate.path(all).to_owned())
}

impl Found<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        snapshot::candidates(&self.entries, self.held.name.pick.as_deref())
    }

    /// Those that the name could mean.
    fn picked<'c>(&self, all: &'c [Candidate]) -> Vec<&'c Candidate> {
        match &self.held.name.pick {
            None => all.iter().collect(),
            Some(pick) => snapshot::meant(all, pick),
        }
    }

    fn chosen(&self) -> Result<Files, Error> {
        let all = self.candidates();
        let picked = self.picked(&all);
        let whole: Vec<&&Candidate> = picked.iter().filter(|c| c.fault().is_none()).collect();
        match (&picked[..], &whole[..]) {
            ([], _) => self.nothing(&all),
            (_, [one]) => {
                let mut files = self.files(one, &all)?;
                let others = picked.iter().filter_map(|c| Some((c.file.clone(), c.fault()?)));
                files.notes.extend(others.map(|(file, why)| Note::BrokenFile { file, why }));
                Ok(files)
            }
            ([broken], []) => self.files(broken, &all),
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

    fn files(&self, candidate: &Candidate, all: &[Candidate]) -> Result<Files, Error> {
        if let Some(fault) = candidate.fault() {
            return Err(Error::new(Kind::Missing, fault).with_hint(self.again()));
        }
        let mut files = self.blank(candidate.path(all), Form::Gguf);
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
        let mut files = Files { weights, claimed, ..self.blank("", Form::Checkpoint) };
        files.beside.extend(recinto_weights::papers(&self.folder));
        Some(files)
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
            beside: self.said_by.iter().cloned().collect(),
            card: self.card(),
            notes: self.note.iter().cloned().chain(closed).collect(),
        }
    }

    fn card(&self) -> Card {
        let card = self.entries.iter().find(|entry| entry.file == card::FILE);
        let place = card.and_then(|entry| entry.place.as_ref().ok());
        place.and_then(|path| card::at(path)).unwrap_or_default()
    }

    fn again(&self) -> String {
        format!("`hf download {}` brings its files again", self.held.name.repo)
    }
}
