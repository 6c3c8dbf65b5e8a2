//! The arch files at hand: built in, or from a folder of the operator's.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use recinto_weights::{File, Metadata};

use crate::{
    check as checks,
    error::{Error, Kind},
    lex::{self, Source},
    parse::{self, Ast, When},
    program::Origin,
};

const BUILT_IN: &[(&str, &str)] = &[
    ("bert", include_str!("../archs/bert.arch")),
    ("bert-checkpoint", include_str!("../archs/bert-checkpoint.arch")),
    ("gemma3", include_str!("../archs/gemma3.arch")),
    ("laya", include_str!("../archs/laya.arch")),
    ("llama", include_str!("../archs/llama.arch")),
    ("modern-bert", include_str!("../archs/modern-bert.arch")),
    ("qwen2", include_str!("../archs/qwen2.arch")),
    ("qwen3", include_str!("../archs/qwen3.arch")),
];

/// Most files that are read from one folder.
const MAX_FILES: usize = 1000;

/// An arch file that was read and checked.
#[derive(Clone, Debug)]
pub struct ArchFile {
    name: String,
    file: String,
    text: Arc<str>,
    origin: Origin,
    ast: Ast,
}

impl ArchFile {
    /// Reads the text of an arch file; `name` is its name without `.arch`.
    pub fn new(name: &str, text: &str, origin: Origin) -> Result<ArchFile, Error> {
        let file = format!("{name}.arch");
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source { file: &file, text: bare };
        let ast = parse::parse(source)?;
        checks::check(source, &ast)?;
        Ok(ArchFile { name: name.to_owned(), file, text: text.into(), origin, ast })
    }

    /// Its name: the file's name without `.arch`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The `general.architecture` that it serves, in its own spelling.
    pub fn serves(&self) -> &str {
        self.ast.serves.first().map_or("", String::as_str)
    }

    /// Whether it serves models that call their architecture `stated`, in any spelling.
    pub fn answers_to(&self, stated: &str) -> bool {
        self.ast.serves.iter().any(|name| name == stated)
    }

    /// The text, byte for byte.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn ast(&self) -> &Ast {
        &self.ast
    }

    pub(crate) fn source(&self) -> Source<'_> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        Source { file: &self.file, text }
    }

    /// Whether the model's architecture and all conditions after `when` hold; an error says which
    /// does not. Gives the architecture as the model spells it: the prefix of its keys.
    pub(crate) fn matches<'m>(&self, model: &'m File) -> Result<&'m str, Error> {
        let stated = architecture(model.metadata())?;
        if !self.answers_to(stated) {
            let serves = self.ast.serves.join("`, `");
            let what =
                format!("{} serves `{serves}`, and the model says it is `{stated}`", self.file);
            return Err(Error::new(Kind::NoMatch, what));
        }
        for when in &self.ast.when {
            if self.holds(when, model, stated) == when.absent {
                let state = if when.absent { "absent or 0" } else { "present" };
                let what = format!("{} serves models with `{}` {state}", self.file, when.name);
                return Err(Error::new(Kind::NoMatch, what));
            }
        }
        Ok(stated)
    }

    /// Whether the tensor is there, or the key, other than 0 and false.
    fn holds(&self, when: &When, model: &File, stated: &str) -> bool {
        let name = &when.name;
        let tensors = [name.clone(), format!("{name}.weight"), format!("blk.0.{name}.weight")];
        if tensors.iter().any(|name| model.find(name).is_some()) {
            return true;
        }
        let key = format!("{stated}.{name}");
        let value = model.metadata().get(&key).or_else(|| model.metadata().get(name));
        value.is_some_and(|v| v.as_f64() != Some(0.0) && v.as_bool() != Some(false))
    }
}

pub(crate) fn architecture(metadata: Metadata<'_>) -> Result<&str, Error> {
    match metadata.str("general.architecture") {
        Ok(Some(name)) => Ok(name),
        Ok(None) => {
            let what = "missing key `general.architecture`";
            Err(Error::new(Kind::MissingKey, what))
        }
        Err(error) => Err(Error::new(Kind::Value, error.to_string())),
    }
}

/// Checks a text as far as that is possible without a model; `name` is for errors.
pub fn check(name: &str, text: &str) -> Result<(), Error> {
    ArchFile::new(name, text, Origin::BuiltIn).map(|_| ())
}

/// A row of [`Archs::list`].
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    /// The file's name without `.arch`.
    pub name: &'a str,
    /// The `general.architecture` that it serves, where that can be read.
    pub serves: Option<&'a str>,
    /// Where it comes from.
    pub origin: &'a Origin,
    /// Whether it stands in the place of a built-in one.
    pub replaces_built_in: bool,
    /// Why it cannot be used.
    pub error: Option<&'a Error>,
}

struct Entry {
    origin: Origin,
    replaces_built_in: bool,
    /// What the text says it serves, even if the rest of it is broken.
    serves: Vec<String>,
    file: Result<ArchFile, Error>,
}

/// The arch files by name.
pub struct Archs {
    entries: BTreeMap<String, Entry>,
}

impl Archs {
    /// Those in the binary.
    pub fn built_in() -> Archs {
        let mut archs = Archs { entries: BTreeMap::new() };
        for (name, text) in BUILT_IN {
            archs.insert(name, Ok(text.as_bytes().to_vec()), Origin::BuiltIn);
        }
        archs
    }

