//! Profiles: names of the operator's for who answers, which task uses which, and when a second one
//! is asked. A task names a profile, never a model; so the operator alone says where it goes.

use std::{path::Path, sync::Arc};

use crate::{
    destination::{Destination, is_model},
    error::{Error, Kind},
    label::Labels,
    read::{self, Place},
    remotes::{LOCAL, Remote},
    task::Task,
    tree::{Entry, Fault, Value},
    wall::Wall,
};

/// Who answers, under a name of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The provider.
    pub provider: String,
    /// The model: what stands after the first `/`.
    pub model: String,
    /// Where it was said.
    pub place: Place,
}

impl Profile {
    /// Where requests to it go, with the address that is set for its provider; `None` when they
    /// stay in this process.
    ///
    /// # Errors
    ///
    /// As [`Destination::new`].
    pub fn destination(&self, base_url: Option<&str>) -> Result<Option<Destination>, Error> {
        match self.provider.as_str() {
            LOCAL => Ok(None),
            provider => Destination::new(provider, base_url, &self.model).map(Some),
        }
    }
}

/// Two profiles and when the second one is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Cascade {
    /// Its name.
    pub name: String,
    /// Asked first.
    pub first: Profile,
    /// A margin that is lower than this is no decision.
    pub below: f64,
    /// Asked when the first one did not decide.
    pub then: Profile,
    /// Where it was said.
    pub place: Place,
}

/// What a cascade says of the first answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<'a> {
    /// The first answer holds.
    Use(&'a Profile),
    /// Ask this one.
    Escalate(&'a Profile),
    /// The first answer does not hold, and the second profile may not be asked.
    Undecided,
}

impl Cascade {
    /// Whether an answer with this margin holds, so that nobody else is asked.
    pub fn holds(&self, margin: Option<f64>) -> bool {
        margin.is_some_and(|margin| margin >= self.below)
    }

    /// What follows from the `margin` of the first answer: best minus second, as the caller
    /// measures it. One that is missing or no number does not decide. `then` is where requests to
    /// the second profile would go ([`Profile::destination`]). The wall is asked again for the
    /// send itself.
    pub fn decide(
        &self,
        margin: Option<f64>,
        then: Option<&Destination>,
        labels: &Labels,
        wall: &Wall,
    ) -> Step<'_> {
        if self.holds(margin) {
            return Step::Use(&self.first);
        }
        let stays = self.then.provider == LOCAL;
        let may = match then {
            None => stays,
            Some(to) => !stays && wall.check(to, labels).is_ok(),
        };
        if may { Step::Escalate(&self.then) } else { Step::Undecided }
    }
}

/// What a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One profile.
    Profile(Profile),
    /// A cascade of two.
    Cascade(Cascade),
}

/// A task with the name that it is mapped to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The task.
    pub task: Task,
    /// A profile's or a cascade's name.
    pub name: String,
    /// Where it was said.
    pub place: Place,
}

/// The tables of one file.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// The file.
    pub file: &'a Path,
    /// Its `[profiles]`.
    pub profiles: &'a [Entry],
    /// Its `[tasks]`.
    pub tasks: &'a [Entry],
    /// Its `[cascade]`.
    pub cascades: &'a [Entry],
}

/// Every profile, cascade and mapped task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles {
    profiles: Vec<Profile>,
    cascades: Vec<Cascade>,
    tasks: Vec<Mapped>,
}

