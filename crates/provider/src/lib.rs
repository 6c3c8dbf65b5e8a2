//! Who answers: the provider's name, the settings it comes from, the local provider, and with the
//! feature `remote` the way to services elsewhere.
//!
//! [`Settings`] says who was chosen and by which flag, variable or line; [`open`] gives the
//! [`Provider`]. No setting at all means this process, never anybody else.
#![forbid(unsafe_code)]

mod cascaded;
mod choice;
mod config;
mod counted;
#[cfg(feature = "remote")]
mod deciding;
mod defaults;
#[cfg(feature = "remote")]
mod elsewhere;
mod env_file;
mod error;
#[cfg(feature = "remote")]
mod expected;
mod held;
mod judging;
mod kept;
#[cfg(feature = "remote")]
mod key;
#[cfg(feature = "remote")]
mod leaving;
mod line;
mod local;
pub mod lock;
mod meter;
mod mock;
mod name;
mod opened;
pub mod policies;
mod reply;
mod secret;
mod settings;
pub mod span;
mod surroundings;
pub mod texts;
mod trust;
mod trusted;
mod turn;
mod values;
mod words;

use std::{ops::ControlFlow, path::PathBuf, sync::Arc};

use recinto_engine::{OpenOptions, Options, Piece, Scores, Stop};
use recinto_policy::{Budget, Wall};
pub use recinto_policy::{Clarity, Lack, TASKS, Task};
use recinto_store::Roots;

pub use cascaded::{Cascaded, Next};
pub use choice::{Choice, Route, Rule, Then};
pub use config::{
    At, CONFIG_FLAG, CONFIG_VARIABLE, ConfigFile, Entry, Fault, LISTS, OPTIONS, OptionRow,
    OptionSetting, TABLES, Table, Value, WORDS,
};
pub use counted::Counted;
#[cfg(feature = "remote")]
pub use deciding::Decisions;
#[cfg(feature = "remote")]
pub use elsewhere::Elsewhere;
pub use env_file::EnvFile;
pub use error::{Error, Kind};
pub use judging::Reader;
#[cfg(not(feature = "remote"))]
pub use judging::no_services;
pub use local::Local;
pub use lock::{Lock, LockFile};
pub use mock::Mock;
pub use name::Name;
pub use opened::{Opened, model_files, open_as};
pub use recinto_grammar::Shape;
pub use reply::{Finish, Likelihood, Made, Reply, Service};
pub use secret::{API_KEY, JUDGE_KEY, SECRETS};
pub use settings::{Fallback, Flags, KEYS, Key, Setting, Settings, Shown, Source};
pub use surroundings::{FILE_NAME, Surroundings, digest_cache};
pub use turn::{Abilities, Turn};

/// Who is behind a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub provider: Name,
    /// The model's name as asked for.
    pub model: String,
    /// The file, when it is one of this disk.
    pub path: Option<PathBuf>,
    /// The host, when it answers from elsewhere.
    pub host: Option<String>,
    /// What should be known of its files, or of the line to it: who else may write to them, and
    /// that no lock names it; that what is sent is not encrypted.
    pub warnings: Vec<String>,
}

/// Sees each piece of a reply as it comes, and may say stop.
pub type Sink<'a> = dyn FnMut(Piece<'_>) -> ControlFlow<()> + 'a;

/// Somebody who answers.
pub trait Provider: Send + Sync {
    /// Who this is.
    fn identity(&self) -> Identity;

    /// What it can do.
    fn abilities(&self) -> Abilities;

    /// How answers are made where the user says nothing.
    fn defaults(&self) -> Options {
        Options::default()
    }

    /// The provider that is this process, with all that is known of its model; `None` for others.
    fn local(&self) -> Option<&Local> {
        None
    }

    /// The cascade that this is, where the operator's files name a second provider; `None` for
    /// others. Who has no use for a second one is answered by the first.
    fn cascaded(&self) -> Option<&Cascaded> {
        None
    }

