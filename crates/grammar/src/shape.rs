//! What an answer may be, as data.

use serde_json::{Value, json};

use crate::{
    error::{Error, Kind},
    schema,
};

/// What an answer may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Exactly one of these texts.
    Labels(Vec<String>),
    /// JSON that is valid by this schema (draft 2020-12), without blanks but one between members,
    /// or a line break and up to twelve.
    Schema(Value),
    /// A text that matches this regular expression from its beginning to its end (syntax of the
    /// crate `regex`, without look-around and back-references).
    Regex(String),
    /// A text of this Lark grammar; its start is the rule `start`.
    Lark(String),
}

/// Blanks between two members, at most once at a place: a model that likes nothing better than
/// blanks comes to an end.
const BLANKS: &str = r" |\n {0,12}";

/// What may follow a backslash within a text: one way to write a character, so that no name of a
/// member can be written as another.
const ESCAPES: &str = r#"nrbtf\""#;

/// Bytes of a regular expression or grammar; compiling recurses over it.
const LONGEST: usize = 1 << 20;

/// Nested brackets of a grammar or schema; a parser that recurses needs stack for each.
const DEEPEST: usize = 200;

impl Shape {
    /// The grammar that the compiler reads.
    pub(crate) fn lower(&self) -> Result<llguidance::api::TopLevelGrammar, Error> {
        use llguidance::api::TopLevelGrammar;
        Ok(match self {
            Shape::Labels(labels) => TopLevelGrammar::from_lark(choice(labels)?),
            Shape::Schema(schema) => TopLevelGrammar::from_json_schema(bounded(schema)?),
            Shape::Regex(regex) => {
                measured("regular expression", regex)?;
                TopLevelGrammar::from_regex(regex)
            }
            Shape::Lark(grammar) => {
                measured("grammar", grammar)?;
                TopLevelGrammar::from_lark(grammar.clone())
            }
        })
    }
}

/// A grammar of some texts.
fn choice(labels: &[String]) -> Result<String, Error> {
    if labels.is_empty() {
        return Err(Error::new(Kind::Empty, "no label to choose from"));
    }
    let mut sorted: Vec<&String> = labels.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::new(Kind::Empty, "a label stands twice among the labels"));
    }
    if let Some(at) = labels.iter().position(|label| label.is_empty()) {
        return Err(Error::new(Kind::Empty, format!("label {} is empty", at + 1)));
    }
    // Strings of Lark are those of JSON.
    let quoted: Vec<String> = labels.iter().map(|label| json!(label).to_string()).collect();
    Ok(format!("start: {}\n", quoted.join(" | ")))
}

/// The schema in words that are kept, with our rules for blanks and escapes.
fn bounded(schema: &Value) -> Result<Value, Error> {
    let mut waiting = vec![(schema, 1)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > DEEPEST {
            let what = format!("the schema is nested more than {DEEPEST} deep");
            return Err(Error::new(Kind::TooLarge, what));
        }
        match value {
            Value::Object(members) => {
                waiting.extend(members.values().map(|value| (value, depth + 1)));
            }
            Value::Array(items) => waiting.extend(items.iter().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    let mut schema = schema::lower(schema)?;
    let rules = json!({ "whitespace_pattern": BLANKS, "json_allowed_escapes": ESCAPES });
    schema.insert(schema::RESERVED.into(), rules);
    Ok(Value::Object(schema))
}

/// Refuses what a parser that recurses could not read.
fn measured(name: &str, text: &str) -> Result<(), Error> {
    if text.len() > LONGEST {
        let what = format!("the {name} has {} bytes; {LONGEST} are allowed", text.len());
        return Err(Error::new(Kind::TooLarge, what));
    }
    let (mut depth, mut deepest, mut escaped) = (0usize, 0, false);
    for byte in text.bytes() {
        if escaped {
            escaped = false;
            continue;
        }
        match byte {
            b'\\' => escaped = true,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > DEEPEST {
        let what = format!("the {name} is nested more than {DEEPEST} deep");
        return Err(Error::new(Kind::TooLarge, what));
    }
    Ok(())
}
