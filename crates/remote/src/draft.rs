//! An answer in the making: what the wires fill, and what becomes of it at the end.

use std::{mem::take, ops::ControlFlow};

use recinto_engine::{Piece, Sink, ToolCall, Usage};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use crate::{answer::Finish, plan::FORM_TOOL, sse::Malformed};

/// Most calls of tools in one answer.
const MOST_CALLS: usize = 1024;

/// What is wrong with what came.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not what this wire sends; which part.
    Malformed(&'static str),
    /// The service tells of an error instead.
    Told(Told),
}

impl From<Malformed> for Fault {
    fn from(_: Malformed) -> Fault {
        Fault::Malformed("the stream of events")
    }
}

/// An error as a service tells it. Its message quotes what was sent: it is looked at, never shown.
#[derive(Default)]
pub(crate) struct Told {
    pub kind: Option<String>,
    pub code: Option<String>,
    pub param: Option<String>,
    pub message: Zeroizing<String>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

impl Told {
    /// The error that `value` holds under `error`, or is.
    pub fn read(value: &Value) -> Told {
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let word = |name: &str| match error.get(name) {
            Some(Value::String(word)) => Some(word.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        // Some services send the sentence alone.
        let message = error.as_str().map(str::to_owned).or_else(|| word("message"));
        Told {
            kind: word("type"),
            code: word("code"),
            param: word("param"),
            message: Zeroizing::new(message.unwrap_or_default()),
        }
    }
}

/// One token and how likely it was, in the service's own tokens.
#[derive(Clone, PartialEq)]
pub struct Token {
    /// Its text; part of a character may be shown by a mark.
    pub text: String,
    /// Natural logarithm of its probability, as the service tells it.
    pub logprob: f64,
    /// The likeliest tokens in its place.
    pub top: Vec<(String, f64)>,
}

impl Zeroize for Token {
    fn zeroize(&mut self) {
        self.text.zeroize();
        self.top.iter_mut().for_each(|(text, _)| text.zeroize());
    }
}

/// A call whose arguments still come.
#[derive(Default)]
struct Part {
    index: u64,
    id: Option<String>,
    name: String,
    arguments: Zeroizing<String>,
}

/// What has come so far. Texts are wiped when it is dropped.
pub(crate) struct Draft<'s, 'k> {
    sink: &'s mut Sink<'k>,
    pub text: Zeroizing<String>,
    pub reasoning: Zeroizing<String>,
    parts: Vec<Part>,
    pub tokens: Vec<Token>,
    pub finish: Option<Finish>,
    /// The stop text that the service names.
    pub stop_text: Option<Zeroizing<String>>,
    /// The model or the service declined.
    pub refused: bool,
    pub usage: Usage,
    pub id: Option<String>,
    pub model: Option<String>,
    pub fingerprint: Option<String>,
    /// The stream's own end was seen.
    pub ended: bool,
    /// The sink said stop.
    pub broken: bool,
    /// Something of the answer came.
    pub begun: bool,
    /// The arguments of the form's tool are the answer.
    form: bool,
}

impl<'s, 'k> Draft<'s, 'k> {
    pub fn new(sink: &'s mut Sink<'k>, form: bool) -> Draft<'s, 'k> {
        Draft {
            sink,
            text: Zeroizing::default(),
            reasoning: Zeroizing::default(),
            parts: Vec::new(),
            tokens: Vec::new(),
            finish: None,
            stop_text: None,
            refused: false,
            usage: Usage::default(),
            id: None,
            model: None,
            fingerprint: None,
            ended: false,
            broken: false,
            begun: false,
            form,
        }
    }

    /// More of the answer.
    pub fn say(&mut self, text: &str) {
        if !text.is_empty() && !self.broken {
            self.begun = true;
            self.text.push_str(text);
            self.broken = (self.sink)(Piece::Text(text)) == ControlFlow::Break(());
        }
    }

    /// More of the thought before it.
    pub fn think(&mut self, text: &str) {
        if !text.is_empty() && !self.broken {
            self.begun = true;
            self.reasoning.push_str(text);
            self.broken = (self.sink)(Piece::Reasoning(text)) == ControlFlow::Break(());
        }
    }

    /// A call begins, or more of its head comes.
    pub fn call(&mut self, index: u64, id: Option<&str>, name: Option<&str>) -> Result<(), Fault> {
        self.begun = true;
        let at = match self.parts.iter().position(|part| part.index == index) {
            Some(at) => at,
            None if self.parts.len() >= MOST_CALLS => {
                return Err(Fault::Malformed("more calls of tools than there can be"));
            }
            None => {
                self.parts.push(Part { index, ..Part::default() });
                self.parts.len() - 1
            }
        };
        let part = &mut self.parts[at];
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            part.id = Some(id.to_owned());
        }
        if let Some(name) = name {
            part.name.push_str(name);
        }
        Ok(())
    }

    /// More of the arguments of a call; those of the form are the answer.
    pub fn arguments(&mut self, index: u64, json: &str) -> Result<(), Fault> {
        let Some(part) = self.parts.iter_mut().find(|part| part.index == index) else {
            return Err(Fault::Malformed("arguments of a call that did not begin"));
        };
        if self.form && part.name == FORM_TOOL {
            self.say(json);
        } else {
            part.arguments.push_str(json);
        }
        Ok(())
    }

    /// The calls, whole; whether the last one was cut.
    pub fn calls(&mut self) -> Result<(Vec<ToolCall>, bool), Fault> {
        let cut = self.finish == Some(Finish::Length) || self.broken;
        let mut out = Vec::new();
        let mut lost = false;
        let form = self.form;
        for part in self.parts.iter_mut().filter(|part| !(form && part.name == FORM_TOOL)) {
            let text = if part.arguments.trim().is_empty() { "{}" } else { &*part.arguments };
            match serde_json::from_str::<Value>(text) {
                Ok(arguments) if arguments.is_object() && !part.name.is_empty() => {
                    out.push(ToolCall {
                        id: take(&mut part.id),
                        name: take(&mut part.name),
                        arguments,
                    });
                }
                _ if cut => lost = true,
                _ => return Err(Fault::Malformed("a call of a tool")),
            }
        }
        Ok((out, lost))
    }

    /// Whether a tool is called whose result it waits for.
    pub fn waits(&self) -> bool {
        self.parts.iter().any(|part| !(self.form && part.name == FORM_TOOL))
    }

    /// Whether the form's tool was called.
    pub fn has_form(&self) -> bool {
        self.form && self.parts.iter().any(|part| part.name == FORM_TOOL)
    }
}

/// The text under `name`: `None` where there is nothing, a fault where it is no text.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Result<Option<&'a str>, Fault> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Fault::Malformed("a field that has to be a text")),
    }
}

