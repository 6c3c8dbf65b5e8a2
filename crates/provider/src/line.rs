//! The line of a profile that is a table: the settings with its words in place of the process's.

use std::path::Path;

use recinto_policy::{LOCAL, Profile};

use crate::{
    Error, Kind, Name, Setting, Settings, Source,
    choice::{FILES, of_place},
    config::{KEY_ENV, has_line, setting_of},
    settings::model_of,
    surroundings::Surroundings,
};

/// Whose key is used with a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum KeyOf {
    /// Whoever's the settings lead to.
    #[default]
    Process,
    /// That of a profile, and of nobody else: its file, this variable, or the vendor's own where
    /// the host is the vendor's.
    Profile {
        /// The profile's name.
        name: String,
        /// The variable that it names.
        variable: Option<Variable>,
    },
}

/// A variable that a profile names for its key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    /// Its name.
    pub name: String,
    /// Where it is set: `None` where it is not.
    pub place: Option<Place>,
}

/// Where a variable is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the environment.
    Environment,
    /// In the `.env` file.
    EnvFile,
}

impl Variable {
    /// The variable `name`, looked for in the environment, then in `.env`.
    fn look(name: &str, settings: &Settings, around: &Surroundings) -> Variable {
        let set = around.variable(name).is_some_and(|value| !value.is_empty());
        let in_file = || settings.env_names.binary_search_by(|n| n.as_str().cmp(name)).is_ok();
        let place = match set {
            true => Some(Place::Environment),
            false => in_file().then_some(Place::EnvFile),
        };
        Variable { name: name.to_owned(), place }
    }
}

impl Settings {
    /// The settings with what `profile` says of who answers and how that is reached.
    ///
    /// A host and a key go together: with one of both in its table, the profile has neither from
    /// anybody else. A flag that says another one is an error; of the other words a flag, a
    /// variable or a line of `.env` goes before the table's, and the table's before the top of
    /// files.
    ///
    /// # Errors
    ///
    /// An unknown provider; a flag that contradicts.
    pub fn with_profile(
        &self,
        profile: &Profile,
        around: &Surroundings,
    ) -> Result<Settings, Error> {
        let source = of_place(&profile.place);
        let provider = Name::from_name(&profile.provider)?;
        let folder = profile.place.file.parent().unwrap_or(Path::new("/"));
        let model = match profile.provider.as_str() {
            LOCAL => model_of(&profile.model, folder, around),
            _ => profile.model.clone(),
        };
        let mut out = Settings {
            provider: Some(Setting { value: provider, source: source.clone() }),
            model: Some(Setting { value: model, source }),
            ..self.clone()
        };
        let own = has_line(profile);
        if own {
            out.own_line(profile)?;
        }
        // Where each was said, of the process.
        let shown = self.shown();
        for word in &profile.words {
            let Some(text) = word.value.single() else { continue };
            if word.key == KEY_ENV {
                let variable = Some(Variable::look(text, self, around));
                out.key_of = KeyOf::Profile { name: profile.name.clone(), variable };
                continue;
            }
            let Some(setting) = setting_of(&word.key) else { continue };
            let said = shown.iter().find(|row| row.key.name == setting);
            let nearer =
                said.is_some_and(|row| row.value.is_some() && self.rank(row.source) < FILES);
            if nearer && !matches!(word.key.as_str(), "base_url" | "key_file") {
                continue;
            }
            let path = profile.place.file.to_path_buf();
            let source = Source::File { path, line: word.value_at.line };
            out.say(setting, text, source, folder, around)
                .map_err(|error| error.of(&format!("{}: {}", profile.place, word.key)))?;
        }
        Ok(out)
    }

    /// Takes away what the process says of host and key.
    fn own_line(&mut self, profile: &Profile) -> Result<(), Error> {
        let base_url = self.base_url.take().map(|setting| setting.source);
        let file = self.api_key_file.take().map(|setting| setting.source);
        for source in [base_url, file].into_iter().flatten() {
            if let Source::Flag(flag) = source {
                let (name, place) = (&profile.name, &profile.place);
                let what =
                    format!("{flag}: profile `{name}` has a host or a key of its own ({place})");
                return Err(Error::new(Kind::Setting, what)
                    .hint("leave the flag out, or name provider and model by flags, too"));
            }
        }
        self.key_of = KeyOf::Profile { name: profile.name.clone(), variable: None };
        Ok(())
    }
}
