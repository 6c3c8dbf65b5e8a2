//! Two providers of the operator's: the first is asked always, the second where the answer of the
//! first is not clear enough and policy lets the request go there.

use std::sync::{Arc, OnceLock};

use recinto_engine::{OpenOptions, Scores, Stop};
use recinto_policy::{Budget, Cascade, Clarity, Labels, Refused, Step, Wall};

use crate::{
    Abilities, Choice, Error, Identity, Local, Provider, Reply, Settings, Sink, Surroundings, Then,
    Turn, policies,
};

/// A cascade whose first profile is opened. As a provider it is the first one; a task that has a
/// margin asks [`Cascaded::next`] what follows from its answer.
pub struct Cascaded {
    first: Box<dyn Provider>,
    cascade: Cascade,
    settings: Settings,
    options: OpenOptions,
    around: Surroundings,
    budget: Arc<Budget>,
    /// Read, and opened, when it is needed first.
    wall: OnceLock<Result<Wall, Error>>,
    second: OnceLock<Result<Box<dyn Provider>, Error>>,
}

/// What follows from how clear the first answer is.
pub enum Next<'a> {
    /// The first answer holds.
    Holds,
    /// This one is to be asked.
    Ask(&'a dyn Provider),
    /// The first answer does not hold, and policy does not let the second one be asked.
    Undecided(Option<Refused>),
}

impl Cascaded {
    /// Opens the first profile of `choice`, which has a second one in `then`.
    pub(crate) fn open(
        choice: &Choice,
        then: &Then,
        options: OpenOptions,
        around: Surroundings,
    ) -> Result<Cascaded, Error> {
        // Both legs take from one budget.
        let budget = crate::budget(&choice.settings, &around)?;
        Ok(Cascaded {
            first: crate::open_within(&choice.settings, options.clone(), &around, &budget)?,
            cascade: then.cascade.clone(),
            settings: then.settings.clone(),
            options,
            around,
            budget,
            wall: OnceLock::new(),
            second: OnceLock::new(),
        })
    }

    /// The operator's words.
    pub fn cascade(&self) -> &Cascade {
        &self.cascade
    }

    /// Who is asked first.
    pub fn first(&self) -> &dyn Provider {
        self.first.as_ref()
    }

    /// The second profile's provider, where it was needed before.
    pub fn second(&self) -> Option<&dyn Provider> {
        self.second.get()?.as_deref().ok()
    }

    /// What follows from the first answer's clarity for a request whose data has these labels.
    ///
    /// # Errors
    ///
    /// A label that is none, policies that cannot be read, a second provider that cannot be opened.
    pub fn next(&self, first: Clarity, labels: &[String]) -> Result<Next<'_>, Error> {
        if self.cascade.lacks(first).is_empty() {
            return Ok(Next::Holds);
        }
        let labels = Labels::new(labels)?;
        let url = self.settings.base_url.as_ref().map(|setting| setting.value.as_str());
        let to = self.cascade.then.destination(url)?;
        let wall = match &to {
            Some(_) => {
                let wall = self.wall.get_or_init(|| policies::wall(&self.settings, &self.around));
                wall.as_ref().map_err(Error::clone)?
            }
            None => &Wall::default(),
        };
        if self.cascade.decide(first, to.as_ref(), &labels, wall) == Step::Undecided {
            let why = to.and_then(|to| wall.check(&to, &labels).err());
            return Ok(Next::Undecided(why));
        }
        let second = self.second.get_or_init(|| {
            let options = self.options.clone();
            crate::open_within(&self.settings, options, &self.around, &self.budget)
        });
        Ok(Next::Ask(second.as_ref().map_err(Error::clone)?.as_ref()))
    }
}

impl Provider for Cascaded {
    fn identity(&self) -> Identity {
        self.first.identity()
    }

    fn abilities(&self) -> Abilities {
        self.first.abilities()
    }

    fn local(&self) -> Option<&Local> {
        self.first.local()
    }

    fn cascaded(&self) -> Option<&Cascaded> {
        Some(self)
    }

    fn complete(&self, turn: &Turn, stop: &Stop, sink: &mut Sink<'_>) -> Result<Reply, Error> {
        self.first.complete(turn, stop, sink)
    }

    fn score(&self, turn: &Turn, labels: &[String], stop: &Stop) -> Result<Scores, Error> {
        self.first.score(turn, labels, stop)
    }
}
