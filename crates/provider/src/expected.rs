//! What an answer from elsewhere has to be: how it is asked for, and whether it is so.
//!
//! A service is asked by a JSON Schema of an object, the one form that all have; other shapes stand
//! in it as its member `answer`. What comes back is checked here, whatever the service promises.

use recinto_grammar::{Grammar, Grammars, Shape};
use recinto_remote::Schema;
use serde_json::{Map, Value, json};

use crate::error::{Error, Kind};

/// The member that holds an answer which is no object.
const MEMBER: &str = "answer";

/// A shape, ready to be asked for and checked.
pub(crate) struct Expected<'a> {
    shape: &'a Shape,
    /// Refuses what a model of this process would refuse too, and knows regular expressions and
    /// grammars.
    grammar: Grammar,
    /// Checks JSON in any order of its members, with any blanks.
    schema: Option<Schema>,
    form: Value,
    within: bool,
}

/// An answer that was checked.
#[derive(Debug, PartialEq)]
pub(crate) struct Checked {
    /// The text, in the shape; of one that was cut, what there is of it.
    pub text: String,
    /// Whether it is whole.
    pub complete: bool,
}

impl<'a> Expected<'a> {
    /// # Errors
    ///
    /// [`Kind::Shape`]: it is broken, or cannot be kept exactly.
    pub fn new(shape: &'a Shape, grammars: &Grammars) -> Result<Expected<'a>, Error> {
        let grammar = grammars.compile(shape)?;
        let (form, within) = form(shape);
        let schema = match shape {
            Shape::Schema(schema) => Some(Schema::new(schema).ok_or_else(|| {
                let what = "the schema cannot be checked: a reference in it leads nowhere";
                Error::new(Kind::Shape(recinto_grammar::Kind::Invalid), what)
            })?),
            _ => None,
        };
        Ok(Expected { shape, grammar, schema, form, within })
    }

    /// The schema that a service is asked by.
    pub fn form(&self) -> &Value {
        &self.form
    }

    /// Checks what came back; `cut` is whether it ended before its end.
    ///
    /// # Errors
    ///
    /// [`Kind::InvalidOutput`]: it is not of the shape. No word of it is in the error.
    pub fn check(&self, answer: &str, cut: bool) -> Result<Checked, Error> {
        let answer = answer.trim();
        let text = match self.within {
            true => self.inner(answer),
            false => Ok(answer.to_owned()),
        };
        let fault = match text.and_then(|text| self.whole(&text).map(|()| text)) {
            Ok(text) => return Ok(Checked { text, complete: true }),
            Err(fault) => fault,
        };
        match fault {
            // The beginning of what it could have been.
            Fault::Cut if cut => {
                let text = if self.within { String::new() } else { answer.to_owned() };
                Ok(Checked { text, complete: false })
            }
            Fault::Cut => Err(invalid("the answer ends before it is whole")),
            Fault::Wrong(what) => Err(invalid(&what)),
        }
    }

    /// The member that holds the answer.
    fn inner(&self, answer: &str) -> Result<String, Fault> {
        let value: Value = serde_json::from_str(answer).map_err(|error| match error.is_eof() {
            true => Fault::Cut,
            false => Fault::Wrong("the answer is no JSON".into()),
        })?;
        let wrong = || Fault::Wrong("the answer is not in the form that was asked for".into());
        let Value::Object(mut members) = value else { return Err(wrong()) };
        match (self.shape, members.remove(MEMBER), members.is_empty()) {
            (Shape::Schema(_), Some(value), true) => Ok(value.to_string()),
            (_, Some(Value::String(text)), true) => Ok(text),
            _ => Err(wrong()),
        }
    }

    fn whole(&self, text: &str) -> Result<(), Fault> {
        use recinto_remote::Invalid;
        match (self.shape, &self.schema) {
            (Shape::Labels(labels), _) if labels.iter().any(|label| label == text) => Ok(()),
            (Shape::Labels(_), _) => Err(Fault::Wrong("the answer is none of the labels".into())),
            (_, Some(schema)) => schema.check(text).map_err(|invalid| match invalid {
                Invalid::Json { cut: true } => Fault::Cut,
                Invalid::Json { cut: false } => Fault::Wrong("the answer is no JSON".into()),
                Invalid::Keyword(place) => {
                    Fault::Wrong(format!("the answer is not valid by the schema, at {place}"))
                }
            }),
            (_, None) if self.grammar.accepts(text.as_bytes()) => Ok(()),
            (Shape::Regex(_), None) => {
                Err(Fault::Wrong("the answer does not match the regular expression".into()))
            }
            _ => Err(Fault::Wrong("the answer is no text of the grammar".into())),
        }
    }
}

enum Fault {
    /// It ends too early.
    Cut,
    Wrong(String),
}

fn invalid(what: &str) -> Error {
    Error::new(Kind::InvalidOutput, what)
        .hint("nothing of it is shown; ask again, allow more tokens, or take another model")
}

/// The schema that a service is asked by, and whether the answer is a member of what it gives.
fn form(shape: &Shape) -> (Value, bool) {
    let member = |schema: Value| {
        json!({
            "type": "object", "properties": { MEMBER: schema }, "required": [MEMBER],
            "additionalProperties": false
        })
    };
    match shape {
        Shape::Labels(labels) => (member(json!({ "type": "string", "enum": labels })), true),
        Shape::Regex(regex) => {
            (member(json!({ "type": "string", "pattern": format!("^(?:{regex})$") })), true)
        }
        Shape::Lark(grammar) => {
            let about = format!("A text of this Lark grammar, whose start is `start`:\n{grammar}");
            (member(json!({ "type": "string", "description": about })), true)
        }
        Shape::Schema(Value::Object(members)) if is_object(members) => {
            let mut members = members.clone();
            members.entry("type").or_insert_with(|| "object".into());
            (Value::Object(members), false)
        }
        Shape::Schema(schema) => {
            let mut schema = schema.clone();
            // References within lead to the root, which the form is now.
            let moved: Vec<(String, Value)> = ["$defs", "definitions"]
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), schema.as_object_mut()?.remove(*key)?)))
                .collect();
            let mut form = member(schema);
            if let Value::Object(members) = &mut form {
                members.extend(moved);
            }
            (form, true)
        }
    }
}

