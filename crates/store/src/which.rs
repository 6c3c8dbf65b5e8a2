//! Which store a name without a path is in: one of Ollama's, the Hugging Face cache, or several.

use std::path::{Path, PathBuf};

use crate::{
    Files, Note, Roots, Store,
    error::{Error, Kind, Shut, shown},
    hub, ollama,
};

/// Who has a name.
pub(crate) struct Holders<'a> {
    name: &'a str,
    ollama: Vec<ollama::Held>,
    hub: Option<hub::Held>,
    /// What could not be looked at, and belongs to which store.
    shut: Vec<(Store, PathBuf, Shut)>,
}

impl<'a> Holders<'a> {
    /// Those of `roots` that have `name`, read as either kind of name or both.
    ///
    /// # Errors
    ///
    /// A store of Ollama that goes first cannot be looked at, and another has the name.
    pub fn find(
        name: &'a str,
        names: (Option<&ollama::Name>, Option<&hub::Name>),
        roots: &Roots,
    ) -> Result<Holders<'a>, Error> {
        let mut found = Holders { name, ollama: Vec::new(), hub: None, shut: Vec::new() };
        for root in roots.ollama.iter().filter(|_| names.0.is_some()) {
            match names.0.map_or(Ok(None), |name| ollama::locate(name, root)) {
                Ok(held) => found.ollama.extend(held),
                // One that goes before it has the name, whatever is hidden here.
                Err(_) if !found.ollama.is_empty() => {}
                Err(shut) => found.shut.push((Store::Ollama, root.clone(), shut)),
            }
        }
        if let (Some(held), Some((_, _, shut))) = (found.ollama.first(), found.shut.first()) {
            let what = format!("cannot read {}: {}", shown(&shut.path), shut.why);
            let (path, other) = (shown(&held.path), shown(&held.root));
            return Err(Error::new(Kind::Io, what).with_hint(format!(
                "`{name}` may be there, and goes before {path}; OLLAMA_MODELS={other} looks in \
                 that store alone"
            )));
        }
        if let (Some(name), Some(root)) = (names.1, &roots.hub) {
            match hub::locate(name, root) {
                Ok(held) => found.hub = held,
                Err(shut) => found.shut.push((Store::Hub, root.clone(), shut)),
            }
        }
        // Nothing in it could be meant: the name is the other store's.
        if !found.ollama.is_empty() {
            found.hub = found.hub.filter(hub::may_be);
        }
        Ok(found)
    }

    /// The files that the name leads to; `None` when nobody has it.
    pub fn files(&self) -> Option<Result<Files, Error>> {
        let others = ollama::others(&self.ollama);
        let (files, store) = match (self.ollama.first(), &self.hub) {
            (None, None) => return None,
            (Some(held), Some(other)) => return Some(Err(self.in_two(held, other))),
            (Some(held), None) if !others.is_empty() => {
                return Some(Err(self.in_many(held, &others)));
            }
            (Some(held), None) => (ollama::files(held), Store::Ollama),
            (None, Some(held)) => (hub::files(held), Store::Hub),
        };
        let shut = self.shut.iter().filter(|(of, ..)| *of != store);
        let notes = shut.map(|(store, root, shut)| Note::ClosedStore {
            store: *store,
            root: root.clone(),
            why: shut.why.clone(),
        });
        Some(files.map(|mut files| {
            files.notes.extend(notes);
            files
        }))
    }

    /// Every model that the name could mean, as far as its files can be used.
    pub fn all(&self) -> Vec<Files> {
        let others = ollama::others(&self.ollama);
        let of_ollama = self.ollama.iter().take(1).chain(others).map(ollama::files);
        of_ollama.chain(self.hub.as_ref().map(hub::files)).filter_map(Result::ok).collect()
    }

    fn in_two(&self, held: &ollama::Held, other: &hub::Held) -> Error {
        let name = self.name;
        let places: [(&str, &PathBuf); 2] = [("ollama", &held.path), ("hf", &other.repo)];
        let lines = places.map(|(prefix, at)| format!("  {prefix}:{name}  {}", shown(at)));
        let what = format!("`{name}` is in two stores, and could be either");
        Error::new(Kind::Ambiguous, what)
            .with_hint(format!("say which one is meant\n{}", lines.join("\n")))
    }

    /// Ollama's stores have different models under the name.
    fn in_many(&self, held: &ollama::Held, others: &[&ollama::Held]) -> Error {
        let all = || std::iter::once(held).chain(others.iter().copied());
        let line = |held: &ollama::Held| {
            let weights = ollama::files(held).ok().and_then(|files| files.weights.first().cloned());
            let path: &Path = weights.as_deref().unwrap_or(&held.path);
            format!("  OLLAMA_MODELS={}  {}", shown(&held.root), shown(path))
        };
        let lines: Vec<String> = all().map(line).collect();
        let (name, count) = (self.name, lines.len());
        let what = format!("`{name}` is another model in each of {count} Ollama stores");
        Error::new(Kind::Ambiguous, what).with_hint(format!(
            "say which store is meant, or give the weights by their path\n{}",
            lines.join("\n")
        ))
    }
}
