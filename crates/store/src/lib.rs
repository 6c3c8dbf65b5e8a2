//! A model's name to the files on this disk.
//!
//! Three kinds of names: a path, a name of an Ollama store, a name of the Hugging Face cache. The
//! stores are read wherever they lie, also read-only or of another user; nothing is downloaded,
//! written, locked or removed. `docs/models.md` is the page for readers.
#![forbid(unsafe_code)]

mod card;
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
mod which;

use self::which::Holders;
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
/// A name is a path when it begins with `/`, `./`, `../` or `~`, or ends in `.gguf` and something
/// is there. A bare word is never a path: a file that happens to have the name of a stored model
/// must not replace it. Other names are `[host/][namespace/]model[:tag]` of an Ollama store or
/// `org/repo[@revision][:quant or file]` of the Hugging Face cache. The prefixes `path:`,
/// `ollama:` and `hf:` settle doubt.
///
/// # Errors
///
/// When the name is none, leads nowhere or to more than one model, or when what it leads to cannot
/// be used; see [`Kind`].
pub fn resolve(name: &str, roots: &Roots) -> Result<Files, Error> {
    let asked = asked(name)?;
    match asked {
        Asked::Path(path) => path::files(path, roots),
        Asked::File(path) => {
            let found = path::files(path, roots);
            if found.is_ok() || !path::is_gone(path, roots) {
                return found;
            }
            match asked.holders(roots)? {
                Some(holders) => holders.files().unwrap_or(found),
                None => found,
            }
        }
        Asked::Ollama(name) | Asked::Hub(name) | Asked::Any(name) => {
            let Some(holders) = asked.holders(roots)? else {
                let what = "a path, a model of Ollama or a repository of Hugging Face";
                return Err(invalid(name, what));
            };
            let nowhere = || Err(list::nowhere(name, roots, &asked.stores()));
            holders.files().unwrap_or_else(nowhere)
        }
    }
}

/// Every model that `name` could mean where [`resolve`] finds that it means more than one, for
/// who knows more of the one that is wanted. Empty when nothing is found.
pub fn meanings(name: &str, roots: &Roots) -> Vec<Files> {
    let Ok(asked) = asked(name) else { return Vec::new() };
    let holders = match asked {
        Asked::Path(_) => None,
        _ => asked.holders(roots).ok().flatten(),
    };
    holders.map(|holders| holders.all()).unwrap_or_default()
}

/// What kind of name was given.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Path(&'a str),
    /// A path if something is there, else a name.
    File(&'a str),
    Ollama(&'a str),
    Hub(&'a str),
    Any(&'a str),
}

impl<'a> Asked<'a> {
    /// Who has the name; `None` when it can be no name of a store.
    fn holders(self, roots: &Roots) -> Result<Option<Holders<'a>>, Error> {
        let (name, ollama, hub) = match self {
            Asked::Path(_) => return Ok(None),
            Asked::Ollama(name) => {
                let read = ollama::Name::read(name);
                let bad = |why| invalid(name, &format!("an Ollama model ({why})"));
                (name, Some(read.map_err(bad)?), None)
            }
            Asked::Hub(name) => {
                let read = hub::Name::read(name);
                let bad = |why| invalid(name, &format!("a repository ({why})"));
                (name, None, Some(read.map_err(bad)?))
            }
            Asked::Any(name) | Asked::File(name) => {
                (name, ollama::Name::read(name).ok(), hub::Name::read(name).ok())
            }
        };
        if ollama.is_none() && hub.is_none() {
            return Ok(None);
        }
        Holders::find(name, (ollama.as_ref(), hub.as_ref()), roots).map(Some)
    }

    /// The stores whose names it can be.
    fn stores(self) -> Vec<Store> {
        match self {
            Asked::Path(_) => Vec::new(),
            Asked::Ollama(_) => vec![Store::Ollama],
            Asked::Hub(_) => vec![Store::Hub],
            Asked::Any(name) | Asked::File(name) => {
                let fit = [
                    (ollama::Name::read(name).is_ok(), Store::Ollama),
                    (hub::Name::read(name).is_ok(), Store::Hub),
                ];
                fit.into_iter().filter(|row| row.0).map(|row| row.1).collect()
            }
        }
    }
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
    if starts || name == "." || name == ".." {
        return Ok(Asked::Path(name));
    }
    // A file of a repository ends so too; what stands before it says which is meant.
    let last = name.rsplit('/').next().unwrap_or(name);
    let tagged = last.contains(':') && ollama::Name::read(name).is_ok();
    let picked = hub::Name::read(name).is_ok_and(|name| name.pick.is_some());
    match name.ends_with(".gguf") && !tagged && !picked {
        true => Ok(Asked::File(name)),
        false => Ok(Asked::Any(name)),
    }
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
