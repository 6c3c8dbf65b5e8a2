//! A state that is longer than a model's room: refused, or read in windows that overlap, of which
//! one answers. Which of both is said, never guessed; the answer tells of the windows, and the word
//! for the reading of the strategy, so that no calibration of another one applies.
//!
//! Windows of half an overlap, and the rules for which of them answers, are those of package `laya`
//! 0.4.15 (its documentation of long inputs).

use recinto_judge::{
    Evidence, Reading, Rule, Shown, Truncation, Unavailable, Usage, Windows, readout,
};

/// Most windows of one state.
const MOST: usize = 256;
/// The fewest tokens of a window that are worth a reading, unless the state has fewer.
pub(crate) const LEAST: usize = 16;

/// What becomes of a state that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Long {
    /// There is no answer, and the numbers that say why.
    #[default]
    Refuse,
    /// It is read in windows.
    Windows,
}

impl Long {
    /// What stands behind the word for a reading.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Long::Refuse => "",
            Long::Windows => " windows/1",
        }
    }
}

/// Where the windows of a state begin and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Tokens of the state.
    pub all: usize,
    /// Tokens of each window.
    pub size: usize,
    overlap: usize,
    starts: Vec<usize>,
}

impl Plan {
    /// Windows of `size` over `all` tokens, each sharing half of it with the one before; none where
    /// windows would be too small or too many.
    pub fn new(all: usize, size: usize) -> Option<Plan> {
        if size < LEAST.min(all) || size < 2 {
            return None;
        }
        let step = size - size / 2;
        let mut starts = vec![0];
        let mut end = size;
        while end < all {
            if starts.len() == MOST {
                return None;
            }
            starts.push(starts.len() * step);
            end += step;
        }
        Some(Plan { all, size, overlap: size / 2, starts })
    }

    /// The tokens of each window.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.starts.iter().map(|start| *start..(start + self.size).min(self.all))
    }

    /// The reading of the window that answers. `temperature` is what logits are divided by before
    /// windows are compared. A window without a reading leaves the question without an answer: it
    /// may be the one that would have said so.
    pub fn answer(
        &self,
        shown: &Shown<'_>,
        readings: Vec<Result<Reading, Unavailable>>,
        temperature: f64,
    ) -> Result<Reading, Unavailable> {
        let readings: Vec<Reading> = readings.into_iter().collect::<Result<_, _>>()?;
        let rule = Rule::of(shown.question.form());
        let (mut best, mut usage) = (None, Usage::default());
        for (at, reading) in readings.iter().enumerate() {
            usage = usage.plus(reading.usage);
            let Evidence::Logits(logits) = &reading.evidence else {
                return Err(Unavailable::Failed);
            };
            if logits.iter().any(|z| !z.is_finite()) {
                return Err(Unavailable::NotANumber);
            }
            let p = readout::softmax(logits, temperature);
            let yes = shown.order.iter().position(|option| *option == 1);
            let weight = match rule {
                Rule::LargestYes => yes.and_then(|slot| p.get(slot).copied()),
                Rule::MostConfident => p.iter().copied().reduce(f64::max),
            };
            let weight = weight.ok_or(Unavailable::NotANumber)?;
            if best.is_none_or(|(_, most)| weight > most) {
                best = Some((at, weight));
            }
        }
        let (at, _) = best.ok_or(Unavailable::NoAnswer)?;
        let truncation = Truncation {
            state_tokens: self.all as u64,
            windows: Some(Windows {
                count: self.starts.len() as u64,
                size: self.size as u64,
                overlap: self.overlap as u64,
                rule,
                answers: Some(at as u64),
            }),
            ..Truncation::default()
        };
        let reading = readings.into_iter().nth(at).ok_or(Unavailable::NoAnswer)?;
        Ok(Reading { truncation, usage, ..reading })
    }
}

#[cfg(test)]
mod tests {
    use recinto_judge::{Choice, Question};

    use super::*;

