//! Calibrates and fits gates on random halves of labelled rows, and counts on the other halves.
//!
//! ```sh
//! cargo run --release -p recinto-judge --example splits -- rows.jsonl [--splits 200]
//! ```
//!
//! A line is a record `{"type": "choice", "p": [0.9, 0.1], "label": 0, "passes": true}`: the form,
//! the distribution in the declared order, the index of what was right, and whether the demands of
//! a gate (mass, order) would let it pass. Of each half to fit on, a quarter fits the temperature,
//! which is one number, and the rest the threshold, on which no row of the first may stand. Both
//! ways to fit a threshold with a bound that holds for one gate are counted. Prints one JSON map.

use std::{env, error::Error, fs};

use recinto_judge::{
    Form, Row, Scored, Trial,
    calibrate::{Fitted, Method, fit},
    gate, metrics, rows,
};
use serde_json::{Value, json};

/// Bins of the calibration error, of equal width.
const BINS: usize = 15;
/// One less the confidence in the promise.
const DELTA: f64 = 0.05;
const RISKS: [f64; 2] = [0.02, 0.05];
/// One in so many of the rows to fit on fits the map.
const MAP: usize = 4;

/// A way to a certified threshold: its name, and the threshold for a risk.
type Way = (&'static str, fn(&[Trial], f64) -> Option<f64>);

const WAYS: [Way; 2] = [
    ("selective", |trials, risk| Some(gate::selective(trials, risk, DELTA).ok()?.threshold.0)),
    ("fixed-sequence", |trials, risk| {
        let found = gate::fixed_sequence(trials, risk, DELTA, gate::Test::Binomial);
        Some(found.ok()?.threshold.0)
    }),
];

/// A labelled row and whether a gate's demands let it pass.
struct Record {
    row: Row,
    passes: bool,
}

fn record(line: &str) -> Result<Record, Box<dyn Error>> {
    let value: Value = serde_json::from_str(line)?;
    let form = match value["type"].as_str() {
        Some("noul") => Form::Whether,
        Some("choice") => Form::Choose,
        Some("score") => Form::Rate,
        _ => return Err("`type` is noul, choice or score".into()),
    };
    let p: Option<Vec<f64>> =
        value["p"].as_array().and_then(|p| p.iter().map(Value::as_f64).collect());
    let p = p.ok_or("`p` is a list of numbers")?;
    let label = value["label"].as_u64().ok_or("`label` is an index")?;
    let row = Row::from_probabilities(form, &p, usize::try_from(label)?)?;
    Ok(Record { row, passes: value["passes"].as_bool().ok_or("`passes` is true or false")? })
}

/// Distributions by a map, or as they are.
fn scored(records: &[&Record], map: Option<&Fitted>) -> Vec<Scored> {
    let one = |record: &&Record| {
        let as_it_is = || Scored::at(&record.row, 1.0);
        map.map_or_else(as_it_is, |map| Scored {
            p: map.apply(record.row.logits()),
            label: record.row.label(),
        })
    };
    records.iter().map(one).collect()
}

fn trials(records: &[&Record], map: Option<&Fitted>) -> Vec<Trial> {
    let with_demands = |(scored, record): (Scored, &&Record)| {
        let trial = scored.trial();
        let confidence = if record.passes { trial.confidence } else { f64::NAN };
        Trial { confidence, ..trial }
    };
    scored(records, map).into_iter().zip(records).map(with_demands).collect()
}

fn error_of(records: &[&Record], map: Option<&Fitted>) -> f64 {
    let all: Vec<Trial> = scored(records, map).iter().map(Scored::trial).collect();
    metrics::calibration_error(&metrics::equal_width(&all, BINS))
}

/// What the splits gave for one risk.
#[derive(Default)]
struct Sum {
    certified: usize,
    coverage: f64,
    decided: usize,
    errors: usize,
    broken: usize,
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Two random parts, the first with one in `part` of the records.
fn parted<'a>(
    records: &[&'a Record],
    part: usize,
    stream: &mut rows::Stream,
) -> [Vec<&'a Record>; 2] {
    let mut order = records.to_vec();
    for at in (1..order.len()).rev() {
        order.swap(at, (stream.next() * (at + 1) as f64) as usize);
    }
    let second = order.split_off(order.len() / part);
    [order, second]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: splits rows.jsonl [--splits N]")?;
    let splits: usize = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--splits"), Some(count)) => count.parse()?,
        (None, _) => 200,
        _ => return Err("usage: splits rows.jsonl [--splits N]".into()),
    };
    let text = fs::read_to_string(&path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let records = lines.map(record).collect::<Result<Vec<Record>, _>>()?;
    let records: Vec<&Record> = records.iter().collect();

    let asked = RISKS.iter().flat_map(|risk| WAYS.iter().map(move |way| (*risk, *way)));
    let mut sums: Vec<((f64, Way), Sum)> = asked.map(|what| (what, Sum::default())).collect();
    let (mut before, mut after, mut temperatures) = (Vec::new(), Vec::new(), Vec::new());
    let mut uncalibrated = 0;
    for split in 0..splits {
        let mut stream = rows::Stream::new(split as u64);
        let [fitted_on, held_out] = parted(&records, 2, &mut stream);
        let [first, second] = parted(&fitted_on, MAP, &mut stream);
        let for_map: Vec<Row> = first.iter().map(|record| record.row.clone()).collect();
        let map = fit(Method::Temperature, &for_map).ok();
        uncalibrated += usize::from(map.is_none());
        before.push(error_of(&held_out, None));
        after.push(error_of(&held_out, map.as_ref()));
        temperatures.extend(map.as_ref().and_then(Fitted::temperature));
        let (labelled, fresh) = (trials(&second, map.as_ref()), trials(&held_out, map.as_ref()));
        for ((risk, (_, threshold)), sum) in &mut sums {
            let Some(threshold) = threshold(&labelled, *risk) else { continue };
            let (decided, errors) = gate::count(&fresh, threshold);
            sum.certified += 1;
            sum.coverage += decided as f64 / fresh.len() as f64;
            sum.decided += usize::try_from(decided)?;
            sum.errors += usize::try_from(errors)?;
            sum.broken += usize::from(errors as f64 > *risk * decided as f64);
        }
    }
    let all = trials(&records, None);
    let plain: Vec<Trial> = scored(&records, None).iter().map(Scored::trial).collect();
    let gates = sums.iter().map(|((risk, (way, _)), sum)| {
        let of = |value: f64| if sum.certified == 0 { 0.0 } else { value / sum.certified as f64 };
        let ours = sum.errors as f64 / (sum.decided.max(1)) as f64;
        json!({
            "risk": risk, "way": way, "certified": sum.certified, "coverage": of(sum.coverage),
            "decided": of(sum.decided as f64), "risk_held_out": ours,
            "splits_above_risk": sum.broken,
            "coverage_possible": metrics::coverage_at_risk(&all, *risk),
        })
    });
    let curve: Vec<Value> = metrics::risk_coverage(&all)
        .iter()
        .filter(|point| (point.coverage * 20.0).fract() < 20.0 / all.len() as f64)
        .map(|point| json!([point.coverage, point.risk]))
        .collect();
    let report = json!({
        "rows": records.len(), "splits": splits, "labels_for_threshold": records.len() / 2 - records.len() / 2 / MAP,
        "may_pass": records.iter().filter(|record| record.passes).count(),
        "accuracy": metrics::accuracy(&plain),
        "ece_before": median(&mut before), "ece_after": median(&mut after),
        "temperature": median(&mut temperatures), "splits_without_map": uncalibrated,
        "gates": gates.collect::<Vec<Value>>(), "risk_coverage": curve,
    });
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
