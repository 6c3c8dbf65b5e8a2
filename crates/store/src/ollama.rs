//! Names in an Ollama store: manifest to blobs. Nothing is written, locked or pruned.
//!
//! Layout: `manifests/<host>/<namespace>/<model>/<tag>` and `blobs/sha256-<digits>`; newer stores
//! have `manifests-v2` too, which goes first. Source: Ollama's stores.

pub mod manifest;
mod name;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use recinto_receipt::{Digest, sha256};

use self::manifest::{Child, Layer, Manifest};
pub(crate) use self::name::Name;
use crate::{
    error::{Error, Kind, Shut, reason, shown},
    files::{Card, Files, Form, Note, Store},
    layers::{self, Layers, plain},
    look::{Look, Odd},
    read,
};

/// Folders of manifests, the one that goes first before the other.
const MANIFESTS: [&str; 2] = ["manifests-v2", "manifests"];
/// Largest manifest, and largest layer of text.
const MAX_MANIFEST: u64 = 8 << 20;
const MAX_TEXT: u64 = 1 << 20;
/// Most other letter cases of a folder's name that are looked into.
const MAX_CASES: usize = 16;
/// Most licences and other texts of one model that are read.
const MAX_TEXTS: usize = 64;
/// Kinds of layers that are carried out.
const CARRIED_OUT: [&str; 6] = ["model", "template", "system", "params", "license", "messages"];
/// Those whose digests are told, since they change answers and have no other.
const KEPT: [&str; 3] = ["system", "params", "messages"];
/// Programs whose form of a model is taken from a list, the best first.
const RUNNERS: [&str; 2] = ["llamacpp", "ollama"];

/// A name that a store has, and its manifest.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub root: PathBuf,
    pub name: Name,
    pub path: PathBuf,
}

/// The manifest of `name` in the store at `root`, if it has one.
///
/// # Errors
///
/// The folder on the way to it that cannot be looked at: what it hides goes before what else has
/// the name.
pub(crate) fn locate(name: &Name, root: &Path) -> Result<Option<Held>, Shut> {
    for folder in MANIFESTS {
        // A link into nowhere in the newer folder leaves the name to the older one.
        let counts = |path: &Path| folder == MANIFESTS[1] || !is_gone(path);
        if let Some(path) = find(&root.join(folder), &name.parts(), &counts)? {
            return Ok(Some(Held { root: root.to_owned(), name: name.clone(), path }));
        }
    }
    Ok(None)
}

