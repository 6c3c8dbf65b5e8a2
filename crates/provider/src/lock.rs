//! The lock file: what the models of a project must be, by the digests of their parts.
//!
//! `docs/lock.md` says what is in it and what it does. It is text in one spelling: whatever
//! [`Lock::to_text`] would not write is refused, so that no reader sees another lock than this one.

use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
};

use recinto_engine::{Claim, Claimant, Digest, Part, Verify};
use serde::{Deserialize, Serialize};

use crate::{
    Local, Settings,
    error::{Error, Kind},
    trusted::{self, Rules},
};

/// Its name in the working directory.
pub const FILE_NAME: &str = "recinto.lock";
/// The form that this version writes and reads.
pub const VERSION: u32 = 1;
/// Entries of this store are names of files, which may have other spellings.
const PATH: &str = "path";
/// What to do about a lock file that is refused.
const IGNORE: &str = "`--no-lock` runs without it";

/// The word for no lock file.
pub(crate) const NONE: &str = "none";

/// Which lock file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LockFile {
    /// [`FILE_NAME`] in the working directory, if it is there.
    #[default]
    Here,
    /// This one; it must be there.
    At(PathBuf),
    /// None.
    Ignored,
}

impl LockFile {
    /// From the value of a setting: a path, or `none`.
    pub(crate) fn named(text: &str) -> LockFile {
        match text {
            NONE => LockFile::Ignored,
            path => LockFile::At(path.into()),
        }
    }
}

impl fmt::Display for LockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockFile::Here => f.write_str(FILE_NAME),
            LockFile::At(path) => write!(f, "{}", path.display()),
            LockFile::Ignored => f.write_str(NONE),
        }
    }
}

/// What models must be, by the names that they are asked for with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// [`VERSION`].
    recinto_lock: u32,
    /// Whether a model that is not in it is refused, and one with files that others may change.
    pub strict: bool,
    /// The models.
    pub models: BTreeMap<String, Entry>,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Which store the name was found in: `path`, or the word that is its prefix in names.
    pub store: String,
    /// Its files, in order.
    pub weights: Vec<Weights>,
    /// SHA-256 of the tokenizer.
    pub tokenizer: Digest,
    /// SHA-256 of the chat template's text, where the model has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Digest>,
    /// SHA-256 of the arch file's text.
    pub architecture: Digest,
}

/// One model file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Its name without the folder, for people: only the digest counts.
    pub file: String,
    /// SHA-256 of all its bytes.
    pub digest: Digest,
}

/// A part of a model as it is locked and as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Which part.
    pub part: Part,
    /// Which of the model's files, from 0.
    pub file: usize,
    /// As it is locked; `None` where the lock has no such part.
    pub locked: Option<Digest>,
    /// As it was found; `None` where the model has no such part.
    pub found: Option<Digest>,
    /// Whether both are the same.
    #[serde(rename = "match")]
    pub matches: bool,
}

impl Default for Lock {
    fn default() -> Lock {
        Lock { recinto_lock: VERSION, strict: false, models: BTreeMap::new() }
    }
}

impl Lock {
    /// The text of the file: JSON, keys in a fixed order, names by their bytes, one line a value.
    pub fn to_text(&self) -> String {
        // Maps with text keys, texts and digests: serializing them cannot fail.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        text + "\n"
    }

    /// Which digests of a model in this lock count; `None` where somebody said so. A strict lock
    /// takes no other word than its own.
    pub(crate) fn verify(&self, settings: &Settings) -> Option<Verify> {
        (self.strict || settings.verify.is_none()).then_some(Verify::Always)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Text that is no lock, is one of a newer version, or is not spelled as this one would be.
    pub fn from_text(text: &str) -> Result<Lock, Error> {
        let fault = |what: String| Error::new(Kind::LockFile, what);
        // The library's own words may repeat the text.
        let bad = |e: serde_json::Error| {
            let (line, column) = (e.line(), e.column());
            fault(format!("not a lock file (line {line}, column {column})")).hint(IGNORE)
        };
        #[derive(Deserialize)]
        struct Head {
            recinto_lock: u32,
        }
        let Head { recinto_lock: version } = serde_json::from_str(text).map_err(bad)?;
        if version != VERSION {
            let what = format!("a lock file of version {version}; this program reads {VERSION}");
            return Err(
                fault(what).hint("a newer recinto may read it; `--no-lock` runs without it")
            );
        }
        let lock: Lock = serde_json::from_str(text).map_err(bad)?;
        if let Some((name, _)) = lock.models.iter().find(|(_, entry)| entry.weights.is_empty()) {
            return Err(fault(format!("`{name}` has no weights in it")).hint(IGNORE));
        }
        if lock.to_text() != text {
            let what = "not as `recinto lock` writes it: edited by hand, or a name stands twice";
            return Err(fault(what.into()).hint("remove it and lock its models again"));
        }
        Ok(lock)
    }
}

/// A lock file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The file, whole.
    pub path: PathBuf,
    /// What it says.
    pub lock: Lock,
}

