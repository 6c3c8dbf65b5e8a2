//! A model's name to the files on this disk.
//!
//! Three kinds of names: a path, a name of an Ollama store, a name of the Hugging Face cache. The
//! stores are read wherever they lie, also read-only or of another user; nothing is downloaded,
//! written, locked or removed. `docs/models.md` is the page for readers.
#![forbid(unsafe_code)]

mod checkpoint;
mod error;
mod files;
mod hub;
mod layers;
pub mod licence;
mod list;
mod look;
mod near;
mod ollama;
mod path;
mod quant;
mod read;
mod roots;
mod shards;

use std::path::PathBuf;

pub use error::{Error, Kind};
pub use files::{Card, Files, Form, Note, Store};
pub use layers::{Example, Layers, Params};
pub use list::{Closed, Entry, Listing, Omitted, list};
pub use look::Odd;
pub use near::nearest;
pub use ollama::manifest;
pub use roots::{Root, Roots};

/// The files called `name`, looked for in `roots`.
///
/// A name is a path when it begins with `/`, `./`, `../` or `~`, or ends in `.gguf`. A bare word
/// is never a path: a file that happens to have the name of a stored model must not replace it.
/// Other names are `[host/][namespace/]model[:tag]` of an Ollama store or
/// `org/repo[@revision][:quant or file]` of the Hugging Face cache. The prefixes `path:`,
/// `ollama:` and `hf:` settle doubt.
///
/// # Errors
///
/// When the name is none, leads nowhere or to more than one model, or when what it leads to cannot
/// be used; see [`Kind`].
pub fn resolve(name: &str, roots: &Roots) -> Result<Files, Error> {
    match asked(name)? {
        Asked::Path(path) => path::files(path, roots),
        Asked::Ollama(name) => {
            let read = ollama::Name::read(name);
            let read = read.map_err(|why| invalid(name, &format!("an Ollama model ({why})")))?;
            let held = roots.ollama.iter().find_map(|root| ollama::locate(&read, root));
            held.map_or_else(
                || Err(list::nowhere(name, roots, &[Store::Ollama])),
                |held| ollama::files(&held),
            )
        }
        Asked::Hub(name) => {
            let read = hub::Name::read(name);
            let read = read.map_err(|why| invalid(name, &format!("a repository ({why})")))?;
            let held = roots.hub.iter().find_map(|root| hub::locate(&read, root));
            held.map_or_else(
                || Err(list::nowhere(name, roots, &[Store::Hub])),
                |held| hub::files(&held),
            )
        }
        Asked::Any(name) => of_any(name, roots),
    }
}

/// The files of a name without prefix.
fn of_any(name: &str, roots: &Roots) -> Result<Files, Error> {
    let (ollama, hub) = (ollama::Name::read(name).ok(), hub::Name::read(name).ok());
    if ollama.is_none() && hub.is_none() {
        return Err(invalid(name, "a path, a model of Ollama or a repository of Hugging Face"));
    }
    let in_ollama = ollama
        .as_ref()
        .and_then(|name| roots.ollama.iter().find_map(|root| ollama::locate(name, root)));
    let in_hub =
        hub.as_ref().and_then(|name| roots.hub.iter().find_map(|root| hub::locate(name, root)));
    match (in_ollama, in_hub) {
        (Some(held), None) => ollama::files(&held),
        (None, Some(held)) => hub::files(&held),
        (None, None) => {
            let fit = [(ollama.is_some(), Store::Ollama), (hub.is_some(), Store::Hub)];
            let fit: Vec<Store> = fit.iter().filter(|row| row.0).map(|row| row.1).collect();
            Err(list::nowhere(name, roots, &fit))
        }
        (Some(held), Some(other)) => {
            let places: [(&str, &PathBuf); 2] = [("ollama", &held.path), ("hf", &other.repo)];
            let lines =
                places.map(|(prefix, at)| format!("  {prefix}:{name}  {}", error::shown(at)));
            let what = format!("`{name}` is in two stores, and could be either");
            Err(Error::new(Kind::Ambiguous, what)
                .with_hint(format!("say which one is meant\n{}", lines.join("\n"))))
        }
    }
}

/// What kind of name was given.
enum Asked<'a> {
    Path(&'a str),
    Ollama(&'a str),
    Hub(&'a str),
    Any(&'a str),
}

fn asked(name: &str) -> Result<Asked<'_>, Error> {
    const HINT: &str = "`recinto models` lists the names of this machine";
    let bad = |what: String| Err(Error::new(Kind::Invalid, what).with_hint(HINT));
    if name.trim().is_empty() {
        return bad("the model's name is empty".into());
    }
    if let Some(c) = name.chars().find(|c| c.is_control()) {
        return bad(format!("the model's name has the control character U+{:04X}", c as u32));
    }
    if name == "-" {
        return Err(Error::new(Kind::Invalid, "a model cannot be read from standard input")
            .with_hint("it is mapped from a file: give a name or the path of a .gguf file"));
    }
    // The address is not repeated: it may hold a password.
    if is_address(name) {
        let what = "the model's name is an address of the network, and nothing is downloaded";
        return Err(Error::new(Kind::Invalid, what)
            .with_hint("fetch the file first, then give the path of the .gguf file"));
    }
    for (prefix, store) in Store::NAMES {
        let Some(rest) = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(':')) else {
            continue;
        };
        if rest.is_empty() {
            return bad(format!("nothing stands after `{prefix}:`"));
        }
        return Ok(match store {
            Store::Path => Asked::Path(rest),
            Store::Ollama => Asked::Ollama(rest),
            Store::Hub => Asked::Hub(rest),
        });
    }
    let starts = ["/", "./", "../", "~"].iter().any(|start| name.starts_with(start));
    if starts || name == "." || name == ".." || name.ends_with(".gguf") {
        // A file of a repository ends so too; what stands before it says which is meant.
        let repository = !starts && hub::Name::read(name).is_ok_and(|name| name.pick.is_some());
        return Ok(if repository { Asked::Any(name) } else { Asked::Path(name) });
    }
    Ok(Asked::Any(name))
}

/// Whether the name is a URL (RFC 3986: a scheme, then `://`).
fn is_address(name: &str) -> bool {
    name.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn invalid(name: &str, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("`{name}` cannot be the name of {what}"))
        .with_hint("`recinto models` lists the names of this machine")
}

#[cfg(test)]
mod tests;
