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

/// How the log-probabilities of a key's tokens become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyScore {
    /// Their sum: the probability of the key. Long keys of many rare tokens lose by their length.
    #[default]
    Joint,
    /// Their mean: lifts keys of many tokens that follow from each other (sgl-project/sglang#523).
    Mean,
}

/// Logits of keys of several tokens from the log-probabilities of their tokens, each key in turn.
///
/// A key whose tokens begin another key never has the smaller probability, so such keys are
/// refused; with an end mark as the last token of each, none begins another. `without` holds the
/// sums for the prompt without the state, and is subtracted: pointwise mutual information.
pub fn read_keys(
    keys: &[(&[u32], &[f64])],
    without: Option<&[f64]>,
    score: KeyScore,
) -> Result<Vec<f64>, Error> {
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
            return Err(Error::new(Kind::Question, what)
                .with_hint("rename one of them, or end each key with an end mark"));
        }
    }
    if without.is_some_and(|w| w.len() != keys.len()) {
        return Err(Error::new(Kind::Number, "not one value a key without the state"));
    }
    let logits: Vec<f64> = keys
        .iter()
        .enumerate()
        .map(|(at, (_, logs))| {
            let sum = logs.iter().sum::<f64>() - without.map_or(0.0, |w| w[at]);
            match score {
                KeyScore::Joint => sum,
                KeyScore::Mean => sum / logs.len() as f64,
            }
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
        type Case<'a> = (&'a str, &'a [f32], Vec<Vec<u32>>, Kind);
        let cases: [Case<'_>; 6] = [
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

    /// PROB-01 (sgl-project/sglang#523): log-probabilities of the tokens of organ, organism,
    /// organisation, organelle and organometallic.
    const WORDS: [(&[u32], &[f64]); 5] = [
        (&[1, 0], &[-3.1116, 0.0]),
        (&[1, 2, 0], &[-3.1116, -1.9949, 0.0]),
        (&[3, 0], &[-7.6506, 0.0]),
        (&[4, 5, 6, 0], &[-5.3772, -0.0048, -0.0023, 0.0]),
        (&[1, 7, 8, 6, 0], &[-3.1116, -3.7136, -0.0034, -0.0023, 0.0]),
    ];

    #[test]
    fn keys_by_joint_probability() {
        let sums = read_keys(&WORDS, None, KeyScore::default()).unwrap();
        for (sum, want) in sums.iter().zip([-3.1116, -5.1065, -7.6506, -5.3843, -6.8309]) {
            assert!((sum - want).abs() < 1e-12, "{sum} {want}");
        }
        assert_eq!(first_largest(&sums), Some(0), "organ");
        let means = read_keys(&WORDS, None, KeyScore::Mean).unwrap();
        assert!(means[4] > means[0], "what the mean does, and why it must be asked for");
        let rare = read_keys(&WORDS, Some(&[-3.0, -5.0, -9.0, -5.0, -6.0]), KeyScore::Joint);
        assert_eq!(first_largest(&rare.unwrap()), Some(2), "gains what it lost without the state");
    }

    #[test]
    fn keys_that_begin_others_are_refused() {
        let cut = WORDS.map(|(ids, logs)| (&ids[..ids.len() - 1], &logs[..logs.len() - 1]));
        let twice: [(&[u32], &[f64]); 2] = [(&[1], &[-1.0]), (&[1], &[-1.0])];
        for (name, keys) in [("organ, organism", &cut[..]), ("twice", &twice)] {
            let error = read_keys(keys, None, KeyScore::Joint).unwrap_err();
            assert_eq!(error.kind(), Kind::Question, "{name}");
        }
        let none: [(&[u32], &[f64]); 1] = [(&[], &[])];
        let nan: [(&[u32], &[f64]); 1] = [(&[1], &[f64::NAN])];
        let short: [(&[u32], &[f64]); 1] = [(&[1, 2], &[-1.0])];
        for (name, keys) in [("no token", none), ("not a number", nan), ("short", short)] {
            let error = read_keys(&keys, None, KeyScore::Joint).unwrap_err();
            assert_eq!(error.kind(), Kind::Number, "{name}");
        }
        assert!(read_keys(&WORDS, Some(&[0.0]), KeyScore::Joint).is_err());
    }

    /// PROB-03 (sgl-project/sglang#388, #408): another order of the same keys or labels permutes
    /// their numbers and changes none.
    #[test]
    fn another_order_permutes() {
        let order = [3, 0, 4, 2, 1];
        let moved = order.map(|at| WORDS[at]);
        let (sums, other) = (
            read_keys(&WORDS, None, KeyScore::Joint).unwrap(),
            read_keys(&moved, None, KeyScore::Joint).unwrap(),
        );
        assert_eq!(other, order.map(|at| sums[at]));
        let z = [0.5f32, -1.0, 2.0, 3.0, 0.25, 1.5];
        let read = read_labels(&z, &[5, 0, 1, 2, 3]).unwrap();
        let other = read_labels(&z, &order.map(|at| [5, 0, 1, 2, 3][at])).unwrap();
        assert_eq!(other.logits, order.map(|at| read.logits[at]));
        assert!((other.mass - read.mass).abs() < 1e-15);
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
