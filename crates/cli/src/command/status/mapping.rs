//! The operator's profiles and cascades, and who answers each task, with what said so.

use recinto_policy::{Mapped, Place};
use recinto_provider::{Route, Rule, Settings, Surroundings, TASKS, Task, policies};
use serde::Serialize;

use super::others;
use crate::failure::{Failure, Told};

/// What `[profiles]`, `[cascade]` and `[tasks]` come to.
#[derive(Default, Serialize)]
pub struct Mapping {
    profiles: Vec<Profile>,
    cascades: Vec<Cascade>,
    /// Every task, and what says who answers it.
    tasks: Vec<Row>,
    /// Why none of them can be followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
}

#[derive(Serialize)]
struct Profile {
    name: String,
    provider: String,
    model: String,
    /// Of one that is a table: the host, and where the key is; never what it is.
    #[serde(flatten)]
    line: Option<Line>,
    place: String,
}

/// How a profile's service is reached.
#[derive(Serialize)]
struct Line {
    base_url: Option<String>,
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
}

impl Line {
    /// As the table of `profile` says; `None` where it is none.
    fn of(
        settings: &Settings,
        profile: &recinto_policy::Profile,
        around: &Surroundings,
    ) -> Option<Line> {
        if profile.words.is_empty() {
            return None;
        }
        Some(match settings.with_profile(profile, around) {
            Ok(settings) => Line {
                key: others::key_place(&settings),
                base_url: settings.base_url.map(|url| url.value),
                error: None,
            },
            Err(error) => {
                let error = Some(Failure::from(error).tell());
                Line { base_url: None, key: None, error }
            }
        })
    }

    fn text(&self) -> String {
        if let Some(error) = &self.error {
            return format!(": {}", error.message());
        }
        let url = self.base_url.as_ref().map_or(String::new(), |url| format!(" at {url}"));
        match &self.key {
            Some(key) => format!("{url}, key in {key}"),
            None => format!("{url}, no key"),
        }
    }
}

#[derive(Serialize)]
struct Cascade {
    name: String,
    first: String,
    below: f64,
    option_mass: f64,
    then: String,
    place: String,
}

#[derive(Serialize)]
struct Row {
    task: &'static str,
    #[serde(flatten)]
    route: Option<Route>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
    /// The operator's row, which something nearer may go before.
    #[serde(skip_serializing_if = "Option::is_none")]
    mapped: Option<Name>,
}

#[derive(Serialize)]
struct Name {
    name: String,
    place: String,
}

impl From<&Mapped> for Name {
    fn from(mapped: &Mapped) -> Name {
        Name { name: mapped.name.clone(), place: mapped.place.to_string() }
    }
}

impl Mapping {
    /// As it is for these settings.
    pub fn of(settings: &Settings) -> Mapping {
        let all = policies::profiles(settings).and_then(|all| Ok((all, Surroundings::now()?)));
        let (all, around) = match all {
            Ok(found) => found,
            Err(error) => {
                let error = Some(Failure::from(error).tell());
                return Mapping { error, ..Mapping::default() };
            }
        };
        let place = |place: &Place| place.to_string();
        let profile = |profile: &recinto_policy::Profile| Profile {
            name: profile.name.clone(),
            provider: profile.provider.clone(),
            model: profile.model.clone(),
            line: Line::of(settings, profile, &around),
            place: place(&profile.place),
        };
        let cascade = |cascade: &recinto_policy::Cascade| Cascade {
            name: cascade.name.clone(),
            first: cascade.first.name.clone(),
            below: cascade.below,
            option_mass: cascade.option_mass,
            then: cascade.then.name.clone(),
            place: place(&cascade.place),
        };
        let row = |(task, name): &(Task, &'static str)| {
            let (route, error) = match settings.choose(Some(*task)) {
                Ok(choice) => (Some(choice.route), None),
                Err(error) => (None, Some(Failure::from(error).tell())),
            };
            let mapped = all.task(*task).map(|(mapped, _)| mapped.into());
            Row { task: name, route, error, mapped }
        };
        Mapping {
            profiles: all.profiles().iter().map(profile).collect(),
            cascades: all.cascades().iter().map(cascade).collect(),
            tasks: TASKS.iter().map(row).collect(),
            error: None,
        }
    }

    /// The same as lines of text; tasks of which nobody said anything have none.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        if let Some(error) = &self.error {
            out.push(("profiles", format!("none can be followed: {}", error.message())));
        }
        for Profile { name, provider, model, line, place } in &self.profiles {
            let line = line.as_ref().map(Line::text).unwrap_or_default();
            out.push(("profile", format!("{name} = {provider}/{model}{line} ({place})")));
        }
        for Cascade { name, first, below, option_mass, then, place } in &self.cascades {
            let text = format!(
                "{name} = {first}, below {below} or option mass {option_mass} then {then} ({place})"
            );
            out.push(("cascade", text));
        }
        for row in &self.tasks {
            let Some(name) = &row.mapped else { continue };
            let Name { name, place } = name;
            out.push((
                "task",
                match &row.route {
                    Some(Route { rule: Rule::Task, .. }) => {
                        format!("{} by {name} ({place})", row.task)
                    }
                    Some(Route { source, .. }) => {
                        format!("{} not by {name} ({place}): {source} goes before it", row.task)
                    }
                    None => format!("{} by nobody: something is wrong", row.task),
                },
            ));
        }
        out
    }
}
