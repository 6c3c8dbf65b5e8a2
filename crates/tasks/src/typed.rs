//! The schema of a type.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::error::{Error, Kind};

/// Words that put another schema in the same place.
const BESIDE: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "unevaluatedProperties"];

/// The schema of `T` (draft 2020-12), objects without other members than those of `T` where no
/// schema stands beside them. Widths of numbers are formats (`int32`, …), which are kept as bounds.
///
/// # Errors
///
/// [`Kind::Task`]: `schemars` makes no JSON of it.
pub fn schema_of<T: JsonSchema>() -> Result<Value, Error> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let mut schema = serde_json::to_value(schema)
        .map_err(|_| Error::new(Kind::Task, "the type's schema is no JSON"))?;
    let mut composed = false;
    visit(&mut schema, &mut |members| {
        composed |= members.contains_key("properties")
            && BESIDE.iter().any(|word| members.contains_key(*word));
    });
    if !composed {
        visit(&mut schema, &mut close);
    }
    Ok(schema)
}

/// Leaves an object no other members than those it names.
fn close(members: &mut Map<String, Value>) {
    let open = ["additionalProperties", "patternProperties"];
    let named = members.get("properties").is_some_and(|named| !named.is_null());
    if named && !open.iter().any(|word| members.contains_key(*word)) {
        members.insert("additionalProperties".into(), json!(false));
    }
}

/// Every schema in `schema`; data (`const`, `enum`, `default`, `examples`) is left alone.
fn visit(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else { return };
    change(members);
    for (key, value) in members.iter_mut() {
        match key.as_str() {
            "properties" | "patternProperties" | "$defs" => {
                let Value::Object(named) = value else { continue };
                named.values_mut().for_each(|schema| visit(schema, change));
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let Value::Array(several) = value else { continue };
                several.iter_mut().for_each(|schema| visit(schema, change));
            }
            "items" | "additionalProperties" | "not" | "contains" | "propertyNames" => {
                visit(value, change);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Factura {
        /// Número de la factura.
        número: String,
        líneas: Vec<Línea>,
        #[schemars(range(min = 0, max = 21))]
        iva: u8,
        días: Option<i32>,
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Línea {
        importe: f64,
        unidades: u64,
    }

    #[test]
    fn objects_are_closed() {
        let schema = schema_of::<Factura>().unwrap();
        assert_eq!(schema["additionalProperties"], json!(false));
        let line = &schema["$defs"]["Línea"];
        assert_eq!(line["additionalProperties"], json!(false));
        let vat = &schema["properties"]["iva"];
        assert_eq!((&vat["minimum"], &vat["maximum"]), (&json!(0), &json!(21)));
        assert_eq!(schema["properties"]["número"]["description"], "Número de la factura.");
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Junto {
        a: String,
        #[schemars(flatten)]
        o: O,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(untagged)]
    #[allow(dead_code)]
    enum O {
        B { b: String },
        C { c: String },
    }

    #[test]
    fn schemas_beside_others_stay_open() {
        let schema = schema_of::<Junto>().unwrap().to_string();
        assert!(!schema.contains(r#""additionalProperties":false"#), "{schema}");
    }
}
