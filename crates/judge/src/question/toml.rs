//! Questions as TOML: the same keys as in JSON, tables and options in the order of the file.

use serde_json::{Map, Number, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::Questions;
use crate::{Error, Kind, json};

impl Questions {
    /// Reads a table of id to question, as [`Questions::from_json`] does JSON. Numbers and yes or
    /// no are read as there; dates are text.
    pub fn from_toml(text: &str) -> Result<Questions, Error> {
        if text.len() > json::LONGEST {
            let what = format!("questions of {} bytes", text.len());
            return Err(
                Error::new(Kind::Json, what).with_hint(format!("at most {} bytes", json::LONGEST))
            );
        }
        let parsed = DeTable::parse(text).map_err(|e| {
            // The place alone: a message could show the file's text.
            let at = e.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            Error::new(Kind::Json, format!("not questions in TOML (line {line})"))
                .with_hint("a table of id to question, no key twice, keys with accents in quotes")
        })?;
        Questions::from_wire(&Value::Object(table(parsed.get_ref(), 1)?))
    }
}

fn table(table: &DeTable<'_>, depth: usize) -> Result<Map<String, Value>, Error> {
    let mut rows: Vec<(&Spanned<_>, &Spanned<DeValue<'_>>)> = table.iter().collect();
    // Models see the order: that of the file, not of the alphabet.
    rows.sort_by_key(|(key, _)| key.span().start);
    rows.into_iter()
        .map(|(key, value)| Ok((key.get_ref().to_string(), of(value.get_ref(), depth)?)))
        .collect()
}

fn of(value: &DeValue<'_>, depth: usize) -> Result<Value, Error> {
    if depth > json::DEEPEST {
        return Err(Error::new(Kind::Question, "questions too deep")
            .with_hint(format!("at most {} levels in all", json::DEEPEST)));
    }
    let number = || {
        Error::new(Kind::Number, "a number in questions that is none here")
            .with_hint("write it as text")
    };
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(n) => {
            i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| number())?.into()
        }
        DeValue::Float(n) => {
            let n = n.as_str().parse().ok().and_then(Number::from_f64);
            Value::Number(n.ok_or_else(number)?)
        }
        DeValue::Boolean(yes) => Value::Bool(*yes),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => Value::Array(
            items.iter().map(|item| of(item.get_ref(), depth + 1)).collect::<Result<_, _>>()?,
        ),
        DeValue::Table(inner) => Value::Object(table(inner, depth + 1)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_json() {
        let toml = r#"
            [zona]
            type = "choice"
            instructions = "¿De qué va `ticket.text`?"
            or_nothing = true

            [zona.criteria]
            pagos = "cobros, tarjetas"
            baja = {}
            "año" = "renovación"

            [enojo]
            type = "score"
            criteria = ["calma", "ira"]

            [a]
            type = "noul"
            instructions = "Es urgente"
        "#;
        let toml = toml.replace("{}", "\"\"");
        let json = r#"{"zona":{"type":"choice","instructions":"¿De qué va `ticket.text`?",
            "criteria":{"pagos":"cobros, tarjetas","baja":null,"año":"renovación"},
            "or_nothing":true},
            "enojo":{"type":"score","criteria":["calma","ira"]},
            "a":{"type":"noul","instructions":"Es urgente"}}"#;
        let read = Questions::from_toml(&toml).unwrap();
        assert_eq!(read, Questions::from_json(json).unwrap());
        assert_eq!(
            read.to_wire().to_string(),
            Questions::from_json(json).unwrap().to_wire().to_string()
        );
    }

    #[test]
    fn numbers_and_booleans_as_in_json() {
        let toml = "[a]\ntype = 'choice'\ncriteria = [0, 2.5, true, 'año']\n[b]\ntype = 'score'\n\
            criteria = [1, 'dos', { tres = 3 }, false]\n[c]\ntype = 'choice'\n\
            [c.criteria]\ncero = 0\nno = false";
        let json = r#"{"a":{"type":"choice","criteria":[0,2.5,true,"año"]},
            "b":{"type":"score","criteria":[1,"dos",{"tres":3},false]},
            "c":{"type":"choice","criteria":{"cero":0,"no":false}}}"#;
        assert_eq!(Questions::from_toml(toml).unwrap(), Questions::from_json(json).unwrap());
    }

    #[test]
    fn what_is_refused() {
        let deep =
            format!("[q]\ntype = 'noul'\ninstructions = {}{}", "[".repeat(80), "]".repeat(80));
        let cases = [
            ("empty", "", "no question"),
            ("not toml", "[q\nx", "line 1"),
            ("a key twice", "[q]\ntype = 'noul'\ntype = 'noul'", "line 3"),
            ("no question", "q = 1", "question `q`"),
            ("unknown key", "[q]\ntype = 'noul'\nsecreto = 1", "unknown key"),
            ("deep", &deep, "deep"),
            ("not a number", "[q]\ntype = 'noul'\ninstructions = nan", "number"),
        ];
        for (name, text, part) in cases {
            let error = Questions::from_toml(text).expect_err(name).to_string();
            assert!(error.contains(part), "{name}: {error}");
            assert!(!error.contains("secreto"), "{name}: {error}");
        }
    }
}
