//! What the policies let leave, from which files, and where a send would be written down.

use recinto_policy::{Label, Leave, Wall};
use recinto_provider::{Settings, Surroundings, policies};
use serde::Serialize;

use crate::failure::{Failure, Told};

/// What may leave this process.
#[derive(Serialize)]
pub struct Outside {
    /// The policies in force, as file and line.
    policies: Vec<String>,
    /// What all of them let through.
    may_leave: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_log: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_key: Option<String>,
    /// Why nothing may leave although there are policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Told>,
}

#[derive(Serialize)]
struct Row {
    provider: &'static str,
    host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    labels: Vec<String>,
}

impl From<Leave> for Row {
    fn from(leave: Leave) -> Row {
        let labels = leave.labels.iter().map(Label::to_string).collect();
        Row { provider: leave.provider, host: leave.host, model: leave.model, labels }
    }
}

impl Outside {
    /// As it is for these settings.
    pub fn of(settings: &Settings) -> Outside {
        let found = Surroundings::now().map_err(Failure::from).and_then(|around| {
            let wall = policies::wall(settings, &around)?;
            let places = policies::places(settings, &around, &wall);
            Ok((wall, places))
        });
        let (wall, places, failure) = match found {
            Ok((wall, Ok(places))) => (wall, Some(places), None),
            Ok((wall, Err(error))) => (wall, None, Some(Failure::from(error))),
            Err(failure) => (Wall::default(), None, Some(failure)),
        };
        let (log, key) = places.map_or((None, None), |(log, key)| (Some(log), key));
        let shown = |path: std::path::PathBuf| path.display().to_string();
        Outside {
            policies: wall.policies().iter().map(|policy| policy.place().to_string()).collect(),
            may_leave: wall.leaves().into_iter().map(Row::from).collect(),
            egress_log: log.map(shown),
            egress_key: key.map(shown),
            error: failure.map(|failure| failure.tell()),
        }
    }

    /// The same as lines of text.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        match &self.error {
            Some(error) => {
                let text = format!("nothing may leave: {}", error.message());
                out.push(("policy", text));
            }
            None if self.policies.is_empty() => {
                out.push(("policy", "none, so nothing may leave".into()));
            }
            None => {
                out.extend(self.policies.iter().map(|place| ("policy", place.clone())));
                if self.may_leave.is_empty() {
                    out.push(("  leaves", "nothing: no label is allowed by every policy".into()));
                }
            }
        }
        for row in &self.may_leave {
            let model =
                row.model.as_ref().map_or(String::new(), |model| format!(", model {model}"));
            let labels = row.labels.join(", ");
            out.push(("  leaves", format!("{labels} to {} at {}{model}", row.provider, row.host)));
        }
        if let Some(log) = self.egress_log.as_ref().filter(|_| !self.may_leave.is_empty()) {
            let key = match &self.egress_key {
                Some(key) => format!("digests by the key in {key}"),
                None => "no digests, for want of a key".into(),
            };
            out.push(("  log", format!("{log} ({key})")));
        }
        out
    }
}
