//! Renderings equal Jinja2's byte for byte, and their marks are exact.

use crate::common;

use std::ops::Range;

use common::{OWN, conversations, models, source};
use recinto_chat::{Kind, Message, RenderOptions, Role, Template};
use serde_json::Value;

fn goldens() -> serde_json::Map<String, Value> {
    let all: Value = serde_json::from_str(include_str!("golden/templates.json")).unwrap();
    all.as_object().unwrap().clone()
}

fn fnv1a(data: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", data.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn check(name: &str, source: &str, golden: &Value, faults: &mut Vec<String>) {
    let template = match Template::new(source, "<s>", "</s>") {
        Ok(template) => template,
        Err(error) => {
            if golden.as_object().unwrap().values().any(|g| g["error"].is_null()) {
                faults.push(format!("{name}: {error}"));
            }
            return;
        }
    };
    for conversation in conversations() {
        let want = &golden[&conversation.name];
        assert!(!want.is_null(), "{name}: no golden for {}", conversation.name);
        let place = format!("{name} / {}", conversation.name);
        match template.render(&conversation.messages, &conversation.options) {
            Ok(rendered) => {
                well_formed(&place, &rendered.text, &rendered.content);
                let same = match (&want["text"], &want["fnv1a"]) {
                    (Value::String(text), _) => rendered.text == *text,
                    (_, Value::String(hash)) => fnv1a(rendered.text.as_bytes()) == *hash,
                    _ => false,
                };
                if !same {
                    faults.push(format!("{place}: want {want}\n got {:?}", rendered.text));
                }
            }
            Err(error) => {
                let fits = match (&want["raised"], &want["error"]) {
                    (Value::String(reason), _) => {
                        error.kind() == Kind::Raised
                            && (error.what() == reason || error.what().contains("quotes"))
                    }
                    (_, Value::String(_)) => error.kind() != Kind::Raised,
                    _ => false,
                };
                if !fits || error.line().is_none() {
                    faults.push(format!("{place}: want {want}\n got {error}"));
                }
            }
        }
    }
}

fn well_formed(place: &str, text: &str, content: &[Range<usize>]) {
    let mut end = 0;
    for range in content {
        assert!(range.start >= end && range.start < range.end, "{place}: {range:?}");
        assert!(text.get(range.clone()).is_some(), "{place}: {range:?}");
        end = range.end;
    }
}

#[test]
fn own_templates_render_as_in_jinja2() {
    let goldens = goldens();
    let mut faults = Vec::new();
    for (name, source) in OWN {
        check(name, source, &goldens[&format!("own/{name}.jinja")], &mut faults);
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn published_templates_render_as_in_jinja2() {
    let Some(models) = models("published_templates_render_as_in_jinja2") else { return };
    let mut faults = Vec::new();
    let mut seen = 0;
    for (name, golden) in goldens().iter().filter(|(name, _)| !name.starts_with("own/")) {
        let Some(source) = source(name, Some(&models)) else {
            println!("skipped: {name}: not in RECINTO_TEST_MODELS");
            continue;
        };
        check(name, &source, golden, &mut faults);
        seen += 1;
    }
    assert!(seen > 0, "RECINTO_TEST_MODELS holds no template");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// Single expressions. Where the reference fails, so do we.
#[test]
fn expressions_have_the_values_of_jinja2() {
    let all: Value = serde_json::from_str(include_str!("golden/expressions.json")).unwrap();
    let messages = [Message::new(Role::User, "añb"), Message::new(Role::Assistant, "")];
    let mut options = RenderOptions::new();
    options.date = Some(common::golden_day());
    let mut faults = Vec::new();
    for (expression, want) in all.as_object().unwrap() {
        let source = format!("{{{{ {expression} }}}}");
        let got = Template::new(&source, "<s>", "</s>").and_then(|t| t.render(&messages, &options));
        let same = match (&got, want["text"].as_str()) {
            (Ok(rendered), Some(text)) => rendered.text == text,
            (Err(_), None) => true,
            _ => false,
        };
        if !same {
            let got = got.map(|rendered| rendered.text.clone());
            faults.push(format!("{expression}\n  want {want}\n  got  {got:?}"));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// A letter in a private alphabet, and back.
fn mapped(text: &str) -> String {
    let change = |c: char| if c.is_ascii_alphabetic() { shift(c, 0xf0000) } else { c };
    text.chars().map(change).collect()
}

fn shift(c: char, by: u32) -> char {
    char::from_u32(u32::from(c) + by).unwrap()
}

fn unmapped(text: &str) -> String {
    let change = |c: char| match u32::from(c).checked_sub(0xf0000) {
        Some(code) => char::from_u32(code).unwrap(),
        None => c,
    };
    text.chars().map(change).collect()
}

/// An independent witness: data is written in a private alphabet, and in the rendering exactly
/// its letters must be marked.
#[test]
fn marks_cover_exactly_the_data() {
    let models = models("marks_cover_exactly_the_data (published templates)");
    let (mut checked, mut changed) = (0, Vec::new());
    for (name, _) in goldens() {
        let Some(source) = source(&name, models.as_deref()) else { continue };
        let Ok(template) = Template::new(&source, "<s>", "</s>") else { continue };
        for conversation in conversations() {
            if conversation.name == "private use" {
                continue;
            }
            let Ok(plain) = template.render(&conversation.messages, &conversation.options) else {
                continue;
            };
            let place = format!("{name} / {}", conversation.name);
            let other: Vec<Message> = conversation
                .messages
                .iter()
                .map(|message| {
                    let mut message = message.clone();
                    message.content = mapped(&message.content);
                    message.reasoning = message.reasoning.as_deref().map(mapped);
                    message
                })
                .collect();
            let Ok(rendered) = template.render(&other, &conversation.options) else {
                changed.push(place);
                continue;
            };
            if unmapped(&rendered.text) != plain.text {
                // The template looks at letters (`</think>`, case): another rendering.
                changed.push(place);
                continue;
            }
            checked += 1;
            let tools = !conversation.options.tools.is_empty()
                || !conversation
                    .options
                    .variables
                    .values()
                    .all(|v| v.is_boolean() || v.is_number())
                || conversation.messages.iter().any(|message| !message.tool_calls.is_empty());
            for (at, c) in rendered.text.char_indices() {
                let marked = rendered.content.iter().any(|range| range.contains(&at));
                if u32::from(c) >= 0xf0000 {
                    assert!(marked, "{place}: data at {at} is not marked");
                } else if c.is_ascii_alphabetic() && !tools {
                    assert!(!marked, "{place}: `{c}` at {at} is marked and is not data");
                }
            }
            // The same places in the plain rendering, in characters.
            let chars = |text: &str, ranges: &[Range<usize>]| -> Vec<bool> {
                let holds = |at| ranges.iter().any(|range| range.contains(&at));
                text.char_indices().map(|(at, _)| holds(at)).collect()
            };
            let same =
                chars(&plain.text, &plain.content) == chars(&rendered.text, &rendered.content);
            assert!(same, "{place}: marks depend on the letters");
        }
    }
    println!("{checked} checked; {} change with their letters: {changed:?}", changed.len());
    assert!(checked > 3 * changed.len(), "{checked} checked, {} not", changed.len());
}