impl Profiles {
    /// The tables of all files together, the nearest first: of each name its word counts.
    ///
    /// # Errors
    ///
    /// A name that nobody defines, one for both a profile and a cascade, an unknown task or
    /// provider, a cascade whose first profile tells no margin, a task that is mapped to a cascade
    /// and has none; with file and line.
    pub fn read(layers: &[Layer<'_>]) -> Result<Profiles, Error> {
        let mut out = Profiles::default();
        // References are looked up when all files have said what there is.
        let mut raw: Vec<(&Path, RawCascade)> = Vec::new();
        for layer in layers {
            let fault = |fault| Error::in_file(layer.file, fault);
            let file: Arc<Path> = Arc::from(layer.file);
            let place = |entry: &Entry| Place { file: file.clone(), line: entry.at.line };
            for entry in layer.profiles {
                let (provider, model) = profile(entry).map_err(fault)?;
                if out.profile(&entry.key).is_none() {
                    let (name, place) = (entry.key.clone(), place(entry));
                    out.profiles.push(Profile { name, provider, model, place });
                }
            }
            for entry in layer.cascades {
                let read = cascade(entry).map_err(fault)?;
                if raw.iter().all(|(_, before)| before.entry.key != entry.key) {
                    raw.push((layer.file, read));
                }
            }
            for entry in layer.tasks {
                let (task, name) = task(entry).map_err(fault)?;
                if out.tasks.iter().all(|mapped| mapped.task != task) {
                    out.tasks.push(Mapped { task, name, place: place(entry) });
                }
            }
        }
        for (file, raw) in raw {
            let fault = |fault| Error::in_file(file, fault);
            let name = &raw.entry.key;
            if let Some(profile) = out.profile(name) {
                let what = format!("`{name}` is a profile, too ({})", profile.place);
                return Err(fault(Fault::new(raw.entry.at, what).hint("give one another name")));
            }
            let find = |part: &Entry| -> Result<Profile, Error> {
                let name = read::text(part).map_err(fault)?;
                let found = out.profile(name).cloned();
                found.ok_or_else(|| {
                    fault(read::unknown(part.value_at, "profile", name, &out.names()))
                })
            };
            let (first, then) = (find(raw.first)?, find(raw.then)?);
            if first.provider != LOCAL {
                let what = format!("`first`: `{}` asks {}", first.name, first.provider);
                let hint = "only `local` tells how clear an answer is: take a profile of it";
                return Err(fault(Fault::new(raw.first.value_at, what).hint(hint)));
            }
            let place = Place { file: Arc::from(file), line: raw.entry.at.line };
            let cascade = Cascade { name: name.clone(), first, below: raw.below, then, place };
            out.cascades.push(cascade);
        }
        for Mapped { task, name, place } in &out.tasks {
            let no = |what: String, hint: String| {
                Err(Error::new(Kind::Policy, format!("{place}: {what}")).hint(hint))
            };
            match out.named(name) {
                Some(Target::Cascade(_)) if !task.has_margin() => {
                    let what =
                        format!("`{}` has no margin, and `{name}` is a cascade", task.name());
                    return no(what, "map it to a profile; `decide` can ask a cascade".into());
                }
                Some(_) => {}
                None if read::is_name(name) => {
                    let what = format!("unknown profile or cascade `{name}`");
                    return no(what, format!("known: {}", out.names()));
                }
                None => {
                    let known = format!("known: {}", out.names());
                    return no("an unknown profile or cascade".into(), known);
                }
            }
        }
        Ok(out)
    }

    /// The profile called `name`.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// What `name` leads to: a profile or a cascade.
    pub fn named(&self, name: &str) -> Option<Target> {
        let cascade = self.cascades.iter().find(|cascade| cascade.name == name);
        match (self.profile(name), cascade) {
            (Some(profile), _) => Some(Target::Profile(profile.clone())),
            (None, Some(cascade)) => Some(Target::Cascade(cascade.clone())),
            (None, None) => None,
        }
    }

    /// What the operator mapped `task` to, if it was.
    pub fn task(&self, task: Task) -> Option<(&Mapped, Target)> {
        let mapped = self.tasks.iter().find(|mapped| mapped.task == task)?;
        // Names were looked up when they were read.
        Some((mapped, self.named(&mapped.name)?))
    }

    /// Every profile.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Every cascade.
    pub fn cascades(&self) -> &[Cascade] {
        &self.cascades
    }

    /// Every mapped task.
    pub fn tasks(&self) -> &[Mapped] {
        &self.tasks
    }

    /// All names of profiles and cascades, for an error.
    pub fn names(&self) -> String {
        let profiles = self.profiles.iter().map(|profile| profile.name.as_str());
        let all: Vec<&str> =
            profiles.chain(self.cascades.iter().map(|c| c.name.as_str())).collect();
        if all.is_empty() { "none".into() } else { all.join(", ") }
    }
}

fn named(entry: &Entry) -> Result<(), Fault> {
    match read::is_name(&entry.key) {
        true => Ok(()),
        false => Err(Fault::new(entry.at, "a name of letters, digits, `-`, `_` and `.` is needed")),
    }
}

/// Provider and model of `[profiles]`' entry.
fn profile(entry: &Entry) -> Result<(String, String), Fault> {
    named(entry)?;
    let form = |what: &str| {
        Fault::new(entry.value_at, format!("profile `{}`: {what}", entry.key))
            .hint("PROVIDER/MODEL, as in `local/qwen3:0.6b`")
    };
    let text = read::text(entry)?;
    let (provider, model) = text.split_once('/').ok_or_else(|| form("no `/` stands in it"))?;
    match provider {
        LOCAL if model.trim().is_empty() => return Err(form("no model stands after the `/`")),
        LOCAL => {}
        provider if Remote::from_name(provider).is_none() => {
            let known = format!("{LOCAL}, {}", Remote::known());
            return Err(read::unknown(entry.value_at, "provider", provider, &known));
        }
        _ if !is_model(model) => return Err(form("a whole name of visible ASCII is needed")),
        _ => {}
    }
    Ok((provider.into(), model.into()))
}

/// The task of `[tasks]`' entry, and the name that it is mapped to.
fn task(entry: &Entry) -> Result<(Task, String), Fault> {
    let task = Task::from_name(&entry.key)
        .ok_or_else(|| read::unknown(entry.at, "task", &entry.key, &Task::known()))?;
    Ok((task, read::text(entry)?.to_owned()))
}

struct RawCascade<'a> {
    entry: &'a Entry,
    first: &'a Entry,
    below: f64,
    then: &'a Entry,
}

