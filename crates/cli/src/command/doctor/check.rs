//! One thing that was looked at.

use serde::{Serialize, Serializer};

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Ok,
    /// It works; somebody may want it otherwise.
    Note,
    /// It does not work, or not as it was asked for.
    Fault,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Fault => "fault",
        }
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// A thing that was looked at: what was found, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    pub area: &'static str,
    pub name: String,
    pub state: State,
    pub found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    pub fn ok(area: &'static str, name: impl Into<String>, found: impl Into<String>) -> Check {
        Check { area, name: name.into(), state: State::Ok, found: found.into(), hint: None }
    }

    /// The same as something to know.
    pub fn note(self, hint: impl Into<String>) -> Check {
        Check { state: State::Note, hint: Some(hint.into()), ..self }
    }

    /// The same as a fault.
    pub fn fault(self, hint: impl Into<String>) -> Check {
        Check { state: State::Fault, hint: Some(hint.into()), ..self }
    }
}

/// Bytes for a person.
pub fn size(bytes: u64) -> String {
    let kib = bytes as f64 / 1024.0;
    match bytes {
        0..0x10_0000 => format!("{kib:.0} KiB"),
        0x10_0000..0x4000_0000 => format!("{:.0} MiB", kib / 1024.0),
        _ => format!("{:.1} GiB", kib / 1024.0 / 1024.0),
    }
}
