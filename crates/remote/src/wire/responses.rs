//! OpenAI's Responses (API reference, "Responses"). Nothing is stored there: `store` is false.

use recinto_engine::{Message, Role};
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
    let (instructions, turns) = plan.parts();
    if !instructions.is_empty() {
        body.insert("instructions".into(), instructions.into());
    }
    let input: Vec<Value> = turns.iter().flat_map(items).collect();
    body.insert("input".into(), input.into());
    body.insert("max_output_tokens".into(), plan.request.options.max_tokens.into());
    body.insert("store".into(), false.into());
    plan.fields(Wire::Responses, &mut body);
    if body.contains_key("top_logprobs") {
        body.insert("include".into(), json!(["message.output_text.logprobs"]));
    }
    let tools: Vec<Value> = plan
        .tools()
        .map(|tool| {
            let (name, parameters) = (tool.name, tool.parameters);
            let mut out = json!({
                "type": "function", "name": name, "parameters": parameters, "strict": false
            });
            if let Some(about) = tool.description {
                out["description"] = about.into();
            }
            out
        })
        .collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if let Some(schema) = plan.form {
        let strict = is_strict(schema);
        let format = json!({
            "type": "json_schema", "name": FORM_TOOL, "schema": schema, "strict": strict
        });
        body.insert("text".into(), json!({ "format": format }));
    }
    if plan.stream {
        body.insert("stream".into(), true.into());
    }
    Value::Object(body)
}

/// A message as items.
fn items(message: &Message) -> Vec<Value> {
    if message.role == Role::Tool {
        let id = message.tool_call_id.as_deref().unwrap_or("call_0");
        let output = &message.content;
        return vec![json!({ "type": "function_call_output", "call_id": id, "output": output })];
    }
    let mut out = Vec::new();
    if !message.content.is_empty() || message.tool_calls.is_empty() {
        out.push(json!({ "role": message.role.word(), "content": message.content }));
    }
    out.extend(message.tool_calls.iter().enumerate().map(|(at, call)| {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{at}"));
        let arguments = call.arguments.to_string();
        json!({ "type": "function_call", "call_id": id, "name": call.name, "arguments": arguments })
    }));
    out
}

/// One event of a stream. Text and thoughts come piece by piece; calls, counts and the end come
/// whole.
pub(crate) fn event(name: &str, data: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    let kind = text(data, "type")?.unwrap_or(name);
    match kind {
        "response.created" | "response.in_progress" => head(inner(data)?, draft),
        "response.output_text.delta" => {
            if let Some(said) = text(data, "delta")? {
                draft.say(said);
            }
            tokens(list(data, "logprobs")?, draft)?;
        }
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            if let Some(thought) = text(data, "delta")? {
                draft.think(thought);
            }
        }
        "response.refusal.delta" | "response.refusal.done" => draft.refused = true,
        "response.output_item.done" => {
            let item = data.get("item").ok_or(Fault::Malformed("an item of the stream"))?;
            let index = data.get("output_index").and_then(Value::as_u64).unwrap_or(0);
            call(index, item, draft)?;
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            end(inner(data)?, draft)?;
        }
        "error" => return Err(Fault::Told(Told::read(data))),
        other if other.starts_with("response.") => {}
        _ => return Err(Fault::Malformed("an event of the stream")),
    }
    Ok(())
}

fn inner(data: &Value) -> Result<&Value, Fault> {
    data.get("response").filter(|r| r.is_object()).ok_or(Fault::Malformed("an event's response"))
}

/// An answer that came whole.
pub(crate) fn whole(value: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    if value.get("output").is_none() && value.get("error").is_some_and(|e| !e.is_null()) {
        return Err(Fault::Told(Told::read(value)));
    }
    if !value.get("output").is_some_and(Value::is_array) {
        return Err(Fault::Malformed("an answer without an output"));
    }
    for (index, item) in list(value, "output")?.iter().enumerate() {
        for part in list(item, "summary")? {
            draft.think(text(part, "text")?.unwrap_or_default());
        }
        if text(item, "type")? == Some("message") {
            for part in list(item, "content")? {
                if text(part, "type")? == Some("refusal") {
                    draft.refused = true;
                }
                draft.say(text(part, "text")?.unwrap_or_default());
                tokens(list(part, "logprobs")?, draft)?;
            }
        }
        call(index as u64, item, draft)?;
    }
    end(value, draft)
}

fn call(index: u64, item: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    if text(item, "type")? == Some("function_call") {
        draft.call(index, text(item, "call_id")?, text(item, "name")?)?;
        draft.arguments(index, text(item, "arguments")?.unwrap_or_default())?;
    }
    Ok(())
}

fn head(response: &Value, draft: &mut Draft<'_, '_>) {
    draft.id = draft.id.take().or_else(|| plain(response, "id"));
    draft.model = draft.model.take().or_else(|| plain(response, "model"));
}

/// How it ended.
fn end(response: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    head(response, draft);
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        draft.usage.prompt_tokens = count(usage, "/input_tokens");
        draft.usage.cached_tokens = count(usage, "/input_tokens_details/cached_tokens");
        draft.usage.output_tokens = count(usage, "/output_tokens");
    }
    draft.ended = true;
    let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    draft.finish = Some(match text(response, "status")? {
        Some("incomplete") if reason == Some("content_filter") => {
            draft.refused = true;
            Finish::End
        }
        Some("incomplete") => Finish::Length,
        Some("failed" | "cancelled") => return Err(Fault::Told(Told::read(response))),
        Some("completed") if draft.waits() => Finish::Calls,
        Some("completed") => Finish::End,
        _ => return Err(Fault::Malformed("an answer's status")),
    });
    Ok(())
}
