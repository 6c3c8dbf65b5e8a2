//! What a look through a store finds besides models: folders that cannot be read, and entries that
//! no name leads to. They are counted and said, not passed over.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::error::reason;

/// Why no name leads to an entry of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Odd {
    /// Its name has letters that no name of a model has, or is no text at all.
    Name,
    /// It is a file where a folder is needed, or the other way round.
    Shape,
    /// It is a link where a folder is needed; links between folders are not followed.
    Link,
    /// It is a repository without a model that could be opened or listed.
    Empty,
    /// Another program made the name for its own use.
    Foreign,
    /// It comes after as many entries as are looked at.
    Beyond,
}

impl Odd {
    /// The word for programs.
    pub fn name(self) -> &'static str {
        match self {
            Odd::Name => "name",
            Odd::Shape => "shape",
            Odd::Link => "link",
            Odd::Empty => "empty",
            Odd::Foreign => "foreign",
            Odd::Beyond => "beyond",
        }
    }

    /// What is so of one entry.
    pub fn why(self) -> &'static str {
        match self {
            Odd::Name => "its name cannot be one of a model",
            Odd::Shape => "a folder is needed there, or a file",
            Odd::Link => "it is a link, which is not followed there",
            Odd::Empty => "a repository without a model",
            Odd::Foreign => "another program made it for its own use",
            Odd::Beyond => "the folder has more entries than are looked at",
        }
    }
}

/// What one store gave.
#[derive(Debug)]
pub(crate) struct Look<T> {
    /// What has a name.
    pub held: Vec<T>,
    /// Folders below the store's that cannot be read, and why.
    pub closed: Vec<(PathBuf, String)>,
    /// What has none.
    pub odd: Vec<(Odd, PathBuf)>,
}

impl<T> Look<T> {
    pub fn new() -> Look<T> {
        Look { held: Vec::new(), closed: Vec::new(), odd: Vec::new() }
    }

    /// A folder that cannot be read; one that is gone is none.
    pub fn close(&mut self, folder: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.closed.push((folder.to_owned(), reason(error)));
        }
    }

    pub fn odd(&mut self, why: Odd, path: PathBuf) {
        self.odd.push((why, path));
    }
}