    #[test]
    fn every_token_is_in_a_window_and_most_are_in_two() {
        let cases =
            [(100, 40, 4), (40, 40, 1), (41, 40, 2), (1000, 64, 31), (5, 9, 1), (99, 17, 11)];
        for (all, size, count) in cases {
            let plan = Plan::new(all, size).unwrap();
            let ranges: Vec<_> = plan.ranges().collect();
            assert_eq!(ranges.len(), count, "{all} {size}: {ranges:?}");
            let seen = |token: usize| ranges.iter().filter(|range| range.contains(&token)).count();
            assert!((0..all).all(|token| seen(token) >= 1), "{all} {size}: {ranges:?}");
            assert!(ranges.iter().all(|range| range.len() <= size && !range.is_empty()));
            let overlaps = ranges.windows(2).all(|two| two[0].end - two[1].start == size / 2);
            assert!(overlaps, "{all} {size}: {ranges:?}");
        }
        for (name, all, size) in
            [("too small", 1000, 15), ("none", 1000, 0), ("too many", 100_000, 64)]
        {
            assert_eq!(Plan::new(all, size), None, "{name}");
        }
        assert!(Plan::new(20 + 255 * 10, 20).is_some() && Plan::new(21 + 255 * 10, 20).is_none());
    }

    #[test]
    fn which_window_answers() {
        let reading = |logits: &[f64]| {
            Ok(Reading {
                evidence: Evidence::Logits(logits.to_vec()),
                mass: None,
                truncation: Truncation::default(),
                model: None,
                usage: Usage { input_tokens: 7, output_tokens: 0 },
            })
        };
        let whether = Question::whether("¿Es urgente?");
        let choose = Question::choose("¿De qué va?", ["a", "b"].map(Choice::plain));
        let rate = Question::rate("¿Cuánto?", ["poco", "mucho"]);
        let plan = Plan::new(30, 20).unwrap();
        // Logits of two windows in their slots, and the window that answers.
        type Case<'a> = (&'a str, &'a Question, [usize; 2], [[f64; 2]; 2], u64);
        let cases: [Case<'_>; 6] = [
            ("the larger yes", &whether, [0, 1], [[0.0, 1.0], [0.0, 2.0]], 1),
            ("however sure a no", &whether, [0, 1], [[9.0, 0.0], [0.0, 0.1]], 1),
            ("yes in the first slot", &whether, [1, 0], [[1.0, 0.0], [0.0, 2.0]], 0),
            ("the surer choice", &choose, [0, 1], [[0.0, 1.0], [3.0, 0.0]], 1),
            ("the first of equals", &choose, [0, 1], [[0.0, 1.0], [1.0, 0.0]], 0),
            ("the surer level", &rate, [0, 1], [[4.0, 0.0], [0.0, 1.0]], 0),
        ];
        for (name, question, order, logits, want) in cases {
            let shown = Shown { question, order: &order };
            let found = plan.answer(&shown, logits.iter().map(|z| reading(z)).collect(), 2.0);
            let found = found.unwrap_or_else(|e| panic!("{name}: {e}"));
            let windows = found.truncation.windows.unwrap();
            assert_eq!(windows.answers, Some(want), "{name}");
            assert_eq!((windows.count, windows.size, windows.overlap), (2, 20, 10), "{name}");
            assert_eq!(found.evidence, Evidence::Logits(logits[want as usize].to_vec()), "{name}");
            assert_eq!((found.usage.input_tokens, found.truncation.dropped), (14, 0), "{name}");
        }
        let shown = Shown { question: &whether, order: &[0, 1] };
        let missing = vec![reading(&[0.0, 9.0]), Err(Unavailable::NotANumber)];
        assert_eq!(plan.answer(&shown, missing, 1.0), Err(Unavailable::NotANumber));
        assert_eq!(
            plan.answer(&shown, vec![reading(&[f64::NAN, 1.0])], 1.0),
            Err(Unavailable::NotANumber)
        );
    }
}