fn cascade(entry: &Entry) -> Result<RawCascade<'_>, Fault> {
    named(entry)?;
    let form = || {
        Fault::new(entry.value_at, format!("cascade `{}`: three words are needed", entry.key))
            .hint("as in `{ first = \"fast\", below = 0.2, then = \"careful\" }`")
    };
    let (mut first, mut below, mut then) = (None, None, None);
    for part in read::table(entry).map_err(|_| form())? {
        match part.key.as_str() {
            "first" => first = read::text(part).map(|_| Some(part))?,
            "then" => then = read::text(part).map(|_| Some(part))?,
            "below" => {
                let number = match &part.value {
                    Value::Word(word) => word.parse::<f64>().ok(),
                    _ => None,
                };
                let number = number.filter(|number| number.is_finite() && *number > 0.0);
                below = Some(number.ok_or_else(|| {
                    Fault::new(part.value_at, "`below`: a number above 0 is needed")
                })?);
            }
            word => return Err(read::unknown(part.at, "word", word, "first, below, then")),
        }
    }
    match (first, below, then) {
        (Some(first), Some(below), Some(then)) => Ok(RawCascade { entry, first, below, then }),
        _ => Err(form()),
    }
}

/// Whether the entries of `[profiles]` can be profiles.
///
/// # Errors
///
/// The first that cannot.
pub fn check_profiles(entries: &[Entry]) -> Result<(), Fault> {
    entries.iter().try_for_each(|entry| profile(entry).map(drop))
}

/// Whether the entries of `[tasks]` are tasks with a name each; whether there are such profiles is
/// known when all files are read.
///
/// # Errors
///
/// The first that is not.
pub fn check_tasks(entries: &[Entry]) -> Result<(), Fault> {
    entries.iter().try_for_each(|entry| task(entry).map(drop))
}

/// Whether the entries of `[cascade]` can be cascades.
///
/// # Errors
///
/// The first that cannot.
pub fn check_cascades(entries: &[Entry]) -> Result<(), Fault> {
    entries.iter().try_for_each(|entry| cascade(entry).map(drop))
}
