//! How many answers pass at each confidence, and how many of them are wrong: of the labelled rows
//! there are, and of as many as one likes that are drawn like these.

use crate::rows::Trial;

/// Answers that pass at a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count {
    pub threshold: f64,
    pub accepted: u64,
    pub errors: u64,
}

/// Labelled rows by falling confidence.
pub(super) struct Rows {
    known: Vec<Trial>,
    /// The first and the last but one of the rows that are as confident as each.
    ties: Vec<(usize, usize)>,
    all: u64,
}

impl Rows {
    pub fn new(trials: &[Trial]) -> Rows {
        let mut known: Vec<Trial> =
            trials.iter().filter(|t| !t.confidence.is_nan()).copied().collect();
        known.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        let (mut ties, mut from) = (Vec::with_capacity(known.len()), 0);
        for tie in known.chunk_by(|a, b| a.confidence == b.confidence) {
            let to = from + tie.len();
            ties.extend(tie.iter().map(|_| (from, to)));
            from = to;
        }
        Rows { known, ties, all: trials.len() as u64 }
    }

    /// Labelled rows, those without a confidence too.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// Rows with a confidence.
    pub fn known(&self) -> u64 {
        self.known.len() as u64
    }

    /// The curve of these rows.
    pub fn curve(&self) -> Curve<'_> {
        self.curve_of(self.all)
    }

    /// The curve of `rows` rows with the same distribution: each row stands for a block of equal
    /// size, whose confidences lie between its own and the next one's. Confidences that occur more
    /// than once do so among more rows too.
    pub fn curve_of(&self, rows: u64) -> Curve<'_> {
        let mut curve = Curve { of: self, rows, errors: Vec::with_capacity(self.known.len() + 1) };
        let mut errors = 0;
        curve.errors.push(0);
        for (at, trial) in self.known.iter().enumerate() {
            if !trial.correct {
                errors += curve.start(at + 1) - curve.start(at);
            }
            curve.errors.push(errors);
        }
        curve
    }
}

/// Counts at each threshold.
pub(super) struct Curve<'a> {
    of: &'a Rows,
    rows: u64,
    /// Errors before the block of each row, and of all blocks.
    errors: Vec<u64>,
}

impl Curve<'_> {
    /// Rows in all.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows with a confidence.
    pub fn known(&self) -> u64 {
        self.start(self.of.known.len())
    }

    /// Where the block of a row begins.
    fn start(&self, at: usize) -> u64 {
        let wide = (at as u128 * u128::from(self.rows)).div_ceil(u128::from(self.of.all.max(1)));
        u64::try_from(wide).unwrap_or(u64::MAX)
    }

    fn until(&self, threshold: f64, at: usize) -> Count {
        Count { threshold, accepted: self.start(at), errors: self.errors[at] }
    }

    /// At the confidence of the row of this rank, from 1, the surest, to [`Curve::known`].
    pub fn at(&self, rank: u64) -> Option<Count> {
        let wide = u128::from(rank.checked_sub(1)?) * u128::from(self.of.all);
        let at = usize::try_from(wide / u128::from(self.rows.max(1))).ok()?;
        let trial = self.of.known.get(at)?;
        let (from, to) = self.of.ties[at];
        if to - from > 1 {
            return Some(self.until(trial.confidence, to));
        }
        let inside = if trial.correct { 0 } else { rank - self.start(at) };
        let errors = self.errors[at] + inside;
        Some(Count { threshold: trial.confidence, accepted: rank, errors })
    }

    /// At a threshold.
    pub fn above(&self, threshold: f64) -> Count {
        self.until(threshold, self.of.known.partition_point(|t| t.confidence >= threshold))
    }

    /// At each confidence that occurs, the strictest first.
    pub fn points(&self) -> impl Iterator<Item = Count> {
        let last = |(at, (_, to)): (usize, &(usize, usize))| (at + 1 == *to).then_some(*to);
        let ends = self.of.ties.iter().enumerate().filter_map(last);
        ends.map(|to| self.until(self.of.known[to - 1].confidence, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Stream;

    fn drawn(seed: u64, n: usize, steps: f64) -> Vec<Trial> {
        let mut stream = Stream::new(seed);
        let confidence = |x: f64| (x * steps).floor() / steps;
        (0..n)
            .map(|at| match at % 7 {
                0 => Trial { confidence: f64::NAN, correct: false },
                _ => Trial { confidence: confidence(stream.next()), correct: stream.next() < 0.7 },
            })
            .collect()
    }

    /// Every count of a curve is that of counting; with and without ties.
    #[test]
    fn counts_are_counted() {
        for (seed, n, steps) in [(1, 1, 10.0), (2, 40, 1e9), (3, 200, 12.0), (4, 500, 1e9)] {
            let trials = drawn(seed, n, steps);
            let rows = Rows::new(&trials);
            let curve = rows.curve();
            assert_eq!(curve.known(), rows.known());
            for rank in 1..=curve.known() {
                let count = curve.at(rank).unwrap();
                let want = super::super::count(&trials, count.threshold);
                assert_eq!((count.accepted, count.errors), want, "{seed}: {rank}");
                assert_eq!(curve.above(count.threshold), count, "{seed}: {rank}");
            }
            assert!(curve.at(0).is_none() && curve.at(curve.known() + 1).is_none());
            assert_eq!(curve.points().last().map_or(0, |c| c.accepted), rows.known());
        }
    }

    /// Ten times the rows have ten times the errors at the same place.
    #[test]
    fn more_rows_are_like_these() {
        for steps in [8.0, 1e9] {
            let rows = Rows::new(&drawn(5, 300, steps));
            let (one, ten) = (rows.curve(), rows.curve_of(3000));
            assert_eq!(ten.known(), 10 * one.known());
            for rank in 1..=one.known() {
                let (a, b) = (one.at(rank).unwrap(), ten.at(10 * rank).unwrap());
                assert_eq!((10 * a.accepted, 10 * a.errors), (b.accepted, b.errors), "{rank}");
            }
        }
    }
}
