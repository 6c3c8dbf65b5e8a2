//! Questions as JSON, strictly: an unknown key is an error, and so is a key of another form.
//!
//! Facts: the hosted API's published schema; package `laya` 0.4.15 for `labels`, for lists of
//! labels, for numbers and booleans as labels, descriptions and levels, and for what it refuses.
//! `or_nothing` is our own; it is never sent.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use super::{Ask, Choice, Question, Questions, name};
use crate::{Error, Form, Kind, json};

/// Keys of each form besides `type` and `instructions`.
const KEYS: [(Form, &[&str]); 3] = [
    (Form::Whether, &["criteria", "labels"]),
    (Form::Choose, &["criteria", "or_nothing"]),
    (Form::Rate, &["criteria"]),
];

fn refuse<T>(what: &str, hint: &str) -> Result<T, Error> {
    Err(Error::new(Kind::Question, what).with_hint(hint))
}

/// Null is as good as absent.
fn present<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

/// A description: any value. Null and empty text are none; 0 and false are descriptions.
fn description(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        described => Some(described.clone()),
    }
}

/// A label: text as it is; a number or a boolean in the reference's spelling.
fn label(value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(yes) => Ok(yes.to_string()),
        Value::Number(n) => Ok(match n.as_f64().filter(|_| n.is_f64()) {
            Some(float) => json::float(float),
            None => n.to_string(),
        }),
        _ => refuse("a label that is no text", "texts, numbers or booleans as labels"),
    }
}

/// The hosted API's descriptions are text, a map or a list.
fn as_text(value: &mut Value) {
    if value.is_number() || value.is_boolean() {
        *value = Value::String(value.to_string());
    }
}

fn whether(map: &Map<String, Value>) -> Result<Ask, Error> {
    let (mut yes, mut no) = (None, None);
    match present(map, "criteria") {
        None => {}
        Some(Value::Object(criteria)) => {
            let mut seen = [false; 2];
            for (key, value) in criteria {
                let at = match key.to_ascii_lowercase().as_str() {
                    "false" => 0,
                    "true" => 1,
                    _ => return refuse("criteria of noul with another key", "only true and false"),
                };
                if std::mem::replace(&mut seen[at], true) {
                    return refuse(
                        "criteria of noul with a key twice",
                        "true and false, once each",
                    );
                }
                *(if at == 1 { &mut yes } else { &mut no }) = description(value);
            }
        }
        Some(_) => return refuse("criteria of noul that are no map", "keys true and false"),
    }
    let words = match present(map, "labels") {
        None => None,
        Some(Value::Object(labels)) if labels.len() == 2 => {
            let word = |key: &str| labels.get(key).and_then(Value::as_str).map(str::trim);
            match (word("false"), word("true")) {
                (Some(no), Some(yes)) => Some([no.to_owned(), yes.to_owned()]),
                _ => return refuse("labels of noul", "texts for false and for true"),
            }
        }
        Some(_) => return refuse("labels of noul", "a map with texts for false and for true"),
    };
    Ok(Ask::Whether { yes, no, words })
}

fn choose(map: &Map<String, Value>) -> Result<Ask, Error> {
    let options = match present(map, "criteria") {
        Some(Value::Object(criteria)) => criteria
            .iter()
            .map(|(label, value)| Choice { label: label.clone(), description: description(value) })
            .collect(),
        // Laya takes a list of labels; the hosted API does not.
        Some(Value::Array(labels)) => labels
            .iter()
            .map(|value| label(value).map(Choice::plain))
            .collect::<Result<_, Error>>()?,
        _ => return refuse("a choice without criteria", "a map of label to description"),
    };
    let or_nothing = match present(map, "or_nothing") {
        None => false,
        Some(Value::Bool(value)) => *value,
        Some(_) => return refuse("or_nothing that is no boolean", "true or false"),
    };
    Ok(Ask::Choose { options, or_nothing })
}

fn rate(map: &Map<String, Value>) -> Result<Ask, Error> {
    let Some(Value::Array(levels)) = present(map, "criteria") else {
        return refuse("a score without a list of levels", "criteria: descriptions, lowest first");
    };
    Ok(Ask::Rate { levels: levels.clone() })
}