impl InForce {
    /// Where the lock file of `settings` is or would be; `None` when none is wanted.
    ///
    /// # Errors
    ///
    /// The working directory is gone.
    pub fn place(settings: &Settings) -> Result<Option<PathBuf>, Error> {
        let here = env::current_dir().map_err(|e| {
            Error::new(Kind::Setting, format!("the working directory is gone: {e}"))
        })?;
        Ok(match settings.lock.as_ref().map(|setting| &setting.value) {
            None | Some(LockFile::Here) => Some(here.join(FILE_NAME)),
            Some(LockFile::At(path)) => Some(here.join(path)),
            Some(LockFile::Ignored) => None,
        })
    }

    /// The lock of `settings`, if there is one.
    ///
    /// # Errors
    ///
    /// A file that others own or may write to, that is broken or of a newer version, or that was
    /// named and is not there.
    pub fn find(settings: &Settings) -> Result<Option<InForce>, Error> {
        let named = matches!(settings.lock.as_ref().map(|s| &s.value), Some(LockFile::At(_)));
        match InForce::place(settings)? {
            Some(path) => InForce::read(path, named),
            None => Ok(None),
        }
    }

    /// The lock in the file `path`; without it none, or an error if it `must` be there.
    ///
    /// # Errors
    ///
    /// As [`InForce::find`].
    pub fn read(path: PathBuf, must: bool) -> Result<Option<InForce>, Error> {
        let rules = Rules { kind: Kind::LockFile, must, root_too: false, ignore: IGNORE };
        let Some(text) = trusted::read(&path, &rules)? else { return Ok(None) };
        let lock = Lock::from_text(&text).map_err(|e| e.of(&path.display().to_string()))?;
        Ok(Some(InForce { path, lock }))
    }

    /// Which digests of the weights count where that is the doing of a lock, and of which; `None`
    /// where the settings or the default decide, and where something cannot be read.
    pub fn verify(settings: &Settings) -> Option<(Verify, PathBuf)> {
        let name = &settings.model.as_ref()?.value;
        let found = InForce::find(settings).ok()??;
        let files = recinto_store::resolve(name, &crate::roots().ok()?).ok()?;
        found.entry(name, files.weights.first()?)?;
        Some((found.lock.verify(settings)?, found.path))
    }

    /// What is locked of the model called `name`, whose first file is `weights`: by that name, or
    /// for a file by any other name of it, seen from the folder of the lock.
    pub fn entry(&self, name: &str, weights: &Path) -> Option<&Entry> {
        if let Some(entry) = self.lock.models.get(name) {
            return Some(entry);
        }
        let folder = self.path.parent()?;
        let there = weights.canonicalize().ok()?;
        let same = |name: &str| {
            let path = name.strip_prefix("path:").unwrap_or(name);
            let path = match path.strip_prefix("~/") {
                Some(rest) => env::home_dir()?.join(rest),
                None => folder.join(path),
            };
            path.canonicalize().ok()
        };
        let mut paths = self.lock.models.iter().filter(|(_, entry)| entry.store == PATH);
        paths.find(|(name, _)| same(name).as_ref() == Some(&there)).map(|(_, entry)| entry)
    }
}

impl Entry {
    /// What an opened model is; waits for its digests.
    ///
    /// # Errors
    ///
    /// As [`Model::digests`](recinto_engine::Model::digests).
    pub fn of(local: &Local) -> Result<Entry, Error> {
        let (model, digests) = (local.model(), local.model().digests()?);
        let file = model.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let shards = digests.shards.iter();
        let mut weights: Vec<Weights> =
            shards.map(|s| Weights { file: s.file.clone(), digest: s.digest }).collect();
        if weights.is_empty() {
            weights.push(Weights { file, digest: digests.weights });
        }
        Ok(Entry {
            store: local.store().to_owned(),
            weights,
            tokenizer: digests.tokenizer,
            template: digests.template,
            architecture: digests.architecture,
        })
    }

    /// Every part with its digest, the files first.
    fn parts(&self) -> Vec<(Part, usize, Option<Digest>)> {
        let files = self.weights.iter().enumerate();
        let mut out: Vec<_> =
            files.map(|(i, file)| (Part::Weights, i, Some(file.digest))).collect();
        out.push((Part::Tokenizer, 0, Some(self.tokenizer)));
        out.push((Part::Template, 0, self.template));
        out.push((Part::Architecture, 0, Some(self.architecture)));
        out
    }

    /// What a model must be to be opened under this lock.
    pub fn claims(&self) -> Vec<Claim> {
        let claim = |(part, file, digest)| Claim { by: Claimant::Lock, part, file, digest };
        self.parts().into_iter().map(claim).collect()
    }

    /// Every part of either beside that of the other.
    pub fn compare(&self, found: &Entry) -> Vec<Row> {
        let (locked, found) = (self.parts(), found.parts());
        let of = |parts: &[(Part, usize, Option<Digest>)], part, file| {
            parts.iter().find(|row| (row.0, row.1) == (part, file)).and_then(|row| row.2)
        };
        let more = found.iter().filter(|row| !locked.iter().any(|l| (l.0, l.1) == (row.0, row.1)));
        let rows = locked.iter().chain(more).map(|(part, file, _)| {
            let (locked, found) = (of(&locked, *part, *file), of(&found, *part, *file));
            Row { part: *part, file: *file, locked, found, matches: locked == found }
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests;
