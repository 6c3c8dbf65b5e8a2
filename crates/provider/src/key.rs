//! The key of a service: which of the secrets that are set is used with it, and none of anybody
//! else's.

use std::path::PathBuf;

use recinto_remote::Address;
use zeroize::Zeroizing;

use crate::{
    Error, Kind, Setting, Settings, Source, Surroundings, env_file,
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
}

impl Wanted<'_> {
    /// The secret that is used, and where it is: the one that was set for this program, or the
    /// vendor's own where the service is the vendor's own.
    fn chosen<'s>(&self, settings: &'s Settings) -> Option<(&'static str, &'s Source)> {
        let at = |name: &str| settings.secrets.iter().find(|row| row.0 == name);
        let own = match (self.base_url, self.own) {
            (None, _) => true,
            (Some(set), Some(own)) => {
                let host = |url: &str| {
                    Address::read(self.service, "", url).ok().map(|url| url.host().to_owned())
                };
                host(set) == host(own)
            }
            (Some(_), None) => false,
        };
        let of_vendor = || self.variable.filter(|_| own).and_then(at);
        at(self.any).or_else(of_vendor).map(|(name, source)| (*name, source))
    }

    /// Where the key comes from, in words; `None` where there is none.
    pub fn place(&self, settings: &Settings) -> Option<String> {
        if let Some(file) = self.file {
            return Some(format!("{} ({})", file.value.display(), file.source));
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
        let Some((name, source)) = self.chosen(settings) else { return Ok(None) };
        match source {
            Source::EnvFile { path, .. } => env_file::secret(path, name),
            _ => {
                let value = around.variable(name).map(|value| value.to_str().map(str::to_owned));
                match value {
                    Some(Some(text)) => Ok(Some(Zeroizing::new(text))),
                    Some(None) => Err(Error::new(Kind::Setting, format!("{name} is not UTF-8"))),
                    None => Ok(None),
                }
            }
        }
    }
}
