//! The three wires: how a request is written and an answer read on each. One row, one file each.

pub(crate) mod chat;
pub(crate) mod messages;
pub(crate) mod responses;

use serde_json::Value;

use crate::{
    draft::{Draft, Fault},
    plan::Plan,
};

/// How a service is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
}

/// What a wire is made of.
pub(crate) struct Row {
    wire: Wire,
    name: &'static str,
    /// Below the service's address.
    pub path: &'static str,
    /// What stands before the key in the header that holds it.
    pub key: (&'static str, &'static str),
    /// Headers that every request has.
    pub headers: &'static [(&'static str, &'static str)],
    /// The header with the request's id.
    pub id: &'static str,
    /// The request.
    pub body: fn(&Plan<'_>) -> Value,
    /// One event of a stream: its name, its data.
    pub event: fn(&str, &Value, &mut Draft<'_, '_>) -> Result<(), Fault>,
    /// An answer that came whole.
    pub whole: fn(&Value, &mut Draft<'_, '_>) -> Result<(), Fault>,
}

const ROWS: &[Row] = &[
    Row {
        wire: Wire::Chat,
        name: "chat",
        path: "chat/completions",
        key: ("authorization", "Bearer "),
        headers: &[],
        id: "x-request-id",
        body: chat::body,
        event: chat::event,
        whole: chat::whole,
    },
    Row {
        wire: Wire::Responses,
        name: "responses",
        path: "responses",
        key: ("authorization", "Bearer "),
        headers: &[],
        id: "x-request-id",
        body: responses::body,
        event: responses::event,
        whole: responses::whole,
    },
    Row {
        wire: Wire::Messages,
        name: "messages",
        path: "messages",
        key: ("x-api-key", ""),
        headers: &[("anthropic-version", "2023-06-01")],
        id: "request-id",
        body: messages::body,
        event: messages::event,
        whole: messages::whole,
    },
];

impl Wire {
    /// Every wire.
    pub fn all() -> impl Iterator<Item = Wire> {
        ROWS.iter().map(|row| row.wire)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn row(self) -> &'static Row {
        let at = ROWS.iter().position(|row| row.wire == self).unwrap_or(0);
        &ROWS[at]
    }
}
