//! Isotonic regression for yes or no: the rising map with the least squared error.
//!
//! Sources: M. Ayer and others, Annals of Mathematical Statistics 26 (1955), for pooling adjacent
//! violators; B. Zadrozny, C. Elkan, KDD 2002, for its use in calibration.

use serde::{Deserialize, Serialize};

use crate::{Error, Fraction, Kind};

/// A rising map through points, straight between them and level beyond the ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isotonic {
    /// Logits of yes against no, each above the one before.
    pub logits: Vec<Fraction>,
    /// Probabilities of yes, none below the one before, strictly within 0 and 1.
    pub yes: Vec<Fraction>,
}

impl Isotonic {
    /// The probability of yes.
    pub fn apply(&self, logit: f64) -> f64 {
        if logit.is_nan() || self.logits.is_empty() {
            return f64::NAN;
        }
        let above = self.logits.partition_point(|z| z.0 <= logit);
        if above == 0 {
            return self.yes[0].0;
        }
        if above == self.logits.len() {
            return self.yes[above - 1].0;
        }
        let (x0, x1) = (self.logits[above - 1].0, self.logits[above].0);
        let (y0, y1) = (self.yes[above - 1].0, self.yes[above].0);
        y0 + (y1 - y0) * ((logit - x0) / (x1 - x0))
    }

    pub(super) fn is_sound(&self) -> bool {
        let inside = |p: &Fraction| p.0 > 0.0 && p.0 < 1.0;
        !self.logits.is_empty()
            && self.logits.len() == self.yes.len()
            && self.logits.iter().all(|z| z.0.is_finite())
            && self.yes.iter().all(inside)
            && self.logits.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && self.yes.windows(2).all(|pair| pair[0].0 <= pair[1].0)
    }
}

/// Rows pooled to one value.
struct Pool {
    first: f64,
    last: f64,
    rows: f64,
    yes: f64,
}

impl Pool {
    fn share(&self) -> f64 {
        self.yes / self.rows
    }
}

pub(super) fn fit(pairs: &[(f64, bool)]) -> Result<Isotonic, Error> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut pools: Vec<Pool> = Vec::new();
    // Rows of one logit are one pool from the start: the map gives them one value.
    for tie in sorted.chunk_by(|a, b| a.0 == b.0) {
        let yes = tie.iter().filter(|pair| pair.1).count() as f64;
        pools.push(Pool { first: tie[0].0, last: tie[0].0, rows: tie.len() as f64, yes });
        while let [.., before, last] = &pools[..]
            && before.share() >= last.share()
        {
            let (last, rows, yes) = (last.last, last.rows, last.yes);
            pools.pop();
            if let Some(before) = pools.last_mut() {
                before.last = last;
                before.rows += rows;
                before.yes += yes;
            }
        }
    }
    if pools.len() < 2 {
        return Err(Error::new(Kind::NotDetermined, "yes does not have higher logits than no")
            .with_hint("check that label 1 means yes; no rising map helps"));
    }
    // A pool of one label only is not certain: no probability reaches 0 or 1.
    let edge = 1.0 / (pairs.len() as f64 + 2.0);
    let mut map = Isotonic { logits: Vec::new(), yes: Vec::new() };
    for pool in &pools {
        let value = Fraction(pool.share().clamp(edge, 1.0 - edge));
        map.logits.push(Fraction(pool.first));
        map.yes.push(value);
        if pool.last > pool.first {
            map.logits.push(Fraction(pool.last));
            map.yes.push(value);
        }
    }
    Ok(map)
}
