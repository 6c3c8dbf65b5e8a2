//! The log of sends: a line of JSON for each, written before a byte leaves, and no word of what was
//! sent.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use recinto_os::append;
use serde::{Deserialize, Serialize};

use crate::{
    destination::Destination,
    error::{Error, Kind},
    key::EgressKey,
    label::{Label, Labels},
    read::Place,
    time,
};

/// The form of the lines that this version writes and reads.
pub const FORM: u32 = 1;
/// Most bytes of a line, its end among them: what POSIX writes to a pipe whole (`PIPE_BUF` on
/// Linux), so that a line survives being passed on.
pub const MAX_LINE: usize = 4096;
/// How long another process that writes is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where sends are written down. Nothing is opened until there is one: each line finds the file
/// anew, so that it may be moved away while this runs.
#[derive(Debug)]
pub struct EgressLog {
    path: PathBuf,
    key: Option<EgressKey>,
    sync: bool,
}

/// What is written of one send.
pub(crate) struct Entry<'a> {
    pub to: &'a Destination,
    pub labels: &'a Labels,
    pub rules: &'a [Place],
    pub body: &'a [u8],
}

/// One line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// [`FORM`].
    pub egress: u32,
    /// When, in UTC.
    pub time: String,
    /// The process that sent.
    pub pid: u32,
    pub provider: String,
    pub host: String,
    pub model: String,
    /// Bytes of the body.
    pub bytes: u64,
    pub labels: Vec<String>,
    /// The rows that allowed it, each as `file:line`.
    pub rules: Vec<String>,
    /// Of the body, keyed; `None` where there is no key.
    pub digest: Option<String>,
}

impl EgressLog {
    /// The log in the file at `path`; digests are written where there is a `key`; with `sync` each
    /// line must have reached the disk before anything is sent.
    pub fn new(path: impl Into<PathBuf>, key: Option<EgressKey>, sync: bool) -> EgressLog {
        EgressLog { path: path.into(), key, sync }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether lines have digests.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Whether each line must have reached the disk.
    pub fn syncs(&self) -> bool {
        self.sync
    }

    /// HMAC-SHA-256 of `bytes` under the operator's key, as lines have it; `None` without a key.
    pub fn digest(&self, bytes: &[u8]) -> Option<String> {
        Some(format!("hmac-sha256:{}", self.key.as_ref()?.digest(bytes)))
    }

    /// Writes a line; gives the digest that stands in it.
    pub(crate) fn append(&self, entry: &Entry<'_>) -> Result<Option<String>, Error> {
        let digest = self.digest(entry.body);
        let line = self.line(entry, digest.clone())?;
        append::add(&self.path, line.as_bytes(), PATIENCE, self.sync).map_err(|e| {
            let what = format!("the log of sends {}: {e}; nothing was sent", self.path.display());
            Error::new(Kind::Egress, what)
                .hint("correct it, or name another file as `egress_log` (docs/policy.md)")
        })?;
        Ok(digest)
    }

    fn line(&self, entry: &Entry<'_>, digest: Option<String>) -> Result<String, Error> {
        let rule = |place: &Place| format!("{}:{}", place.file.display(), place.line);
        let line = Line {
            egress: FORM,
            time: time::text(SystemTime::now()),
            pid: std::process::id(),
            provider: entry.to.provider().into(),
            host: entry.to.host().to_string(),
            model: entry.to.model().into(),
            bytes: entry.body.len() as u64,
            labels: entry.labels.iter().map(Label::to_string).collect(),
            rules: entry.rules.iter().map(rule).collect(),
            digest,
        };
        let fault = |what: &str| Error::new(Kind::Egress, what);
        let mut text = serde_json::to_string(&line)
            .map_err(|_| fault("a line of the log cannot be written as JSON; nothing was sent"))?;
        text.push('\n');
        if text.len() > MAX_LINE {
            let what = format!(
                "the line of the log would have {} bytes, and {MAX_LINE} is the most; nothing was \
                 sent",
                text.len()
            );
            return Err(
                fault(&what).hint("give policies shorter paths, or the request fewer labels")
            );
        }
        Ok(text)
    }
}
