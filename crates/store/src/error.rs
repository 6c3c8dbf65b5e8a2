//! Why a name leads to no model.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// The kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The name itself cannot be a name: empty, or with characters no name has.
    Invalid,
    /// The name leads to more than one model: of several stores, revisions or files.
    Ambiguous,
    /// Nothing has that name, or a file that should be there is not.
    Missing,
    /// Something is there, but it is no file: a folder, a pipe, a device.
    NotAFile,
    /// What a store says of the model is damaged: a manifest, a layer, a size.
    Broken,
    /// A link leads out of the store.
    Outside,
    /// The model is there in a form that this version does not read.
    Unsupported,
    /// The system refused to look.
    Io,
}

/// A name that leads to no model: kind, what was looked for, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Puts the name of the model before the text.
    pub(crate) fn of(mut self, name: &str) -> Error {
        self.what = format!("{name}: {}", self.what);
        self
    }

    /// A file that cannot be looked at.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Error {
        let (shown, why) = (shown(path), reason(error));
        let (kind, what) = match error.kind() {
            io::ErrorKind::NotFound => (Kind::Missing, format!("{shown} does not exist")),
            _ => (Kind::Io, format!("cannot read {shown}: {why}")),
        };
        Error::new(kind, what)
    }

    /// The kind of fault.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What is wrong and where, without the hint.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it, where something is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// A folder on the way to a name that cannot be looked at, and why.
#[derive(Clone, Debug)]
pub(crate) struct Shut {
    pub path: PathBuf,
    pub why: String,
}

/// A system's reason in lower case, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotFound => "not there".into(),
        _ => error.to_string(),
    }
}

/// A path for a line of text: what would end the line is escaped.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    match text.contains(char::is_control) {
        true => text.escape_debug().to_string(),
        false => text.into_owned(),
    }
}

/// At most `most` of `names`, and how many more there are.
pub(crate) fn some_of(names: &[String], most: usize) -> String {
    match names.len() {
        n if n <= most => names.join(", "),
        n => format!("{} and {} more", names[..most].join(", "), n - most),
    }
}
