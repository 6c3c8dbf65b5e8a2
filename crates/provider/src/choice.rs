//! Who answers a task: what was said for this run, or what the operator's files say of it.
//!
//! Provider and model, or a profile in their place, have the order of all settings: flag,
//! environment, `.env`, files. In files a task's own row goes before what stands at their top. The
//! wall is asked for each send, whoever was chosen and however.

use recinto_policy::{Cascade, LOCAL, Place, Target, Task};
use serde::Serialize;

use crate::{
    KEYS, Kind, Setting, Settings, Source, error::Error, name::shown, policies,
    surroundings::Surroundings,
};

/// What said who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Provider and model, or nobody: then this process answers.
    Settings,
    /// The setting `profile`.
    Profile,
    /// The operator's row for the task.
    Task,
}

impl Rule {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Settings => "settings",
            Rule::Profile => "profile",
            Rule::Task => "task",
        }
    }
}

/// Who was chosen, and what said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// What said it.
    pub rule: Rule,
    /// Where it was said.
    #[serde(serialize_with = "as_text")]
    pub source: Source,
    /// The profile that is asked, of a cascade the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The cascade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cascade: Option<String>,
}

fn as_text<S: serde::Serializer>(source: &Source, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(source)
}

/// Who answers, chosen and not yet opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The settings with the provider and the model that are asked, of a cascade those of the
    /// first profile.
    pub settings: Settings,
    /// Who that is by name, and what said so.
    pub route: Route,
    /// The second profile of a cascade.
    pub then: Option<Then>,
}

/// A cascade, and the settings of its second profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Then {
    /// The cascade.
    pub cascade: Cascade,
    /// The settings with the second profile's provider and model.
    pub settings: Settings,
}

impl Settings {
    /// Who answers `task`; without one, whom a command looks at that is no task: no row is for it,
    /// and of a cascade it sees the first profile.
    ///
    /// # Errors
    ///
    /// A table that leads nowhere, an unknown profile, a cascade where one cannot be asked, a
    /// profile and a model that are both said in the same place.
    pub fn choose(&self, task: Option<Task>) -> Result<Choice, Error> {
        self.choose_in(task, &Surroundings::now()?)
    }

    /// The same with the environment given.
    ///
    /// # Errors
    ///
    /// As [`Settings::choose`].
    pub fn choose_in(&self, task: Option<Task>, around: &Surroundings) -> Result<Choice, Error> {
        let profiles = policies::profiles(self)?;
        let (direct, named) = (self.direct(task), self.profile.as_ref());
        let rank = |source: Option<&Source>| source.map_or(usize::MAX, |at| self.rank(at));
        let (by_model, by_name) = (rank(direct), rank(named.map(|setting| &setting.source)));
        if let Some(setting) = named.filter(|_| by_model == by_name) {
            let what = format!("{}: a provider or a model is set there, too", at(&setting.source));
            return Err(Error::new(Kind::Setting, what)
                .hint("a profile is both in one: take one of them away"));
        }
        if by_model.min(by_name) >= FILES
            && let Some((mapped, target)) = task.and_then(|task| profiles.task(task))
        {
            return self.chosen(Rule::Task, of_place(&mapped.place), target, task, around);
        }
        if let Some(Setting { value, source }) = named.filter(|_| by_name < by_model) {
            let target = profiles.named(value).ok_or_else(|| {
                let what = match shown(value) {
                    true => format!("{}: unknown profile or cascade `{value}`", at(source)),
                    false => format!("{}: an unknown profile or cascade", at(source)),
                };
                let known = format!("known: {}", profiles.names());
                Error::new(Kind::Outside(recinto_policy::Kind::Profile), what).hint(known)
            })?;
            return self.chosen(Rule::Profile, source.clone(), target, task, around);
        }
        let source = direct.cloned().unwrap_or(Source::Default);
        let route = Route { rule: Rule::Settings, source, profile: None, cascade: None };
        Ok(Choice { settings: self.clone(), route, then: None })
    }

    /// Where a provider or a model was said, the nearest place.
    fn direct(&self, task: Option<Task>) -> Option<&Source> {
        let provider = self.provider.as_ref().map(|setting| &setting.source);
        let model = self.model.as_ref().map(|setting| &setting.source);
        let judge = || {
            let reader = self.judge_provider.as_ref().map(|setting| &setting.source);
            reader.into_iter().chain(self.judge_model.as_ref().map(|setting| &setting.source))
        };
        let judges = (task == Some(Task::Judge)).then(judge).into_iter().flatten();
        provider.into_iter().chain(model).chain(judges).min_by_key(|source| self.rank(source))
    }

    /// How near a place is: the lower, the nearer.
    pub(crate) fn rank(&self, source: &Source) -> usize {
        match source {
            Source::Flag(_) => 0,
            Source::Environment(_) => 1,
            Source::EnvFile { .. } => 2,
            Source::File { path, .. } => {
                let file = self.files.iter().position(|file| file == path);
                FILES.saturating_add(file.unwrap_or(self.files.len()))
            }
            Source::Default => usize::MAX,
        }
    }

    fn chosen(
        &self,
        rule: Rule,
        source: Source,
        target: Target,
        task: Option<Task>,
        around: &Surroundings,
    ) -> Result<Choice, Error> {
        let (first, cascade) = match target {
            Target::Profile(profile) => (profile, None),
            Target::Cascade(cascade) => (cascade.first.clone(), Some(cascade)),
        };
        let place = match rule {
            Rule::Profile => at(&source),
            _ => source.to_string(),
        };
        if let Some(cascade) =
            cascade.as_ref().filter(|_| task.is_some_and(|task| !task.has_margin()))
        {
            let what = format!("{place}: `{}` is a cascade", cascade.name);
            return Err(Error::new(Kind::Setting, what).hint(
                "only `decide` has a margin that a cascade could go by; name a profile here",
            ));
        }
        let mut settings = self.with_profile(&first, around)?;
        if task == Some(Task::Judge) {
            if first.provider != LOCAL {
                let what = format!("{place}: `{}` asks {}", first.name, first.provider);
                return Err(Error::new(Kind::Unable, what).hint(
                    "a judge reads with a model of this process: name a profile of `local`",
                ));
            }
            // It was said farther away than the profile.
            settings.judge_model = None;
        }
        let (profile, name) = (Some(first.name), cascade.as_ref().map(|c| c.name.clone()));
        let then = match cascade {
            Some(cascade) => {
                let settings = self.with_profile(&cascade.then, around)?;
                Some(Then { cascade, settings })
            }
            None => None,
        };
        Ok(Choice { settings, route: Route { rule, source, profile, cascade: name }, then })
    }
}

/// The rank of the nearest file.
pub(crate) const FILES: usize = 3;

pub(crate) fn of_place(place: &Place) -> Source {
    Source::File { path: place.file.to_path_buf(), line: place.line }
}

/// A place of the setting `profile`, for an error.
fn at(source: &Source) -> String {
    let key = KEYS.iter().find(|key| key.name == "profile");
    key.map_or_else(|| source.to_string(), |key| source.place(key))
}
