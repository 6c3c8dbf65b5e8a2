//! Who answers: the provider's name, the settings it comes from, and the local provider.
//!
//! [`Settings`] says who was chosen and by which flag, variable or line; [`open`] gives the
//! [`Provider`]. No setting at all means this process, never anybody else.
#![forbid(unsafe_code)]

mod defaults;
mod env_file;
mod error;
mod local;
mod name;
mod settings;

use std::{env, ops::ControlFlow, path::PathBuf};

use recinto_engine::{OpenOptions, Piece, Reply, Request, Stop};
use recinto_store::Roots;

pub use env_file::EnvFile;
pub use error::{Error, Kind};
pub use local::{Local, one_file};
pub use name::Name;
pub use settings::{Flags, KEYS, Key, Setting, Settings, Source, digest_cache};

/// Who is behind a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub provider: Name,
    /// The model's name as asked for.
    pub model: String,
    /// The file, when it is one of this disk.
    pub path: Option<PathBuf>,
}

/// Somebody who answers.
pub trait Provider {
    /// Who this is.
    fn identity(&self) -> Identity;

    /// Answers `request`; `sink` sees each piece of the reply as it comes and may say stop.
    ///
    /// # Errors
    ///
    /// When there is no reply. A reply that was stopped is one; see its finish.
    fn complete(
        &self,
        request: &Request,
        stop: &Stop,
        sink: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Reply, Error>;
}

/// The folders in which this user's names are looked up, seen from the working directory.
///
/// # Errors
///
/// When there is no working directory.
pub fn roots() -> Result<Roots, Error> {
    let here = settings::working_directory()?;
    Ok(Roots::from_env(&|name| env::var_os(name), &here))
}

/// Opens the provider that `settings` names.
///
/// # Errors
///
/// As [`Local::open`].
pub fn open(settings: &Settings, options: OpenOptions) -> Result<Box<dyn Provider>, Error> {
    match settings.provider.value {
        Name::Local => Ok(Box::new(Local::open(settings, options)?)),
    }
}
