//! What a model prefers before it has read anything: places, and words.
//!
//! Averaging over orders of the options cancels a preference for places; dividing by a running
//! prior weakens one for words. Sources: Z. Zhao and others, ICML 2021 (content-free prior);
//! H. Zhou and others, "Batch calibration", ICLR 2024; measurements of package `anyjev`.

use serde::{Deserialize, Serialize};

use crate::{Form, Orders, Question, readout};

/// The log margin of the two first options from which on no further order is read. With 8.5, at
/// most 1 % of early answers differed from the full ones (package `anyjev`).
pub const ENOUGH: f64 = 8.5;
/// The power of the prior that is divided by.
pub const ALPHA: f64 = 0.75;
/// The fewest inputs that make a prior.
pub const LEAST_INPUTS: u64 = 8;

/// The orders in which a question's options are shown: slot `s` of order `o` shows option
/// `o[s]` of the declared order.
pub fn orders(question: &Question, orders: Orders) -> Vec<Vec<usize>> {
    let n = question.options();
    let declared: Vec<usize> = (0..n).collect();
    if n < 2 || orders == Orders::Declared {
        return vec![declared];
    }
    // Rotating a scale would put its end next to its beginning.
    if orders == Orders::Two || question.form() == Form::Rate {
        let reversed = declared.iter().rev().copied().collect();
        return vec![declared, reversed];
    }
    // Sorted first, so that the result is a function of the set of options.
    let labels = question.labels();
    let mut sorted = declared;
    sorted.sort_by(|a, b| labels[*a].cmp(&labels[*b]));
    let rotated = |by: usize| (0..n).map(|slot| sorted[(slot + by) % n]).collect();
    shifts(n).into_iter().map(rotated).collect()
}

/// All shifts below `n`, each far from those before it: 0, n/2, n/4, 3n/4, … (van der Corput).
fn shifts(n: usize) -> Vec<usize> {
    let bits = n.next_power_of_two().trailing_zeros();
    let mut seen = vec![false; n];
    let mut out = Vec::with_capacity(n);
    for i in 0..n.next_power_of_two() {
        let reversed = if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
        // Whole numbers: reversed / 2^bits of n, rounded down.
        let shift = ((reversed as u128 * n as u128) >> bits) as usize;
        if !std::mem::replace(&mut seen[shift], true) {
            out.push(shift);
        }
    }
    out.extend((0..n).filter(|shift| !seen[*shift]));
    out
}

/// How much the order of the options mattered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// Orders that were read.
    pub readings: u64,
    /// Orders in which another option was first than on average.
    pub flips: u64,
    /// The largest difference of one option's probability between two orders.
    pub spread: f64,
}

/// The average of readings in log space: log-probabilities in the declared order, and how much the
/// readings differ. `None` when there is none, or when one has another length or is no number.
pub fn average(readings: &[Vec<f64>]) -> Option<(Vec<f64>, Sensitivity)> {
    let n = readings.first()?.len();
    let mut sum = vec![0.0; n];
    let (mut low, mut high) = (vec![1.0f64; n], vec![0.0f64; n]);
    for reading in readings {
        if reading.len() != n || reading.iter().any(|z| !z.is_finite()) {
            return None;
        }
        let p = readout::softmax(reading, 1.0);
        for (k, log) in readout::log_softmax(reading, 1.0).into_iter().enumerate() {
            sum[k] += log;
            low[k] = low[k].min(p[k]);
            high[k] = high[k].max(p[k]);
        }
    }
    let mean: Vec<f64> = sum.iter().map(|z| z / readings.len() as f64).collect();
    let mean = readout::log_softmax(&mean, 1.0);
    let best = readout::first_largest(&mean)?;
    let other = |reading: &&Vec<f64>| readout::first_largest(reading) != Some(best);
    let flips = readings.iter().filter(other).count() as u64;
    let spread = low.iter().zip(&high).map(|(low, high)| high - low).fold(0.0, f64::max);
    Some((mean, Sensitivity { readings: readings.len() as u64, flips, spread }))
}

/// Whether the two first options are so far apart that further orders change nothing.
pub fn is_settled(readings: &[Vec<f64>], enough: f64) -> bool {
    let Some((mean, _)) = average(readings) else { return false };
    let mut sorted = mean;
    sorted.sort_by(f64::total_cmp);
    match sorted[..] {
        [.., second, first] => first - second >= enough,
        _ => true,
    }
}

/// The running mean of a question's distributions over real inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior {
    inputs: u64,
    sum: Vec<f64>,
}

impl Prior {
    /// One more input with this distribution. One that does not fit is left out.
    pub fn observe(&mut self, p: &[f64]) {
        if self.inputs == 0 {
            self.sum = vec![0.0; p.len()];
        }
        if p.len() == self.sum.len() && p.iter().all(|p| (0.0..=1.0).contains(p)) {
            self.inputs += 1;
            self.sum.iter_mut().zip(p).for_each(|(sum, p)| *sum += p);
        }
    }

