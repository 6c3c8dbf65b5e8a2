//! The lock file that holds: where it is, and which of its entries a model's name means.

use std::{
    env,
    path::{Path, PathBuf},
};

use recinto_engine::Verify;
use recinto_store::{Files, Roots, Store};

use super::{Entry, FILE_NAME, IGNORE, Lock, LockFile};
use crate::{
    Settings,
    error::{Error, Kind},
    settings::Source,
    trusted::{self, Rules},
};

/// What to do about a file that is refused where it is to be written.
const ASIDE: &str = "move the file away and lock its models again; `--lock FILE` names another";
/// Before a name that is a path.
const PATH: &str = "path:";

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
        let Some(path) = InForce::place(settings)? else { return Ok(None) };
        match &settings.lock {
            Some(setting) if matches!(setting.value, LockFile::At(_)) => {
                InForce::read(path, true).map_err(|e| e.of(&named(&setting.source)))
            }
            _ => InForce::read(path, false),
        }
    }

    /// The lock in the file `path`; without it none, or an error if it `must` be there.
    ///
    /// # Errors
    ///
    /// As [`InForce::find`].
    pub fn read(path: PathBuf, must: bool) -> Result<Option<InForce>, Error> {
        InForce::open(path, must, IGNORE)
    }

    /// The same for who writes it anew or looks at it: going without it does not help there.
    ///
    /// # Errors
    ///
    /// As [`InForce::find`].
    pub fn of_writer(path: PathBuf) -> Result<Option<InForce>, Error> {
        InForce::open(path, false, ASIDE)
    }

    fn open(path: PathBuf, must: bool, ignore: &'static str) -> Result<Option<InForce>, Error> {
        let rules = Rules { kind: Kind::LockFile, must, root_too: false, ignore };
        let Some(text) = trusted::read(&path, &rules)? else { return Ok(None) };
        let lock = Lock::read(&text, ignore).map_err(|e| e.of(&path.display().to_string()))?;
        Ok(Some(InForce { path, lock }))
    }

    /// Which digests of the weights count where that is the doing of a lock, and of which; `None`
    /// where the settings or the default decide, and where something cannot be read.
    pub fn verify(settings: &Settings) -> Option<(Verify, PathBuf)> {
        let name = &settings.model.as_ref()?.value;
        let found = InForce::find(settings).ok()??;
        let roots = crate::roots().ok()?;
        let files = super::files_in(settings, name, &roots).ok()?;
        found.entry(name, &files, &roots)?;
        Some((found.lock.verify(settings)?, found.path))
    }

    /// What is locked of the model called `name`, which led to `files`, and under which name: under
    /// this one; else under one that leads to the same model of the same store; else under one
    /// that leads to the same files, where the model has the same beside them. Names in the lock
    /// begin at its folder, and are looked for in the store that their entry says.
    pub fn entry(&self, name: &str, files: &Files, roots: &Roots) -> Option<(&str, &Entry)> {
        // In another folder a relative name means another file than it does in the lock.
        let own = named_from(&self.path, name, &roots.here).unwrap_or_else(|| name.to_owned());
        if let Some((name, entry)) = self.lock.models.get_key_value(&own) {
            return Some((name, entry));
        }
        let here = self.path.parent()?.to_owned();
        let roots = Roots { here, ..roots.clone() };
        let led = |(name, entry): (&'_ String, &Entry)| {
            recinto_store::resolve(&prefixed(name, &entry.store), &roots).ok()
        };
        let others: Vec<(&str, &Entry, Files)> = (self.lock.models.iter())
            .filter_map(|row| Some((row.0.as_str(), row.1, led(row)?)))
            .collect();
        let same_place = |other: &Files| real(other).is_some_and(|of| Some(of) == real(files));
        let ways: [&dyn Fn(&Files) -> bool; 3] = [
            &|other| same_name(other, files),
            &|other| same_place(other) && other.layers == files.layers,
            &same_place,
        ];
        let found = ways.iter().find_map(|way| others.iter().find(|(.., other)| way(other)));
        found.map(|(name, entry, _)| (*name, *entry))
    }
}

/// The name under which the lock in the file `lock` has the model that `name` means in the folder
/// `here`: relative paths in a lock begin at its folder, whose links are followed. All other names
/// stay as they are; `None` where the way there cannot be told, or is no text.
pub fn named_from(lock: &Path, name: &str, here: &Path) -> Option<String> {
    let (prefix, Some(path)) = relative(name, here) else { return Some(name.to_owned()) };
    let base = lock.parent()?.canonicalize().ok()?;
    if here.canonicalize().ok()? == base {
        return Some(name.to_owned());
    }
    let path = here.join(path);
    // The last part may itself be a link, by which the model is known.
    let target = match (path.parent(), path.file_name()) {
        (Some(folder), Some(last)) => folder.canonicalize().ok()?.join(last),
        _ => path.canonicalize().ok()?,
    };
    let shared = base.components().zip(target.components()).take_while(|(a, b)| a == b).count();
    let up = base.components().count() - shared;
    let mut way = PathBuf::from(if up == 0 { "." } else { "" });
    way.extend(std::iter::repeat_n("..", up));
    way.extend(target.components().skip(shared));
    Some(format!("{prefix}{}", way.to_str()?))
}

/// What a name of the lock in the file `lock` means wherever one is: a relative path with the lock's
/// folder before it. `None` where that is no text.
pub fn whole(lock: &Path, name: &str) -> Option<String> {
    let here = lock.parent()?;
    let (prefix, Some(path)) = relative(name, here) else { return Some(name.to_owned()) };
    Some(format!("{prefix}{}", here.join(path).to_str()?))
}

/// The prefix of a name that is a relative path in the folder `here`, and the path; no path for any
/// other name.
fn relative<'n>(name: &'n str, here: &Path) -> (&'n str, Option<&'n str>) {
    let cut = if name.starts_with(PATH) { PATH.len() } else { 0 };
    let (prefix, path) = name.split_at(cut);
    let starts = ["./", "../"].iter().any(|start| name.starts_with(start));
    // With a colon it may be a file of a repository.
    let led = || {
        let roots = Roots { here: here.to_owned(), ..Roots::default() };
        recinto_store::resolve(name, &roots).is_ok_and(|files| files.store == Store::Path)
    };
    let is_path = cut > 0
        || starts
        || [".", ".."].contains(&name)
        || name.ends_with(".gguf") && (!name.contains(':') || led());
    (prefix, is_path.then_some(path).filter(|path| !path.starts_with(['/', '~'])))
}

/// Where a lock was named that has to be there.
fn named(source: &Source) -> String {
    match source {
        Source::Environment(name) => format!("environment variable {name}"),
        other => other.to_string(),
    }
}

/// `name` with the prefix of `store`, unless it has one.
fn prefixed(name: &str, store: &str) -> String {
    let has = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(':'));
    match Store::NAMES.iter().any(|(prefix, _)| has(prefix)) {
        true => name.to_owned(),
        false => format!("{store}:{name}"),
    }
}

/// Whether both are one model of one store.
fn same_name(a: &Files, b: &Files) -> bool {
    let same = match a.store {
        // Letter case does not matter there.
        Store::Ollama => a.name.eq_ignore_ascii_case(&b.name),
        _ => a.name == b.name,
    };
    a.store == b.store && a.root == b.root && same
}

/// The files themselves, links followed.
fn real(files: &Files) -> Option<Vec<PathBuf>> {
    files.weights.iter().map(|path| path.canonicalize().ok()).collect()
}
