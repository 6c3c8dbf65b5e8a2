//! Profiles: names of the operator's for who answers, which task uses which, and when a second one
//! is asked. A task names a profile, never a model; so the operator alone says where it goes.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

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
    /// What its table says besides: how the service is reached. Whoever opens it judges these.
    pub words: Vec<Entry>,
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

/// The least option mass of a first answer, where a cascade does not say one: as a judge's gate.
pub const OPTION_MASS: f64 = 0.5;

/// Two profiles and when the second one is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Cascade {
    /// Its name.
    pub name: String,
    /// Asked first.
    pub first: Profile,
    /// A margin that is lower than this is no decision.
    pub below: f64,
    /// An option mass that is lower than this is none either: the model would rather have said
    /// something else, and a margin among what it would not say tells nothing. 0 asks for none.
    pub option_mass: f64,
    /// Asked when the first one did not decide.
    pub then: Profile,
    /// Where it was said.
    pub place: Place,
}

/// How clear a first answer is, as the caller measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clarity {
    /// The best answer's probability less that of the second.
    pub margin: Option<f64>,
    /// What all answers hold together of what the model would say without constraint.
    pub option_mass: Option<f64>,
}

/// What a first answer lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Its margin is too small, missing or no number.
    Margin,
    /// So is its option mass.
    OptionMass,
}

impl Lack {
    /// Its word, as in envelopes.
    pub fn name(self) -> &'static str {
        match self {
            Lack::Margin => "margin",
            Lack::OptionMass => "option_mass",
        }
    }
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
    /// What an answer of such clarity lacks; of one that holds nothing, so that nobody else is
    /// asked. A figure that is missing or no number is too small.
    pub fn lacks(&self, first: Clarity) -> Vec<Lack> {
        let rows = [
            (Lack::Margin, first.margin, self.below),
            (Lack::OptionMass, first.option_mass, self.option_mass),
        ];
        // Where no mass is asked for, nobody need know it.
        let asked = |lack: Lack, least: f64| lack == Lack::Margin || least > 0.0;
        let short = |figure: Option<f64>, least: f64| !figure.is_some_and(|figure| figure >= least);
        let lacks = rows.into_iter().filter(|row| asked(row.0, row.2) && short(row.1, row.2));
        lacks.map(|row| row.0).collect()
    }

    /// What follows from the first answer's clarity. `then` is where requests to the second profile
    /// would go ([`Profile::destination`]). The wall is asked again for the send itself.
    pub fn decide(
        &self,
        first: Clarity,
        then: Option<&Destination>,
        labels: &Labels,
        wall: &Wall,
    ) -> Step<'_> {
        if self.lacks(first).is_empty() {
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
    /// Where each name stands in its list: a file may have very many.
    at: HashMap<String, At>,
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Profile(usize),
    Cascade(usize),
}

/// Most names that an error lists.
const LISTED: usize = 20;

