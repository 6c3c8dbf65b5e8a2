//! What a conversation is made of.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// Who speaks. A role is a word of the program, never data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// The result of a tool.
    Tool,
}

impl Role {
    /// The word that templates compare with: `system`, `user`, `assistant`, `tool`.
    pub fn word(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// One message. Everything in it but the role is data.
///
/// As JSON: `role` and `content` are required, unknown fields are an error. Its text is wiped
/// when it is dropped, and never shown by `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; empty where an assistant only calls tools.
    pub content: String,
    /// What the model thought before it spoke, without the tags around it. A template gets it
    /// under the first of the names `reasoning_content`, `thinking`, `reasoning` it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Calls the assistant made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The name of the speaker, or of the tool that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The call that this tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// One call of a tool by the assistant.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The call's identity, where the conversation has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments; most templates expect an object.
    pub arguments: serde_json::Value,
}

impl Message {
    /// A message of `role` that says `content`.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            name: None,
            tool_call_id: None,
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("role", &self.role)
            .field("content_bytes", &self.content.len())
            .field("tool_calls", &self.tool_calls.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").finish_non_exhaustive()
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.content.zeroize();
        self.reasoning.zeroize();
        self.name.zeroize();
        self.tool_call_id.zeroize();
    }
}

impl Drop for ToolCall {
    fn drop(&mut self) {
        self.id.zeroize();
        self.name.zeroize();
        wipe(&mut self.arguments);
    }
}

/// Overwrites every string of a JSON value, keys included.
pub(crate) fn wipe(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => text.zeroize(),
        serde_json::Value::Array(items) => items.iter_mut().for_each(wipe),
        serde_json::Value::Object(map) => {
            for (mut key, mut value) in std::mem::take(map) {
                key.zeroize();
                wipe(&mut value);
            }
        }
        _ => {}
    }
}
