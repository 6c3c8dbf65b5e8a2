//! The schema of a type, in the words that a shape can keep.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::error::{Error, Kind};

/// The largest whole number up to which every whole number is a float of its own: 2^53 - 1.
const EXACT: i64 = (1 << 53) - 1;

/// The widths of numbers, as `schemars` names them in `format`, and what they hold. Those of 64
/// bits and more are narrowed to what JSON readers agree on (RFC 8259, section 6).
const WIDTHS: &[(&str, Option<(i64, i64)>)] = &[
    ("int8", Some((i8::MIN as i64, i8::MAX as i64))),
    ("int16", Some((i16::MIN as i64, i16::MAX as i64))),
    ("int32", Some((i32::MIN as i64, i32::MAX as i64))),
    ("int64", Some((-EXACT, EXACT))),
    ("int128", Some((-EXACT, EXACT))),
    ("int", Some((-EXACT, EXACT))),
    ("uint8", Some((0, u8::MAX as i64))),
    ("uint16", Some((0, u16::MAX as i64))),
    ("uint32", Some((0, u32::MAX as i64))),
    ("uint64", Some((0, EXACT))),
    ("uint128", Some((0, EXACT))),
    ("uint", Some((0, EXACT))),
    ("float", None),
    ("double", None),
];

/// Words that put another schema in the same place.
const BESIDE: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "unevaluatedProperties"];

/// The schema of `T` (draft 2020-12): widths of numbers as bounds, and objects without other members
/// than those that `T` has, where no schema stands beside them.
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
        bound(members);
    });
    if !composed {
        visit(&mut schema, &mut close);
    }
    Ok(schema)
}

/// Writes the width of a number as its bounds.
fn bound(members: &mut Map<String, Value>) {
    let Some(name) = members.get("format").and_then(Value::as_str) else { return };
    let Some((_, range)) = WIDTHS.iter().find(|(width, _)| *width == name) else { return };
    members.remove("format");
    let Some((low, high)) = range else { return };
    let said = |key: &str| members.get(key).and_then(Value::as_f64);
    let (least, most) = (said("minimum"), said("maximum"));
    if least.is_none_or(|least| least < *low as f64) {
        members.insert("minimum".into(), json!(low));
    }
    if most.is_none_or(|most| most > *high as f64) {
        members.insert("maximum".into(), json!(high));
    }
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
    fn widths_are_bounds_and_objects_are_closed() {
        let schema = schema_of::<Factura>().unwrap();
        assert_eq!(schema["additionalProperties"], json!(false));
        let line = &schema["$defs"]["Línea"];
        assert_eq!(line["additionalProperties"], json!(false));
        assert_eq!(line["properties"]["importe"], json!({"type": "number"}));
        let units = json!({"type": "integer", "minimum": 0, "maximum": EXACT});
        assert_eq!(line["properties"]["unidades"], units);
        let vat = json!({"type": "integer", "minimum": 0, "maximum": 21});
        assert_eq!(schema["properties"]["iva"], vat);
        let days = &schema["properties"]["días"];
        assert_eq!(days["minimum"], json!(i32::MIN));
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
