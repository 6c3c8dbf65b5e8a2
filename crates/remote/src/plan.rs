//! One request, decided: what is sent of the options, and in which form an answer is asked for.

use recinto_engine::{Message, Options, Request, Role};
use serde_json::{Map, Value, json};

use crate::wire::Wire;

/// The tool whose arguments are the answer, where a wire has no other way to a form.
pub(crate) const FORM_TOOL: &str = "answer";

/// What is asked.
pub struct Ask<'a> {
    /// The conversation, the options, the tools.
    pub request: &'a Request,
    /// A JSON Schema of an object that the answer has to be; what comes back is not checked here.
    pub form: Option<&'a Value>,
}

/// A request as it is sent once.
pub(crate) struct Plan<'a> {
    pub model: &'a str,
    pub request: &'a Request,
    pub form: Option<&'a Value>,
    pub stream: bool,
    /// The service is the vendor's own.
    pub own: bool,
    /// Options that the service would not take, by key.
    pub left_out: &'a [&'static str],
    /// The other of the two names that Chat Completions has for the limit.
    pub other_limit: bool,
}

/// How an option is said on each wire.
struct Row {
    key: &'static str,
    /// Its value where it is said; `None` at its default.
    value: fn(&Options) -> Option<Value>,
    chat: Option<&'static str>,
    responses: Option<&'static str>,
    messages: Option<&'static str>,
}

/// The number that was written, not its nearest fraction in other digits.
fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

fn unless<T: PartialEq>(value: T, default: T, into: impl Fn(T) -> Value) -> Option<Value> {
    (value != default).then(|| into(value))
}

/// Every option of an answer but the limit of tokens and the deadline, which are always kept.
/// Names of fields are those of the vendors' API references.
const ROWS: &[Row] = &[
    Row {
        key: "temperature",
        // Said always on OpenAI's wires: the default here is 0, and theirs is not.
        value: |o| Some(number(o.temperature)),
        chat: Some("temperature"),
        responses: Some("temperature"),
        messages: Some("temperature"),
    },
    Row {
        key: "top_p",
        value: |o| unless(o.top_p, 1.0, number),
        chat: Some("top_p"),
        responses: Some("top_p"),
        messages: Some("top_p"),
    },
    Row {
        key: "top_k",
        value: |o| unless(o.top_k, 0, Value::from),
        chat: None,
        responses: None,
        messages: Some("top_k"),
    },
    none("min_p", |o| unless(o.min_p, 0.0, number)),
    none("repeat_penalty", |o| unless(o.repeat_penalty, 1.0, number)),
    none("repeat_last_n", |o| unless(o.repeat_last_n, 64, Value::from)),
    Row {
        key: "presence_penalty",
        value: |o| unless(o.presence_penalty, 0.0, number),
        chat: Some("presence_penalty"),
        responses: None,
        messages: None,
    },
    Row {
        key: "frequency_penalty",
        value: |o| unless(o.frequency_penalty, 0.0, number),
        chat: Some("frequency_penalty"),
        responses: None,
        messages: None,
    },
    Row {
        key: "logit_bias",
        value: |o| {
            let pairs = o.logit_bias.iter().map(|(id, bias)| (id.to_string(), number(*bias)));
            let map: Map<String, Value> = pairs.collect();
            (!map.is_empty()).then(|| Value::Object(map))
        },
        chat: Some("logit_bias"),
        responses: None,
        messages: None,
    },
    Row {
        key: "seed",
        value: |o| o.seed.map(Value::from),
        chat: Some("seed"),
        responses: None,
        messages: None,
    },
    Row {
        key: "stop",
        value: |o| (!o.stop.is_empty()).then(|| json!(o.stop)),
        chat: Some("stop"),
        responses: None,
        messages: Some("stop_sequences"),
    },
    Row {
        key: "thinking",
        value: |o| o.thinking.map(Value::from),
        chat: None,
        responses: None,
        messages: Some("thinking"),
    },
    Row {
        key: "thinking_tokens",
        value: |o| o.thinking_tokens.map(Value::from),
        chat: None,
        responses: None,
        // The budget within `thinking`.
        messages: Some("thinking"),
    },
    Row {
        key: "logprobs",
        value: |o| o.logprobs.map(Value::from),
        chat: Some("top_logprobs"),
        responses: Some("top_logprobs"),
        messages: None,
    },
    none("date", |o| o.date.clone().map(Value::from)),
    none("block", |o| unless(o.block, Options::default().block, Value::from)),
];

