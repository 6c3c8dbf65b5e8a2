//! The operator's profiles and cascades, and who answers each task, with what said so.

use recinto_policy::{Mapped, Place};
use recinto_provider::{Route, Rule, Settings, TASKS, Task, policies};
use serde::Serialize;

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
    place: String,
}

#[derive(Serialize)]
struct Cascade {
    name: String,
    first: String,
    below: f64,
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
        let all = match policies::profiles(settings) {
            Ok(all) => all,
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
            place: place(&profile.place),
        };
        let cascade = |cascade: &recinto_policy::Cascade| Cascade {
            name: cascade.name.clone(),
            first: cascade.first.name.clone(),
            below: cascade.below,
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
        for Profile { name, provider, model, place } in &self.profiles {
            out.push(("profile", format!("{name} = {provider}/{model} ({place})")));
        }
        for Cascade { name, first, below, then, place } in &self.cascades {
            let text = format!("{name} = {first}, below {below} then {then} ({place})");
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