impl Profiles {
    /// The tables of all files together, the nearest first: of each name its word counts.
    ///
    /// # Errors
    ///
    /// A name that nobody defines, one for both a profile and a cascade, an unknown task or
    /// provider, a cascade whose first profile tells no margin, or whose legs are one, or another
    /// cascade; a task that is mapped to a cascade and has no margin; with file and line.
    pub fn read(layers: &[Layer<'_>]) -> Result<Profiles, Error> {
        let mut out = Profiles::default();
        // References are looked up when all files have said what there is.
        let mut raw: Vec<(&Path, RawCascade)> = Vec::new();
        let mut cascades: HashSet<&str> = HashSet::new();
        for layer in layers {
            let fault = |fault| Error::in_file(layer.file, fault);
            let file: Arc<Path> = Arc::from(layer.file);
            let place = |entry: &Entry| Place { file: file.clone(), line: entry.at.line };
            for entry in layer.profiles {
                let profile = read_profile(&file, entry).map_err(fault)?;
                if out.profile(&entry.key).is_none() {
                    out.at.insert(entry.key.clone(), At::Profile(out.profiles.len()));
                    out.profiles.push(profile);
                }
            }
            for entry in layer.cascades {
                let read = cascade(entry).map_err(fault)?;
                if cascades.insert(&entry.key) {
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
                    let what = format!("`{}`: `{name}` is a cascade", part.key);
                    fault(match cascades.contains(name) {
                        true => Fault::new(part.value_at, what).hint(TWO),
                        false => read::unknown(part.value_at, "profile", name, &out.names()),
                    })
                })
            };
            let (first, then) = (find(raw.first)?, find(raw.then)?);
            if first.provider != LOCAL {
                let what = format!("`first`: `{}` asks {}", first.name, first.provider);
                let hint = "only `local` tells how clear an answer is: take a profile of it";
                return Err(fault(Fault::new(raw.first.value_at, what).hint(hint)));
            }
            if first.name == then.name {
                let what = format!("`then`: `{}` is asked first already", then.name);
                return Err(fault(Fault::new(raw.then.value_at, what).hint(TWO)));
            }
            let place = Place { file: Arc::from(file), line: raw.entry.at.line };
            let (name, below, option_mass) = (name.clone(), raw.below, raw.option_mass);
            // A profile of that name was refused above, and each name comes once.
            out.at.insert(name.clone(), At::Cascade(out.cascades.len()));
            out.cascades.push(Cascade { name, first, below, option_mass, then, place });
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
        match self.at.get(name)? {
            At::Profile(at) => self.profiles.get(*at),
            At::Cascade(_) => None,
        }
    }

    /// What `name` leads to: a profile or a cascade.
    pub fn named(&self, name: &str) -> Option<Target> {
        match self.at.get(name)? {
            At::Profile(at) => self.profiles.get(*at).cloned().map(Target::Profile),
            At::Cascade(at) => self.cascades.get(*at).cloned().map(Target::Cascade),
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

    /// Names of profiles and cascades, for an error; of very many the first.
    pub fn names(&self) -> String {
        let profiles = self.profiles.iter().map(|profile| profile.name.as_str());
        let all = profiles.chain(self.cascades.iter().map(|c| c.name.as_str()));
        let count = self.profiles.len() + self.cascades.len();
        let listed: Vec<&str> = all.take(LISTED).collect();
        match (listed.is_empty(), count.checked_sub(LISTED)) {
            (true, _) => "none".into(),
            (_, Some(more)) if more > 0 => format!("{} and {more} more", listed.join(", ")),
            _ => listed.join(", "),
        }
    }
}

/// What a cascade is.
const TWO: &str = "a cascade is of two profiles: name another one";

fn named(entry: &Entry) -> Result<(), Fault> {
    match read::is_name(&entry.key) {
        true => Ok(()),
        false => Err(Fault::new(entry.at, "a name of letters, digits, `-`, `_` and `.` is needed")),
    }
}

/// The profile that an entry of `[profiles]` in `file` is: a text, or a table with `model` and
/// words on how it is reached.
///
/// # Errors
///
/// It is none. Its words besides `model` are not looked at.
pub fn read_profile(file: &Arc<Path>, entry: &Entry) -> Result<Profile, Fault> {
    named(entry)?;
    let fault = |at, what: &str| {
        Fault::new(at, format!("profile `{}`: {what}", entry.key))
            .hint("PROVIDER/MODEL, as in `\"local/qwen3:0.6b\"`, or a table with it as `model`")
    };
    let needed = "a text PROVIDER/MODEL or a table is needed";
    let (text, at, words) = match &entry.value {
        Value::Text(text) => (text, entry.value_at, Vec::new()),
        Value::Table(words) => {
            let (model, rest): (Vec<&Entry>, Vec<&Entry>) =
                words.iter().partition(|word| word.key == "model");
            match model[..] {
                [Entry { value: Value::Text(text), value_at, .. }] => {
                    (text, *value_at, rest.into_iter().cloned().collect())
                }
                [model] => {
                    let what = "`model`: a text PROVIDER/MODEL is needed";
                    return Err(fault(model.value_at, what));
                }
                _ => return Err(fault(entry.at, "`model` is missing, a text PROVIDER/MODEL")),
            }
        }
        Value::Word(_) | Value::List(_) => return Err(fault(entry.value_at, needed)),
    };
    let form = |what: &str| fault(at, what);
    let Some((provider, model)) = text.split_once('/') else {
        return Err(form("no `/` stands in it"));
    };
    match provider {
        LOCAL if model.trim().is_empty() => return Err(form("no model stands after the `/`")),
        LOCAL => {}
        provider if Remote::from_name(provider).is_none() => {
            let known = format!("{LOCAL}, {}", Remote::known());
            return Err(read::unknown(at, "provider", provider, &known));
        }
        _ if !is_model(model) => return Err(form("a whole name of visible ASCII is needed")),
        _ => {}
    }
    let place = Place { file: Arc::clone(file), line: entry.at.line };
    let (provider, model) = (provider.to_owned(), model.to_owned());
    Ok(Profile { name: entry.key.clone(), provider, model, words, place })
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
    option_mass: f64,
    then: &'a Entry,
}

fn cascade(entry: &Entry) -> Result<RawCascade<'_>, Fault> {
    named(entry)?;
    let form = || {
        Fault::new(entry.value_at, format!("cascade `{}`: three words are needed", entry.key))
            .hint("as in `{ first = \"fast\", below = 0.2, then = \"careful\" }`")
    };
    let (mut first, mut below, mut then, mut option_mass) = (None, None, None, OPTION_MASS);
    for part in read::table(entry).map_err(|_| form())? {
        let number = |needed: &str, fits: fn(f64) -> bool| {
            let number = match &part.value {
                Value::Word(word) => word.parse::<f64>().ok(),
                _ => None,
            };
            number.filter(|number| number.is_finite() && fits(*number)).ok_or_else(|| {
                Fault::new(part.value_at, format!("`{}`: a number {needed} is needed", part.key))
            })
        };
        match part.key.as_str() {
            "first" => first = read::text(part).map(|_| Some(part))?,
            "then" => then = read::text(part).map(|_| Some(part))?,
            "below" => below = Some(number("above 0", |number| number > 0.0)?),
            "option_mass" => {
                option_mass = number("from 0 to 1", |number| (0.0..=1.0).contains(&number))?;
            }
            word => {
                let known = "first, below, option_mass, then";
                return Err(read::unknown(part.at, "word", word, known));
            }
        }
    }
    match (first, below, then) {
        (Some(first), Some(below), Some(then)) => {
            Ok(RawCascade { entry, first, below, option_mass, then })
        }
        _ => Err(form()),
    }
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
