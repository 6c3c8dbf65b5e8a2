//! Who answers: the provider's name, the settings it comes from, and the local provider.
//!
//! [`Settings`] says who was chosen and by which flag, variable or line; [`open`] gives the
//! [`Provider`]. No setting at all means this process, never anybody else.
#![forbid(unsafe_code)]

mod config;
mod defaults;
mod env_file;
mod error;
mod held;
mod local;
pub mod lock;
mod name;
mod opened;
mod secret;
mod settings;
mod surroundings;
mod trust;
mod trusted;
mod values;

use std::{ops::ControlFlow, path::PathBuf};

use recinto_engine::{OpenOptions, Piece, Reply, Request, Stop};
use recinto_store::Roots;

pub use config::{
    At, CONFIG_FLAG, CONFIG_VARIABLE, ConfigFile, Entry, Fault, LISTS, OPTIONS, OptionRow,
    OptionSetting, TABLES, Table, Value,
};
pub use env_file::EnvFile;
pub use error::{Error, Kind};
pub use local::Local;
pub use lock::{Lock, LockFile};
pub use name::Name;
pub use opened::{Opened, model_files, open_as};
pub use secret::SECRETS;
pub use settings::{Fallback, Flags, KEYS, Key, Setting, Settings, Shown, Source};
pub use surroundings::{FILE_NAME, Surroundings, digest_cache};

/// Who is behind a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub provider: Name,
    /// The model's name as asked for.
    pub model: String,
    /// The file, when it is one of this disk.
    pub path: Option<PathBuf>,
    /// What should be known of its files: who else may write to them, and that no lock names it.
    pub warnings: Vec<String>,
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
    let around = Surroundings::now()?;
    let variable = |name: &str| around.variable(name).map(ToOwned::to_owned);
    Ok(Roots::from_env(&variable, &around.here))
}

/// Opens the provider that `settings` names.
///
/// # Errors
///
/// As [`Local::open`].
pub fn open(settings: &Settings, options: OpenOptions) -> Result<Box<dyn Provider>, Error> {
    match settings.provider() {
        Name::Local => Ok(Box::new(Local::open(settings, options)?)),
    }
}