    /// Inputs so far.
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// The mean distribution; `None` without an input.
    pub fn mean(&self) -> Option<Vec<f64>> {
        let mean = |sum: &f64| sum / self.inputs as f64;
        (self.inputs > 0).then(|| self.sum.iter().map(mean).collect())
    }

    /// Log-probabilities with the prior, to the power `alpha`, divided out. `None` before
    /// [`LEAST_INPUTS`] inputs.
    pub fn correct(&self, log_p: &[f64], alpha: f64) -> Option<Vec<f64>> {
        if self.inputs < LEAST_INPUTS || log_p.len() != self.sum.len() {
            return None;
        }
        Some(divided(log_p, self.mean()?, alpha))
    }
}

/// Log-probabilities with a distribution, to the power `alpha`, divided out.
pub(crate) fn divided(log_p: &[f64], by: impl IntoIterator<Item = f64>, alpha: f64) -> Vec<f64> {
    let moved: Vec<f64> =
        log_p.iter().zip(by).map(|(z, p)| z - alpha * p.max(crate::rows::LEAST).ln()).collect();
    readout::log_softmax(&moved, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;

    fn choice(labels: &[&str]) -> Question {
        Question::choose("¿Qué pide?", labels.iter().map(|l| Choice::plain(*l)))
    }

    #[test]
    fn shifts_are_all_shifts() {
        assert_eq!(shifts(8), [0, 4, 2, 6, 1, 5, 3, 7]);
        for n in 1..300 {
            let mut all = shifts(n);
            assert_eq!(all[0], 0);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn orders_by_form() {
        let q = choice(&["pago", "año", "baja"]);
        assert_eq!(orders(&q, Orders::Declared), [[0, 1, 2]]);
        assert_eq!(orders(&q, Orders::Two), [[0, 1, 2], [2, 1, 0]]);
        // Sorted by text: año, baja, pago.
        assert_eq!(orders(&q, Orders::Cyclic), [[1, 2, 0], [2, 0, 1], [0, 1, 2]]);
        let rate = Question::rate("¿Cuán urgente?", ["poco", "algo", "mucho"]);
        assert_eq!(orders(&rate, Orders::Cyclic), [[0, 1, 2], [2, 1, 0]], "a scale stays a scale");
        let whether = Question::whether("Es urgente");
        assert_eq!(orders(&whether, Orders::Cyclic), [[0, 1], [1, 0]]);
    }

    /// A preference for places that adds to the logits is gone after all rotations.
    #[test]
    fn rotations_cancel_places() {
        let truth = [0.3, -1.0, 0.9, 0.0, 0.2];
        let bias = [2.0, 0.0, -1.0, 0.5, 3.0];
        let q = choice(&["e", "d", "c", "b", "a"]);
        let read = |order: &Vec<usize>| {
            let mut z = vec![0.0; 5];
            order.iter().enumerate().for_each(|(slot, k)| z[*k] = truth[*k] + bias[slot]);
            z
        };
        let readings: Vec<_> = orders(&q, Orders::Cyclic).iter().map(read).collect();
        let (mean, how) = average(&readings).unwrap();
        for (mean, want) in mean.iter().zip(readout::log_softmax(&truth, 1.0)) {
            assert!((mean - want).abs() < 1e-12);
        }
        assert_eq!(how.readings, 5);
        assert!(how.flips > 0 && how.spread > 0.5, "{how:?}");
        let one = average(&[vec![1.0, 2.0]]).unwrap().1;
        assert_eq!((one.flips, one.spread), (0, 0.0));
        for bad in [vec![], vec![vec![1.0, f64::NAN]], vec![vec![1.0], vec![1.0, 2.0]]] {
            assert!(average(&bad).is_none());
        }
        assert!(is_settled(&[vec![9.0, 0.0]], ENOUGH) && !is_settled(&[vec![8.0, 0.0]], ENOUGH));
        assert!(!is_settled(&[vec![f64::NAN, 0.0]], ENOUGH));
    }

    #[test]
    fn a_prior_is_divided_out() {
        let mut prior = Prior::default();
        let biased = [0.8, 0.2];
        for _ in 0..LEAST_INPUTS {
            assert_eq!(prior.correct(&[0.8f64.ln(), 0.2f64.ln()], 1.0), None);
            prior.observe(&biased);
        }
        prior.observe(&[f64::NAN, 0.5]);
        prior.observe(&[1.0]);
        assert_eq!(prior.inputs(), LEAST_INPUTS);
        let even = prior.correct(&[0.8f64.ln(), 0.2f64.ln()], 1.0).unwrap();
        assert!((even[0] - even[1]).abs() < 1e-12, "what is always said says nothing");
        let less = prior.correct(&[0.8f64.ln(), 0.2f64.ln()], ALPHA).unwrap();
        assert!(less[0] > less[1], "a power below one takes off a part");
        assert_eq!(prior.correct(&[0.0; 3], 1.0), None, "another number of options");
    }
}
