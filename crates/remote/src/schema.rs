//! Whether JSON that came from elsewhere is valid by a schema (draft 2020-12, formats included).

use serde_json::Value;

/// A schema, compiled. Nothing is fetched for it: a reference leads within it.
pub struct Schema(jsonschema::Validator);

/// Why an answer is not valid: where in the schema it fails. Holds no word of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It is no JSON; whether it only ends too early.
    Json {
        /// It is the beginning of JSON.
        cut: bool,
    },
    /// It is JSON, and this keyword of the schema says no.
    Keyword(String),
}

impl Schema {
    /// Compiles a schema; `None` when it is none, or a reference leads out of it.
    pub fn new(schema: &Value) -> Option<Schema> {
        let options = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true);
        options.build(schema).ok().map(Schema)
    }

    /// Whether `text` is JSON that is valid.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self, text: &str) -> Result<(), Invalid> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Invalid::Json { cut: error.is_eof() })?;
        let value = crate::wipe::Wiped(value);
        match self.0.iter_errors(&value.0).next() {
            None => Ok(()),
            Some(error) => Err(Invalid::Keyword(error.schema_path().to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers() {
        let schema = Schema::new(&json!({
            "type": "object",
            "properties": {
                "año": { "$ref": "#/$defs/year" },
                "day": { "type": "string", "format": "date" }
            },
            "required": ["año"], "additionalProperties": false,
            "$defs": { "year": { "type": "integer", "minimum": 1900 } }
        }))
        .unwrap();
        let keyword = |path: &str| Err(Invalid::Keyword(path.into()));
        let cases = [
            ("valid", "{\"año\": 2024}", Ok(())),
            ("another order, blanks", " {\"day\":\"2024-02-29\",\n\"año\":1900}\n", Ok(())),
            ("too small", "{\"año\":1}", keyword("/$defs/year/minimum")),
            ("missing", "{}", keyword("/required")),
            ("one too many", "{\"año\":1900,\"canary\":1}", keyword("/additionalProperties")),
            ("a format", "{\"año\":1900,\"day\":\"2023-02-29\"}", {
                keyword("/properties/day/format")
            }),
            ("cut", "{\"año\":19", Err(Invalid::Json { cut: true })),
            ("words around", "Sure! {\"año\":1900}", Err(Invalid::Json { cut: false })),
            ("words after", "{\"año\":1900} ok", Err(Invalid::Json { cut: false })),
        ];
        for (name, text, want) in cases {
            let found = schema.check(text);
            assert!(!format!("{found:?}").contains("canary"), "{name}");
            assert_eq!(found, want, "{name}");
        }
        let broken = [json!({ "type": 7 }), json!({ "$ref": "https://example.com/schema" })];
        for schema in broken {
            assert!(Schema::new(&schema).is_none(), "{schema}");
        }
    }
}
