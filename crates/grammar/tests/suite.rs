//! The official tests of JSON Schema, draft 2020-12: what compiles accepts nothing that is invalid,
//! and what is refused is refused by name. The result is `docs/json-schema.md`; after a change
//! `RECINTO_WRITE_TABLE=1` writes it anew.
//!
//! The cases are those of the JSON Schema Test Suite (MIT, `suite/LICENSE`), one group a line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::PathBuf,
};

use recinto_engine::{Model, OpenOptions};
use recinto_grammar::{
    Grammar, Grammars, Kind, Shape,
    schema::{KEYWORDS, NUMBERS, TEXTS, Treatment},
};
use serde_json::{Map, Value};

/// Most orders of members that are tried of one instance.
const ORDERS: usize = 1000;

/// What became of the groups of one file.
#[derive(Default)]
struct Row {
    kept: usize,
    refused: usize,
    /// Instances that are valid and accepted, or invalid and refused.
    exact: usize,
    /// Why groups were refused.
    words: BTreeSet<String>,
    /// Valid instances that are not written.
    narrower: Vec<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn grammars() -> Grammars {
    let path = root().join("tests/golden/tiny/qwen2-quant.gguf");
    let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
    Grammars::new(&Model::open(&path, &options).expect("a model")).expect("a vocabulary")
}

/// The value with its members in other orders, at most [`ORDERS`] of them: members are written in
/// the order of the schema, which an instance need not have.
fn orders(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => {
            let mut out = vec![Vec::new()];
            for item in items {
                out = crossed(&out, &orders(item), |so_far, item| {
                    so_far.push(item.clone());
                });
            }
            out.into_iter().map(Value::Array).collect()
        }
        Value::Object(members) => {
            let members: Vec<(&String, &Value)> = members.iter().collect();
            let mut out = Vec::new();
            for order in permutations(members.len()) {
                let mut ordered = vec![Map::new()];
                for at in order {
                    let (name, value) = members[at];
                    ordered = crossed(&ordered, &orders(value), |so_far, value| {
                        so_far.insert(name.clone(), value.clone());
                    });
                }
                out.extend(ordered.into_iter().map(Value::Object));
                if out.len() >= ORDERS {
                    break;
                }
            }
            out
        }
        other => vec![other.clone()],
    }
}

fn crossed<T: Clone>(all: &[T], next: &[Value], add: impl Fn(&mut T, &Value)) -> Vec<T> {
    let pairs = all.iter().flat_map(|so_far| next.iter().map(move |value| (so_far, value)));
    let one = |(so_far, value): (&T, &Value)| {
        let mut more = so_far.clone();
        add(&mut more, value);
        more
    };
    pairs.take(ORDERS).map(one).collect()
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new()];
    for next in 0..n {
        let mut more = Vec::new();
        for order in &out {
            for at in 0..=next {
                let mut longer: Vec<usize> = order.clone();
                longer.insert(at, next);
                more.push(longer);
            }
        }
        more.truncate(ORDERS);
        out = more;
    }
    out
}

/// Whether any order of `instance` is an answer.
fn accepts(grammar: &Grammar, instance: &Value) -> bool {
    orders(instance).iter().any(|value| {
        let compact = value.to_string();
        // The one blank that may stand between members.
        let spaced = serde_json::to_string_pretty(value).unwrap_or_default();
        grammar.accepts(compact.as_bytes()) || grammar.accepts(spaced.as_bytes())
    })
}

