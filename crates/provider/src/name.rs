//! The names of who can answer. A name is said, never guessed: no key, no host and no model name
//! chooses one.

use std::fmt;

use crate::error::{Error, Kind};

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Name {
    /// This process.
    Local,
}

/// Every provider of this version.
const NAMES: &[(&str, Name)] = &[("local", Name::Local)];

impl Name {
    /// The provider called `name`.
    ///
    /// # Errors
    ///
    /// An unknown name; the text lists the known ones.
    pub fn from_name(name: &str) -> Result<Name, Error> {
        NAMES.iter().find(|row| row.0 == name).map(|row| row.1).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|row| row.0).collect();
            Error::new(Kind::UnknownProvider, format!("unknown provider `{name}`"))
                .hint(format!("known: {}", known.join(", ")))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
