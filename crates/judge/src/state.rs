//! The state: what is judged. Text, or JSON that instructions can point into.

use std::borrow::Cow;

use recinto_receipt::{Digest, sha256};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::{Error, Kind, json};

/// What is judged: text, a map or a list. Never null, a number or a yes.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct State {
    value: Value,
    /// The JSON it was read from, without blanks. A value has no whole numbers beyond 64 bits and
    /// does not tell `-0` from `-0.0`, and models see numbers as they are written.
    #[serde(skip)]
    source: Option<Box<str>>,
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.value == other.value
    }
}

impl State {
    /// A state of plain text.
    pub fn text(text: impl Into<String>) -> State {
        State { value: Value::String(text.into()), source: None }
    }

    /// A state out of a JSON text; no key twice, at most 64 levels and 32 MiB.
    pub fn from_json(text: &str) -> Result<State, Error> {
        State::written(json::parse(text, "a state")?, text)
    }

    /// The state `value`, which was read from the JSON `text`.
    pub(crate) fn written(value: Value, text: &str) -> Result<State, Error> {
        Ok(State { source: json::compact(text).map(Into::into), ..State::new(value)? })
    }

    /// A state out of a value.
    pub fn new(value: Value) -> Result<State, Error> {
        if !matches!(value, Value::String(_) | Value::Object(_) | Value::Array(_)) {
            return Err(Error::new(Kind::State, "a state that is null, a number or a boolean")
                .with_hint("give text, a map or a list"));
        }
        if json::depth(&value) > json::DEEPEST {
            let what = format!("a state of more than {} levels", json::DEEPEST);
            return Err(Error::new(Kind::State, what));
        }
        Ok(State { value, source: None })
    }

    /// The value; keys in their order, which models see.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The JSON text it was read from without blanks, numbers as they are written there; `None` for
    /// one that was made otherwise.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        match &self.value {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => true,
        }
    }

    /// As a model reads it: text as it stands, a map or a list as JSON without blanks, keys in
    /// their order, numbers as they were written.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            _ => self.json().into_owned(),
        }
    }

    fn json(&self) -> Cow<'_, str> {
        self.source().map_or_else(|| self.value.to_string().into(), Cow::Borrowed)
    }

    /// SHA-256 of its JSON without blanks, keys in their order, numbers as they were written:
    /// another order or another spelling of a number is another state.
    pub fn digest(&self) -> Digest {
        sha256(self.json().as_bytes())
    }

    /// What a path leads to, such as `ticket.text`, `items[0].name` or `items.0.name`. A key that
    /// holds the rest of the path as it is, dots and all, is found too.
    pub fn at(&self, path: &str) -> Option<&Value> {
        let (mut value, mut rest) = (&self.value, path);
        loop {
            if let Value::Object(map) = value
                && let Some(found) = map.get(rest)
            {
                return Some(found);
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (step, tail) = if let Some(inner) = rest.strip_prefix('[') {
                let close = inner.find(']')?;
                (&inner[..close], &inner[close + 1..])
            } else {
                (&rest[..end], &rest[end..])
            };
            value = match value {
                Value::Object(map) => map.get(step)?,
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
            rest = tail.strip_prefix('.').unwrap_or(tail);
            if rest.is_empty() {
                return tail.is_empty().then_some(value);
            }
        }
    }
}

impl<'de> Deserialize<'de> for State {
    /// For states within other JSON. A key twice is only seen by [`State::from_json`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<State, D::Error> {
        let value = Value::deserialize(deserializer)?;
        State::new(value).map_err(|_| de::Error::custom("not a state"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let json =
            r#"{"ticket":{"text":"¿Dónde está?","años":[{"n":1},{"n":2}]},"a.b":3,"x":null}"#;
        let state = State::from_json(json).unwrap();
        let cases = [
            ("ticket.text", true),
            ("ticket", true),
            ("ticket.años[1].n", true),
            ("ticket.años.1.n", true),
            ("a.b", true),
            ("x", true),
            ("ticket.años[2].n", false),
            ("ticket.años[-1]", false),
            ("ticket.txt", false),
            ("ticket.text.more", false),
            ("ticket.", false),
            ("ticket[", false),
            (".ticket", false),
            ("", false),
            ("[0]", false),
        ];
        for (path, found) in cases {
            assert_eq!(state.at(path).is_some(), found, "{path}");
        }
        assert!(State::text("hola").at("hola").is_none());
        assert_eq!(State::from_json("[[7]]").unwrap().at("[0][0]"), Some(&7.into()));
    }

    #[test]
    fn what_is_a_state() {
        for (json, sound) in [
            ("\"\"", true),
            ("{}", true),
            ("[]", true),
            ("null", false),
            ("3", false),
            ("true", false),
        ] {
            assert_eq!(State::from_json(json).is_ok(), sound, "{json}");
            assert_eq!(serde_json::from_str::<State>(json).is_ok(), sound, "{json}");
        }
        let (ab, ba) = (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#);
        let digest = |json| State::from_json(json).unwrap().digest();
        assert_ne!(digest(ab), digest(ba), "the order of keys is seen by the model");
        assert_eq!(digest(ab), digest(r#"{ "a": 1, "b": 2 }"#));
        assert_eq!(digest(ab), State::new(serde_json::from_str(ab).unwrap()).unwrap().digest());
        let cases = [
            (r#" { "\u00f1" : [ 1.50 , -0 , 1e2 ] } "#, r#"{"ñ":[1.50,-0,1e2]}"#),
            (r#"{"n":100000000000000000000001}"#, r#"{"n":100000000000000000000001}"#),
            (r#"["a \" b", "\n", {}]"#, r#"["a \" b","\n",{}]"#),
            (r#""a  b""#, "a  b"),
        ];
        for (json, shown) in cases {
            assert_eq!(State::from_json(json).unwrap().shown(), shown, "{json}");
        }
        assert_ne!(digest(r#"[1000000000000000000001]"#), digest(r#"[1000000000000000000002]"#));
    }
}
