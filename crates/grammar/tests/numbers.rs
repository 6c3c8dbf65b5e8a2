//! Bounds and multiples of numbers against exact arithmetic: whatever is accepted is valid, and
//! what is written plainly and is valid is accepted.

use std::path::PathBuf;

use recinto_engine::{Model, OpenOptions};
use recinto_grammar::{Grammars, Kind, Shape};
use serde_json::{Map, Value, json};

/// Numbers here have at most so many decimals.
const DECIMALS: u32 = 3;
const SCALE: i128 = 10i128.pow(DECIMALS);

/// A stream of numbers that is the same each time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// A number of some size, in thousandths.
    fn number(&mut self) -> i128 {
        let sizes = [1, 10, 1000, 20_000, 1_500_000, 40_000_000_000];
        let size = sizes[self.below(sizes.len() as u64) as usize];
        let value = i128::from(self.below(2 * size + 1)) - i128::from(size);
        // Whole numbers are the usual case.
        if self.below(2) == 0 { value / SCALE * SCALE } else { value }
    }
}

/// As text, without zeros at its end.
fn text(thousandths: i128) -> String {
    let sign = if thousandths < 0 { "-" } else { "" };
    let (whole, part) = (thousandths.abs() / SCALE, thousandths.abs() % SCALE);
    let part = format!("{part:03}");
    let part = part.trim_end_matches('0');
    let dot = if part.is_empty() { "" } else { "." };
    format!("{sign}{whole}{dot}{part}")
}

fn json_number(thousandths: i128) -> Value {
    serde_json::from_str(&text(thousandths)).expect("a number")
}

#[test]
fn bounds_hold_to_the_last_digit() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny/qwen2-quant.gguf");
    let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
    let model = Model::open(&path, &options).expect("a model");
    let grammars = Grammars::new(&model).expect("a vocabulary");
    let mut draws = Draws(0x5eed);
    let (mut compiled, mut accepted) = (0, 0);
    for round in 0..400 {
        let integer = draws.below(2) == 0;
        let mut schema = Map::new();
        schema.insert("type".into(), json!(if integer { "integer" } else { "number" }));
        let (a, b) = (draws.number(), draws.number());
        let (low, high) = (a.min(b), a.max(b));
        let mut bounds: Vec<(&str, i128)> = Vec::new();
        match draws.below(3) {
            0 => bounds.push(("minimum", low)),
            1 => bounds.push(("exclusiveMinimum", low)),
            _ => {}
        }
        match draws.below(3) {
            0 => bounds.push(("maximum", high)),
            1 => bounds.push(("exclusiveMaximum", high)),
            _ => {}
        }
        if draws.below(3) == 0 {
            let of = [1, 5, 10, 250, 1000, 3000, 7000, 12_000, 100_000];
            bounds.push(("multipleOf", of[draws.below(of.len() as u64) as usize]));
        }
        for (word, bound) in &bounds {
            schema.insert((*word).into(), json_number(*bound));
        }
        let holds = |value: i128| {
            let bound = |(word, bound): &(&str, i128)| match *word {
                "minimum" => value >= *bound,
                "exclusiveMinimum" => value > *bound,
                "maximum" => value <= *bound,
                "exclusiveMaximum" => value < *bound,
                _ => value % bound == 0,
            };
            (!integer || value % SCALE == 0) && bounds.iter().all(bound)
        };
        let shown = Value::Object(schema.clone()).to_string();
        let grammar = match grammars.compile(&Shape::Schema(Value::Object(schema))) {
            Ok(grammar) => grammar,
            Err(error) => {
                let kinds = [Kind::Empty, Kind::Unsupported, Kind::TooLarge, Kind::Invalid];
                assert!(kinds.contains(&error.kind()), "{shown}: {error}");
                continue;
            }
        };
        compiled += 1;
        let mut values = vec![low, high, 0];
        for _ in 0..20 {
            values.push(draws.number());
            values.push(low + i128::from(draws.below(2001)) - 1000);
            values.push(high + i128::from(draws.below(20_001)) - 10_000);
        }
        for value in values {
            let plain = text(value);
            let mut ways = vec![(plain.clone(), value)];
            if plain.contains('.') {
                ways.push((format!("{plain}0"), value));
                ways.push((format!("{plain}000"), value));
            } else {
                ways.push((format!("{plain}.0"), value));
                ways.push((format!("{plain}.000"), value));
                ways.push((format!("{plain}e0"), value));
                ways.push((format!("{plain}E1"), value * 10));
                ways.push((format!("{plain}e-1"), value / 10));
                ways.push((format!("{plain}e+2"), value * 100));
            }
            for (at, (way, means)) in ways.iter().enumerate() {
                if way.ends_with("e-1") && value % 10 != 0 {
                    continue;
                }
                let taken = grammar.accepts(way.as_bytes());
                accepted += usize::from(taken);
                assert!(!taken || holds(*means), "round {round}: {shown} accepts {way}");
                // Fractions of multiples are narrower: `docs/json-schema.md` says so.
                let fraction = |(word, of): &(&str, i128)| *word == "multipleOf" && of % SCALE != 0;
                let plainly = at == 0 && !bounds.iter().any(fraction);
                assert!(taken || !plainly || !holds(*means), "{shown} refuses {way}");
            }
        }
    }
    assert!(compiled > 200 && accepted > 1000, "{compiled} schemas, {accepted} numbers");
}

#[test]
fn numbers_that_arithmetic_would_bend_are_refused() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny/qwen2-quant.gguf");
    let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
    let model = Model::open(&path, &options).expect("a model");
    let grammars = Grammars::new(&model).expect("a vocabulary");
    let cases = [
        ("const", json!({"const": 9_007_199_254_740_993u64})),
        ("enum", json!({"enum": [1, [1e300]]})),
        ("minimum", json!({"minimum": 9_007_199_254_740_993u64})),
        ("maximum", json!({"maximum": 1e-30})),
        ("exclusiveMinimum", json!({"exclusiveMinimum": 0, "maximum": 0.5})),
        ("exclusiveMaximum", json!({"allOf": [{"minimum": -1.5}, {"exclusiveMaximum": -1}]})),
        ("multipleOf", json!({"multipleOf": 0.000001})),
        ("multipleOf", json!({"multipleOf": 100_000})),
        ("multipleOf", json!({"allOf": [{"multipleOf": 65_521}, {"multipleOf": 65_519}]})),
    ];
    for (word, schema) in cases {
        let error = grammars.compile(&Shape::Schema(schema.clone())).err();
        let error = error.unwrap_or_else(|| panic!("{schema}: compiled"));
        assert_eq!(error.kind(), Kind::Unsupported, "{schema}: {error}");
        assert!(error.to_string().contains(&format!("`{word}`")), "{schema}: {error}");
    }
}
