//! Temperature scaling: one number that logits are divided by.
//!
//! Source: C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks",
//! ICML 2017. The mean loss is convex in β = 1/T, so its slope crosses zero once and halving finds
//! the place, whatever the logits are.

use serde_json::Value;

use crate::{Error, Kind, Row, readout, rows::Scored};

/// Temperatures are looked for from here …
const FROM: f64 = 0.05;
/// … to here.
const TO: f64 = 20.0;
/// The lowest temperature that is used. A published checkpoint had 0.1006 for many options and
/// showed 0.24 as 0.99 (NandhaKishorM/laya#394).
pub const LOWEST: f64 = 0.5;
/// The highest temperature that is used.
pub const HIGHEST: f64 = 5.0;

/// A fitted temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// Where the loss is least, within 0.05..=20.
    pub fitted: f64,
    /// The same, held within [`LOWEST`] and [`HIGHEST`]: what is used.
    pub clamped: f64,
    /// Mean loss at `fitted`.
    pub loss: f64,
}

/// Holds a temperature within [`LOWEST`] and [`HIGHEST`]; 1 for what is no finite number.
pub fn clamp(temperature: f64) -> f64 {
    if temperature.is_finite() { temperature.clamp(LOWEST, HIGHEST) } else { 1.0 }
}

/// A temperature out of a checkpoint's configuration, as Laya's runtime takes it (package `laya`
/// 0.4.15): clamped; text is read as a number; true, false, null and the rest mean 1.
pub fn as_published(value: &Value) -> f64 {
    match value {
        Value::Number(number) => clamp(number.as_f64().unwrap_or(1.0)),
        Value::String(text) => clamp(text.trim().parse().unwrap_or(1.0)),
        _ => 1.0,
    }
}

/// Slope of the mean loss in β: what is expected under p minus what was right.
fn slope(rows: &[Row], beta: f64) -> f64 {
    let part = |row: &Row| {
        let p = readout::softmax(row.logits(), 1.0 / beta);
        let right = row.logits()[row.label()];
        // Differences to the right logit, so that large common offsets do not drown them.
        p.iter().zip(row.logits()).map(|(p, z)| p * (z - right)).sum::<f64>()
    };
    rows.iter().map(part).sum::<f64>() / rows.len() as f64
}

pub(super) fn fit(rows: &[Row]) -> Result<Temperature, Error> {
    let undetermined = |what: &str, hint: &str| {
        Err(Error::new(Kind::NotDetermined, what.to_owned()).with_hint(hint))
    };
    let flat = |row: &Row| row.logits().windows(2).all(|pair| pair[0] == pair[1]);
    if rows.iter().all(flat) {
        return undetermined(
            "every row gives all options the same logit",
            "the model says nothing",
        );
    }
    let is_first = |row: &Row| row.logits().iter().all(|z| *z <= row.logits()[row.label()]);
    if rows.iter().all(is_first) {
        return undetermined(
            "every row is right, so the lower the temperature the better",
            "add rows that the model gets wrong; any number would be a guess",
        );
    }
    // The slope at β → 0: against options of equal probability.
    let against_equal: f64 = rows
        .iter()
        .map(|row| {
            let right = row.logits()[row.label()];
            row.logits().iter().map(|z| z - right).sum::<f64>() / row.logits().len() as f64
        })
        .sum();
    if !against_equal.is_finite() {
        return Err(Error::new(Kind::Number, "logits too large to be fitted"));
    }
    if against_equal >= 0.0 {
        return undetermined(
            "the right options do not have higher logits than the others",
            "check that labels are indexes into the declared order; no temperature helps",
        );
    }
    let (mut low, mut high) = ((1.0 / TO).ln(), (1.0 / FROM).ln());
    let fitted = if slope(rows, low.exp()) >= 0.0 {
        TO
    } else if slope(rows, high.exp()) <= 0.0 {
        FROM
    } else {
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if slope(rows, middle.exp()) < 0.0 { low = middle } else { high = middle }
        }
        (-(low + high) / 2.0).exp()
    };
    let scored: Vec<Scored> = rows.iter().map(|row| Scored::at(row, fitted)).collect();
    let loss = crate::metrics::log_loss(&scored);
    Ok(Temperature { fitted, clamped: clamp(fitted), loss })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Laya's runtime (package `laya` 0.4.15).
    #[test]
    fn published_temperatures() {
        let cases = [
            ("0.1", 0.5),
            ("0.5", 0.5),
            ("1.0", 1.0),
            ("5.0", 5.0),
            ("9.0", 5.0),
            ("0.10058280825614929", 0.5),
            ("true", 1.0),
            ("\"2\"", 2.0),
            ("\"x\"", 1.0),
            ("\"NaN\"", 1.0),
            ("null", 1.0),
            ("[2]", 1.0),
        ];
        for (json, want) in cases {
            assert_eq!(as_published(&serde_json::from_str(json).unwrap()), want, "{json}");
        }
        assert_eq!((clamp(f64::NAN), clamp(f64::INFINITY)), (1.0, 1.0));
    }
}
