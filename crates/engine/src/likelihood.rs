//! How likely a token was: log-probabilities of one row of logits.
//!
//! Sums are f64 in the order of the ids, with the exponential and the logarithm of the kernels, so
//! that every machine gives the same bits (`docs/determinism.md`).

use recinto_kernels::math;
use serde::Serialize;

use crate::constraint::Mask;

/// One token of a reply and how likely it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenScore {
    /// The token.
    pub id: u32,
    /// Natural logarithm of its probability, from the logits as the model gave them: before
    /// penalties, temperature and mask.
    pub logprob: f64,
    /// The same among the tokens that were allowed; equal to `logprob` where nothing was masked.
    pub masked: f64,
    /// The likeliest allowed tokens, as many as were asked for, falling; of equals the lower id.
    pub top: Vec<Alternative>,
}

/// One token of the list of the likeliest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alternative {
    /// The token.
    pub id: u32,
    /// As [`TokenScore::logprob`].
    pub logprob: f64,
    /// As [`TokenScore::masked`].
    pub masked: f64,
}

/// `ln Σ exp(logit)` over the ids that `counts` lets in; minus infinity when there is none.
pub(crate) fn normaliser(logits: &[f32], counts: impl Fn(u32) -> bool) -> f64 {
    let some = || logits.iter().enumerate().filter(|(id, _)| counts(*id as u32)).map(|(_, l)| *l);
    let best = some().fold(f32::NEG_INFINITY, f32::max);
    if best == f32::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let sum: f64 = some().map(|logit| f64::from(math::exp(logit - best))).sum();
    f64::from(best) + math::ln(sum)
}

/// Log-probabilities of one row before anything changes it.
pub(crate) struct Row {
    all: f64,
    allowed: f64,
    top: Vec<(u32, f32)>,
}

impl Row {
    /// Reads `logits`; keeps the `most` likeliest of the allowed ones.
    pub fn new(logits: &[f32], mask: Option<&Mask>, most: usize) -> Row {
        let all = normaliser(logits, |_| true);
        let allows = |id: u32| mask.is_none_or(|mask| mask.contains(id));
        let allowed = if mask.is_some() { normaliser(logits, allows) } else { all };
        let mut top: Vec<(u32, f32)> = Vec::new();
        if most > 0 {
            let ids = logits.iter().enumerate().map(|(id, logit)| (id as u32, *logit));
            top.extend(ids.filter(|(id, _)| allows(*id)));
            let by = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
            if most < top.len() {
                top.select_nth_unstable_by(most, by);
                top.truncate(most);
            }
            top.sort_unstable_by(by);
        }
        Row { all, allowed, top }
    }

    /// What is told of the token that was picked; `logit` is its value in the row.
    pub fn of(&self, id: u32, logit: f32) -> TokenScore {
        let one = |id: u32, logit: f32| Alternative {
            id,
            logprob: f64::from(logit) - self.all,
            masked: f64::from(logit) - self.allowed,
        };
        let Alternative { logprob, masked, .. } = one(id, logit);
        let top = self.top.iter().map(|(id, logit)| one(*id, *logit)).collect();
        TokenScore { id, logprob, masked, top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 5] = [1.0, 3.0, 2.0, 3.0, -4.0];

    #[test]
    fn the_length_of_the_list_changes_no_value() {
        let lists: Vec<TokenScore> =
            [1, 2, 5, 20].iter().map(|n| Row::new(&LOGITS, None, *n).of(1, LOGITS[1])).collect();
        for list in &lists {
            assert_eq!((list.logprob, list.masked), (lists[0].logprob, lists[0].logprob));
            assert_eq!(list.top[..], lists[3].top[..list.top.len()]);
            assert_eq!(list.top[0].logprob, list.logprob, "the greedy token heads its own list");
        }
        // Two tokens that are equal stand both there, the lower id first.
        let ids: Vec<u32> = lists[3].top.iter().map(|t| t.id).collect();
        assert_eq!(ids, [1, 3, 2, 0, 4]);
        let sum: f64 = lists[3].top.iter().map(|t| t.logprob.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn a_mask_moves_one_of_the_two_values() {
        let mut mask = Mask::new(LOGITS.len());
        mask.insert(0);
        mask.insert(2);
        let score = Row::new(&LOGITS, Some(&mask), 3).of(2, LOGITS[2]);
        let free = Row::new(&LOGITS, None, 0).of(2, LOGITS[2]);
        assert_eq!((score.logprob, free.top.len()), (free.logprob, 0));
        // e²/(e¹ + e²)
        assert!((score.masked - (1.0f64 / (1.0 + (-1.0f64).exp())).ln()).abs() < 1e-6);
        assert_eq!(score.top.iter().map(|t| t.id).collect::<Vec<_>>(), [2, 0]);
    }

    #[test]
    fn nothing_allowed_is_minus_infinity() {
        assert_eq!(normaliser(&LOGITS, |_| false), f64::NEG_INFINITY);
    }
}
