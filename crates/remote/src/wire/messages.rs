//! Anthropic's Messages (API reference, "Messages"; version 2023-06-01).

use recinto_engine::{Message, Role};
use serde_json::{Map, Value, json};

use super::Wire;
use crate::{
    answer::Finish,
    draft::{Draft, Fault, Told, count, list, plain, text},
    plan::{FORM_TOOL, Plan},
};

/// Least tokens of thought that the service takes, and those that are asked for where nobody says.
const LEAST_THOUGHT: usize = 1024;

/// The request.
pub(crate) fn body(plan: &Plan<'_>) -> Value {
    let mut body = Map::new();
    let options = &plan.request.options;
    body.insert("model".into(), plan.model.into());
    body.insert("max_tokens".into(), options.max_tokens.into());
    let (system, turns) = plan.parts();
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), messages(turns).into());
    plan.fields(Wire::Messages, &mut body);
    body.remove("thinking");
    if options.temperature == 0.0 {
        // The vendor's reference no longer has it, and newer models refuse it: it is sent where
        // somebody said one, and the default is not.
        body.remove("temperature");
    }
    if plan.thinks() {
        // The service takes no other temperature than its own with thought, and no `top_k`.
        body.remove("temperature");
        body.remove("top_k");
        let budget = options.thinking_tokens.unwrap_or(LEAST_THOUGHT).max(LEAST_THOUGHT);
        body.insert("thinking".into(), json!({ "type": "enabled", "budget_tokens": budget }));
    }
    let mut tools: Vec<Value> = plan
        .tools()
        .map(|tool| {
            let mut out = json!({ "name": tool.name, "input_schema": tool.parameters });
            if let Some(about) = tool.description {
                out["description"] = about.into();
            }
            out
        })
        .collect();
    if let Some(schema) = plan.form {
        if tools.is_empty() && !plan.thinks() {
            // A tool that must be called: every model has it, and it takes any schema.
            tools.push(json!({
                "name": FORM_TOOL, "description": "Gives the answer.", "input_schema": schema
            }));
            body.insert("tool_choice".into(), json!({ "type": "tool", "name": FORM_TOOL }));
        } else {
            let format = json!({ "type": "json_schema", "schema": schema });
            body.insert("output_config".into(), json!({ "format": format }));
        }
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if plan.stream {
        body.insert("stream".into(), true.into());
    }
    Value::Object(body)
}

/// The turns; results of tools are said by the user, all of one turn together.
fn messages(turns: &[Message]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut results = false;
    for turn in turns {
        let is_result = turn.role == Role::Tool;
        let blocks = blocks(turn);
        match out.last_mut() {
            Some(last) if results && is_result => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ => {
                let role = if turn.role == Role::Assistant { "assistant" } else { "user" };
                let plain = !is_result && turn.tool_calls.is_empty();
                let content: Value =
                    if plain { turn.content.as_str().into() } else { blocks.into() };
                out.push(json!({ "role": role, "content": content }));
            }
        }
        results = is_result;
    }
    out
}

fn blocks(turn: &Message) -> Vec<Value> {
    if turn.role == Role::Tool {
        let id = turn.tool_call_id.as_deref().unwrap_or("call_0");
        let content = &turn.content;
        return vec![json!({ "type": "tool_result", "tool_use_id": id, "content": content })];
    }
    let mut out = Vec::new();
    if !turn.content.is_empty() {
        out.push(json!({ "type": "text", "text": turn.content }));
    }
    out.extend(turn.tool_calls.iter().enumerate().map(|(at, call)| {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{at}"));
        json!({ "type": "tool_use", "id": id, "name": call.name, "input": call.arguments })
    }));
    out
}

