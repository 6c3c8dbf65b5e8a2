//! From logits to probabilities of labels: softmax, option mass, groups of tokens, keys.
//!
//! Sums run in `f64` from the first value to the last, so equal logits give equal bits.

use crate::{Error, Kind};

/// What the logits of labels say, and how much of all probability the labels hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// One logit a label, in the order of the labels; finite.
    pub logits: Vec<f64>,
    /// Sum of the labels' probabilities among all tokens, 0..=1. Near 0, the prompt did not land:
    /// the model was about to say something else.
    pub mass: f64,
}

/// ln Σ exp(x), without overflow. −∞ for no values.
pub fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.map(|v| (v - top).exp()).sum::<f64>().ln()
}

/// Probabilities of logits divided by a temperature.
pub fn softmax(logits: &[f64], temperature: f64) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut out: Vec<f64> = logits.iter().map(|z| ((z - top) / temperature).exp()).collect();
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= sum);
    out
}

/// Logarithms of the probabilities of logits divided by a temperature.
pub fn log_softmax(logits: &[f64], temperature: f64) -> Vec<f64> {
    let scaled = logits.iter().map(|z| z / temperature);
    let total = log_sum_exp(scaled.clone());
    scaled.map(|z| z - total).collect()
}

/// The first index with the largest value; `None` when empty or when a value is not a number.
pub fn first_largest(values: &[f64]) -> Option<usize> {
    if values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (0..values.len()).reduce(better)
}

/// Reads labels that are groups of tokens (`yes`, `Yes`, `YES`) from the logits of a whole
/// vocabulary. Within a group, probabilities add up. A token stands in one group only.
pub fn read_groups(vocabulary: &[f32], labels: &[Vec<u32>]) -> Result<Read, Error> {
    let mut seen = std::collections::BTreeMap::new();
    let mut logits = Vec::with_capacity(labels.len());
    for (at, group) in labels.iter().enumerate() {
        if group.is_empty() {
            return Err(Error::new(Kind::Question, format!("label {} has no token", at + 1)));
        }
        for id in group {
            if let Some(other) = seen.insert(*id, at) {
                let what = format!("labels {} and {} share a token", other + 1, at + 1);
                return Err(Error::new(Kind::Question, what)
                    .with_hint("use letters as labels, or other words"));
            }
            if usize::try_from(*id).map_or(true, |id| id >= vocabulary.len()) {
                let what = format!("label {} is a token outside the vocabulary", at + 1);
                return Err(Error::new(Kind::Number, what));
            }
        }
        let of_group = group.iter().map(|id| f64::from(vocabulary[*id as usize]));
        logits.push(log_sum_exp(of_group));
    }
    let all = log_sum_exp(vocabulary.iter().map(|z| f64::from(*z)));
    let any_nan = vocabulary.iter().any(|z| z.is_nan());
    if any_nan || !all.is_finite() || logits.iter().any(|z| !z.is_finite()) {
        return Err(Error::new(Kind::Number, "a logit is not a finite number"));
    }
    let mass = (log_sum_exp(logits.iter().copied()) - all).exp().min(1.0);
    Ok(Read { logits, mass })
}

/// Reads labels of one token each; see [`read_groups`].
pub fn read_labels(vocabulary: &[f32], labels: &[u32]) -> Result<Read, Error> {
    let groups: Vec<Vec<u32>> = labels.iter().map(|id| vec![*id]).collect();
    read_groups(vocabulary, &groups)
}

