//! The wall, the log, the budget and the profiles of this process, from the files that are heard.
//!
//! Settings have a nearest word; policies do not. Every policy that is there holds: the machine's,
//! the one that the environment names, and the table `[policy]` of each `recinto.toml` of the
//! project, the user and the machine, whatever `--config` or `--no-config` says. So none loosens
//! another, and leaving a file out loosens nothing.

use std::path::{Path, PathBuf};

use recinto_policy::{Budget, EgressKey, EgressLog, Layer, Limits, Policy, Prices, Profiles, Wall};

use crate::{
    config::{self, At, ConfigFile, Entry},
    error::{Error, Kind},
    settings::Settings,
    surroundings::Surroundings,
    trust,
    trusted::{self, Rules},
};

/// Names a policy that holds beside the machine's. Only the environment itself is asked.
pub const POLICY_VARIABLE: &str = "RECINTO_POLICY";

/// What to do about a policy that is refused.
const CORRECT: &str = "correct the file; without a policy that can be read nothing may leave";

/// Every policy in force.
///
/// # Errors
///
/// A policy that cannot be read or trusted, or has an unknown word: it is not passed over. A table
/// `[policy]` in a file that a line of `.env` names.
pub fn wall(settings: &Settings, around: &Surroundings) -> Result<Wall, Error> {
    let mut policies = machine(around)?;
    let usual = config::read(&ConfigFile::Usual, around)?;
    for file in &usual {
        for (_, at, entries) in file.tables.iter().filter(|(name, ..)| *name == "policy") {
            policies.push(of_table(&file.path, *at, entries)?);
        }
    }
    let further = settings.tables.iter().filter(|(path, name, ..)| {
        *name == "policy" && usual.iter().all(|file| file.path != *path)
    });
    for (path, _, at, entries) in further {
        // Who can write `.env` could otherwise write a policy beside it that allows everything.
        if settings.config_of_env_file && settings.files.first() == Some(path) {
            let what = format!(
                "{}, line {}: a policy in a file that only a line of .env names does not count",
                path.display(),
                at.line
            );
            return Err(Error::new(Kind::Policy, what).hint(
                "name the file by `--config` or in the environment, or put the table into \
                 ./recinto.toml",
            ));
        }
        policies.push(of_table(path, *at, entries)?);
    }
    Ok(Wall::new(policies))
}

fn of_table(path: &Path, at: At, entries: &[Entry]) -> Result<Policy, Error> {
    let read = Policy::of_table(path, at.line, entries);
    Ok(read.map_err(|fault| recinto_policy::Error::in_file(path, fault))?)
}

/// The machine's policies: `/etc/recinto/policy.toml`, and the one that the environment names.
///
/// # Errors
///
/// As [`wall`].
pub fn machine(around: &Surroundings) -> Result<Vec<Policy>, Error> {
    let mut out = Vec::new();
    let named = named(around)?;
    for (path, must) in [(Some(around.policy_file()), false), (named, true)] {
        let Some(path) = path else { continue };
        let rules = Rules { kind: Kind::Policy, must, root_too: true, ignore: CORRECT };
        let Some(text) = trusted::read(&path, &rules)? else { continue };
        // Of other files these are warnings; whoever could change this one could let data out.
        if let Some(warning) = trust::warnings([path.as_path()]).into_iter().next() {
            let what = format!("the policy {} is not believed: {warning}", path.display());
            return Err(Error::new(Kind::Policy, what).hint(CORRECT));
        }
        out.push(Policy::parse(&path, &text)?);
    }
    Ok(out)
}

fn named(around: &Surroundings) -> Result<Option<PathBuf>, Error> {
    let Some(value) = around.variable(POLICY_VARIABLE) else { return Ok(None) };
    let path = PathBuf::from(value);
    match path.is_absolute() {
        true => Ok(Some(path)),
        false => {
            let what = format!("environment variable {POLICY_VARIABLE}: a whole path is needed");
            Err(Error::new(Kind::Policy, what)
                .hint("as in `/etc/recinto/other.toml`, or remove the variable"))
        }
    }
}

/// Where sends are written down: as the machine's policy says, else as the settings say.
///
/// # Errors
///
/// When there is no place for it, or the key cannot be used.
pub fn egress_log(
    settings: &Settings,
    around: &Surroundings,
    wall: &Wall,
) -> Result<EgressLog, Error> {
    let (path, key) = places(settings, around, wall)?;
    let key = key.map(|path| EgressKey::read(&path)).transpose()?;
    let set = settings.egress_sync.as_ref().is_some_and(|setting| setting.value);
    let sync = set || wall.policies().iter().any(|policy| policy.log.sync);
    Ok(EgressLog::new(path, key, sync))
}

/// The files of the log and of its key; nothing is opened.
///
/// # Errors
///
/// When there is no place for the log.
pub fn places(
    settings: &Settings,
    around: &Surroundings,
    wall: &Wall,
) -> Result<(PathBuf, Option<PathBuf>), Error> {
    let rules = || wall.policies().iter().map(|policy| &policy.log);
    let set = |path: &PathBuf| around.here.join(path);
    let log = rules()
        .find_map(|rules| rules.log.clone())
        .or_else(|| settings.egress_log.as_ref().map(|setting| set(&setting.value)))
        .or_else(|| Some(around.state_folder()?.join("egress.jsonl")))
        .ok_or_else(|| {
            Error::new(
                Kind::Outside(recinto_policy::Kind::Egress),
                "no place for the log of sends: neither XDG_STATE_HOME nor HOME is a whole path",
            )
            .hint("name a file as `egress_log`")
        })?;
    let key = rules()
        .find_map(|rules| rules.key.clone())
        .or_else(|| settings.egress_key.as_ref().map(|setting| set(&setting.value)));
    Ok((log, key))
}

/// The budget of this process: of each ceiling the lowest that a file says, of each price the
/// dearest.
///
/// # Errors
///
/// Two currencies.
pub fn budget(settings: &Settings, wall: &Wall) -> Result<Budget, Error> {
    let (mut limits, mut prices) = (Limits::default(), Prices::default());
    for policy in wall.policies() {
        limits = policy.limits.map_or(Ok(limits), |more| limits.and(&more))?;
        prices = policy.prices.as_ref().map_or(Ok(prices.clone()), |more| prices.and(more))?;
    }
    for (path, name, _, entries) in settings.tables.iter() {
        let fault = |fault| recinto_policy::Error::in_file(path, fault);
        match *name {
            "budget" => limits = limits.and(&Limits::read(entries).map_err(fault)?)?,
            "prices" => prices = prices.and(&Prices::read(entries).map_err(fault)?)?,
            _ => {}
        }
    }
    Ok(Budget::new(limits, prices))
}

/// Every profile, cascade and mapped task; of each name the nearest file's word.
///
/// # Errors
///
/// As [`Profiles::read`].
pub fn profiles(settings: &Settings) -> Result<Profiles, Error> {
    let layers = settings.files.iter().map(|file| {
        let of = |name: &str| {
            let table = settings.tables.iter().find(|row| row.0 == *file && row.1 == name);
            table.map_or(&[][..], |row| row.3.as_slice())
        };
        Layer { file, profiles: of("profiles"), tasks: of("tasks"), cascades: of("cascade") }
    });
    Ok(Profiles::read(&layers.collect::<Vec<_>>())?)
}
