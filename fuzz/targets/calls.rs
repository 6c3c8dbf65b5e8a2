//! Any text as an answer of any family: it is taken apart, or refused without a word of it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use recinto_chat::{CallFormat, Part};
use serde_json::{Value, json};

/// Marks of one template a form; the first byte of an input chooses.
const TEMPLATES: [&str; 13] = [
    "<tool_call> </tool_call> </think>",
    "<tool_call> <function= <parameter=",
    "<tool_call> <arg_key> <arg_value>",
    "[TOOL_CALLS] [ARGS] [/THINK]",
    "<｜tool▁call▁begin｜> ```json",
    "Action: ```json tool_name",
    "]<]minimax[>[ <invoke",
    "｜DSML｜",
    "<|tool_call>call: <tool_call|>",
    "<|tool_call_start|>",
    "<|start_header_id|> \"parameters\": ",
    ">>>all recipient",
    "<|channel|> <|message|> <|call|>",
];

static TOOLS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let properties = json!({"a": {"type": "string"}, "n": {"type": ["integer", "null"]}});
    vec![json!({"function": {"name": "f", "parameters": {"properties": properties}}})]
});

fuzz_target!(|input: (u8, &str)| {
    let (choice, answer) = input;
    let template = TEMPLATES[usize::from(choice) % TEMPLATES.len()];
    let format = CallFormat::of(template).expect("every row has its marks");
    match format.parse(answer, &TOOLS) {
        Ok(parsed) => {
            let last = parsed.parts.len().saturating_sub(1);
            for (place, part) in parsed.parts.iter().enumerate() {
                match part {
                    Part::Call(call) => {
                        assert!(call.arguments.is_object() && !call.name.is_empty());
                    }
                    Part::Unfinished(text) => assert!(place == last && !text.is_empty()),
                    _ => {}
                }
            }
        }
        Err(error) => assert!(error.to_string().len() < 200),
    }
});
