//! A value of a JSON Schema, or of a type of the caller's.

use recinto_engine::Stop;
use recinto_provider::{Provider, Reply, Shape};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, error::Category};

use crate::{
    error::{Error, Kind},
    input::Input,
    outcome::{self, Answer, Outcome},
    typed, wording,
};

/// Extracts from `input` a value that is valid by `schema` (draft 2020-12; what of it can be kept
/// is in `docs/json-schema.md`, and the rest is refused by name).
///
/// # Errors
///
/// A schema that cannot be kept; [`Kind::Unreadable`] for a number beyond a float's range or more
/// than 128 levels; [`Kind::Unable`] where the provider cannot; whatever it meets otherwise.
pub fn extract(
    provider: &dyn Provider,
    input: &Input,
    schema: &Value,
    stop: &Stop,
) -> Result<Outcome<Answer<Value>>, Error> {
    shaped(provider, input, schema, stop)?.then(|reply| read(provider, reply))
}

/// Extracts from `input` a value of `T`, by its own schema ([`schema_of`](crate::schema_of)).
///
/// # Errors
///
/// As [`extract`]; [`Kind::Unreadable`] where `T` wants more than its schema says.
pub fn extract_as<T: DeserializeOwned + JsonSchema>(
    provider: &dyn Provider,
    input: &Input,
    stop: &Stop,
) -> Result<Outcome<Answer<T>>, Error> {
    let schema = typed::schema_of::<T>()?;
    shaped(provider, input, &schema, stop)?.then(|reply| read(provider, reply))
}

fn shaped(
    provider: &dyn Provider,
    input: &Input,
    schema: &Value,
    stop: &Stop,
) -> Result<Outcome<Reply>, Error> {
    outcome::needs(provider, provider.abilities().schemas, "keep an answer to a JSON Schema")?;
    let system = wording::extract(input, schema);
    outcome::ask(provider, &input.turn(system, Some(Shape::Schema(schema.clone()))), stop)
}

fn read<T: DeserializeOwned>(provider: &dyn Provider, reply: Reply) -> Result<Answer<T>, Error> {
    let value = serde_json::from_str(&reply.text).map_err(|fault| match fault.classify() {
        // Valid JSON that serde_json does not hold has a syntax error too: depth and range.
        Category::Syntax if !beyond(&fault) => outcome::unkept(provider),
        _ => {
            // Its own words would quote the answer.
            let (line, column) = (fault.line(), fault.column());
            let what = format!("the value cannot be read, at line {line}, column {column}");
            Error::new(Kind::Unreadable, what)
                .hint("it keeps to its schema; the type that reads it wants more, or less")
        }
    })?;
    Ok(Answer { value, reply })
}

/// Whether JSON is refused for its size alone.
fn beyond(fault: &serde_json::Error) -> bool {
    let text = fault.to_string();
    text.starts_with("number out of range") || text.starts_with("recursion limit")
}
