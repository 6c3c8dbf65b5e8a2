//! What Ollama keeps beside the weights: template, system message, parameters, licences.

use recinto_receipt::{Digest, of_files};
use serde_json::Value;

/// The layers of a model, read and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// The chat template, in the language of Go's `text/template`.
    pub template: Option<String>,
    /// Instructions for a conversation that brings none.
    pub system: Option<String>,
    /// How answers are made, where the user says nothing else.
    pub params: Params,
    /// The texts of licences.
    pub licences: Vec<String>,
    /// A conversation that stands before the user's.
    pub messages: Vec<Example>,
    /// Kind and digest of each layer of `system`, `params` and `messages`, in their order: what
    /// changes answers and is in no model file.
    pub kept: Vec<(&'static str, Digest)>,
    /// Kinds of layers that are not carried out, each with how many there are.
    pub unsupported: Vec<(String, usize)>,
}

impl Layers {
    /// SHA-256 of the layer of this kind, one of those in [`Layers::kept`]; of several what
    /// [`of_files`] makes of their digests, `None` where there is none.
    pub fn digest(&self, kind: &str) -> Option<Digest> {
        let same = self.kept.iter().filter(|layer| layer.0 == kind);
        let digests: Vec<Digest> = same.map(|layer| layer.1).collect();
        (!digests.is_empty()).then(|| of_files(&digests))
    }
}

// Numbers of parameters are read from JSON, which has no NaN.
impl Eq for Layers {}

/// One message of a conversation that a store brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// What it says.
    pub content: String,
}

/// How answers are made: Ollama's parameters that have a meaning here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// Texts that end an answer.
    pub stop: Vec<String>,
    /// 0 takes the likeliest token.
    pub temperature: Option<f64>,
    /// Draw among so many; 0 is off.
    pub top_k: Option<i64>,
    /// Draw among the likeliest that reach this sum.
    pub top_p: Option<f64>,
    /// Draw among those at least this fraction as likely as the likeliest.
    pub min_p: Option<f64>,
    /// Factor against repeated tokens.
    pub repeat_penalty: Option<f64>,
    /// How many recent tokens penalties look at; -1 is all of them.
    pub repeat_last_n: Option<i64>,
    /// Taken once from tokens that appeared.
    pub presence_penalty: Option<f64>,
    /// Taken for each time a token appeared.
    pub frequency_penalty: Option<f64>,
    /// Fixes the draws; negative ones do not.
    pub seed: Option<i64>,
    /// Positions of a session.
    pub num_ctx: Option<i64>,
    /// Most tokens of an answer; negative is without a limit.
    pub num_predict: Option<i64>,
    /// Names of parameters without a meaning here, sorted.
    pub others: Vec<String>,
    /// Names of parameters whose value has the wrong type, sorted.
    pub unusable: Vec<String>,
}

impl Params {
    /// Adds the parameters in a layer; an error says what is wrong with its text.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|e| not_json(&e))?;
        let Value::Object(pairs) = value else { return Err("it is no JSON object".into()) };
        for (name, value) in pairs {
            let usable = match name.as_str() {
                "stop" => stops(&value).map(|texts| self.stop = texts),
                "temperature" => float(&value, &mut self.temperature),
                "top_k" => whole(&value, &mut self.top_k),
                "top_p" => float(&value, &mut self.top_p),
                "min_p" => float(&value, &mut self.min_p),
                "repeat_penalty" => float(&value, &mut self.repeat_penalty),
                "repeat_last_n" => whole(&value, &mut self.repeat_last_n),
                "presence_penalty" => float(&value, &mut self.presence_penalty),
                "frequency_penalty" => float(&value, &mut self.frequency_penalty),
                "seed" => whole(&value, &mut self.seed),
                "num_ctx" => whole(&value, &mut self.num_ctx),
                "num_predict" => whole(&value, &mut self.num_predict),
                _ => {
                    self.others.push(plain(&name));
                    continue;
                }
            };
            if usable.is_none() {
                self.unusable.push(name);
            }
        }
        for names in [&mut self.others, &mut self.unusable] {
            names.sort();
            names.dedup();
        }
        Ok(())
    }
}