/// Logits of keys of several tokens from the log-probabilities of their tokens, each key in turn.
///
/// A key whose tokens begin another key can never lose to it, so such keys are refused. When the
/// lengths differ, the mean is taken in place of the sum. `without` holds the same sums for the
/// prompt without the state, and is subtracted: pointwise mutual information.
pub fn read_keys(keys: &[(&[u32], &[f64])], without: Option<&[f64]>) -> Result<Vec<f64>, Error> {
    for (at, (ids, logs)) in keys.iter().enumerate() {
        if ids.is_empty() || ids.len() != logs.len() {
            let what = format!("key {} does not have one value a token", at + 1);
            return Err(Error::new(Kind::Number, what));
        }
        let begins = |(other, (longer, _)): (usize, &(&[u32], &[f64]))| {
            (other != at && longer.starts_with(ids)).then_some(other)
        };
        if let Some(other) = keys.iter().enumerate().find_map(begins) {
            let what = format!("the tokens of key {} begin key {}", at + 1, other + 1);
            return Err(Error::new(Kind::Question, what).with_hint("rename one of them"));
        }
    }
    if without.is_some_and(|w| w.len() != keys.len()) {
        return Err(Error::new(Kind::Number, "not one value a key without the state"));
    }
    let differ = keys.windows(2).any(|pair| pair[0].0.len() != pair[1].0.len());
    let logits: Vec<f64> = keys
        .iter()
        .enumerate()
        .map(|(at, (_, logs))| {
            let sum = logs.iter().sum::<f64>() - without.map_or(0.0, |w| w[at]);
            if differ { sum / logs.len() as f64 } else { sum }
        })
        .collect();
    if logits.iter().any(|z| !z.is_finite()) {
        return Err(Error::new(Kind::Number, "a log-probability is not a finite number"));
    }
    Ok(logits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mass_and_groups() {
        let z = [0.0f32, 1.0, 2.0, 3.0];
        let all: f64 = z.iter().map(|v| f64::from(*v).exp()).sum();
        let read = read_labels(&z, &[3, 1]).unwrap();
        assert!((read.mass - (3f64.exp() + 1f64.exp()) / all).abs() < 1e-15);
        assert_eq!(read.logits, [3.0, 1.0]);
        let read = read_groups(&z, &[vec![0, 1], vec![2]]).unwrap();
        let p = softmax(&read.logits, 1.0);
        let (yes, no) = (1.0 + 1f64.exp(), 2f64.exp());
        assert!((p[0] - yes / (yes + no)).abs() < 1e-15, "probabilities of a group add up");
    }

    #[test]
    fn what_is_no_reading() {
        let nan = [0.0, f32::NAN, 1.0];
        let cases: [(&str, &[f32], Vec<Vec<u32>>, Kind); 6] = [
            ("shared token", &[0.0, 1.0], vec![vec![0], vec![0]], Kind::Question),
            ("twice in a group", &[0.0, 1.0], vec![vec![0, 0]], Kind::Question),
            ("no token", &[0.0, 1.0], vec![vec![0], vec![]], Kind::Question),
            ("outside", &[0.0, 1.0], vec![vec![u32::MAX]], Kind::Number),
            ("not a number elsewhere", &nan, vec![vec![0], vec![2]], Kind::Number),
            (
                "an impossible label",
                &[f32::NEG_INFINITY, 0.0],
                vec![vec![0], vec![1]],
                Kind::Number,
            ),
        ];
        for (name, z, labels, kind) in cases {
            assert_eq!(read_groups(z, &labels).unwrap_err().kind(), kind, "{name}");
        }
    }

    /// PROB-01 (sgl-project/sglang#523): log-probabilities of the tokens of five words.
    #[test]
    fn keys_by_mean_log_probability() {
        let logs: [&[f64]; 5] = [
            &[-3.1116],
            &[-3.1116, -1.9949],
            &[-7.6506],
            &[-5.3772, -0.0048, -0.0023],
            &[-3.1116, -3.7136, -0.0034, -0.0023],
        ];
        let ids: [&[u32]; 5] = [&[1], &[2, 3], &[4], &[5, 6, 7], &[8, 9, 10, 11]];
        let keys: Vec<_> = ids.into_iter().zip(logs).collect();
        let means = read_keys(&keys, None).unwrap();
        for (mean, want) in means.iter().zip([-3.1116, -2.55325, -7.6506, -1.7947667, -1.707725]) {
            assert!((mean - want).abs() < 1e-6, "{mean} {want}");
        }
        let sums = read_keys(&[keys[0], keys[2]], None).unwrap();
        assert_eq!(sums, [-3.1116, -7.6506], "equal lengths keep the sum");
        let pmi = read_keys(&[keys[0], keys[2]], Some(&[-3.0, -8.0])).unwrap();
        assert!(pmi[1] > pmi[0], "a rare key gains what it lost without the state");
        let nested = [(&[1u32][..], &[-1.0][..]), (&[1, 2][..], &[-1.0, -0.5][..])];
        assert_eq!(read_keys(&nested, None).unwrap_err().kind(), Kind::Question);
        let twice = [(&[1u32][..], &[-1.0][..]), (&[1][..], &[-1.0][..])];
        assert_eq!(read_keys(&twice, None).unwrap_err().kind(), Kind::Question);
    }

    #[test]
    fn softmax_of_far_values() {
        assert_eq!(softmax(&[1e300, -1e300], 1.0), [1.0, 0.0]);
        assert_eq!(softmax(&[-1e5, -1e5], 1.0), [0.5, 0.5]);
        assert_eq!(first_largest(&[0.5, 0.5]), Some(0), "the first of equals");
        assert_eq!(first_largest(&[0.5, f64::NAN]), None);
        assert_eq!(first_largest(&[]), None);
    }
}
