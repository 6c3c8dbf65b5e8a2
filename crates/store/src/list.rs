//! Every model of the stores, whole or broken; and where a name was looked for in vain.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    Error, Files, Kind, Roots, Store,
    error::{reason, shown},
    hub,
    look::{Look, Odd},
    near, ollama,
};

/// Closed folders of one store that a hint lists.
const CLOSED_SHOWN: usize = 4;

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

/// A store, or a folder of one, that cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Whose it would be.
    pub store: Store,
    /// The folder.
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
    /// Stores, and folders in them, that cannot be read.
    pub closed: Vec<Closed>,
    /// What the stores hold that no name leads to.
    pub omitted: Vec<Omitted>,
}

/// Entries of one store that are not listed, all for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Who keeps them.
    pub store: Store,
    /// The store's folder.
    pub root: PathBuf,
    /// The reason.
    pub why: Odd,
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: PathBuf,
}

/// Lists what the stores of `roots` hold; `only` one kind of store where it is given.
pub fn list(roots: &Roots, only: Option<Store>) -> Listing {
    let mut listing = Listing::default();
    let wanted = |store: Store| only.is_none_or(|only| only == store);
    for root in roots.ollama.iter().filter(|_| wanted(Store::Ollama)) {
        match ollama::names(root) {
            Ok(look) => {
                listing.entries.extend(look.held.iter().map(|held| Entry {
                    name: held.name.to_string(),
                    store: Store::Ollama,
                    root: root.clone(),
                    files: ollama::files(held),
                }));
                listing.rest(Store::Ollama, root, look);
            }
            Err(error) => listing.close(Store::Ollama, root, &error),
        }
    }
    for root in roots.hub.iter().filter(|_| wanted(Store::Hub)) {
        match hub::repositories(root) {
            Ok(mut look) => {
                for held in std::mem::take(&mut look.held) {
                    let models = hub::models(&held);
                    if models.is_empty() {
                        look.odd(Odd::Empty, held.repo);
                    }
                    listing.entries.extend(models.into_iter().map(|(name, files)| Entry {
                        name,
                        store: Store::Hub,
                        root: root.clone(),
                        files,
                    }));
                }
                listing.rest(Store::Hub, root, look);
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

    /// What a store has besides models.
    fn rest<T>(&mut self, store: Store, root: &Path, look: Look<T>) {
        let closed = look.closed.into_iter();
        self.closed.extend(closed.map(|(root, why)| Closed { store, root, why, absent: false }));
        let mut odd = look.odd;
        odd.sort();
        for (why, path) in odd {
            match self.omitted.last_mut() {
                Some(last) if (last.why, &*last.root, last.store) == (why, root, store) => {
                    last.count += 1;
                }
                _ => {
                    let root = root.to_owned();
                    self.omitted.push(Omitted { store, root, why, count: 1, first: path });
                }
            }
        }
    }
}

/// No store has `name`: every place that was looked at, and the nearest names there.
pub(crate) fn nowhere(name: &str, roots: &Roots, stores: &[Store]) -> Error {
    let mut lines = Vec::new();
    if stores.contains(&Store::Ollama) {
        for root in &roots.ollama {
            let names = ollama::names(root);
            let names = names.map(|look| named(look, |held| held.name.to_string()));
            lines.push(place(name, Store::Ollama, root, names));
        }
    }
    if let Some(root) = roots.hub.as_ref().filter(|_| stores.contains(&Store::Hub)) {
        let names = hub::repositories(root);
        let names = names.map(|look| named(look, |held| held.name.repo.clone()));
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

/// Names of a store, and folders of it that cannot be read.
type Named = (Vec<String>, Vec<(PathBuf, String)>);

fn named<T>(look: Look<T>, name: impl Fn(&T) -> String) -> Named {
    (look.held.iter().map(name).collect(), look.closed)
}

/// One line on a store that has no `name`, and one for each folder of it that may hide it.
fn place(name: &str, store: Store, root: &Path, names: io::Result<Named>) -> String {
    let (found, closed) = match names {
        Ok((names, closed)) if names.is_empty() => ("no models".into(), closed),
        Ok((names, closed)) => {
            let count = names.len();
            let models = if count == 1 { "model" } else { "models" };
            let near = near::nearest(name, names).join(", ");
            (format!("{count} {models}, nearest: {near}"), closed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => ("not there".into(), Vec::new()),
        Err(error) => (format!("cannot be read ({})", reason(&error)), Vec::new()),
    };
    let mut lines = format!("  {} {}: {found}", store.title(), shown(root));
    for (folder, why) in closed.iter().take(CLOSED_SHOWN) {
        lines.push_str(&format!("\n    {}: cannot be read ({why})", shown(folder)));
    }
    if let more @ 1.. = closed.len().saturating_sub(CLOSED_SHOWN) {
        lines.push_str(&format!("\n    and {more} folders more that cannot be read"));
    }
    lines
}