/// `parts` below `folder`, as they are written or else in any other letter case: one that
/// `counts`.
fn find(
    folder: &Path,
    parts: &[&str],
    counts: &dyn Fn(&Path) -> bool,
) -> Result<Option<PathBuf>, Shut> {
    let shut = |path: &Path, error: &io::Error| Shut { path: path.into(), why: reason(error) };
    let Some((first, rest)) = parts.split_first() else {
        return Ok(counts(folder).then(|| folder.to_owned()));
    };
    let exact = folder.join(first);
    match exact.symlink_metadata() {
        Ok(_) => {
            if let Some(found) = find(&exact, rest, counts)? {
                return Ok(Some(found));
            }
        }
        Err(error) if read::is_absent(&error) => {}
        Err(error) => return Err(shut(folder, &error)),
    }
    let entries = match read::entries(folder) {
        Ok(entries) => entries,
        Err(error) if read::is_absent(&error) => return Ok(None),
        Err(error) => return Err(shut(folder, &error)),
    };
    let other = |name: &str| name != *first && name.eq_ignore_ascii_case(first);
    for (_, path) in entries.iter().filter(|(name, _)| other(name)).take(MAX_CASES) {
        if let Some(found) = find(path, rest, counts)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Which of several stores' manifests of one name differ from the first; those that cannot be read
/// are nobody's doubt.
pub(crate) fn others(held: &[Held]) -> Vec<&Held> {
    let digest = |held: &Held| read::bounded(&held.path, MAX_MANIFEST).ok().map(|b| sha256(&b));
    let Some((first, rest)) = held.split_first() else { return Vec::new() };
    let Some(own) = digest(first) else { return Vec::new() };
    rest.iter().filter(|held| digest(held).is_some_and(|digest| digest != own)).collect()
}

/// Every name in the store at `root`, sorted; those that other programs made for their own use
/// are left out.
///
/// # Errors
///
/// When neither folder of manifests can be looked at.
pub(crate) fn names(root: &Path) -> io::Result<Look<Held>> {
    let mut found = BTreeMap::new();
    let mut look = Look::new();
    let mut refused = None;
    let mut any = false;
    for folder in MANIFESTS.iter().rev() {
        let folder_path = root.join(folder);
        match fs::read_dir(&folder_path) {
            Ok(_) => any = true,
            Err(error) => {
                look.close(&folder_path, &error);
                refused.get_or_insert(error);
                continue;
            }
        }
        let mut walked = Look::new();
        walk(&folder_path, &mut Vec::new(), &mut walked);
        look.closed.append(&mut walked.closed);
        look.odd.append(&mut walked.odd);
        for (name, path) in walked.held {
            if name.is_shadow() {
                look.odd(Odd::Foreign, path);
            } else if *folder == MANIFESTS[1] || !is_gone(&path) {
                found.insert(name.folded(), Held { root: root.to_owned(), name, path });
            }
        }
    }
    look.held = found.into_values().collect();
    match refused {
        Some(error) if !any => Err(error),
        _ => Ok(look),
    }
}

/// Whether nothing is at `path`, links followed. What cannot be looked at may be there.
fn is_gone(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn walk(folder: &Path, above: &mut Vec<String>, look: &mut Look<(Name, PathBuf)>) {
    let found = match read::folder(folder) {
        Ok(found) => found,
        Err(error) => return look.close(folder, &error),
    };
    if found.more {
        look.odd(Odd::Beyond, folder.to_owned());
    }
    found.odd.into_iter().for_each(|path| look.odd(Odd::Name, path));
    for (entry, path) in found.entries {
        if look.held.len() >= read::MAX_ENTRIES {
            return look.odd(Odd::Beyond, path);
        }
        // Of the system or an editor; no name begins so.
        if entry.starts_with('.') {
            continue;
        }
        above.push(entry);
        let kind = path.symlink_metadata().map(|meta| meta.file_type());
        match (above.len(), kind) {
            (_, Err(error)) => look.close(&path, &error),
            (4, Ok(_)) => {
                let parts = [0, 1, 2, 3].map(|at: usize| above[at].as_str());
                match Name::of_parts(parts) {
                    Some(name) => look.held.push((name, path)),
                    None => look.odd(Odd::Name, path),
                }
            }
            (_, Ok(kind)) if kind.is_dir() => walk(&path, above, look),
            (_, Ok(kind)) if kind.is_symlink() => look.odd(Odd::Link, path),
            (_, Ok(_)) => look.odd(Odd::Shape, path),
        }
        above.pop();
    }
}

/// The files behind a manifest.
pub(crate) fn files(held: &Held) -> Result<Files, Error> {
    let blobs = Blobs { root: &held.root, name: &held.name };
    blobs.files(&held.path).map_err(|e| e.of(&held.name.to_string()))
}

/// The blobs of one store, for one name.
struct Blobs<'a> {
    root: &'a Path,
    name: &'a Name,
}

impl Blobs<'_> {
    fn files(&self, path: &Path) -> Result<Files, Error> {
        let mut notes = Vec::new();
        let layers = match self.manifest(path)? {
            Manifest::Layers(layers) => layers,
            Manifest::List(children) => self.chosen(&children, &mut notes)?,
        };
        let weights: Vec<&Layer> = layers.iter().filter(|layer| layer.kind == "model").collect();
        let texts = self.layers(&layers)?;
        if weights.is_empty() {
            let kinds: Vec<String> = texts.unsupported.iter().map(|row| row.0.clone()).collect();
            let what = match kinds.is_empty() {
                true => "its manifest has no layer of weights".into(),
                false => {
                    format!("it has no GGUF: its weights are in layers `{}`", kinds.join("`, `"))
                }
            };
            return Err(Error::new(Kind::Unsupported, what)
                .with_hint("this version reads GGUF; `ollama pull` a tag that is one"));
        }
        for (kind, count) in &texts.unsupported {
            notes.push(Note::UnsupportedLayers { kind: kind.clone(), count: *count });
        }
        let named = |names: &[String], note: fn(String) -> Note| -> Vec<Note> {
            names.iter().cloned().map(note).collect()
        };
        let params = &texts.params;
        notes.extend(named(&params.others, |name| Note::IgnoredParameter { name }));
        notes.extend(named(&params.unusable, |name| Note::UnusableParameter { name }));
        let mut files = Files {
            store: Store::Ollama,
            name: format!("ollama:{}", self.name.whole()),
            root: self.root.to_owned(),
            form: Form::Gguf,
            weights: Vec::new(),
            claimed: Vec::new(),
            beside: vec![path.to_owned()],
            layers: texts,
            card: Card::default(),
            notes,
        };
        for layer in weights {
            let path = self.blob(&layer.digest, "weights")?;
            let size = fs::metadata(&path).map_err(|e| Error::io(&path, &e))?.len();
            if size != layer.size {
                let (path, said) = (shown(&path), layer.size);
                let what = format!("{path} has {size} bytes, and its manifest says {said}");
                return Err(Error::new(Kind::Broken, what).with_hint(self.again()));
            }
            files.weights.push(path);
            files.claimed.push(Some(layer.digest));
        }
        Ok(files)
    }

    fn manifest(&self, path: &Path) -> Result<Manifest, Error> {
        let mut folders: Vec<PathBuf> = MANIFESTS.iter().map(|f| self.root.join(f)).collect();
        folders.push(self.folder());
        // A link may stand for a manifest, in newer stores; it may not leave the store.
        let real = read::within(path, &folders)?;
        let bytes = read::bounded(&real, MAX_MANIFEST)?;
        manifest::parse(&bytes).map_err(|why| {
            let what = format!("its manifest is broken, {why}: {}", shown(path));
            Error::new(Kind::Broken, what).with_hint(self.again())
        })
    }

    /// The layers of the GGUF among several forms.
    fn chosen(&self, children: &[Child], notes: &mut Vec<Note>) -> Result<Vec<Layer>, Error> {
        let mut fit: Vec<&Child> = children.iter().filter(|c| c.format == "gguf").collect();
        let rank = |child: &&Child| RUNNERS.iter().position(|r| *r == child.runner).unwrap_or(9);
        fit.sort_by_key(rank);
        let Some(child) = fit.first() else {
            let mut forms: Vec<String> =
                children.iter().map(|c| format!("{} for {}", c.format, c.runner)).collect();
            forms.truncate(8);
            let what = format!("none of its forms is GGUF: {}", forms.join(", "));
            return Err(Error::new(Kind::Unsupported, what)
                .with_hint("this version reads GGUF; `ollama pull` a tag that is one"));
        };
        if fit.len() > 1 {
            notes.push(Note::Chosen { runner: child.runner.clone() });
        }
        let path = self.blob(&child.digest, "manifest")?;
        let bytes = self.verified(&path, &child.digest, MAX_MANIFEST)?;
        match manifest::parse(&bytes) {
            Ok(Manifest::Layers(layers)) => Ok(layers),
            Ok(Manifest::List(_)) => Err(self.broken(&path, "it is a list within a list")),
            Err(why) => Err(self.broken(&path, &why)),
        }
    }

    fn layers(&self, layers: &[Layer]) -> Result<Layers, Error> {
        let mut found = Layers::default();
        let mut texts = 0;
        for layer in layers {
            let kind = layer.kind.as_str();
            if !CARRIED_OUT.contains(&kind) {
                match found.unsupported.iter_mut().find(|row| row.0 == kind) {
                    Some(row) => row.1 += 1,
                    None => found.unsupported.push((plain(kind), 1)),
                }
                continue;
            }
            if kind == "model" {
                continue;
            }
            texts += 1;
            if texts > MAX_TEXTS {
                let what = format!("its manifest has more than {MAX_TEXTS} layers of text");
                return Err(Error::new(Kind::Broken, what));
            }
            let path = self.blob(&layer.digest, kind)?;
            let bytes = self.verified(&path, &layer.digest, MAX_TEXT)?;
            if let Some(kept) = KEPT.iter().find(|kept| **kept == kind) {
                found.kept.push((kept, layer.digest));
            }
            let read = match kind {
                "params" => found.params.add(&bytes),
                "messages" => layers::messages(&bytes).map(|list| found.messages = list),
                _ => String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into()).map(|text| {
                    match kind {
                        "template" => found.template = Some(text),
                        "system" => found.system = Some(text).filter(|text| !text.is_empty()),
                        _ => found.licences.push(text),
                    }
                }),
            };
            read.map_err(|why| self.broken(&path, &why))?;
        }
        Ok(found)
    }

    fn folder(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The blob with this digest, a regular file below `blobs`.
    fn blob(&self, digest: &Digest, what: &str) -> Result<PathBuf, Error> {
        let path = self.folder().join(format!("sha256-{digest}"));
        if let Err(error) = fs::metadata(&path) {
            let why = match (error.kind(), path.read_link()) {
                (io::ErrorKind::NotFound, Ok(to)) => {
                    format!("a link to {}, which is gone", shown(&to))
                }
                (io::ErrorKind::NotFound, _) => "it does not exist".into(),
                _ => return Err(Error::io(&path, &error)),
            };
            let what =
                format!("its {what} (sha256:{digest}) is missing at {}: {why}", shown(&path));
            return Err(Error::new(Kind::Missing, what).with_hint(self.again()));
        }
        let real = read::within(&path, &[self.folder()])?;
        let meta = fs::metadata(&real).map_err(|e| Error::io(&real, &e))?;
        match meta.is_file() {
            true => Ok(path),
            false => {
                let what = format!("{} is not a regular file", shown(&path));
                Err(Error::new(Kind::NotAFile, what))
            }
        }
    }

    /// The bytes of a small blob, which must have the digest that it is called by.
    fn verified(&self, path: &Path, claimed: &Digest, most: u64) -> Result<Vec<u8>, Error> {
        let bytes = read::bounded(path, most)?;
        let found = sha256(&bytes);
        match found == *claimed {
            true => Ok(bytes),
            false => {
                let what = format!("it has the digest sha256:{found} and not that of its name");
                Err(self.broken(path, &what))
            }
        }
    }

    fn broken(&self, path: &Path, why: &str) -> Error {
        let what = format!("its layer {} is broken: {why}", shown(path));
        Error::new(Kind::Broken, what).with_hint(self.again())
    }

    fn again(&self) -> String {
        format!("`ollama pull {}` brings it again", self.name)
    }
}
