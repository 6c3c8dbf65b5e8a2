//! What is measured: one row a measure, and the numbers of its repeats.

use std::fmt::Write;

use recinto_engine::{Cost, Facts};
use serde::Serialize;

use super::inside::Sizes;

/// Name and unit of every measure, in the order they are shown in.
pub const MEASURES: &[(&str, &str)] = &[
    ("first_token", "ms"),
    ("load", "ms"),
    ("session_first_token", "ms"),
    ("prefill", "tokens/s"),
    ("decode", "tokens/s"),
    ("decode_context", "tokens/s"),
    ("decode_sequences", "tokens/s"),
    ("file", "bytes"),
    ("kv", "bytes"),
    ("start_peak", "bytes"),
    ("resident_peak", "bytes"),
    ("resident", "bytes"),
    ("resident_file", "bytes"),
    ("resident_own", "bytes"),
    ("cpu", "s"),
    ("int8_rate", "Gop/s"),
    ("int8_rate_1_thread", "Gop/s"),
    ("read_rate", "GB/s"),
    ("read_rate_1_thread", "GB/s"),
];

/// Unit of a measure that is in the table.
fn unit(name: &str) -> &'static str {
    MEASURES.iter().find(|row| row.0 == name).map_or("", |row| row.1)
}

/// A sample: the value of one measure in one repeat.
pub type Sample = (&'static str, f64);

/// One measure: the median of its repeats, and their bounds.
#[derive(Clone, Serialize)]
pub struct Measure {
    pub measure: &'static str,
    pub unit: &'static str,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub repeats: usize,
    /// What one token costs, on average, where this is a speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_token: Option<PerToken>,
    /// How near the median comes to what the machine can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// Work of one token, by the program and the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PerToken {
    pub operations: f64,
    pub bytes: f64,
}

impl PerToken {
    pub fn of(whole: Cost, tokens: usize) -> PerToken {
        let each = |n: u64| n as f64 / tokens.max(1) as f64;
        PerToken { operations: each(whole.operations), bytes: each(whole.bytes) }
    }
}

/// A part of a limit of this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The measure that is the limit.
    pub of: &'static str,
    /// 1 is all of it.
    pub part: f64,
}

impl Share {
    /// As people read it.
    pub fn words(&self) -> String {
        let what = match self.of {
            "int8_rate" => "int8 rate",
            _ => "read bandwidth",
        };
        format!("{:.0} % of the {what}", self.part * 100.0)
    }
}

/// The median of `values`, which are sorted by this; the mean of the middle two of an even number.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

/// The samples by measure, in the table's order.
pub fn gather(samples: &[Sample]) -> Vec<Measure> {
    let rows = MEASURES.iter().filter_map(|(name, unit)| {
        let mut values: Vec<f64> =
            samples.iter().filter(|sample| sample.0 == *name).map(|sample| sample.1).collect();
        let median = median(&mut values);
        let (min, max) = (*values.first()?, *values.last()?);
        let repeats = values.len();
        let (per_token, share) = (None, None);
        Some(Measure { measure: name, unit, median, min, max, repeats, per_token, share })
    });
    rows.collect()
}

/// The measure called `name`.
pub fn find<'a>(measures: &'a [Measure], name: &str) -> Option<&'a Measure> {
    measures.iter().find(|m| m.measure == name)
}

/// Gives every speed what its token costs, and its share of the limits that were measured: of
/// the one that would end first.
pub fn hold_against_limits(measures: &mut [Measure], costs: &[(&'static str, PerToken)]) {
    // A limit is the best that was seen.
    let best = |name: &str| find(measures, name).map(|m| m.max * 1e9).filter(|rate| *rate > 0.0);
    let (int8, read) = (best("int8_rate"), best("read_rate"));
    for (name, cost) in costs {
        let Some(measure) = measures.iter_mut().find(|m| m.measure == *name) else { continue };
        measure.per_token = Some(*cost);
        let parts = [
            ("int8_rate", int8.map(|rate| measure.median * cost.operations / rate)),
            ("read_rate", read.map(|rate| measure.median * cost.bytes / rate)),
        ];
        measure.share = parts
            .into_iter()
            .filter_map(|(of, part)| Some(Share { of, part: part? }))
            .max_by(|a, b| a.part.total_cmp(&b.part));
    }
}

/// Whose measures a row of the CSV holds, and how they stand to the peer's.
pub struct Row<'a> {
    pub engine: &'a str,
    pub measure: &'a Measure,
    pub ratio: Option<[f64; 3]>,
}

/// What a CSV belongs to: in every row.
pub struct Setting<'a> {
    pub file: &'a str,
    pub facts: &'a Described,
    pub sizes: Sizes,
}

