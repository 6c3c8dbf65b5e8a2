//! OpenAI's Chat Completions (API reference, "Chat"): the wire that most services speak.

use recinto_engine::Role;
use serde_json::{Map, Value, json};

use super::Wire;
use crate::{
    answer::Finish,
    draft::{Draft, Fault, Told, count, list, plain, text, tokens},
    plan::{FORM_TOOL, Plan, is_strict},
};

/// The request.
pub(crate) fn body(plan: &Plan<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), plan.model.into());
    let messages: Vec<Value> = plan.request.messages.iter().map(message).collect();
    body.insert("messages".into(), messages.into());
    // The vendor's newer models take the new name only; most other services know the old one only.
    let limit = if plan.own != plan.other_limit { "max_completion_tokens" } else { "max_tokens" };
    body.insert(limit.into(), plan.request.options.max_tokens.into());
    plan.fields(Wire::Chat, &mut body);
    if body.contains_key("top_logprobs") {
        body.insert("logprobs".into(), true.into());
    }
    let tools: Vec<Value> = plan
        .tools()
        .map(|tool| {
            let mut function = json!({ "name": tool.name, "parameters": tool.parameters });
            if let Some(about) = tool.description {
                function["description"] = about.into();
            }
            json!({ "type": "function", "function": function })
        })
        .collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if let Some(schema) = plan.form {
        let strict = is_strict(schema);
        let schema = json!({ "name": FORM_TOOL, "schema": schema, "strict": strict });
        let format = json!({ "type": "json_schema", "json_schema": schema });
        body.insert("response_format".into(), format);
    }
    if plan.stream {
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    Value::Object(body)
}

fn message(message: &recinto_engine::Message) -> Value {
    let mut out = json!({ "role": message.role.word(), "content": message.content });
    if !message.tool_calls.is_empty() {
        if message.content.is_empty() {
            out["content"] = Value::Null;
        }
        let calls = message.tool_calls.iter().enumerate().map(|(at, call)| {
            let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
            let id = call.id.clone().unwrap_or_else(|| format!("call_{at}"));
            json!({ "id": id, "type": "function", "function": function })
        });
        out["tool_calls"] = calls.collect();
    }
    if message.role == Role::Tool {
        out["tool_call_id"] = message.tool_call_id.as_deref().unwrap_or("call_0").into();
    } else if let Some(name) = &message.name {
        out["name"] = name.as_str().into();
    }
    out
}

/// One event of a stream.
pub(crate) fn event(_: &str, data: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    if data.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Fault::Told(Told::read(data)));
    }
    if !data.is_object() || data.get("choices").is_none() {
        return Err(Fault::Malformed("an event of the stream"));
    }
    head(data, draft);
    for choice in first(data)? {
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        parts(delta, draft)?;
        rest(choice, draft)?;
    }
    Ok(())
}

/// An answer that came whole.
pub(crate) fn whole(value: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Fault::Told(Told::read(value)));
    }
    head(value, draft);
    let choice = first(value)?.first().ok_or(Fault::Malformed("an answer without a choice"))?;
    let message = choice.get("message").ok_or(Fault::Malformed("a choice without a message"))?;
    parts(message, draft)?;
    rest(choice, draft)?;
    draft.ended = true;
    Ok(())
}

/// The first choice; one is asked for.
fn first(value: &Value) -> Result<&[Value], Fault> {
    let choices = list(value, "choices")?;
    match choices {
        [] | [_] => Ok(choices),
        _ => Err(Fault::Malformed("more than one choice")),
    }
}

fn head(value: &Value, draft: &mut Draft<'_, '_>) {
    draft.id = draft.id.take().or_else(|| plain(value, "id"));
    draft.model = draft.model.take().or_else(|| plain(value, "model"));
    draft.fingerprint = draft.fingerprint.take().or_else(|| plain(value, "system_fingerprint"));
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        draft.usage.prompt_tokens = count(usage, "/prompt_tokens");
        draft.usage.cached_tokens = count(usage, "/prompt_tokens_details/cached_tokens");
        draft.usage.output_tokens = count(usage, "/completion_tokens");
    }
}

/// What a message, or a piece of one, says.
fn parts(message: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    // OpenAI tells no thoughts; other services on this wire do, under one of these names.
    for name in ["reasoning_content", "reasoning"] {
        if let Some(thought) = text(message, name)? {
            draft.think(thought);
            break;
        }
    }
    if text(message, "refusal")?.is_some_and(|said| !said.is_empty()) {
        draft.refused = true;
    }
    if let Some(said) = text(message, "content")? {
        draft.say(said);
    }
    for (at, call) in list(message, "tool_calls")?.iter().enumerate() {
        let index = call.get("index").and_then(Value::as_u64).unwrap_or(at as u64);
        let function = call.get("function").unwrap_or(&Value::Null);
        draft.call(index, text(call, "id")?, text(function, "name")?)?;
        if let Some(arguments) = text(function, "arguments")? {
            draft.arguments(index, arguments)?;
        }
    }
    Ok(())
}

/// What a choice says beside its message.
fn rest(choice: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    if let Some(logprobs) = choice.get("logprobs").filter(|value| value.is_object()) {
        tokens(list(logprobs, "content")?, draft)?;
    }
    match text(choice, "finish_reason")? {
        None => {}
        Some("length") => draft.finish = Some(Finish::Length),
        Some("tool_calls" | "function_call") => draft.finish = Some(Finish::Calls),
        Some("content_filter") => {
            draft.refused = true;
            draft.finish = Some(Finish::End);
        }
        // Others are words of other services for an end.
        Some(_) => draft.finish = Some(Finish::End),
    }
    Ok(())
}
