//! What is said to services that decide, and how their answers are read. Two wires, a row each; one
//! parser for all of their variants: keys that are missing or unknown are passed over, and of what
//! is missing no number is made up.
//!
//! Sources: the vendors' public references of `POST /v1/systemone` and `POST /v1/decisions`.

use recinto_judge::{
    Ask, Evidence, Form, Model, Question, Reading, Shown, State, Truncation, Unavailable, Usage,
    shown,
};
use serde_json::{Map, Value, json};

/// How far the sum of probabilities may be from 1, and what each may be off more, being rounded to
/// two decimals.
const LOOSE: f64 = 0.05;
const ROUNDED: f64 = 0.005;
/// Longest name of a model that is believed.
const LONGEST_NAME: usize = 200;

/// How a service is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// A map of questions about a state: the hosted decision API and those that took it over.
    SystemOne,
    /// A list of questions about an input: OpenAI's Decisions.
    Decisions,
}

/// What a wire is made of.
struct Row {
    wire: Wire,
    name: &'static str,
    /// The request.
    body: fn(&str, &State, &[Shown<'_>]) -> Value,
    /// The answer to the question at a place, out of all of them.
    answer: for<'a> fn(&'a Value, usize) -> Option<&'a Value>,
    /// The word for a form in an answer.
    form: fn(Form) -> &'static str,
    /// The key of the probability of yes.
    yes: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        wire: Wire::SystemOne,
        name: "systemone",
        body: systemone,
        answer: |answers, at| answers.get(id(at)),
        form: Form::name,
        yes: "noul",
    },
    Row {
        wire: Wire::Decisions,
        name: "decisions",
        body: decisions,
        answer: of_list,
        form: word,
        yes: "probability",
    },
];