/// What serde_json says, without the text that it read.
pub(crate) fn not_json(error: &serde_json::Error) -> String {
    format!("no JSON (line {}, column {})", error.line(), error.column())
}

/// A name from a file, short and on one line.
pub(crate) fn plain(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

fn float(value: &Value, to: &mut Option<f64>) -> Option<()> {
    *to = Some(value.as_f64().filter(|number| number.is_finite())?);
    Some(())
}

/// A whole number; `40.0` is one.
fn whole(value: &Value, to: &mut Option<i64>) -> Option<()> {
    let exact = |number: &f64| number.fract() == 0.0 && number.abs() < 9e15;
    *to = Some(value.as_i64().or_else(|| value.as_f64().filter(exact).map(|n| n as i64))?);
    Some(())
}

/// One text or a list of them; empty ones end nothing.
fn stops(value: &Value) -> Option<Vec<String>> {
    let texts: Option<Vec<String>> = match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) => list.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    texts.map(|texts| texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// The messages in a layer; an error says what is wrong with its text.
pub(crate) fn messages(bytes: &[u8]) -> Result<Vec<Example>, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| not_json(&e))?;
    let list = value.as_array().ok_or("it is no JSON list")?;
    let example = |value: &Value| {
        let role =
            value["role"].as_str().filter(|r| ["system", "user", "assistant"].contains(r))?;
        Some(Example { role: role.into(), content: value["content"].as_str()?.into() })
    };
    list.iter()
        .map(|v| example(v).ok_or_else(|| "a message without role and content".into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_typed() {
        let text = r#"{"stop":["<|im_end|>","¡fin!",""],"temperature":0.6,"top_k":20,"top_p":0.95,
            "min_p":0,"repeat_penalty":1.1,"repeat_last_n":-1,"presence_penalty":0.5,"seed":42.0,
            "frequency_penalty":-1,"num_ctx":4096,"num_predict":-1,"mirostat":2,"num_gpu":"todo"}"#;
        let mut params = Params::default();
        params.add(text.as_bytes()).unwrap();
        let want = Params {
            stop: vec!["<|im_end|>".into(), "¡fin!".into()],
            temperature: Some(0.6),
            top_k: Some(20),
            top_p: Some(0.95),
            min_p: Some(0.0),
            repeat_penalty: Some(1.1),
            repeat_last_n: Some(-1),
            presence_penalty: Some(0.5),
            frequency_penalty: Some(-1.0),
            seed: Some(42),
            num_ctx: Some(4096),
            num_predict: Some(-1),
            others: vec!["mirostat".into(), "num_gpu".into()],
            unusable: vec![],
        };
        assert_eq!(params, want);
    }

    #[test]
    fn what_parameters_cannot_be() {
        let cases: &[(&str, &str, &[&str])] = &[
            ("text for a number", r#"{"temperature":"0.6"}"#, &["temperature"]),
            ("half a token", r#"{"top_k":1.5}"#, &["top_k"]),
            ("far too much", r#"{"num_ctx":1e300,"seed":null}"#, &["num_ctx", "seed"]),
            ("stop of numbers", r#"{"stop":[1]}"#, &["stop"]),
        ];
        for (name, text, unusable) in cases {
            let mut params = Params::default();
            params.add(text.as_bytes()).unwrap();
            assert_eq!(params.unusable, *unusable, "{name}");
        }
        let mut one = Params::default();
        one.add(br#"{"stop":"fin"}"#).unwrap();
        assert_eq!(one.stop, ["fin"]);
        for text in ["", "[]", "{", "1", &"[".repeat(10_000)] {
            assert!(Params::default().add(text.as_bytes()).is_err(), "{text:.9}");
        }
    }

    #[test]
    fn conversations() {
        let good = messages(r#"[{"role":"user","content":"¿Sí?"}]"#.as_bytes()).unwrap();
        assert_eq!(good, [Example { role: "user".into(), content: "¿Sí?".into() }]);
        for text in ["{}", r#"[{"role":"tool","content":""}]"#, r#"[{"role":"user"}]"#, "[1]"] {
            assert!(messages(text.as_bytes()).is_err(), "{text}");
        }
    }
}
