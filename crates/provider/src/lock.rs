//! The lock file: what the models of a project must be, by the digests of their parts.
//!
//! `docs/lock.md` says what is in it and what it does. It is text in one spelling: whatever
//! [`Lock::to_text`] would not write is refused, so that no reader sees another lock than this one.

mod in_force;

use std::{collections::BTreeMap, fmt, path::PathBuf};

use recinto_engine::{Beside, Claim, Claimant, Digest, Model, Part, Verify};
use recinto_store::{Files, Layers, Roots, Store};
use serde::{Deserialize, Serialize};

pub use self::in_force::{InForce, named_from, whole};
use crate::{
    Local, Settings,
    error::{Error, Kind},
};

/// Its name in the working directory.
pub const FILE_NAME: &str = "recinto.lock";
/// The form that this version writes and reads.
pub const VERSION: u32 = 1;
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
    /// In which store the name must be found: `path`, or the word that is its prefix in names.
    pub store: String,
    /// Its files, in order.
    pub weights: Vec<Weights>,
    /// SHA-256 of the tokenizer.
    pub tokenizer: Digest,
    /// SHA-256 of the chat template's text, where the model has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Digest>,
    /// SHA-256 of the instructions that the store keeps beside the weights, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Digest>,
    /// SHA-256 of the parameters that the store keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Digest>,
    /// SHA-256 of the example messages that the store keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Digest>,
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
        Lock::read(text, IGNORE)
    }

    /// The same, and what to do about one that is refused.
    fn read(text: &str, refused: &'static str) -> Result<Lock, Error> {
        let fault = |what: String| Error::new(Kind::LockFile, what);
        // The library's own words may repeat the text.
        let bad = |e: serde_json::Error| {
            let (line, column) = (e.line(), e.column());
            fault(format!("not a lock file (line {line}, column {column})")).hint(refused)
        };
        #[derive(Deserialize)]
        struct Head {
            recinto_lock: u32,
        }
        let Head { recinto_lock: version } = serde_json::from_str(text).map_err(bad)?;
        if version != VERSION {
            let what = format!("a lock file of version {version}; this program reads {VERSION}");
            return Err(fault(what).hint(format!("{refused}; a newer recinto may read it")));
        }
        let lock: Lock = serde_json::from_str(text).map_err(bad)?;
        if let Some((name, _)) = lock.models.iter().find(|(_, entry)| entry.weights.is_empty()) {
            return Err(fault(format!("`{name}` has no weights in it")).hint(refused));
        }
        let store = |entry: &Entry| Store::NAMES.iter().any(|row| row.0 == entry.store);
        if let Some((name, _)) = lock.models.iter().find(|(_, entry)| !store(entry)) {
            let known: Vec<&str> = Store::NAMES.iter().map(|row| row.0).collect();
            let what = format!("`{name}` is of a store that is none of {}", known.join(", "));
            return Err(fault(what).hint(refused));
        }
        if lock.to_text() != text {
            let what = "not as `recinto lock` writes it: edited by hand, or a name stands twice";
            return Err(fault(what.into()).hint("remove it and lock its models again"));
        }
        Ok(lock)
    }
}

impl Entry {
    /// What an opened model is; waits for its digests.
    ///
    /// # Errors
    ///
    /// As [`Model::digests`](recinto_engine::Model::digests).
    pub fn of(local: &Local) -> Result<Entry, Error> {
        Entry::of_model(local.model(), local.store())
    }

    /// The same of a model of any kind, encoders too, that was found in the store whose word is
    /// `store`.
    ///
    /// # Errors
    ///
    /// As [`Entry::of`].
    pub fn of_model(model: &Model, store: &str) -> Result<Entry, Error> {
        let digests = model.digests()?;
        let file = model.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let shards = digests.shards.iter();
        let mut weights: Vec<Weights> =
            shards.map(|s| Weights { file: s.file.clone(), digest: s.digest }).collect();
        if weights.is_empty() {
            weights.push(Weights { file, digest: digests.weights });
        }
        Ok(Entry {
            store: store.to_owned(),
            weights,
            tokenizer: digests.tokenizer,
            template: digests.template,
            system: digests.of(Part::System, 0),
            parameters: digests.of(Part::Parameters, 0),
            messages: digests.of(Part::Messages, 0),
            architecture: digests.architecture,
        })
    }