/// The list under `name`; empty where there is nothing.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], Fault> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Fault::Malformed("a field that has to be a list")),
    }
}

/// The count at `path`; 0 where there is nothing.
pub(crate) fn count(value: &Value, path: &str) -> usize {
    value.pointer(path).and_then(Value::as_u64).map_or(0, |n| usize::try_from(n).unwrap_or(0))
}

/// A plain text of the service's at `name`, for ids and names of models.
pub(crate) fn plain(value: &Value, name: &str) -> Option<String> {
    let word = value.get(name)?.as_str()?;
    let fits = word.len() <= 200 && word.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| word.to_owned())
}

/// Tokens in the form that both of OpenAI's wires have.
pub(crate) fn tokens(items: &[Value], draft: &mut Draft<'_, '_>) -> Result<(), Fault> {
    let fault = || Fault::Malformed("log-probabilities");
    let one = |item: &Value| {
        let text = item.get("token").and_then(Value::as_str).ok_or_else(fault)?;
        // Minus infinity is not in JSON; services send a large negative number instead.
        let logprob = item.get("logprob").and_then(Value::as_f64).ok_or_else(fault)?;
        Ok::<_, Fault>((text.to_owned(), logprob))
    };
    for item in items {
        let (text, logprob) = one(item)?;
        let top = list(item, "top_logprobs")?.iter().map(one).collect::<Result<_, _>>()?;
        draft.tokens.push(Token { text, logprob, top });
    }
    Ok(())
}

/// Whether `phrase`, in small letters, stands in a service's sentence.
pub(crate) fn is_phrase(message: &str, phrase: &str) -> bool {
    let lower = zeroize::Zeroizing::new(message.to_ascii_lowercase());
    lower.contains(phrase)
}
