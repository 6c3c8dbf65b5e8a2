//! Files of an independent writer (`tools/goldens/gguf_files.py`).

use recinto_quant::expand;
use recinto_weights::{File, Kind, Value};
use serde_json::Value as Json;

macro_rules! seed {
    ($name:literal) => {
        include_bytes!(concat!("../../../fuzz/seeds/gguf/", $name, ".gguf")).to_vec()
    };
}

/// A value and its type as the golden writes them.
fn describe(value: Value<'_>) -> (String, Json) {
    let json = match value {
        Value::Bool(v) => v.into(),
        Value::Str(v) => v.into(),
        Value::F32(v) => f64::from(v).into(),
        Value::F64(v) => v.into(),
        Value::Array(array) => {
            let kind = format!("array of {}", array.element().name());
            let values: Vec<Json> = match (array.strings(), array.scalars()) {
                (Some(strings), _) => strings.map(Json::from).collect(),
                (_, Some(scalars)) => scalars.map(|scalar| describe(scalar).1).collect(),
                _ => panic!("an array of arrays"),
            };
            return (kind, values.into());
        }
        Value::I8(v) => v.into(),
        Value::I16(v) => v.into(),
        Value::I32(v) => v.into(),
        Value::I64(v) => v.into(),
        other => other.as_u64().unwrap().into(),
    };
    (value.type_name().to_owned(), json)
}

/// Equal, whole numbers as whole numbers and fractions as 32-bit floats where they are such.
fn same(found: &Json, want: &Json) -> bool {
    match (found, want) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Number(a), Json::Number(b)) if a.is_f64() => {
            a.as_f64().unwrap() as f32 == b.as_f64().unwrap() as f32
        }
        _ => found == want,
    }
}

#[test]
fn every_kind_of_value() {
    let file = File::from_bytes(seed!("values")).unwrap();
    let golden: Vec<(String, String, Json)> =
        serde_json::from_str(include_str!("golden/values.json")).unwrap();
    assert_eq!(file.metadata().iter().count(), golden.len());
    for (name, kind, want) in golden {
        let value = file.metadata().get(&name).unwrap_or_else(|| panic!("no key `{name}`"));
        let (found_kind, found) = describe(value);
        assert_eq!(found_kind, kind, "{name}");
        assert!(same(&found, &want), "{name}: {found}, not {want}");
    }
    assert_eq!(file.metadata().f64("n.f64").unwrap(), Some(0.1));
}

#[test]
fn a_tensor_of_every_type() {
    let cases = [
        ("tensors", seed!("tensors"), include_str!("golden/tensors.json")),
        ("tensors_64", seed!("tensors_64"), include_str!("golden/tensors_64.json")),
        ("version_2", seed!("version_2"), include_str!("golden/tensors.json")),
    ];
    for (case, bytes, golden) in cases {
        let file = File::from_bytes(bytes).unwrap();
        let golden: Vec<Json> = serde_json::from_str(golden).unwrap();
        assert_eq!(file.tensors().len(), golden.len(), "{case}");
        for row in recinto_quant::LAYOUTS {
            assert!(file.find(row.name).is_some(), "{case}: {}", row.name);
        }
        for want in golden {
            let name = want["name"].as_str().unwrap();
            let tensor = file.tensor(file.find(name).unwrap());
            assert_eq!(tensor.info.dtype.name(), name, "{case}");
            assert_eq!(Json::from(tensor.info.dims.clone()), want["dims"], "{case} {name}");
            let mut values = vec![0.0; tensor.info.values() as usize];
            expand(tensor.info.dtype, tensor.bytes, &mut values).unwrap();
            let ends = [("first", values[0]), ("last", values[values.len() - 1])];
            for (end, found) in ends {
                let want = want[end].as_f64().unwrap() as f32;
                assert_eq!(found.to_bits(), want.to_bits(), "{case} {name} {end}");
            }
        }
    }
}

#[test]
fn a_shard_and_an_empty_file() {
    let file = File::from_bytes(seed!("empty")).unwrap();
    assert!(file.tensors().is_empty());
    assert_eq!(file.metadata().str("general.architecture").unwrap(), Some("diminuto"));
    let error = File::from_bytes(seed!("part")).err().unwrap();
    assert_eq!(error.kind(), Kind::Missing);
    assert!(error.to_string().contains("shard 1 of 2: shard 2 of 2 is missing"), "{error}");
}