impl Question {
    /// Reads one question.
    pub fn from_wire(value: &Value) -> Result<Question, Error> {
        let Value::Object(map) = value else {
            return refuse("a question that is no map", "type, instructions and criteria");
        };
        let word = map.get("type").and_then(Value::as_str);
        let Some((form, keys)) = KEYS.iter().find(|(form, _)| Some(form.name()) == word) else {
            return refuse("a question of an unknown type", "noul, choice or score");
        };
        let known = |key: &String| {
            matches!(key.as_str(), "type" | "instructions") || keys.contains(&key.as_str())
        };
        if !map.keys().all(known) {
            let hint = format!("{} takes type, instructions, {}", form.name(), keys.join(", "));
            return Err(
                Error::new(Kind::Question, "a question with an unknown key").with_hint(hint)
            );
        }
        let instructions = match present(map, "instructions") {
            None => None,
            Some(Value::Bool(_)) => {
                return refuse("instructions that are a boolean", "give text, a map or a list");
            }
            Some(value) => Some(value.clone()),
        };
        let ask = match form {
            Form::Whether => whether(map)?,
            Form::Choose => choose(map)?,
            Form::Rate => rate(map)?,
        };
        Ok(Question { instructions, ask })
    }

    /// The question as it is read back, with `or_nothing`.
    pub fn to_wire(&self) -> Value {
        let mut out = Map::new();
        out.insert("type".into(), self.form().name().into());
        if let Some(instructions) = &self.instructions {
            out.insert("instructions".into(), instructions.clone());
        }
        match &self.ask {
            Ask::Whether { yes, no, words } => {
                let criteria = [("true", yes), ("false", no)];
                let criteria: Map<String, Value> = criteria
                    .into_iter()
                    .filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)))
                    .collect();
                if !criteria.is_empty() {
                    out.insert("criteria".into(), Value::Object(criteria));
                }
                if let Some([no, yes]) = words {
                    out.insert("labels".into(), json!({ "false": no, "true": yes }));
                }
            }
            Ask::Choose { options, or_nothing } => {
                let value = |o: &Choice| o.description.clone().unwrap_or(Value::Null);
                let criteria: Map<String, Value> =
                    options.iter().map(|o| (o.label.clone(), value(o))).collect();
                // Equal labels would vanish in a map; the checks refuse them, a list shows them.
                let criteria = if criteria.len() == options.len() {
                    Value::Object(criteria)
                } else {
                    options.iter().map(|o| Value::from(o.label.clone())).collect()
                };
                out.insert("criteria".into(), criteria);
                if *or_nothing {
                    out.insert("or_nothing".into(), true.into());
                }
            }
            Ask::Rate { levels } => {
                out.insert("criteria".into(), Value::Array(levels.clone()));
            }
        }
        Value::Object(out)
    }

    /// The question as the hosted API takes it: "none of them" is an option like the others, the
    /// words for yes and no, which it does not know, are left out, and descriptions that are numbers
    /// or booleans are text.
    pub fn to_hosted(&self) -> Value {
        let mut plain = self.clone();
        match &mut plain.ask {
            Ask::Choose { options, or_nothing } => {
                if std::mem::take(or_nothing) {
                    options.push(Choice::new(super::NOTHING, super::NOTHING_TEXT));
                }
                options.iter_mut().flat_map(|o| &mut o.description).for_each(as_text);
            }
            Ask::Whether { yes, no, words } => {
                [yes, no].into_iter().flatten().for_each(as_text);
                *words = None;
            }
            Ask::Rate { levels } => levels.iter_mut().for_each(as_text),
        }
        plain.to_wire()
    }
}

impl Questions {
    /// Reads a map of id to question. At least one; no id blank or twice.
    pub fn from_json(text: &str) -> Result<Questions, Error> {
        Questions::from_wire(&json::parse(text, "questions")?)
    }

    /// As [`Questions::from_json`], from a value.
    pub fn from_wire(value: &Value) -> Result<Questions, Error> {
        let Value::Object(map) = value else {
            return refuse("questions that are no map", "a map of id to question");
        };
        if map.is_empty() {
            return refuse("no question", "a map of id to question, at least one");
        }
        let mut out = Questions::new();
        for (at, (id, value)) in map.iter().enumerate() {
            let place = name(id, at);
            let question = Question::from_wire(value).map_err(|e| {
                let error = Error::new(e.kind(), format!("{place}: {}", e.what()));
                error.with_hint(e.hint().unwrap_or_default())
            })?;
            if json::depth(value) + 1 > json::DEEPEST {
                return refuse("questions too deep", "at most 64 levels in all");
            }
            let Some(more) = out.with(id.clone(), question) else {
                return refuse("a blank id", "an id of its own for each question");
            };
            out = more;
        }
        Ok(out)
    }

    /// The map of id to question, in order.
    pub fn to_wire(&self) -> Value {
        Value::Object(self.iter().map(|(id, q)| (id.to_owned(), q.to_wire())).collect())
    }
}

impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Question, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Question::from_wire(&value).map_err(|e| de::Error::custom(e.what()))
    }
}

impl Serialize for Questions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire().serialize(serializer)
    }
}
