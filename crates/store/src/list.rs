//! Every model of the stores, whole or broken; and where a name was looked for in vain.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    Error, Files, Kind, Roots, Store,
    error::{reason, shown},
    hub, near, ollama,
};

/// A model that a store has.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The shortest name that leads to it.
    pub name: String,
    /// Who keeps it.
    pub store: Store,
    /// The store's folder.
    pub root: PathBuf,
    /// Its files, or why it cannot be used.
    pub files: Result<Files, Error>,
}

/// A store that cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Whose it would be.
    pub store: Store,
    /// Its folder.
    pub root: PathBuf,
    /// Why.
    pub why: String,
    /// Whether there simply is none.
    pub absent: bool,
}

/// What the stores hold.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Models, by store and then by name.
    pub entries: Vec<Entry>,
    /// Stores that were not listed.
    pub closed: Vec<Closed>,
}

/// Lists what the stores of `roots` hold; `only` one kind of store where it is given.
pub fn list(roots: &Roots, only: Option<Store>) -> Listing {
    let mut listing = Listing::default();
    let wanted = |store: Store| only.is_none_or(|only| only == store);
    for root in roots.ollama.iter().filter(|_| wanted(Store::Ollama)) {
        match ollama::names(root) {
            Ok(found) => listing.entries.extend(found.iter().map(|held| Entry {
                name: held.name.to_string(),
                store: Store::Ollama,
                root: root.clone(),
                files: ollama::files(held),
            })),
            Err(error) => listing.close(Store::Ollama, root, &error),
        }
    }
    for root in roots.hub.iter().filter(|_| wanted(Store::Hub)) {
        match hub::repositories(root) {
            Ok(found) => {
                let models = found.iter().flat_map(hub::models);
                listing.entries.extend(models.map(|(name, files)| Entry {
                    name,
                    store: Store::Hub,
                    root: root.clone(),
                    files,
                }));
            }
            Err(error) => listing.close(Store::Hub, root, &error),
        }
    }
    listing
}

impl Listing {
    fn close(&mut self, store: Store, root: &Path, error: &io::Error) {
        let absent = error.kind() == io::ErrorKind::NotFound;
        let (root, why) = (root.to_owned(), reason(error));
        self.closed.push(Closed { store, root, why, absent });
    }
}

/// No store has `name`: every place that was looked at, and the nearest names there.
pub(crate) fn nowhere(name: &str, roots: &Roots, stores: &[Store]) -> Error {
    let mut lines = Vec::new();
    if stores.contains(&Store::Ollama) {
        for root in &roots.ollama {
            let names = ollama::names(root);
            let names = names.map(|found| found.iter().map(|h| h.name.to_string()).collect());
            lines.push(place(name, Store::Ollama, root, names));
        }
    }
    if let Some(root) = roots.hub.as_ref().filter(|_| stores.contains(&Store::Hub)) {
        let names = hub::repositories(root);
        let names = names.map(|found| found.into_iter().map(|held| held.name.repo).collect());
        lines.push(place(name, Store::Hub, root, names));
    }
    if lines.is_empty() {
        lines.push("  no folder: HOME is not set".into());
    }
    if roots.here.join(name).exists() {
        lines.push(format!("  a file here is not meant by a bare name: `./{name}` is that one"));
    }
    let what = format!("no model on this machine is called `{name}`");
    Error::new(Kind::Missing, what).with_hint(format!(
        "nothing is downloaded; looked in\n{}\n  a path begins with `/`, `./`, `../` or `~`, or \
         ends in `.gguf`",
        lines.join("\n")
    ))
}

/// One line on a store that has no `name`.
fn place(name: &str, store: Store, root: &Path, names: io::Result<Vec<String>>) -> String {
    let found = match names {
        Ok(names) if names.is_empty() => "no models".into(),
        Ok(names) => {
            let count = names.len();
            let models = if count == 1 { "model" } else { "models" };
            format!("{count} {models}, nearest: {}", near::nearest(name, names).join(", "))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => "not there".into(),
        Err(error) => format!("cannot be read ({})", reason(&error)),
    };
    format!("  {} {}: {found}", store.title(), shown(root))
}