    /// That the name was found in another store than the entry says; `None` where it was not.
    pub fn elsewhere(&self, name: &str, store: &str) -> Option<Error> {
        (self.store != store).then(|| {
            let (found, locked) = (title(store), title(&self.store));
            let what = format!("{name} is of {found}, and the lock has it of {locked}");
            let hint = "give the name that store's prefix, or lock it again if this one is meant";
            Error::new(Kind::Locked, what).hint(hint)
        })
    }

    /// Every part with its digest, the files first.
    fn parts(&self) -> Vec<(Part, usize, Option<Digest>)> {
        let files = self.weights.iter().enumerate();
        let mut out: Vec<_> =
            files.map(|(i, file)| (Part::Weights, i, Some(file.digest))).collect();
        out.push((Part::Tokenizer, 0, Some(self.tokenizer)));
        out.push((Part::Template, 0, self.template));
        out.push((Part::System, 0, self.system));
        out.push((Part::Parameters, 0, self.parameters));
        out.push((Part::Messages, 0, self.messages));
        out.push((Part::Architecture, 0, Some(self.architecture)));
        out
    }

    /// What a model must be to be opened under this lock, of which a store keeps `beside`. That
    /// neither has a part that only stores have is not worth a word.
    pub fn claims(&self, beside: &[Beside]) -> Vec<Claim> {
        let claim = |(part, file, digest)| Claim { by: Claimant::Lock, part, file, digest };
        let has = |part| beside.iter().any(|kept| kept.part == part);
        let mut claims: Vec<Claim> = self.parts().into_iter().map(claim).collect();
        claims.retain(|c| c.digest.is_some() || !Part::OF_STORES.contains(&c.part) || has(c.part));
        claims
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
        let none = |row: &Row| row.locked.is_none() && row.found.is_none();
        rows.filter(|row| !(none(row) && Part::OF_STORES.contains(&row.part))).collect()
    }
}

/// What people call a store by its word.
fn title(word: &str) -> String {
    match Store::NAMES.iter().find(|row| row.0 == word) {
        Some((_, Store::Path)) => "no store: a path".into(),
        Some((_, store)) => format!("the {}", store.title()),
        None => format!("`{word}`"),
    }
}

/// What a store keeps beside the weights that changes answers, by its digests.
pub(crate) fn beside(layers: &Layers) -> Vec<Beside> {
    let kinds =
        [(Part::System, "system"), (Part::Parameters, "params"), (Part::Messages, "messages")];
    let kept = |(part, kind)| Some(Beside { part, digest: layers.digest(kind)? });
    kinds.into_iter().filter_map(kept).collect()
}

/// The files that the model called `name` leads to, in the stores that the environment names: of
/// several that it could mean, the one that the lock of `settings` has.
///
/// # Errors
///
/// As [`recinto_store::resolve`]; a lock that cannot be read, where it is needed.
pub fn files(settings: &Settings, name: &str) -> Result<Files, Error> {
    files_in(settings, name, &crate::roots()?)
}

/// The same in the stores of `roots`.
pub(crate) fn files_in(settings: &Settings, name: &str, roots: &Roots) -> Result<Files, Error> {
    let found = recinto_store::resolve(name, roots);
    let doubt = |error: &recinto_store::Error| error.kind() == recinto_store::Kind::Ambiguous;
    if found.as_ref().is_err_and(doubt)
        && let Some(InForce { lock, .. }) = InForce::find(settings)?
        && let Some(entry) = lock.models.get(name)
    {
        let mut meant = recinto_store::meanings(name, roots);
        meant.retain(|files| files.store.name() == entry.store);
        // Two stores of one kind: the one that claims to have the locked bytes.
        if meant.len() > 1 {
            let locked: Vec<Option<Digest>> =
                entry.weights.iter().map(|w| Some(w.digest)).collect();
            meant.retain(|files| files.claimed == locked);
        }
        if let [files] = &meant[..] {
            return Ok(files.clone());
        }
    }
    Ok(found?)
}

/// What the lock of `settings`, if there is one, says of a model of which only the files are read:
/// `name` led to `files`. For who opens no [`Local`].
///
/// # Errors
///
/// As [`InForce::find`]; and a lock that does not let the model run.
pub fn claims(settings: &Settings, name: &str, files: &Files) -> Result<Vec<Claim>, Error> {
    let held = crate::held::Held::of(settings, name, files, &crate::roots()?)?;
    Ok(held.claims(files))
}

#[cfg(test)]
mod tests;