    /// Those in the binary, and the files `*.arch` in `folder`, which add to them or replace them
    /// by name. A broken file makes its name unavailable; it never falls back.
    ///
    /// # Errors
    /// The folder cannot be read, or holds too many files.
    pub fn with_dir(folder: &Path) -> Result<Archs, Error> {
        let unreadable = |e: std::io::Error| {
            let what = format!("cannot read the folder {}: {e}", folder.display());
            Error::new(Kind::File, what)
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|end| end == "arch") {
                paths.push(path);
            }
            if paths.len() > MAX_FILES {
                let what = format!("more than {MAX_FILES} arch files in {}", folder.display());
                return Err(Error::new(Kind::Limit, what));
            }
        }
        paths.sort();
        let mut archs = Archs::built_in();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = read(&path);
            archs.insert(&name, bytes, Origin::File(path));
        }
        Ok(archs)
    }

    fn insert(&mut self, name: &str, bytes: Result<Vec<u8>, Error>, origin: Origin) {
        let built_in = self.entries.get(name).is_some_and(|e| e.origin == Origin::BuiltIn);
        let replaces_built_in = built_in && origin != Origin::BuiltIn;
        let text = bytes.and_then(|bytes| text(name, bytes));
        let serves = match &text {
            Ok(text) => parse::serves(text).into_iter().map(str::to_owned).collect(),
            Err(_) => Vec::new(),
        };
        let file = text.and_then(|text| ArchFile::new(name, &text, origin.clone()));
        let entry = Entry { origin, replaces_built_in, serves, file };
        self.entries.insert(name.to_owned(), entry);
    }

    /// All of them, in the order of their names.
    pub fn list(&self) -> impl Iterator<Item = Listed<'_>> {
        self.entries.iter().map(|(name, entry)| Listed {
            name,
            serves: entry.serves.first().map(String::as_str),
            origin: &entry.origin,
            replaces_built_in: entry.replaces_built_in,
            error: entry.file.as_ref().err(),
        })
    }

    /// The arch file called `name`.
    ///
    /// # Errors
    /// There is none of that name, or it is broken.
    pub fn get(&self, name: &str) -> Result<&ArchFile, Error> {
        match self.entries.get(name) {
            Some(entry) => entry.file.as_ref().map_err(Error::clone),
            None => {
                let what = format!("no arch file is called `{name}`");
                let names = self.entries.keys().map(String::as_str);
                let known: Vec<&str> = names.clone().collect();
                let hint = match crate::error::nearest(name, names) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known: {}", known.join(", ")),
                };
                Err(Error::new(Kind::Unknown, what).hint(hint))
            }
        }
    }

    /// The text of the arch file called `name`.
    ///
    /// # Errors
    /// As [`Archs::get`].
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        self.get(name).map(|file| &**file.text())
    }

    /// The one arch file that serves `model`, by `general.architecture` and the conditions after
    /// `when`.
    ///
    /// # Errors
    /// None or several serve it, or one that may be meant is broken.
    pub fn find(&self, model: &File) -> Result<&ArchFile, Error> {
        let stated = architecture(model.metadata())?;
        let (mut found, mut reasons) = (Vec::new(), Vec::new());
        for (name, entry) in &self.entries {
            let file = match &entry.file {
                Ok(file) if file.answers_to(stated) => file,
                Ok(_) => continue,
                // A broken file may have been meant for this model: nothing takes its place.
                Err(error) if name == stated || entry.serves.iter().any(|s| s == stated) => {
                    return Err(error.clone());
                }
                Err(_) => continue,
            };
            match file.matches(model) {
                Ok(_) => found.push(file),
                Err(error) => reasons.push(error.message().to_owned()),
            }
        }
        match found[..] {
            [one] => Ok(one),
            [] if reasons.is_empty() => {
                let what = format!("no arch file serves the architecture `{stated}`");
                let names: Vec<&str> = self.entries.keys().map(String::as_str).collect();
                let hint = format!(
                    "known: {}; `recinto arch new` writes a beginning, `--arch-dir` adds files, \
                     see docs/arch-format.md",
                    names.join(", ")
                );
                Err(Error::new(Kind::NoMatch, what).hint(hint))
            }
            [] => {
                let what = format!("no arch file for `{stated}` serves this model");
                Err(Error::new(Kind::NoMatch, what).hint(reasons.join("; ")))
            }
            _ => {
                let names: Vec<String> = found.iter().map(|f| f.file.clone()).collect();
                let what = format!("several arch files serve this model: {}", names.join(", "));
                let hint = "`arch NAME when TENSOR` or `when not KEY` tells them apart";
                Err(Error::new(Kind::NoMatch, what).hint(hint))
            }
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let fault =
        |e: std::io::Error| Error::new(Kind::File, format!("cannot read {}: {e}", path.display()));
    let data = fs::metadata(path).map_err(fault)?;
    if !data.is_file() {
        return Err(Error::new(Kind::File, format!("{} is no file", path.display())));
    }
    if data.len() > lex::MAX_BYTES as u64 {
        let what = format!("{} has more than {} bytes", path.display(), lex::MAX_BYTES);
        return Err(Error::new(Kind::Limit, what));
    }
    fs::read(path).map_err(fault)
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::new(Kind::Syntax, format!("{name}.arch is not UTF-8 at byte {at}"))
    })
}
