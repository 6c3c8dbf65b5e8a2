//! The key of a service: which of the secrets that are set is used with it, and none of anybody
//! else's.

use std::{fs, path::PathBuf};

use recinto_remote::{Address, SERVICES, VENDORS};
use zeroize::Zeroizing;

use crate::{
    Error, Kind, Setting, Settings, Source, Surroundings, env_file,
    line::{KeyOf, Place, Variable},
    trusted::{self, Rules},
};

/// Where the key of one service may come from.
pub(crate) struct Wanted<'a> {
    /// The service's name.
    pub service: &'static str,
    /// The variable for a key of whatever service is set.
    pub any: &'static str,
    /// The vendor's own variable.
    pub variable: Option<&'static str>,
    /// The address of the vendor's own service.
    pub own: Option<&'static str>,
    /// The address that is set.
    pub base_url: Option<&'a str>,
    /// The file that is named, and what to do about one that is refused.
    pub file: Option<&'a Setting<PathBuf>>,
    pub ignore: &'static str,
    /// Whose key it is.
    pub of: &'a KeyOf,
}

impl Wanted<'_> {
    /// The secret that is used, and where it is: the one that was set for this program, or the
    /// vendor's own where the service is the vendor's own.
    fn chosen<'s>(&self, settings: &'s Settings) -> Option<(&'static str, &'s Source)> {
        let at = |name: &str| settings.secrets.iter().find(|row| row.0 == name);
        let own = match (self.base_url, self.own) {
            (None, _) => true,
            (Some(_), Some(own)) => self.goes_to(own),
            (Some(_), None) => false,
        };
        let of_vendor = || self.variable.filter(|_| own).and_then(at);
        // The process's key is for the process's host, and a profile with a host has its own.
        let any = || at(self.any).filter(|_| *self.of == KeyOf::Process);
        any().or_else(of_vendor).map(|(name, source)| (*name, source))
    }

    /// The host that requests go to.
    fn host(&self, url: &str) -> Option<String> {
        Address::read(self.service, "", url).ok().map(|url| url.host().to_owned())
    }

    /// Whether requests go to the host of `url`.
    fn goes_to(&self, url: &str) -> bool {
        let to = self.base_url.or(self.own).and_then(|to| self.host(to));
        to.is_some() && to == self.host(url)
    }

    /// Refuses a vendor's own variable for another host than the vendor's.
    fn owned(&self, profile: &str, variable: &str) -> Result<(), Error> {
        let vendors = VENDORS.iter().map(|vendor| (vendor.name, vendor.key, vendor.base_url));
        let services = SERVICES.iter().map(|one| (one.name, one.key, one.base_url));
        let owners = vendors.chain(services).filter(|row| row.1 == Some(variable));
        let owners: Vec<(&str, Option<&str>)> = owners.map(|row| (row.0, row.2)).collect();
        let Some((owner, _)) = owners.first() else { return Ok(()) };
        if owners.iter().any(|row| row.1.is_some_and(|url| self.goes_to(url))) {
            return Ok(());
        }
        let what = format!("profile `{profile}`: {variable} is {owner}'s, and this host is not");
        Err(Error::new(Kind::Auth, what)
            .hint("give this host a key of its own, in a variable of another name"))
    }

    /// The key in a variable that a profile names.
    fn named(
        &self,
        profile: &str,
        variable: &Variable,
        settings: &Settings,
        around: &Surroundings,
    ) -> Result<Option<Zeroizing<String>>, Error> {
        let Variable { name, place } = variable;
        self.owned(profile, name)?;
        let found = match (place, &settings.env_file) {
            (Some(Place::Environment), _) => of_environment(name, around)?,
            (Some(Place::EnvFile), Some(path)) => env_file::secret(path, name)?,
            _ => None,
        };
        found.map(Some).ok_or_else(|| {
            Error::new(Kind::Auth, format!("profile `{profile}`: {name} is not set"))
                .hint("set it in the environment or in .env: it is the key of this profile")
        })
    }

    /// Where the key comes from, in words; `None` where there is none.
    pub fn place(&self, settings: &Settings) -> Option<String> {
        if let Some(file) = self.file {
            let there = if fs::metadata(&file.value).is_ok() { "" } else { ", and is not there" };
            return Some(format!("{} ({}){there}", file.value.display(), file.source));
        }
        if let KeyOf::Profile { variable: Some(Variable { name, place }), .. } = self.of {
            return Some(match (place, &settings.env_file) {
                (Some(Place::Environment), _) => format!("{name} (environment, {name})"),
                (Some(Place::EnvFile), Some(path)) => format!("{name} ({})", path.display()),
                _ => format!("{name}, which is not set"),
            });
        }
        let (name, source) = self.chosen(settings)?;
        Some(format!("{name} ({source})"))
    }

    /// The key itself, read when it is needed and kept by nobody else.
    pub fn read(
        &self,
        settings: &Settings,
        around: &Surroundings,
    ) -> Result<Option<Zeroizing<String>>, Error> {
        if let Some(file) = self.file {
            let path = around.here.join(&file.value);
            // Files of a container's secrets are often root's.
            let rules =
                Rules { kind: Kind::Setting, must: true, root_too: true, ignore: self.ignore };
            return trusted::read(&path, &rules);
        }
        if let KeyOf::Profile { name, variable: Some(variable) } = self.of {
            return self.named(name, variable, settings, around);
        }
        let Some((name, source)) = self.chosen(settings) else { return Ok(None) };
        match source {
            Source::EnvFile { path, .. } => env_file::secret(path, name),
            _ => of_environment(name, around),
        }
    }
}

/// The value of a variable of the environment.
fn of_environment(name: &str, around: &Surroundings) -> Result<Option<Zeroizing<String>>, Error> {
    match around.variable(name).map(|value| value.to_str()) {
        Some(Some(text)) => Ok(Some(Zeroizing::new(text.to_owned()))),
        Some(None) => Err(Error::new(Kind::Setting, format!("{name} is not UTF-8"))),
        None => Ok(None),
    }
}