    /// Answers one turn; `sink` sees each piece of the reply as it comes and may say stop.
    ///
    /// # Errors
    ///
    /// When there is no reply. A reply that was stopped is one; see its finish.
    fn complete(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error>;

    /// How likely the answer to `turn` is exactly each of `labels`, and nothing after. The turn's
    /// own shape is not looked at.
    ///
    /// # Errors
    ///
    /// [`Kind::Unable`] where the provider cannot say; as [`Provider::complete`] otherwise.
    fn score(&self, turn: &Turn, labels: &[String], stop: &Stop) -> Result<Scores, Error>;
}

/// The folders in which this user's names are looked up, seen from the working directory.
///
/// # Errors
///
/// When there is no working directory.
pub fn roots() -> Result<Roots, Error> {
    let around = Surroundings::now()?;
    Ok(Roots::from_env(&|name| around.value(name), &around.here))
}

/// Whether providers that answer from elsewhere are built in.
pub const REMOTE: bool = cfg!(feature = "remote");

/// What this program is by what it holds: `recinto`, or `recinto-local`, which holds nothing that
/// could open a socket.
pub const BUILD: &str = if REMOTE { "recinto" } else { "recinto-local" };

/// Opens the provider that `settings` names; of `options` only this process makes use. Nothing is
/// sent.
///
/// # Errors
///
/// As [`Local::open`]; for others what is wrong with the settings, and [`Kind::NotBuilt`] where
/// they are not built in.
pub fn open(settings: &Settings, options: OpenOptions) -> Result<Box<dyn Provider>, Error> {
    let around = Surroundings::now()?;
    let budget = budget(settings, &around)?;
    open_within(settings, options, &around, &budget)
}

/// Opens who was chosen for a task. Of a cascade the first profile is opened, and the second when
/// it is needed; both count towards one budget.
///
/// # Errors
///
/// As [`open`].
pub fn open_choice(choice: &Choice, options: OpenOptions) -> Result<Box<dyn Provider>, Error> {
    open_choice_in(choice, options, &Surroundings::now()?)
}

/// The same with the environment given.
///
/// # Errors
///
/// As [`open`].
pub fn open_choice_in(
    choice: &Choice,
    options: OpenOptions,
    around: &Surroundings,
) -> Result<Box<dyn Provider>, Error> {
    match &choice.then {
        Some(then) => Ok(Box::new(Cascaded::open(choice, then, options, around.clone())?)),
        None => {
            let budget = budget(&choice.settings, around)?;
            open_within(&choice.settings, options, around, &budget)
        }
    }
}

/// The budget of a provider that is opened. One of this process answers also where a policy cannot
/// be read: then the ceilings of the other files hold.
fn budget(settings: &Settings, around: &Surroundings) -> Result<Arc<Budget>, Error> {
    let wall = match policies::wall(settings, around) {
        Err(error) if settings.provider().is_remote() => return Err(error),
        wall => wall.unwrap_or_else(|_| Wall::default()),
    };
    Ok(Arc::new(policies::budget(settings, &wall)?))
}

fn open_within(
    settings: &Settings,
    options: OpenOptions,
    around: &Surroundings,
    budget: &Arc<Budget>,
) -> Result<Box<dyn Provider>, Error> {
    match settings.provider() {
        Name::Local => {
            let roots = Roots::from_env(&|name| around.value(name), &around.here);
            let local = Local::open_in(settings, &roots, options)?;
            Ok(Box::new(local.within(Arc::clone(budget))))
        }
        Name::Mock => {
            let mock = Mock::new(settings.model.as_ref().map(|m| m.value.as_str()));
            Ok(Box::new(mock.within(Arc::clone(budget))))
        }
        #[cfg(feature = "remote")]
        _ => {
            let elsewhere = Elsewhere::open_in(settings, around)?;
            Ok(Box::new(elsewhere.within(Arc::clone(budget))))
        }
        #[cfg(not(feature = "remote"))]
        other => Err(not_built(other)),
    }
}

#[cfg(not(feature = "remote"))]
fn not_built(name: Name) -> Error {
    let what = format!("provider `{name}` answers from elsewhere, and this is `{BUILD}`");
    Error::new(Kind::NotBuilt, what)
        .hint("nothing in it can open a socket; take the program `recinto`, or provider `local`")
}