/// What is said of the model and the engine in a CSV.
pub struct Described {
    pub architecture: String,
    pub level: String,
    pub threads: usize,
    pub version: String,
    pub numerics: u32,
}

impl Described {
    pub fn of(facts: &Facts) -> Described {
        Described {
            architecture: facts.architecture.clone(),
            level: facts.level.into(),
            threads: facts.threads,
            version: facts.version.into(),
            numerics: facts.numerics,
        }
    }
}

/// The measures as CSV, one row each.
pub fn table(setting: &Setting<'_>, rows: &[Row<'_>]) -> String {
    let mut out = String::from(
        "model,architecture,level,threads,version,numerics,prompt,generate,context,sequences,kv,\
         engine,measure,unit,median,min,max,repeats,operations,bytes,limit,share,ratio,ratio_min,\
         ratio_max\n",
    );
    let number = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.6}"));
    let Setting { file, facts, sizes } = setting;
    for Row { engine, measure: m, ratio } in rows {
        let share = m.share.as_ref();
        let cells = [
            quoted(file),
            quoted(&facts.architecture),
            facts.level.clone(),
            facts.threads.to_string(),
            facts.version.clone(),
            facts.numerics.to_string(),
            sizes.prompt.to_string(),
            sizes.generate.to_string(),
            sizes.context.to_string(),
            sizes.sequences.to_string(),
            sizes.kv.name().into(),
            quoted(engine),
            m.measure.into(),
            m.unit.into(),
            format!("{:.3}", m.median),
            format!("{:.3}", m.min),
            format!("{:.3}", m.max),
            m.repeats.to_string(),
            m.per_token.map_or(String::new(), |cost| format!("{:.0}", cost.operations)),
            m.per_token.map_or(String::new(), |cost| format!("{:.0}", cost.bytes)),
            share.map_or(String::new(), |share| share.of.into()),
            number(share.map(|share| share.part)),
            number(ratio.map(|r| r[0])),
            number(ratio.map(|r| r[1])),
            number(ratio.map(|r| r[2])),
        ];
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

/// A CSV field, quoted where it must be (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

/// A value in its unit, as people read it.
pub fn shown(name: &str, value: f64) -> String {
    match unit(name) {
        "bytes" => format!("{:.1}", value / f64::from(1 << 20)),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// The unit that [`shown`] uses.
pub fn shown_unit(name: &str) -> &'static str {
    match unit(name) {
        "bytes" => "MiB",
        unit => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let cases = [
            ("one", vec![2.0], (2.0, 2.0, 2.0)),
            ("odd", vec![3.0, 1.0, 9.0], (3.0, 1.0, 9.0)),
            ("even", vec![4.0, 1.0, 2.0, 9.0], (3.0, 1.0, 9.0)),
        ];
        for (name, values, want) in cases {
            let samples: Vec<Sample> = values.into_iter().map(|v| ("load", v)).collect();
            let all = gather(&samples);
            assert_eq!(all.len(), 1, "{name}");
            assert_eq!((all[0].median, all[0].min, all[0].max), want, "{name}");
        }
        assert!(gather(&[]).is_empty() && median(&mut []).is_nan());
        assert_eq!(quoted("a,\"ñ\""), "\"a,\"\"ñ\"\"\"");
    }

    #[test]
    fn the_nearer_limit_is_named() {
        let samples =
            [("decode", 50.0), ("prefill", 500.0), ("int8_rate", 200.0), ("read_rate", 20.0)];
        let mut all = gather(&samples);
        // 50 tokens a second of 160 MB are 8 of 20 GB/s; 500 of 0.1 Gop are 50 of 200.
        let decode = PerToken { operations: 1e8, bytes: 1.6e8 };
        let prefill = PerToken { operations: 1e8, bytes: 1e6 };
        hold_against_limits(&mut all, &[("decode", decode), ("prefill", prefill)]);
        let words = |name| find(&all, name).unwrap().share.as_ref().unwrap().words();
        assert_eq!(words("decode"), "40 % of the read bandwidth");
        assert_eq!(words("prefill"), "25 % of the int8 rate");
        assert_eq!(find(&all, "decode").unwrap().per_token, Some(decode));
        let mut all = gather(&samples[..2]);
        hold_against_limits(&mut all, &[("decode", decode)]);
        assert!(all.iter().all(|m| m.share.is_none()), "no limit was measured");
    }
}
