//! Who reads a judge's questions. As with [`crate::Name`], it is said and never guessed.

use std::fmt;

use crate::{
    Settings,
    error::{Error, Kind},
    values,
};

/// Whose numbers a judge goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reader {
    /// An encoder of the Laya family, in this process.
    Laya,
    /// Any causal model, in this process, by the letters of options.
    #[default]
    Gguf,
    /// A service elsewhere.
    Hosted,
    /// No model: words that state and option share, for trying out questions and for tests.
    Mock,
}

/// Every reader's name.
const NAMES: &[(&str, Reader)] = &[
    ("laya", Reader::Laya),
    ("gguf", Reader::Gguf),
    ("hosted", Reader::Hosted),
    ("mock", Reader::Mock),
];

impl Reader {
    /// The reader called `name`.
    ///
    /// # Errors
    ///
    /// An unknown name; the text lists the known ones.
    pub fn from_name(name: &str) -> Result<Reader, Error> {
        values::word(name, NAMES.iter().map(|row| row.1), Reader::name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

/// The error of a build that has no services.
#[cfg(not(feature = "remote"))]
pub fn no_services() -> Error {
    let what = format!(
        "judge provider `{}` answers from elsewhere, and this is `{}`",
        Reader::Hosted,
        crate::BUILD
    );
    Error::new(Kind::NotBuilt, what).hint(
        "nothing in it can open a socket; take the program `recinto`, or a reader of this process: \
         gguf, laya",
    )
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Settings {
    /// Who reads a judge's questions: a causal model of this process, unless somebody says
    /// otherwise.
    pub fn reader(&self) -> Reader {
        self.judge_provider.as_ref().map_or(Reader::default(), |setting| setting.value)
    }

    /// The service that reads a judge's questions, where a service does.
    pub fn judge_service(&self) -> &'static str {
        self.judge_service.as_ref().map_or(values::SERVICES[0], |setting| setting.value)
    }

    /// The settings with the judge's own model, where one is set, in place of the model.
    pub fn for_judge(&self) -> Settings {
        let mut settings = self.clone();
        settings.model = self.judge_model.clone().or(settings.model);
        settings
    }

    /// What to do where neither a model nor a judge's own is set.
    ///
    /// # Errors
    ///
    /// Where none is: the two lines that set one.
    pub fn judge_model(&self) -> Result<&str, Error> {
        let set = self.judge_model.as_ref().or(self.model.as_ref());
        set.map(|setting| setting.value.as_str()).ok_or_else(|| {
            Error::new(Kind::NoModel, "no model is set that could judge").hint(
                "put these two lines into .env or the environment, or give --judge-model or \
                 --model:\n\
                 RECINTO_JUDGE_PROVIDER=gguf\n\
                 RECINTO_JUDGE_MODEL=/path/to/model.gguf",
            )
        })
    }
}
