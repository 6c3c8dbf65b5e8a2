//! Tasks over a file of records: one envelope a line on stdout, in the order of the records. A
//! record that fails is told in its place and does not stop the others.

use std::path::Path;

use recinto_chat::Role;
use recinto_engine::Message;
use recinto_judge::json;
use serde::Serialize;
use serde_json::Value;

use crate::{
    envelope,
    exit::Exit,
    failure::{Failure, Told},
    interrupt::Interrupt,
    lines::Lines,
    options,
    task::Ready,
};

/// The keys of a record.
const KEYS: [&str; 4] = ["text", "id", "data_labels", "identity"];

/// What is asked about, and what its owner says of it.
pub struct Record {
    text: Message,
    id: Option<String>,
    data_labels: Vec<String>,
    identity: Option<String>,
}

/// Which record an envelope is about; nothing where there is one text only.
#[derive(Clone, Default, Serialize)]
pub struct Place {
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// How many records ended in which way.
#[derive(Default)]
struct Counts {
    done: u64,
    undecided: u64,
    failed: u64,
}

/// A record from its line. No word of it is in the error.
fn read(line: &str) -> Result<Record, String> {
    let value = json::parse(line, "a record").map_err(|fault| fault.what().to_owned())?;
    let Value::Object(mut map) = value else {
        return Err("a record that is no map".into());
    };
    if !map.keys().all(|key| KEYS.contains(&key.as_str())) {
        return Err(format!("a record with an unknown key; known: {}", KEYS.join(", ")));
    }
    let mut take = |key: &str| map.remove(key).filter(|value| !value.is_null());
    let text = match take("text") {
        Some(Value::String(text)) if !text.is_empty() => Message::new(Role::User, text),
        _ => return Err("a record without a text: `text` is a text that is not empty".into()),
    };
    let id = match take("id") {
        None => None,
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Some(id.to_string()),
        Some(_) => return Err("`id` of a record: a text or a whole number".into()),
    };
    let label = |value: &Value| options::data_label(value.as_str().unwrap_or_default()).ok();
    let data_labels = match take("data_labels") {
        None => Some(Vec::new()),
        Some(Value::Array(labels)) => labels.iter().map(label).collect(),
        Some(_) => None,
    };
    let data_labels = data_labels.ok_or("`data_labels` of a record: a list of labels")?;
    let identity = match take("identity") {
        None => None,
        Some(Value::String(name)) => Some(options::identity(&name)?),
        Some(_) => return Err("`identity` of a record: a text".into()),
    };
    Ok(Record { text, id, data_labels, identity })
}

/// The records of a file; `-` is stdin.
pub fn open(path: &Path, interrupt: &Interrupt) -> Result<Lines<Record>, Failure> {
    Lines::open(path, interrupt, read)
}

/// Does `one` with each record in turn; it prints its own envelope.
pub fn run(
    mut lines: Lines<Record>,
    mut ready: Ready,
    command: &str,
    mut one: impl FnMut(&mut Ready) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let (common, mut counts) = (ready.input.clone(), Counts::default());
    while let Some((number, record)) = lines.next()? {
        ready.place = Place { line: Some(number), id: None };
        let done = match record {
            Ok(record) => {
                ready.place.id = record.id;
                ready.input = common.clone();
                ready.input.text = record.text;
                // What the command line says of the data holds for each record.
                ready.input.data_labels.extend(record.data_labels);
                ready.input.identity = record.identity.or(ready.input.identity);
                one(&mut ready)
            }
            Err(why) => Err(Failure::usage(why)),
        };
        match done {
            Ok(_) => counts.done += 1,
            Err(failure) if !failure.leaves_the_rest() => return Err(failure),
            Err(failure) => {
                match failure.exit {
                    Exit::Person => counts.undecided += 1,
                    _ => counts.failed += 1,
                }
                if failure.is_untold() {
                    #[derive(Serialize)]
                    struct Body<'a> {
                        #[serde(flatten)]
                        place: &'a Place,
                        error: Told,
                    }
                    let (place, error) = (&ready.place, failure.tell());
                    envelope::print(&mut ready.screen, command, Body { place, error })?;
                }
            }
        }
        if ready.interrupt.is_set() {
            return Err(Failure::silent(Exit::Interrupted));
        }
    }
    let Counts { done, undecided, failed } = counts;
    let all = done + undecided + failed;
    ready
        .screen
        .note(&format!("{all} records: {done} answered, {undecided} undecided, {failed} failed"));
    Ok(if failed > 0 { Exit::Records } else { Exit::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record() {
        let deep = format!("{{\"text\":{}", "[".repeat(100_000));
        let cases = [
            ("whole", r#"{"text":"¿Qué?","id":7,"data_labels":["phi"],"identity":"ana"}"#, None),
            ("short", r#"{"text":"ñ","id":null}"#, None),
            ("no JSON", r#"{"text": canary}"#, Some("not a record (column 10)")),
            ("a key twice", r#"{"text":"a","text":"canary"}"#, Some("a key twice (column 28)")),
            ("deep", &deep, Some("too deep")),
            ("beyond double", r#"{"text":"a","id":1e999}"#, Some("not a record (column 22)")),
            ("half a pair", r#"{"text":"\ud800"}"#, Some("not a record (column 16)")),
            ("a list", r#"["canary"]"#, Some("that is no map")),
            ("unknown", r#"{"text":"a","canary":1}"#, Some("known: text, id, data_labels")),
            ("no text", r#"{"id":"canary"}"#, Some("without a text")),
            ("empty", r#"{"text":""}"#, Some("without a text")),
            ("id", r#"{"text":"a","id":1.5}"#, Some("`id`")),
            ("labels", r#"{"text":"a","data_labels":"canary"}"#, Some("`data_labels`")),
            ("a label", r#"{"text":"a","data_labels":["dos canary"]}"#, Some("`data_labels`")),
            ("identity", r#"{"text":"a","identity":""}"#, Some("1 to 200 characters")),
        ];
        for (name, line, want) in cases {
            match (read(line), want) {
                (Ok(record), None) => assert!(!record.text.content.is_empty(), "{name}"),
                (Err(why), Some(part)) => {
                    assert!(why.contains(part) && !why.contains("canary"), "{name}: {why}");
                }
                (read, _) => panic!("{name}: {:?}", read.err()),
            }
        }
    }
}
