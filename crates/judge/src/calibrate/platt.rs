//! Platt's line for yes or no: σ(a · logit + b).
//!
//! Sources: J. Platt, "Probabilistic outputs for support vector machines", 1999; H.-T. Lin,
//! C.-J. Lin, R. Weng, "A note on Platt's probabilistic outputs", Machine Learning 68 (2007), for
//! the targets and for Newton's steps with halving.

use serde::{Deserialize, Serialize};

use crate::{Error, Fraction, Kind};

/// σ(`slope` · logit + `offset`), where the logit is that of yes minus that of no.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platt {
    /// Above 0: more evidence never means less probability.
    pub slope: Fraction,
    /// Moves the border.
    pub offset: Fraction,
}

impl Platt {
    /// The probability of yes.
    pub fn apply(&self, logit: f64) -> f64 {
        sigmoid(self.slope.0 * logit + self.offset.0)
    }

    pub(super) fn is_sound(&self) -> bool {
        self.slope.0 > 0.0 && self.slope.0.is_finite() && self.offset.0.is_finite()
    }
}

fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

/// ln(1 + e^x) without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

pub(super) fn fit(pairs: &[(f64, bool)]) -> Result<Platt, Error> {
    let yes = pairs.iter().filter(|pair| pair.1).count() as f64;
    let no = pairs.len() as f64 - yes;
    if yes == 0.0 || no == 0.0 {
        return Err(Error::new(Kind::NotDetermined, "all rows have the same label")
            .with_hint("label rows of both answers"));
    }
    let spread = pairs.iter().map(|pair| pair.0.abs()).fold(0.0, f64::max);
    if spread == 0.0 || !spread.is_finite() {
        return Err(Error::new(Kind::NotDetermined, "every row has the same logit"));
    }
    // Targets a little inside 0 and 1, so that separable rows have a least loss too.
    let targets = (1.0 / (no + 2.0), (yes + 1.0) / (yes + 2.0));
    // Logits scaled to 1, so that the steps do not depend on their unit.
    let rows: Vec<(f64, f64)> =
        pairs.iter().map(|(z, y)| (z / spread, if *y { targets.1 } else { targets.0 })).collect();
    let loss = |a: f64, b: f64| -> f64 {
        rows.iter().map(|(z, t)| softplus(a * z + b) - t * (a * z + b)).sum()
    };
    let (mut a, mut b) = (0.0, ((yes + 1.0) / (no + 1.0)).ln());
    let mut best = loss(a, b);
    for _ in 0..200 {
        let (mut ga, mut gb, mut haa, mut hab, mut hbb) = (0.0, 0.0, 1e-12, 0.0, 1e-12);
        for (z, t) in &rows {
            let p = sigmoid(a * z + b);
            let (error, weight) = (p - t, p * (1.0 - p));
            ga += error * z;
            gb += error;
            haa += weight * z * z;
            hab += weight * z;
            hbb += weight;
        }
        if ga.abs().max(gb.abs()) < 1e-11 * rows.len() as f64 {
            break;
        }
        let det = haa * hbb - hab * hab;
        let (da, db) = ((hab * gb - hbb * ga) / det, (hab * ga - haa * gb) / det);
        let descent = ga * da + gb * db;
        let mut step = 1.0;
        let moved = loop {
            let (na, nb) = (a + step * da, b + step * db);
            let next = loss(na, nb);
            if next < best + 1e-4 * step * descent {
                break Some((na, nb, next));
            }
            step /= 2.0;
            if step < 1e-10 {
                break None;
            }
        };
        let Some((na, nb, next)) = moved else { break };
        (a, b, best) = (na, nb, next);
    }
    let line = Platt { slope: Fraction(a / spread), offset: Fraction(b) };
    if !line.is_sound() {
        return Err(Error::new(Kind::NotDetermined, "yes does not have higher logits than no")
            .with_hint("check that label 1 means yes; no rising line helps"));
    }
    Ok(line)
}