impl Wire {
    /// The wire called `name`.
    pub fn from_name(name: &str) -> Option<Wire> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.wire)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    fn row(self) -> &'static Row {
        let at = ROWS.iter().position(|row| row.wire == self).unwrap_or(0);
        &ROWS[at]
    }

    /// The request that asks `asked` about `state`.
    pub(super) fn body(self, model: &str, state: &State, asked: &[Shown<'_>]) -> Value {
        (self.row().body)(model, state, asked)
    }

    /// What an answer says to each of the questions that were asked.
    pub(super) fn readings(
        self,
        answer: &Value,
        asked: &[Shown<'_>],
    ) -> Vec<Result<Reading, Unavailable>> {
        let row = self.row();
        let none = Value::Null;
        let answers = answer.get("answers").unwrap_or(&none);
        let plain = |name: &&str| {
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
        };
        let name = answer.get("model").and_then(Value::as_str).filter(plain);
        let model = name.map(|name| Model::Hosted { name: name.to_owned() });
        // All of it counts once, with the first of them that was answered.
        let mut usage = usage(answer);
        let read = |(at, asked): (usize, &Shown<'_>)| {
            let said = (row.answer)(answers, at).ok_or(Unavailable::NoAnswer)?;
            let p = probabilities(row, said, asked)?;
            Ok(Reading {
                evidence: Evidence::Probabilities(p),
                mass: None,
                truncation: Truncation::default(),
                model: model.clone(),
                usage: std::mem::take(&mut usage),
            })
        };
        asked.iter().enumerate().map(read).collect()
    }
}

/// The id of the question at a place, as it is sent.
fn id(at: usize) -> String {
    format!("q{}", at + 1)
}

/// The question with its options in the order that they are shown in.
fn ordered(asked: &Shown<'_>) -> Question {
    let mut question = asked.question.clone();
    if let Ask::Choose { options, or_nothing } = &mut question.ask {
        if std::mem::take(or_nothing) {
            let (none, text) =
                (recinto_judge::question::NOTHING, recinto_judge::question::NOTHING_TEXT);
            options.push(recinto_judge::Choice::new(none, text));
        }
        let ordered = asked.order.iter().filter_map(|at| options.get(*at).cloned()).collect();
        *options = ordered;
    }
    question
}

fn systemone(model: &str, state: &State, asked: &[Shown<'_>]) -> Value {
    let one = |(at, asked)| (id(at), ordered(asked).to_hosted());
    let questions: Map<String, Value> = asked.iter().enumerate().map(one).collect();
    json!({ "model": model, "state": state.value(), "questions": questions })
}

fn decisions(model: &str, state: &State, asked: &[Shown<'_>]) -> Value {
    let one = |(at, asked): (usize, &Shown<'_>)| {
        let question = ordered(asked);
        let mut out = Map::new();
        out.insert("type".into(), word(question.form()).into());
        out.insert("name".into(), id(at).into());
        out.insert("instructions".into(), instructions(&question).into());
        let described = |key: &str, label: Value, text: Option<&Value>| {
            let mut row = Map::from_iter([(key.to_owned(), label)]);
            if let Some(text) = text.map(shown).filter(|text| !text.is_empty()) {
                row.insert("description".into(), text.into());
            }
            Value::Object(row)
        };
        match &question.ask {
            Ask::Whether { .. } => {}
            Ask::Choose { options, .. } => {
                let rows = options.iter().map(|option| {
                    let label = option.label.as_str().into();
                    described("value", label, option.description.as_ref())
                });
                out.insert("choices".into(), rows.collect());
            }
            Ask::Rate { levels } => {
                let rows = levels
                    .iter()
                    .enumerate()
                    .map(|(level, text)| described("label", level.to_string().into(), Some(text)));
                out.insert("levels".into(), rows.collect());
            }
        }
        Value::Object(out)
    };
    let questions: Vec<Value> = asked.iter().enumerate().map(one).collect();
    json!({ "model": model, "input": shown(state.value()), "questions": questions })
}

/// The words for forms where yes or no is a predicate.
fn word(form: Form) -> &'static str {
    match form {
        Form::Whether => "predicate",
        Form::Choose => "choice",
        Form::Rate => "score",
    }
}

/// The instructions, with what yes and no mean where there is no other place for it.
fn instructions(question: &Question) -> String {
    let mut text = question.instructions.as_ref().map(shown).unwrap_or_default();
    if let Ask::Whether { yes, no, .. } = &question.ask {
        for (word, meaning) in [("Yes", yes), ("No", no)] {
            if let Some(meaning) = meaning {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}{word}: {}", shown(meaning)));
            }
        }
    }
    text
}

/// The answer with the name of a question; where answers have no names, the one in its place.
fn of_list(answers: &Value, at: usize) -> Option<&Value> {
    let answers = answers.as_array()?;
    let name = |answer: &&Value| answer.get("name").and_then(Value::as_str) == Some(&id(at));
    answers.iter().find(name).or_else(|| {
        let unnamed = |answer: &Value| answer.get("name").is_none_or(Value::is_null);
        answers.get(at).filter(|_| answers.iter().all(unnamed))
    })
}

/// One probability a slot.
fn probabilities(row: &Row, said: &Value, asked: &Shown<'_>) -> Result<Vec<f64>, Unavailable> {
    let question = asked.question;
    let form = said.get("type").and_then(Value::as_str);
    if form == Some("refusal") {
        return Err(Unavailable::Refused);
    }
    // A type that nobody knows here is no answer, and no fault of the others.
    if form.is_some_and(|form| form != (row.form)(question.form())) {
        return Err(Unavailable::NoAnswer);
    }
    let number = |value: &Value| value.as_f64().filter(|p| (0.0..=1.0).contains(p));
    if question.form() == Form::Whether {
        let yes = said.get(row.yes).filter(|p| !p.is_null()).ok_or(Unavailable::NoAnswer)?;
        let yes = number(yes).ok_or(Unavailable::NotANumber)?;
        let p = [1.0 - yes, yes];
        return Ok(asked.order.iter().filter_map(|at| p.get(*at).copied()).collect());
    }
    let all = said.get("probabilities").filter(|p| !p.is_null()).ok_or(Unavailable::NoAnswer)?;
    let labels = question.labels();
    // A label without a number has none: nothing is taken for 0.
    let of = |label: &String| -> Result<f64, Unavailable> {
        let found = match all {
            Value::Object(map) => map.get(label),
            Value::Array(rows) => {
                rows.iter().find(|row| is_of(row, label)).and_then(|row| row.get("probability"))
            }
            _ => None,
        };
        found.and_then(number).ok_or(Unavailable::NotANumber)
    };
    let p: Vec<f64> = labels.iter().map(of).collect::<Result<_, _>>()?;
    let sum: f64 = p.iter().sum();
    let room = LOOSE + ROUNDED * p.len() as f64;
    if (sum - 1.0).abs() > room || sum <= 0.0 {
        return Err(Unavailable::NotANumber);
    }
    if !agrees(said, &labels, &p, room) {
        return Err(Unavailable::NotANumber);
    }
    Ok(asked.order.iter().filter_map(|at| p.get(*at).copied()).collect())
}

/// Whether a row of a list is about this label; levels are told by their places.
fn is_of(row: &Value, label: &str) -> bool {
    match row.get("value") {
        Some(Value::String(value)) => value == label,
        Some(Value::Number(value)) => value.to_string() == label,
        Some(Value::Bool(value)) => value.to_string() == label,
        _ => row.get("label").and_then(Value::as_str) == Some(label),
    }
}

/// Whether the value that is told is the one that follows from the probabilities, as far as rounded
/// numbers can say; what is not told contradicts nothing.
fn agrees(said: &Value, labels: &[String], p: &[f64], room: f64) -> bool {
    let best = p.iter().copied().fold(0.0, f64::max);
    let choice = said.get("choice").and_then(Value::as_str);
    let first = choice.is_none_or(|choice| {
        let at = labels.iter().position(|label| label == choice);
        at.is_some_and(|at| p[at] >= best - 2.0 * ROUNDED)
    });
    let expected: f64 = p.iter().enumerate().map(|(level, p)| level as f64 * p).sum();
    let near = |score: f64| (score - expected).abs() <= room * labels.len() as f64;
    first && said.get("score").and_then(Value::as_f64).is_none_or(near)
}

/// Tokens that an answer tells of; 0 where it does not.
fn usage(answer: &Value) -> Usage {
    let count = |names: [&str; 2]| {
        let usage = answer.get("usage");
        names.iter().find_map(|name| usage?.get(*name)?.as_u64()).unwrap_or(0)
    };
    Usage {
        input_tokens: count(["input_tokens", "prompt_tokens"]),
        output_tokens: count(["output_tokens", "completion_tokens"]),
    }
}

#[cfg(test)]
mod tests;
