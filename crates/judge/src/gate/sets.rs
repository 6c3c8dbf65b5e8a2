//! Prediction sets: the options that stay possible, with the right one among them often enough.
//!
//! Sources: V. Vovk, A. Gammerman, G. Shafer, 2005 (split conformal); M. Sadinle, J. Lei,
//! L. Wasserman, JASA 114 (2019) (least ambiguous sets); Y. Romano, M. Sesia, E. Candès,
//! NeurIPS 2020 (adaptive sets; here without randomisation).

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::{Fraction, rows::Scored};

/// How unlikely an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// 1 − p: the smallest sets on average.
    LeastAmbiguous,
    /// The mass of all options down to this one: larger sets where the model is unsure.
    Adaptive,
}

/// Fitted sets: a new row's set holds the right option with probability 1 − `miss`, on average
/// over labelled rows drawn alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sets {
    /// The score.
    pub score: Score,
    /// The largest score within a set.
    pub quantile: Fraction,
    /// The wanted share of sets without the right option.
    pub miss: Fraction,
    /// Labelled rows.
    pub rows: u64,
}

/// Options by falling probability; the first of equals first.
fn ranked(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    order
}

impl Sets {
    /// Fits on labelled distributions. Refuses with fewer than 1/`miss` − 1 rows, where every set
    /// would hold every option.
    pub fn fit(score: Score, rows: &[Scored], miss: f64) -> Result<Sets, Refusal> {
        if !(miss > 0.0 && miss < 1.0) || rows.iter().any(|row| row.p.iter().any(|p| p.is_nan())) {
            return Err(Refusal::OutOfRange);
        }
        let n = rows.len() as u64;
        // The tolerance keeps 201 · 0.9 from becoming the next whole number by rounding.
        let rank = ((n as f64 + 1.0) * (1.0 - miss) - 1e-9).ceil() as u64;
        if rank > n || n == 0 {
            let least = (1.0 / miss - 1.0 - 1e-9).ceil() as u64;
            return Err(Refusal::TooFew { rows: n, missing: least.saturating_sub(n).max(1) });
        }
        let mut scores: Vec<f64> = rows
            .iter()
            .map(|row| match score {
                Score::LeastAmbiguous => 1.0 - row.p[row.label],
                Score::Adaptive => {
                    let order = ranked(&row.p);
                    let until = order.iter().position(|k| *k == row.label).unwrap_or(0);
                    order[..=until].iter().map(|k| row.p[*k]).sum()
                }
            })
            .collect();
        scores.sort_by(f64::total_cmp);
        let at = usize::try_from(rank.max(1) - 1).unwrap_or(0);
        let quantile = Fraction(scores[at.min(scores.len() - 1)]);
        Ok(Sets { score, quantile, miss: Fraction(miss), rows: n })
    }

    /// Indexes of the options that stay possible, in the declared order. All of them where a
    /// probability is not a number. May be empty for [`Score::LeastAmbiguous`].
    pub fn set(&self, p: &[f64]) -> Vec<usize> {
        if p.iter().any(|p| p.is_nan()) {
            return (0..p.len()).collect();
        }
        match self.score {
            Score::LeastAmbiguous => {
                (0..p.len()).filter(|k| 1.0 - p[*k] <= self.quantile.0).collect()
            }
            Score::Adaptive => {
                let order = ranked(p);
                let mut below = 0.0;
                let mut held = 0;
                for k in &order {
                    below += p[*k];
                    // The same sum in another order of rounding may end a little higher.
                    if below > self.quantile.0 + 1e-12 {
                        break;
                    }
                    held += 1;
                }
                let mut set = order[..held.max(1).min(order.len())].to_vec();
                set.sort_unstable();
                set
            }
        }
    }
}
