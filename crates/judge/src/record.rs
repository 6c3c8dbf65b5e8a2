//! One line of a file of records: a state, and where somebody labelled it, what is right.

use recinto_receipt::sha256;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{Ask, Error, Form, Kind, Question, Questions, State, json, question::NOTHING};

/// A record: what is judged, and perhaps its own name, its own questions and the right answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What its owner calls it; text or a whole number.
    pub id: Option<String>,
    /// What is judged.
    pub state: State,
    /// Questions of its own, instead of those of all records.
    pub questions: Option<Questions>,
    /// The right answers by the ids of questions; see [`Question::place_of`].
    pub labels: Vec<(String, Value)>,
    /// What it belongs to, such as a customer: a split never divides a group.
    pub group: Option<String>,
}

/// The keys of a record.
const KEYS: [&str; 5] = ["state", "id", "questions", "labels", "group"];

fn refuse<T>(what: &str, hint: &str) -> Result<T, Error> {
    Err(Error::new(Kind::Rows, what).with_hint(hint))
}

/// The state of a record as it is written.
fn raw(line: &str) -> Result<&str, Error> {
    #[derive(Deserialize)]
    struct Written<'a> {
        #[serde(borrow)]
        state: &'a RawValue,
    }
    let written: Written<'_> =
        serde_json::from_str(line).map_err(|e| Error::json("a record", &e))?;
    Ok(written.state.get())
}

impl Record {
    /// Reads one line of JSON; an unknown key is an error.
    pub fn from_json(line: &str) -> Result<Record, Error> {
        let value = json::parse(line, "a record")?;
        let Value::Object(mut map) = value else {
            return refuse("a record that is no map", "one map a line, with a state");
        };
        if !map.keys().all(|key| KEYS.contains(&key.as_str())) {
            return refuse("a record with an unknown key", &format!("known: {}", KEYS.join(", ")));
        }
        let mut take = |key: &str| map.remove(key).filter(|value| !value.is_null());
        let Some(state) = take("state") else {
            return refuse("a record without a state", "text, a map or a list under `state`");
        };
        let name = |value: Option<Value>, key: &str| match value {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(n)) if n.is_i64() || n.is_u64() => Ok(Some(n.to_string())),
            Some(_) => refuse(&format!("{key} of a record"), "text or a whole number"),
        };
        let labels = match take("labels") {
            None => Map::new(),
            Some(Value::Object(labels)) => labels,
            Some(_) => return refuse("labels that are no map", "a map of question to answer"),
        };
        Ok(Record {
            id: name(take("id"), "id")?,
            group: name(take("group"), "group")?,
            questions: take("questions").map(|value| Questions::from_wire(&value)).transpose()?,
            labels: labels.into_iter().collect(),
            // A value does not know how its numbers were written.
            state: match state {
                Value::String(text) => State::text(text),
                value => State::written(value, raw(line)?)?,
            },
        })
    }

    /// Its group as a number for [`crate::Row::in_group`]; 0 for none.
    pub fn group_number(&self) -> u64 {
        let Some(group) = &self.group else { return 0 };
        let digest = sha256(group.as_bytes());
        let bytes = digest.as_bytes().iter().take(8);
        bytes.fold(0, |number: u64, byte| number << 8 | u64::from(*byte)).max(1)
    }
}

impl Question {
    /// The index of the option that `label` names, in the declared order: true or false, yes or
    /// no; a choice's label, null for nothing; a level counted from 0. Text is as good as a number
    /// or a boolean.
    pub fn place_of(&self, label: &Value) -> Result<usize, Error> {
        let text = match label {
            Value::String(text) => text.clone(),
            Value::Null => NOTHING.into(),
            other => other.to_string(),
        };
        let (found, hint) = match &self.ask {
            Ask::Whether { words, .. } => {
                let own = words.as_ref().and_then(|words| words.iter().position(|w| *w == text));
                let known = [["no", "false"], ["yes", "true"]];
                let known = known.iter().position(|words| words.contains(&text.as_str()));
                (own.or(known), "yes or no".to_owned())
            }
            Ask::Choose { or_nothing, .. } => {
                let null = label.is_null() && !or_nothing;
                let labels = self.labels();
                let found = labels.iter().position(|other| *other == text).filter(|_| !null);
                (found, "one of the labels, byte for byte; null for nothing".into())
            }
            Ask::Rate { levels } => {
                let level = text.parse().ok().filter(|level| *level < levels.len());
                (level, format!("a level from 0 to {}", levels.len().saturating_sub(1)))
            }
        };
        // A label can be somebody's word: it is not repeated.
        let what = || format!("an answer that a {} cannot have", self.form().name());
        found.ok_or_else(|| Error::new(Kind::Rows, what()).with_hint(hint))
    }
}

