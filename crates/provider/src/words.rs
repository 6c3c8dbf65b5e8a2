//! The words of a request and its answer as JSON, in the form of OpenTelemetry's conventions for
//! generative AI (`gen_ai.input.messages`, `gen_ai.output.messages`). Only for spans that were asked
//! to hold them.

use recinto_engine::{Message, Role, ToolCall};
use zeroize::Zeroizing;

/// A text that is wiped when it is dropped.
type Json = Zeroizing<String>;

/// Messages of a conversation.
pub(crate) fn input(messages: &[Message]) -> Json {
    let mut out = Json::new("[".into());
    for (at, message) in messages.iter().enumerate() {
        comma(&mut out, at);
        message_of(&mut out, message);
    }
    out.push(']');
    out
}

/// The one message of an answer.
pub(crate) fn output(text: &str, calls: &[ToolCall], finish: &str) -> Json {
    let mut out = Json::new("[{\"role\":\"assistant\",\"parts\":[".into());
    parts(&mut out, text, calls);
    out.push_str("],\"finish_reason\":");
    let finish = match finish {
        "end" => "stop",
        "calls" => "tool_call",
        other => other,
    };
    quoted(&mut out, finish);
    out.push_str("}]");
    out
}

fn message_of(out: &mut Json, message: &Message) {
    out.push_str("{\"role\":");
    quoted(out, message.role.word());
    out.push_str(",\"parts\":[");
    if message.role == Role::Tool {
        out.push_str("{\"type\":\"tool_call_response\",\"id\":");
        match &message.tool_call_id {
            Some(id) => quoted(out, id),
            None => out.push_str("null"),
        }
        out.push_str(",\"response\":");
        quoted(out, &message.content);
        out.push('}');
    } else {
        parts(out, &message.content, &message.tool_calls);
    }
    out.push_str("]}");
}

/// A text, where there is one, and calls of tools.
fn parts(out: &mut Json, text: &str, calls: &[ToolCall]) {
    if !text.is_empty() {
        out.push_str("{\"type\":\"text\",\"content\":");
        quoted(out, text);
        out.push('}');
    }
    for (at, call) in calls.iter().enumerate() {
        comma(out, at + usize::from(!text.is_empty()));
        out.push_str("{\"type\":\"tool_call\",\"id\":");
        match &call.id {
            Some(id) => quoted(out, id),
            None => out.push_str("null"),
        }
        out.push_str(",\"name\":");
        quoted(out, &call.name);
        out.push_str(",\"arguments\":");
        out.push_str(&Json::new(call.arguments.to_string()));
        out.push('}');
    }
}

fn comma(out: &mut Json, at: usize) {
    if at > 0 {
        out.push(',');
    }
}

fn quoted(out: &mut Json, text: &str) {
    // A string is always JSON.
    let json = Json::new(serde_json::to_string(text).unwrap_or_default());
    out.push_str(&json);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn words_are_json_of_the_conventions() {
        let read = |json: &Json| -> Value { serde_json::from_str(json).unwrap() };
        let call = ToolCall { id: None, name: "hora".into(), arguments: json!({ "ñ": 1 }) };
        let mut calls = Message::new(Role::Assistant, "");
        calls.tool_calls = vec![call.clone()];
        let mut result = Message::new(Role::Tool, "las \"ocho\"");
        result.tool_call_id = Some("c1".into());
        let asked = [Message::new(Role::User, "¿Qué\nhora?"), calls, result];
        let call_part = json!({
            "type": "tool_call", "id": null, "name": "hora", "arguments": { "ñ": 1 }
        });
        let want = json!([
            { "role": "user", "parts": [{ "type": "text", "content": "¿Qué\nhora?" }] },
            { "role": "assistant", "parts": [call_part] },
            { "role": "tool", "parts": [
                { "type": "tool_call_response", "id": "c1", "response": "las \"ocho\"" }
            ] },
        ]);
        assert_eq!(read(&input(&asked)), want);
        assert_eq!(read(&input(&[])), json!([]));
        for (finish, word) in [("end", "stop"), ("calls", "tool_call"), ("length", "length")] {
            let want = json!([{
                "role": "assistant", "finish_reason": word,
                "parts": [{ "type": "text", "content": "Sí" }, call_part],
            }]);
            assert_eq!(read(&output("Sí", std::slice::from_ref(&call), finish)), want);
        }
    }
}
