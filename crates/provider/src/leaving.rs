//! What every send to a service goes through: the policies, the log of sends, the budget. One of
//! these stands before each line to elsewhere.

use std::{fs, path::PathBuf, sync::Arc, time::Instant};

use recinto_policy::{
    Budget, Destination, EgressLog, Labels, Pass, Place, Reservation, Usage as Spent, Wall,
};
use recinto_remote::Address;

use crate::{Error, Kind, Setting, Settings, Surroundings, policies};

/// Largest file of certificates.
const LARGEST: u64 = 8 << 20;

/// The way out to one place.
pub(crate) struct Leaving {
    provider: &'static str,
    model: String,
    to: Destination,
    wall: Wall,
    log: EgressLog,
    budget: Arc<Budget>,
}

impl Leaving {
    /// The way that `settings` lead to; nothing is sent.
    pub fn open(
        settings: &Settings,
        around: &Surroundings,
        to: Destination,
        provider: &'static str,
        model: &str,
    ) -> Result<Leaving, Error> {
        let wall = policies::wall(settings, around)?;
        let log = policies::egress_log(settings, around, &wall)?;
        let budget = Arc::new(policies::budget(settings, &wall)?);
        Ok(Leaving { provider, model: model.to_owned(), to, wall, log, budget })
    }

    /// The same within a budget that others of this process use, too.
    pub fn within(mut self, budget: Arc<Budget>) -> Leaving {
        self.budget = budget;
        self
    }

    /// The digest of `bytes` under the operator's key, where there is one.
    pub fn digest(&self, bytes: &[u8]) -> Option<String> {
        self.log.digest(bytes)
    }

    /// The rows that let data with these labels leave, as the log of sends writes them.
    pub fn rules(&self, labels: &[String]) -> Result<Vec<String>, Error> {
        let permit = self.wall.check(&self.to, &Labels::new(labels)?)?;
        let rule = |place: &Place| format!("{}:{}", place.file.display(), place.line);
        Ok(permit.rules().iter().map(rule).collect())
    }

    /// Leave for data with these labels, tries included. The one place where a policy says no.
    pub fn pass(&self, labels: &[String]) -> Result<Pass<'_>, Error> {
        let labels = Labels::new(labels)?;
        Ok(Pass::new(&self.wall, &self.log, &self.to, &labels)?)
    }

    /// Sends with leave for `labels`: `most` is taken out of the budget of `identity` before, and
    /// settled with what `used` finds in the answer. Of a failure, and of an answer that does not say, nobody
    /// knows what it used: what was taken stays taken.
    pub fn send<T>(
        &self,
        labels: &[String],
        identity: &str,
        most: &Spent,
        send: impl FnOnce(&Pass<'_>) -> Result<T, recinto_remote::Error>,
        used: impl FnOnce(&T) -> Option<(u64, u64)>,
    ) -> Result<T, Error> {
        let pass = self.pass(labels)?;
        let reserved: Reservation<'_> =
            self.budget.reserve(identity, self.provider, &self.model, most)?;
        let begun = Instant::now();
        let answer = send(&pass)?;
        if let Some((input, output)) = used(&answer) {
            reserved.settle(&Spent { input, output, time: begun.elapsed() });
        }
        Ok(answer)
    }
}

/// The address in a setting.
pub(crate) fn address(
    name: &'static str,
    key: &str,
    setting: &Option<Setting<String>>,
) -> Result<Option<Address>, Error> {
    let read = |url: &Setting<String>| Address::read(name, &format!("`{key}`"), &url.value);
    Ok(setting.as_ref().map(read).transpose()?)
}

/// The certificates that are the only ones to vouch for a service, where they are named.
pub(crate) fn certificates(
    file: &Option<Setting<PathBuf>>,
    around: &Surroundings,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(file) = file else { return Ok(None) };
    let path = around.here.join(&file.value);
    let size = fs::metadata(&path).map_or(0, |meta| meta.len());
    let read = (size <= LARGEST).then(|| fs::read(&path).ok()).flatten();
    read.map(Some).ok_or_else(|| {
        let what = format!("{}: cannot read certificates from it", path.display());
        Error::new(Kind::Setting, what).hint("`ca_file` names a file in PEM")
    })
}