impl Form {
    /// What option `index` is called before people: yes and no, not true and false.
    pub fn word(self, index: usize, label: &str) -> String {
        match (self, index) {
            (Form::Whether, 0) => "no".into(),
            (Form::Whether, _) => "yes".into(),
            _ => label.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Choice;

    #[test]
    fn records() {
        let whole = r#"{"id":7,"state":{"año":"ñ"},"group":"cliente 1","labels":{"q":"sí"},
            "questions":{"q":{"type":"noul","instructions":"¿?"}}}"#;
        let record = Record::from_json(whole).unwrap();
        assert_eq!(record.id.as_deref(), Some("7"));
        assert_eq!(record.questions.as_ref().unwrap().len(), 1);
        assert_eq!(record.labels, [("q".to_owned(), json!("sí"))]);
        let written = r#"{"state":{"n": 100000000000000000000001, "m":-0}}"#;
        let state = Record::from_json(written).unwrap().state;
        assert_eq!(state.shown(), r#"{"n":100000000000000000000001,"m":-0}"#);
        let other = Record { group: Some("cliente 2".into()), ..record.clone() };
        assert!(record.group_number() > 0 && record.group_number() != other.group_number());
        assert_eq!(Record::from_json(r#"{"state":"x"}"#).unwrap().group_number(), 0);
        let cases = [
            ("no json", "x", "not a record"),
            ("a key twice", r#"{"state":"a","state":"secreto"}"#, "a key twice"),
            ("no map", "[]", "no map"),
            ("no state", r#"{"id":"a"}"#, "without a state"),
            ("null", r#"{"state":null}"#, "without a state"),
            ("number", r#"{"state":3}"#, "null, a number"),
            ("unknown", r#"{"state":"a","secreto":1}"#, "unknown key"),
            ("id", r#"{"state":"a","id":[1]}"#, "id of a record"),
            ("labels", r#"{"state":"a","labels":["secreto"]}"#, "labels"),
            ("questions", r#"{"state":"a","questions":{}}"#, "no question"),
        ];
        for (name, line, part) in cases {
            let error = Record::from_json(line).expect_err(name).to_string();
            assert!(error.contains(part), "{name}: {error}");
            assert!(!error.contains("secreto"), "{name}: {error}");
        }
    }

    #[test]
    fn places() {
        let whether = Question::whether("¿Sí?");
        let words = Question {
            ask: Ask::Whether { yes: None, no: None, words: Some(["jamás".into(), "sí".into()]) },
            ..whether.clone()
        };
        let choose = Question::choose("x", [Choice::plain("año"), Choice::plain("2")]);
        let nothing = choose.clone().or_nothing();
        let rate = Question::rate("x", ["a", "b", "c"]);
        let cases = [
            (&whether, json!("yes"), Some(1)),
            (&whether, json!(false), Some(0)),
            (&whether, json!("true"), Some(1)),
            (&whether, json!("Yes"), None),
            (&whether, json!(1), None),
            (&words, json!("sí"), Some(1)),
            (&words, json!("no"), Some(0)),
            (&choose, json!("año"), Some(0)),
            (&choose, json!(2), Some(1)),
            (&choose, json!("ano"), None),
            (&choose, json!(null), None),
            (&choose, json!("none"), None),
            (&nothing, json!(null), Some(2)),
            (&nothing, json!("none"), Some(2)),
            (&rate, json!(2), Some(2)),
            (&rate, json!("0"), Some(0)),
            (&rate, json!(3), None),
            (&rate, json!(-1), None),
            (&rate, json!(1.5), None),
        ];
        for (question, label, want) in cases {
            assert_eq!(question.place_of(&label).ok(), want, "{label} of {question:?}");
        }
        let error = whether.place_of(&json!("mi secreto")).unwrap_err().to_string();
        assert!(!error.contains("secreto"), "{error}");
    }
}
