//! A model's name to the files on this disk.
//!
//! This version knows one kind of name, a path to a `.gguf` file. The stores of other tools
//! (Ollama, the Hugging Face cache) have names of their own shape; they are told apart here and
//! refused, never guessed at.
#![forbid(unsafe_code)]

mod error;
mod near;

use std::{
    io,
    path::{Component, Path, PathBuf},
};

pub use error::{Error, Kind};
pub use near::nearest;

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The weights: an absolute path to an existing regular file.
    pub weights: PathBuf,
}

/// The file called `name`, relative to the working directory and the home of this process.
///
/// A name is a path when it begins with `/`, `./`, `../` or `~`, ends in `.gguf`, or has the
/// prefix `path:`. A bare word is never a path: a file that happens to have the name of a stored
/// model must not replace it.
///
/// # Errors
///
/// When the name is no path, or no regular file is there; see [`Kind`].
pub fn resolve(name: &str) -> Result<Files, Error> {
    let here = std::env::current_dir()
        .map_err(|e| Error::new(Kind::Io, format!("the working directory is gone: {e}")))?;
    resolve_from(name, &here, std::env::home_dir().as_deref())
}

/// The same with the working directory and the home given.
///
/// # Errors
///
/// As [`resolve`].
pub fn resolve_from(name: &str, here: &Path, home: Option<&Path>) -> Result<Files, Error> {
    let path = expand(as_path(name)?, home)?;
    let path = tidy(&here.join(path));
    check(&path)?;
    Ok(Files { weights: path })
}

/// The text of the path in `name`, or why it is none.
fn as_path(name: &str) -> Result<&str, Error> {
    if name.trim().is_empty() {
        return Err(Error::new(Kind::Invalid, "the model's name is empty")
            .with_hint("give the path of a .gguf file"));
    }
    if let Some(c) = name.chars().find(|c| c.is_control()) {
        let what = format!("the model's name has the control character U+{:04X}", c as u32);
        return Err(Error::new(Kind::Invalid, what).with_hint("give the path of a .gguf file"));
    }
    if name == "-" {
        return Err(Error::new(Kind::Invalid, "a model cannot be read from standard input")
            .with_hint("it is mapped from a file: give the path of a .gguf file"));
    }
    // The address is not repeated: it may hold a password.
    if is_address(name) {
        let what = "the model's name is an address of the network, and nothing is downloaded";
        return Err(Error::new(Kind::Invalid, what)
            .with_hint("fetch the file first, then give the path of the .gguf file"));
    }
    if let Some(path) = name.strip_prefix("path:") {
        if path.is_empty() {
            return Err(Error::new(Kind::Invalid, "nothing stands after `path:`"));
        }
        return Ok(path);
    }
    for (prefix, store) in [("ollama:", "the Ollama store"), ("hf:", "the Hugging Face cache")] {
        if name.starts_with(prefix) {
            return Err(not_read(name, store));
        }
    }
    let starts = ["/", "./", "../", "~"].iter().any(|start| name.starts_with(start));
    if starts || name == "." || name == ".." || name.ends_with(".gguf") {
        return Ok(name);
    }
    Err(not_read(name, store_of(name)))
}

/// Whether the name is a URL (RFC 3986: a scheme, then `://`).
fn is_address(name: &str) -> bool {
    name.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Which store a name without prefix has the shape of.
fn store_of(name: &str) -> &'static str {
    let slashes = name.matches('/').count();
    match (slashes, name.contains(':'), name.contains('@')) {
        (1, false, true) => "the Hugging Face cache",
        (0, _, false) | (2, _, false) => "the Ollama store",
        _ => "the Ollama store or the Hugging Face cache",
    }
}

fn not_read(name: &str, store: &str) -> Error {
    let what = format!("`{name}` is a name of {store}, and this version does not read stores yet");
    Error::new(Kind::Store, what).with_hint(
        "give the path of the .gguf file: it begins with `/`, `./`, `../` or `~`, ends in \
         `.gguf`, or follows `path:`",
    )
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

fn check(path: &Path) -> Result<(), Error> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(meta) if meta.is_dir() => {
            Err(Error::new(Kind::NotAFile, format!("{shown} is a folder, not a .gguf file"))
                .with_hint(listing(path)))
        }
        Ok(_) => Err(Error::new(Kind::NotAFile, format!("{shown} is not a regular file"))
            .with_hint("a model is mapped into memory, so it must be a file on a disk")),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(missing(path))
        }
        Err(e) => Err(Error::new(Kind::Io, format!("cannot look at {shown}: {e}"))),
    }
}

fn listing(folder: &Path) -> String {
    let names = near::models_in(folder);
    match names.len() {
        0 => "it has no .gguf files".into(),
        1..=8 => format!("its .gguf files: {}", names.join(", ")),
        n => format!("its .gguf files: {} and {} more", names[..8].join(", "), n - 8),
    }
}

fn missing(path: &Path) -> Error {
    let shown = path.display();
    if let Ok(target) = std::fs::read_link(path) {
        let what = format!("{shown} is a link to {}, which does not exist", target.display());
        return Error::new(Kind::Missing, what);
    }
    let error = Error::new(Kind::Missing, format!("{shown} does not exist"));
    let Some(folder) = path.parent() else { return error };
    if !folder.is_dir() {
        let there = folder.ancestors().find(|folder| folder.is_dir());
        let there = there.unwrap_or(Path::new("/")).display();
        return error.with_hint(format!("the folder is missing too; {there} is there"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = near::nearest(&name, near::models_in(folder));
    match near.is_empty() {
        true => error.with_hint(format!("{} has no .gguf files", folder.display())),
        false => error.with_hint(format!("in that folder: {}", near.join(", "))),
    }
}

#[cfg(test)]
mod tests;
