//! Numbers of a schema: those for which the compiler's arithmetic is exact, and no others.

use serde_json::{Number, Value, json};

use super::{form, formats::EXACT, unsupported};
use crate::error::Error;

/// Most of a `multipleOf`, its decimal point left out, and of what several have in common.
const MOST: u64 = u16::MAX as u64;
/// Most decimals of a `multipleOf`.
const DECIMALS: usize = 4;
/// Most digits after the point of a bound.
const DIGITS: usize = 12;

/// What the numbers of one schema have in common.
#[derive(Default)]
pub(super) struct Numbers {
    /// Every `multipleOf`, in ten-thousandths.
    multiples: Vec<u64>,
    /// Every bound by its word.
    bounds: Vec<(&'static str, f64)>,
}

impl Numbers {
    /// One more `multipleOf`.
    pub fn multiple(&mut self, value: &Value) -> Result<(), Error> {
        const WORD: &str = "multipleOf";
        let Value::Number(number) = value else { return Err(form(WORD, "a number above 0")) };
        if !number.as_f64().is_some_and(|value| value > 0.0) {
            return Err(form(WORD, "a number above 0"));
        }
        let scaled = ten_thousandths(number).ok_or_else(|| {
            unsupported(WORD, &format!("has more than {DECIMALS} decimals or is above {MOST}"))
        })?;
        self.multiples.push(scaled);
        Ok(())
    }

    /// One more bound.
    pub fn bound(&mut self, word: &'static str, bound: f64) {
        self.bounds.push((word, bound));
    }

    /// Refuses what may hold together and is not kept together.
    pub fn check(&self) -> Result<(), Error> {
        self.check_bounds()?;
        self.check_multiples()
    }

    /// Between an exclusive whole number and a bound less than 1 away the compiler lets the whole
    /// number itself pass.
    fn check_bounds(&self) -> Result<(), Error> {
        let of = |words: [&'static str; 2]| {
            let chosen = move |(word, _): &&(&'static str, f64)| words.contains(word);
            self.bounds.iter().filter(chosen).map(|(_, bound)| *bound)
        };
        for (word, bound) in self.bounds.iter().filter(|(_, bound)| bound.fract() == 0.0) {
            let near = |distance: f64| distance > 0.0 && distance < 1.0;
            let bent = match *word {
                "exclusiveMinimum" => {
                    of(["maximum", "exclusiveMaximum"]).any(|other| near(other - bound))
                }
                "exclusiveMaximum" => {
                    of(["minimum", "exclusiveMinimum"]).any(|other| near(bound - other))
                }
                _ => false,
            };
            if bent {
                return Err(unsupported(word, "is a whole number less than 1 from another bound"));
            }
        }
        Ok(())
    }

    /// Refuses multiples whose common one is too large.
    fn check_multiples(&self) -> Result<(), Error> {
        let mut distinct = self.multiples.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < 2 {
            return Ok(());
        }
        let common = distinct.iter().try_fold(1u64, |all, next| {
            let common = all / greatest_divisor(all, *next);
            common.checked_mul(*next).filter(|common| *common <= MOST * 10_000)
        });
        // The compiler multiplies them at their finest common scale.
        let fine = distinct.iter().any(|scaled| scaled % 10_000 != 0);
        match common {
            Some(common) if !fine || common <= MOST => Ok(()),
            _ => Err(unsupported("multipleOf", "stands in several places with too large numbers")),
        }
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// A decimal number in ten-thousandths, if it is not too fine or too large.
fn ten_thousandths(number: &Number) -> Option<u64> {
    let text = number.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    if part.len() > DECIMALS || text.contains(['e', 'E', '-']) {
        return None;
    }
    let digits: u64 = format!("{whole}{part}").parse().ok().filter(|digits| *digits <= MOST)?;
    Some(digits * 10u64.pow((DECIMALS - part.len()) as u32))
}

/// A bound, which is a float that can be written without an exponent.
pub(super) fn bound(word: &str, value: &Value) -> Result<f64, Error> {
    let Value::Number(number) = value else { return Err(form(word, "a number")) };
    exact(number).ok_or_else(|| unsupported(word, "is beyond 2^53 or has more than 12 decimals"))
}

/// The same as a number of JSON: whole where it is whole.
pub(super) fn written(bound: f64) -> Value {
    // Its size was checked when it was read.
    if bound.fract() == 0.0 { json!(bound as i64) } else { json!(bound) }
}

/// The number as a float, if it is one exactly and the compiler can write its digits.
pub(super) fn exact(number: &Number) -> Option<f64> {
    let value = number.as_f64()?;
    if value.abs() > EXACT as f64 {
        return None;
    }
    let text = format!("{value}");
    let part = text.split_once('.').map_or(0, |(_, part)| part.len());
    (part <= DIGITS && !text.contains('e')).then_some(value)
}