/// One event of a stream.
pub(crate) fn event(name: &str, data: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    let index = || data.get("index").and_then(Value::as_u64).unwrap_or(0);
    match text(data, "type")?.unwrap_or(name) {
        "message_start" => {
            let message = data.get("message").ok_or(Fault::Malformed("the stream's start"))?;
            head(message, draft);
            usage(message, draft);
        }
        "content_block_start" => {
            let start = Fault::Malformed("the start of a block");
            let block = data.get("content_block").ok_or(start)?;
            // A call's arguments follow; the empty object here is their place.
            if text(block, "type")? == Some("tool_use") {
                draft.call(index(), text(block, "id")?, text(block, "name")?)?;
            } else {
                content(index(), block, draft)?;
            }
        }
        "content_block_delta" => {
            let delta = data.get("delta").ok_or(Fault::Malformed("a piece of a block"))?;
            match text(delta, "type")? {
                Some("text_delta") => draft.say(text(delta, "text")?.unwrap_or_default()),
                Some("thinking_delta") => draft.think(text(delta, "thinking")?.unwrap_or_default()),
                Some("input_json_delta") => {
                    let json = text(delta, "partial_json")?.unwrap_or_default();
                    draft.arguments(index(), json)?;
                }
                // Signatures, citations.
                Some(_) => {}
                None => return Err(Fault::Malformed("a piece of a block")),
            }
        }
        "message_delta" => {
            let delta = data.get("delta").ok_or(Fault::Malformed("the end of a message"))?;
            usage(data, draft);
            end(delta, draft)?;
        }
        "message_stop" => draft.ended = true,
        "error" => return Err(Fault::Told(Told::read(data))),
        "" => return Err(Fault::Malformed("an event of the stream")),
        // `ping`, ends of blocks, and what a later version adds.
        _ => {}
    }
    Ok(())
}

/// An answer that came whole.
pub(crate) fn whole(value: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    match text(value, "type")? {
        Some("message") => {}
        Some("error") => return Err(Fault::Told(Told::read(value))),
        _ => return Err(Fault::Malformed("an answer that is no message")),
    }
    head(value, draft);
    usage(value, draft);
    for (index, block) in list(value, "content")?.iter().enumerate() {
        content(index as u64, block, draft)?;
    }
    end(value, draft)?;
    draft.ended = true;
    Ok(())
}

/// A block that stands whole.
fn content(index: u64, block: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    match text(block, "type")? {
        Some("text") => draft.say(text(block, "text")?.unwrap_or_default()),
        Some("thinking") => draft.think(text(block, "thinking")?.unwrap_or_default()),
        Some("tool_use") => {
            draft.call(index, text(block, "id")?, text(block, "name")?)?;
            let input = block.get("input").ok_or(Fault::Malformed("a call of a tool"))?;
            let json = zeroize::Zeroizing::new(input.to_string());
            draft.arguments(index, &json)?;
        }
        Some(_) => {}
        None => return Err(Fault::Malformed("a block of the answer")),
    }
    Ok(())
}

fn head(message: &Value, draft: &mut Draft<'_, '_>) {
    draft.id = draft.id.take().or_else(|| plain(message, "id"));
    draft.model = draft.model.take().or_else(|| plain(message, "model"));
}

/// Counts; what was read from the service's cache, or written to it, was read too.
fn usage(value: &Value, draft: &mut Draft<'_, '_>) {
    let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) else { return };
    if usage.get("input_tokens").is_some_and(Value::is_u64) {
        let cached = count(usage, "/cache_read_input_tokens");
        let written = count(usage, "/cache_creation_input_tokens");
        let read = count(usage, "/input_tokens");
        draft.usage.cached_tokens = cached;
        draft.usage.prompt_tokens = read.saturating_add(cached).saturating_add(written);
    }
    if usage.get("output_tokens").is_some_and(Value::is_u64) {
        draft.usage.output_tokens = count(usage, "/output_tokens");
    }
}

fn end(value: &Value, draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    let Some(reason) = text(value, "stop_reason")? else { return Ok(()) };
    draft.finish = Some(match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "stop_sequence" => {
            let text = text(value, "stop_sequence")?.map(str::to_owned);
            draft.stop_text = text.map(zeroize::Zeroizing::new);
            Finish::Stop(None)
        }
        // The form's tool is the answer itself.
        "tool_use" if draft.has_form() => Finish::End,
        "tool_use" => Finish::Calls,
        "refusal" => {
            draft.refused = true;
            Finish::End
        }
        "pause_turn" => Finish::Length,
        _ => Finish::End,
    });
    Ok(())
}