/// An option that no wire has.
const fn none(key: &'static str, value: fn(&Options) -> Option<Value>) -> Row {
    Row { key, value, chat: None, responses: None, messages: None }
}

impl Row {
    fn field(&self, wire: Wire) -> Option<&'static str> {
        match wire {
            Wire::Chat => self.chat,
            Wire::Responses => self.responses,
            Wire::Messages => self.messages,
        }
    }
}

/// Options that are given and have no effect on `wire`.
pub(crate) fn without_effect(options: &Options, wire: Wire) -> Vec<&'static str> {
    let said = |row: &&Row| (row.value)(options).is_some();
    let mut keys: Vec<&'static str> =
        ROWS.iter().filter(said).filter(|row| row.field(wire).is_none()).map(|r| r.key).collect();
    if wire == Wire::Messages {
        let thinks = options.thinking == Some(true);
        let beside = [
            ("thinking_tokens", options.thinking_tokens.is_some() && !thinks),
            ("temperature", options.temperature != 0.0 && thinks),
            ("top_k", options.top_k != 0 && thinks),
        ];
        keys.extend(beside.iter().filter(|row| row.1).map(|row| row.0));
    }
    keys
}

/// The option that a refused request's field belongs to: `param` is the field's name as the
/// service says it, `message` its sentence.
pub(crate) fn option_of(wire: Wire, param: Option<&str>, message: &str) -> Option<&'static str> {
    let named = |field: &str| match param {
        Some(param) => param.split(['.', '[']).next() == Some(field),
        None => has_word(message, field),
    };
    // A limit that is too low or too high is the caller's to set, never to be left out.
    ROWS.iter().find(|row| row.field(wire).is_some_and(named)).map(|row| row.key)
}

/// Whether `word` stands in `text` between letters that are not of its kind.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let after = &text[at + word.len()..];
        !text[..at].ends_with(part) && !after.starts_with(part)
    })
}

impl Plan<'_> {
    /// Puts the options that are sent on `wire` into `body`, as they stand in the table.
    pub fn fields(&self, wire: Wire, body: &mut Map<String, Value>) {
        for row in ROWS.iter().filter(|row| !self.left_out.contains(&row.key)) {
            if let (Some(field), Some(value)) =
                (row.field(wire), (row.value)(&self.request.options))
            {
                body.insert(field.into(), value);
            }
        }
    }

    /// Whether the model is asked to think aloud, on the wire that can be told.
    pub fn thinks(&self) -> bool {
        self.request.options.thinking == Some(true) && !self.left_out.contains(&"thinking")
    }

    /// The conversation's instructions, and the turns after them.
    pub fn parts(&self) -> (String, &[Message]) {
        let messages = &self.request.messages;
        let first = messages.iter().position(|m| m.role != Role::System).unwrap_or(messages.len());
        let texts: Vec<&str> = messages[..first].iter().map(|m| m.content.as_str()).collect();
        (texts.join("\n\n"), &messages[first..])
    }

    /// Name, description and parameters of each tool, whatever way it is written.
    pub fn tools(&self) -> impl Iterator<Item = Tool<'_>> {
        self.request.tools.iter().filter_map(tool)
    }
}

/// A tool as every wire needs it.
pub(crate) struct Tool<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub parameters: Value,
}

