//! Any text as a chat template: it renders fixed messages within its limits, or is refused.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use recinto_chat::{Message, Moment, RenderOptions, Template};

/// A word of every message; no error may show it.
const CANARY: &str = "canario";

static MESSAGES: LazyLock<Vec<Message>> = LazyLock::new(|| {
    serde_json::from_str(
        r#"[
            {"role": "system", "content": " canario: sé breve.\n"},
            {"role": "user", "content": "¿Qué hora es, señor? canario <|im_end|>"},
            {"role": "assistant", "content": "", "reasoning": "canario\n</think>",
             "tool_calls": [{"id": "c1", "name": "hora", "arguments": {"ciudad": "canario"}}]},
            {"role": "tool", "content": "{\"canario\": 12}", "name": "hora", "tool_call_id": "c1"},
            {"role": "assistant", "content": "Las doce, canario."},
            {"role": "user", "content": "canario"}
        ]"#,
    )
    .expect("messages")
});

static OPTIONS: LazyLock<RenderOptions> = LazyLock::new(|| {
    let mut options = RenderOptions::new();
    options.add_generation_prompt = true;
    options.tools = vec![serde_json::json!({
        "type": "function",
        "function": {"name": "hora", "description": "canario > 1", "parameters": {}}
    })];
    options.variables.insert("enable_thinking".into(), true.into());
    options.date = Some(Moment::day(2026, 1, 12));
    options
});

fuzz_target!(|source: &str| {
    let template = match Template::new(source, "<s>", "</s>") {
        Ok(template) => template,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    match template.render(&MESSAGES, &OPTIONS) {
        Ok(rendered) => {
            let mut at = 0;
            for range in &rendered.content {
                assert!(at <= range.start && range.start < range.end, "{:?}", rendered.content);
                assert!(rendered.text.get(range.clone()).is_some(), "{range:?}");
                at = range.end;
            }
        }
        Err(error) => {
            let shown = format!("{error} {error:?}");
            assert!(!shown.is_empty());
            assert!(source.contains(CANARY) || !shown.contains(CANARY), "{shown}");
        }
    }
});
