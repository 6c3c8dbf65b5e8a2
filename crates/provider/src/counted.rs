//! The operator's budget for what a model of this process reads without being asked for an answer:
//! what a judge reads, and texts that become vectors.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use recinto_engine::Stop;
use recinto_policy::{Budget, LOCAL, Usage};

use crate::{Error, Settings, Surroundings};

/// The budget, and for whom and by which model it is used.
pub struct Counted {
    budget: Arc<Budget>,
    model: String,
    identity: String,
}

impl Counted {
    /// The budget of `settings` for work of their model, which counts for `identity`.
    ///
    /// # Errors
    ///
    /// Two currencies; no working directory. A policy that cannot be read limits nothing here, as
    /// with a provider of this process.
    pub fn open(settings: &Settings, identity: Option<&str>) -> Result<Counted, Error> {
        Counted::open_in(settings, identity, &Surroundings::now()?)
    }

    /// The same with the environment given.
    ///
    /// # Errors
    ///
    /// As [`Counted::open`].
    pub fn open_in(
        settings: &Settings,
        identity: Option<&str>,
        around: &Surroundings,
    ) -> Result<Counted, Error> {
        let budget = crate::budget(settings, around)?;
        let model = settings.model.as_ref().map(|model| model.value.clone()).unwrap_or_default();
        Ok(Counted { budget, model, identity: identity.unwrap_or_default().to_owned() })
    }

    /// Whether tokens are limited, so that it is worth counting them before.
    pub fn limits_tokens(&self) -> bool {
        self.budget.left(&self.identity).tokens.is_some()
    }

    /// Does `work`, of which `least` tokens are known to be read; `used` tells how many it were. It
    /// gets a stop with what is left of the seconds as its deadline.
    ///
    /// # Errors
    ///
    /// The budget does not hold `least` tokens, or no time is left: `work` is not begun.
    pub fn spend<T>(
        &self,
        least: u64,
        stop: &Stop,
        work: impl FnOnce(&Stop) -> T,
        used: impl FnOnce(&T) -> u64,
    ) -> Result<T, Error> {
        if !self.budget.is_limited() {
            return Ok(work(stop));
        }
        let rest = self.budget.left(&self.identity).millis;
        // Where nothing is left, a millisecond is more than that.
        let rest = rest.map(|millis| Duration::from_millis(millis.max(1)));
        let most = Usage { input: least, output: 0, time: rest.unwrap_or_default() };
        let reserved = self.budget.reserve(&self.identity, LOCAL, &self.model, &most)?;
        let begun = Instant::now();
        let stop = stop.with_deadline(rest.and_then(|time| begun.checked_add(time)));
        let done = work(&stop);
        reserved.settle(&Usage { input: used(&done), output: 0, time: begun.elapsed() });
        Ok(done)
    }

    /// Why there is no time left, where that is so.
    pub fn exhausted(&self) -> Option<Error> {
        let left = self.budget.left(&self.identity);
        if left.millis != Some(0) {
            return None;
        }
        let more = Usage { time: Duration::from_millis(1), ..Usage::default() };
        let refused = self.budget.reserve(&self.identity, LOCAL, &self.model, &more);
        refused.map(recinto_policy::Reservation::release).err().map(Error::from)
    }
}