/// Reads `{"type": "function", "function": {…}}`, or what stands in it alone.
pub(crate) fn tool(value: &Value) -> Option<Tool<'_>> {
    let inner = value.get("function").unwrap_or(value);
    let parameters = ["parameters", "input_schema"].iter().find_map(|key| inner.get(*key)).cloned();
    Some(Tool {
        name: inner.get("name")?.as_str()?,
        description: inner.get("description").and_then(Value::as_str),
        parameters: parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
    })
}

/// Whether OpenAI's strict mode takes a schema: every object is closed and all its members are
/// required, and nothing stands in it that the mode does not know.
pub(crate) fn is_strict(schema: &Value) -> bool {
    const KNOWN: &[&str] = &[
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
        "description",
        "title",
        "pattern",
        "format",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "minItems",
        "maxItems",
        "$schema",
    ];
    let Value::Object(members) = schema else { return false };
    if !members.keys().all(|key| KNOWN.contains(&key.as_str())) {
        return false;
    }
    let each = |key: &str| match members.get(key) {
        Some(Value::Object(map)) => map.values().all(is_strict),
        Some(Value::Array(items)) => items.iter().all(is_strict),
        Some(_) => false,
        None => true,
    };
    let nested = ["properties", "$defs", "definitions", "anyOf"].iter().all(|key| each(key));
    let items = members.get("items").is_none_or(is_strict);
    let object = members.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        kind => kind == "object",
    }) || members.contains_key("properties");
    let closed = || {
        let required = members.get("required").and_then(Value::as_array);
        let has = |name: &String| required.is_some_and(|r| r.iter().any(|r| r == name.as_str()));
        let properties = members.get("properties").and_then(Value::as_object);
        members.get("additionalProperties") == Some(&Value::Bool(false))
            && properties.is_some_and(|properties| properties.keys().all(has))
    };
    nested && items && (!object || closed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_its_row() {
        let mut keys: Vec<&str> = ROWS.iter().map(|row| row.key).collect();
        keys.extend(["max_tokens", "deadline"]);
        keys.sort_unstable();
        let mut all = Options::KEYS.to_vec();
        all.sort_unstable();
        assert_eq!(keys, all);
        let default = Options::default();
        let said: Vec<&str> =
            ROWS.iter().filter(|r| (r.value)(&default).is_some()).map(|r| r.key).collect();
        assert_eq!(said, ["temperature"], "said where nobody said anything");
        assert_eq!(number(0.7).to_string(), "0.7");
    }

    #[test]
    fn refused_fields_lead_to_options() {
        let chat = |param, message| option_of(Wire::Chat, param, message);
        assert_eq!(chat(Some("temperature"), ""), Some("temperature"));
        assert_eq!(chat(Some("logit_bias.42"), ""), Some("logit_bias"));
        assert_eq!(chat(Some("top_logprobs"), ""), Some("logprobs"));
        assert_eq!(chat(Some("messages[0].content"), "temperature"), None);
        assert_eq!(chat(None, "`temperature` is not taken"), Some("temperature"));
        assert_eq!(chat(None, "my_temperature is 3"), None);
        assert_eq!(chat(Some("max_tokens"), ""), None, "the limit is never left out");
        let messages = option_of(Wire::Messages, None, "stop_sequences: too many");
        assert_eq!(messages, Some("stop"));
    }

    #[test]
    fn strict_schemas() {
        let closed = json!({
            "type": "object", "properties": { "año": { "type": ["integer", "null"] } },
            "required": ["año"], "additionalProperties": false
        });
        let mut open = closed.clone();
        open["additionalProperties"] = json!(true);
        let mut optional = closed.clone();
        optional["required"] = json!([]);
        let mut deep = closed.clone();
        deep["properties"]["año"] = json!({ "type": "array", "items": open.clone() });
        let mut unknown = closed.clone();
        unknown["properties"]["año"] = json!({ "type": "string", "minLength": 3 });
        let cases = [
            ("closed", closed, true),
            ("open", open, false),
            ("optional", optional, false),
            ("open within", deep, false),
            ("a word it does not know", unknown, false),
        ];
        for (name, schema, want) in cases {
            assert_eq!(is_strict(&schema), want, "{name}");
        }
    }
}
