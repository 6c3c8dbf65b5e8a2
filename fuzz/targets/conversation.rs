//! The messages that templates render, and what must hold of a rendering.

use std::sync::LazyLock;

use recinto_chat::{Error, Message, Moment, RenderOptions, Template};

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

/// What a template must hold to, whatever its text: a rendering with sound marks, or an error
/// that shows no word of the messages.
pub fn check(source: &str, compiled: Result<Template, Error>) {
    let template = match compiled {
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
}