#[test]
fn nothing_invalid_is_accepted() {
    let grammars = grammars();
    let suite = include_str!("suite/draft2020-12.jsonl");
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut unsound = Vec::new();
    for line in suite.lines() {
        let group: Value = serde_json::from_str(line).expect("a group");
        let file = group["file"].as_str().expect("a file");
        let row = rows.entry(file.into()).or_default();
        let about = group["description"].as_str().expect("a description");
        let compiled = grammars.compile(&Shape::Schema(group["schema"].clone()));
        let tests = group["tests"].as_array().expect("tests");
        let grammar = match compiled {
            Ok(grammar) => grammar,
            Err(error) => {
                let text = error.to_string();
                let text = text.lines().next().unwrap_or_default();
                row.refused += 1;
                // A schema without a valid value may be refused; so may one that takes too much.
                let valid = tests.iter().any(|test| test["valid"] == true);
                if error.kind() == Kind::Empty && !valid {
                    row.words.insert("no value is valid".into());
                    continue;
                }
                let word = text.split('`').nth(1).unwrap_or(text);
                row.words.insert(format!("`{word}`"));
                let named = matches!(error.kind(), Kind::Unsupported | Kind::TooLarge);
                if !named {
                    unsound.push(format!("{file}: {about}: {:?}: {error}", error.kind()));
                }
                continue;
            }
        };
        row.kept += 1;
        for test in tests {
            let valid = test["valid"] == true;
            let what = test["description"].as_str().unwrap_or_default();
            match (accepts(&grammar, &test["data"]), valid) {
                (true, false) => {
                    unsound.push(format!("{file}: {about}: {what}: {} accepted", test["data"]));
                }
                (false, true) => row.narrower.push(format!("{about}: {what}")),
                _ => row.exact += 1,
            }
        }
    }
    let page = page(&rows);
    let path = root().join("docs/json-schema.md");
    if std::env::var_os("RECINTO_WRITE_TABLE").is_some() {
        std::fs::write(&path, &page).expect("the page");
    }
    assert!(unsound.is_empty(), "{} faults:\n{}", unsound.len(), unsound.join("\n"));
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == page, "docs/json-schema.md is not what RECINTO_WRITE_TABLE=1 writes");
}

/// The page of what is kept.
fn page(rows: &BTreeMap<String, Row>) -> String {
    let mut out = String::from(include_str!("suite/page.md"));
    let _ = writeln!(out, "## Keywords\n\n| keyword | | remark |\n|---|---|---|");
    for treatment in [Treatment::Kept, Treatment::Annotation, Treatment::Refused] {
        for row in KEYWORDS.iter().filter(|row| row.treatment == treatment) {
            let _ = writeln!(out, "| `{}` | {} | {} |", row.name, treatment.name(), row.note);
        }
    }
    let _ = writeln!(out, "\n## Formats\n\n| format | not written although valid |\n|---|---|");
    for row in TEXTS {
        let narrower = if row.narrower.is_empty() { "–" } else { row.narrower };
        let _ = writeln!(out, "| `{}` | {narrower} |", row.name);
    }
    let _ = writeln!(
        out,
        "\nFormats of numbers are bounds:\n\n| format | least | most |\n|---|---|---|"
    );
    for (name, range) in NUMBERS {
        let _ = match range {
            Some((low, high)) => writeln!(out, "| `{name}` | {low} | {high} |"),
            None => writeln!(out, "| `{name}` | – | – |"),
        };
    }
    let _ = writeln!(out, "\n## The official tests\n");
    let sum = |of: fn(&Row) -> usize| rows.values().map(of).sum::<usize>();
    let _ = writeln!(
        out,
        "{} groups compile and {} are refused; of the instances of those that compile {} are \
         accepted\nor refused as the standard says, {} are valid and not written, and none is \
         accepted that is invalid.\n",
        sum(|row| row.kept),
        sum(|row| row.refused),
        sum(|row| row.exact),
        sum(|row| row.narrower.len()),
    );
    let _ = writeln!(out, "| file | compile | refused | for | exact | narrower |");
    let _ = writeln!(out, "|---|---|---|---|---|---|");
    for (file, row) in rows {
        let words: Vec<&str> = row.words.iter().map(String::as_str).collect();
        let (words, narrower) = (words.join(", "), row.narrower.len());
        let (kept, refused, exact) = (row.kept, row.refused, row.exact);
        let _ = writeln!(out, "| {file} | {kept} | {refused} | {words} | {exact} | {narrower} |");
    }
    let _ = writeln!(out, "\nValid and not written:\n");
    for (file, row) in rows.iter().filter(|(_, row)| !row.narrower.is_empty()) {
        for what in &row.narrower {
            let _ = writeln!(out, "- {file}: {what}");
        }
    }
    out
}