/// Whether a schema is that of an object and of nothing else.
fn is_object(members: &Map<String, Value>) -> bool {
    match members.get("type") {
        Some(kind) => kind == "object",
        None => members.contains_key("properties") && !members.contains_key("anyOf"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_checked() {
        let grammars = Grammars::bytes().unwrap();
        let labels = Shape::Labels(vec!["sí".into(), "no".into()]);
        let year = json!({ "type": "integer", "minimum": 1900 });
        let object = Shape::Schema(json!({
            "type": "object", "properties": { "a": year, "b": { "enum": ["ñ"] } },
            "required": ["a"], "additionalProperties": false
        }));
        let list = Shape::Schema(json!({
            "type": "array", "items": { "$ref": "#/$defs/y" }, "$defs": { "y": year }
        }));
        let regex = Shape::Regex("[a-zñ]+[0-9]{2}".into());
        let lark = Shape::Lark("start: \"uno\" \"!\"*".into());
        let whole = |text: &str| Some((text.to_owned(), true));
        let part = |text: &str| Some((text.to_owned(), false));
        let cases = [
            ("a label", &labels, "{\"answer\":\"sí\"}", false, whole("sí")),
            ("none of them", &labels, "{\"answer\":\"quizá\"}", false, None),
            ("a label as it is", &labels, "sí", false, None),
            ("one member more", &labels, "{\"answer\":\"sí\",\"x\":1}", false, None),
            ("cut", &labels, "{\"answer\":\"s", true, part("")),
            ("ends early", &labels, "{\"answer\":\"s", false, None),
            ("an object", &object, "{\"a\": 2024}", false, whole("{\"a\": 2024}")),
            ("another order", &object, "\n{\"b\":\"ñ\",\"a\":2024}", false, {
                whole("{\"b\":\"ñ\",\"a\":2024}")
            }),
            ("too small", &object, "{\"a\":1}", false, None),
            ("too small and cut", &object, "{\"a\":1}", true, None),
            ("an object, cut", &object, "{\"a\":20", true, part("{\"a\":20")),
            ("words, cut", &object, "Sure! {\"a\":", true, None),
            ("in a fence", &object, "```json\n{\"a\":2024}\n```", false, None),
            ("a list", &list, "{\"answer\":[1900, 2000]}", false, whole("[1900,2000]")),
            ("a list of others", &list, "{\"answer\":[1]}", false, None),
            ("matches", &regex, "{\"answer\":\"año24\"}", false, whole("año24")),
            ("matches in part", &regex, "{\"answer\":\"año24 \"}", false, None),
            ("of the grammar", &lark, "{\"answer\":\"uno!!\"}", false, whole("uno!!")),
            ("not of it", &lark, "{\"answer\":\"dos\"}", false, None),
            ("a number", &lark, "{\"answer\":7}", false, None),
        ];
        for (name, shape, answer, cut, want) in cases {
            let expected =
                Expected::new(shape, &grammars).unwrap_or_else(|e| panic!("{name}: {e}"));
            let found = expected.check(answer, cut);
            if let Err(error) = &found {
                assert_eq!(error.kind(), &Kind::InvalidOutput, "{name}");
                let text = error.to_string();
                assert!(!text.contains("quizá") && !text.contains("Sure"), "{name}: {text}");
            }
            let found = found.ok().map(|checked| (checked.text, checked.complete));
            assert_eq!(found, want, "{name}");
        }
    }

    #[test]
    fn forms_that_are_asked() {
        let cases = [
            (Shape::Labels(vec!["sí".into()]), "/properties/answer/enum/0", json!("sí")),
            (Shape::Regex("a|b".into()), "/properties/answer/pattern", json!("^(?:a|b)$")),
            (Shape::Schema(json!({ "properties": {} })), "/type", json!("object")),
            (
                Shape::Schema(json!({ "$ref": "#/$defs/y", "$defs": { "y": {} } })),
                "/$defs/y",
                json!({}),
            ),
        ];
        for (shape, place, want) in cases {
            assert_eq!(form(&shape).0.pointer(place), Some(&want), "{shape:?}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_before_it_is_sent() {
        let grammars = Grammars::bytes().unwrap();
        let cases = [
            Shape::Schema(json!({ "type": "string", "format": "no-such-format" })),
            Shape::Regex("(".into()),
            Shape::Lark("start: start".into()),
            Shape::Labels(vec![]),
        ];
        for shape in cases {
            let error =
                Expected::new(&shape, &grammars).err().unwrap_or_else(|| panic!("{shape:?}"));
            assert!(matches!(error.kind(), Kind::Shape(_)), "{error}");
        }
    }
}
