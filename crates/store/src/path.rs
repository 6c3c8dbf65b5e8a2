//! A model named by its path: a file, all parts of a split one, or a folder with a checkpoint.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use crate::{
    Roots, card, checkpoint,
    error::{Error, Kind, reason, shown, some_of},
    files::{Card, Files, Form, Store},
    layers::Layers,
    near, read,
    shards::{MAX_PARTS, Part},
};

/// Most links, one to another, that are followed to a model card.
const MAX_LINKS: usize = 8;
/// Names that are listed in a hint.
const SHOWN: usize = 8;

/// The files that `text` leads to, seen from the roots' folder and home.
pub(crate) fn files(text: &str, roots: &Roots) -> Result<Files, Error> {
    let path = expand(text, roots.home.as_deref())?;
    let path = tidy(&roots.here.join(path));
    let (form, weights) = weights(&path)?;
    let beside = match form {
        Form::Checkpoint => recinto_weights::papers(&path),
        Form::Gguf => Vec::new(),
    };
    Ok(Files {
        store: Store::Path,
        name: format!("path:{}", path.display()),
        root: path.parent().unwrap_or(&path).to_owned(),
        form,
        claimed: vec![None; weights.len()],
        weights,
        beside,
        layers: Layers::default(),
        card: card(&path, form),
        notes: Vec::new(),
    })
}

/// Whether nothing is where `text` leads, not even a link.
pub(crate) fn is_gone(text: &str, roots: &Roots) -> bool {
    let path = expand(text, roots.home.as_deref()).map(|path| tidy(&roots.here.join(path)));
    path.is_ok_and(|path| path.symlink_metadata().is_err_and(|error| read::is_absent(&error)))
}

/// The model card in the folder of a model, or of what the path is a link to. Of a file in the
/// Hugging Face cache it is that of its snapshot, however deep the file is in it.
fn card(path: &Path, form: Form) -> Card {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let folder = match form {
            Form::Checkpoint => Some(path.as_path()),
            Form::Gguf => path.parent(),
        };
        let Some(folder) = folder else { break };
        let folders = [Some(folder), snapshot(folder)].into_iter().flatten();
        if let Some(card) = folders.map(|f| f.join(card::FILE)).find_map(|file| card::at(&file)) {
            return card;
        }
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = folder_of(&path).join(to);
    }
    Card::default()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// The snapshot that a folder of the Hugging Face cache is in: `models--…/snapshots/<commit>`.
fn snapshot(folder: &Path) -> Option<&Path> {
    let named = |path: &Path, fits: &dyn Fn(&str) -> bool| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(fits)
    };
    folder.ancestors().find(|at| {
        at.parent().is_some_and(|above| {
            named(above, &|name| name == "snapshots")
                && named(folder_of(above), &|name| name.starts_with("models--"))
        })
    })
}

/// Replaces a leading `~` by the home.
fn expand(path: &str, home: Option<&Path>) -> Result<PathBuf, Error> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(path.into()) };
    if !(rest.is_empty() || rest.starts_with('/')) {
        let what = format!("`{path}`: the home of another user is not expanded");
        return Err(Error::new(Kind::Invalid, what)
            .with_hint("give the whole path, or `./` before a name that begins with `~`"));
    }
    let Some(home) = home.filter(|home| home.is_absolute()) else {
        let what = format!("`{path}`: the home of this user is not known (HOME is not set)");
        return Err(Error::new(Kind::Invalid, what).with_hint("give the whole path"));
    };
    Ok(home.join(rest.trim_start_matches('/')))
}

/// Leaves out `.`; `..` stays, as it may follow a link.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

fn weights(path: &Path) -> Result<(Form, Vec<PathBuf>), Error> {
    let text = shown(path);
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok((Form::Gguf, parts(path)?)),
        Ok(meta) if meta.is_dir() => {
            if let Some(found) = checkpoint(path) {
                return Ok((Form::Checkpoint, found));
            }
            Err(Error::new(Kind::NotAFile, format!("{text} is a folder, not a .gguf file"))
                .with_hint(listing(path)))
        }
        Ok(_) => Err(Error::new(Kind::NotAFile, format!("{text} is not a regular file"))
            .with_hint("a model is mapped into memory, so it must be a file on a disk")),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(missing(path))
        }
        Err(e) => Err(Error::new(Kind::Io, format!("cannot look at {text}: {}", reason(&e)))),
    }
}

fn checkpoint(folder: &Path) -> Option<Vec<PathBuf>> {
    let entries = read::entries(folder).ok()?;
    let files: Vec<(&str, &PathBuf)> = entries
        .iter()
        .filter(|(_, path)| path.is_file())
        .map(|(name, path)| (name.as_str(), path))
        .collect();
    checkpoint::weights(&files)
}

/// The file, or all the parts of the model that it is one of.
fn parts(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(part) = Part::of(name) else { return Ok(vec![path.to_owned()]) };
    let all: Vec<PathBuf> = part.names().map(|name| path.with_file_name(name)).collect();
    let gone = all.iter().filter(|path| !path.is_file());
    let gone: Vec<String> =
        gone.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    if gone.is_empty() && part.count > MAX_PARTS {
        let what = format!("a model of {} parts; {MAX_PARTS} are read", part.count);
        return Err(Error::new(Kind::Unsupported, what).with_hint("put them together into fewer"));
    }
    if gone.is_empty() {
        return Ok(all);
    }
    let (missing, count) = (gone.len(), part.count);
    let verb = if missing == 1 { "is" } else { "are" };
    let what = format!(
        "{missing} of the {count} parts of this model {verb} missing: {}",
        some_of(&gone, SHOWN)
    );
    let folder = path.parent().map(shown).unwrap_or_default();
    Err(Error::new(Kind::Missing, what).with_hint(format!("all parts must be in {folder}")))
}

fn listing(folder: &Path) -> String {
    let names = near::models_in(folder);
    match names.len() {
        0 => "it has no .gguf files".into(),
        _ => format!("its .gguf files: {}", some_of(&names, SHOWN)),
    }
}

fn missing(path: &Path) -> Error {
    let text = shown(path);
    if let Ok(target) = std::fs::read_link(path) {
        let what = format!("{text} is a link to {}, which does not exist", shown(&target));
        return Error::new(Kind::Missing, what);
    }
    let error = Error::new(Kind::Missing, format!("{text} does not exist"));
    let Some(folder) = path.parent() else { return error };
    if !folder.is_dir() {
        let there = folder.ancestors().find(|folder| folder.is_dir());
        let there = shown(there.unwrap_or(Path::new("/")));
        return error.with_hint(format!("the folder is missing too; {there} is there"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = near::nearest(&name, near::models_in(folder));
    match near.is_empty() {
        true => error.with_hint(format!("{} has no .gguf files", shown(folder))),
        false => error.with_hint(format!("in that folder: {}", near.join(", "))),
    }
}
