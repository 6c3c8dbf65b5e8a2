//! Labelled rows: what a model said, and what was right. Everything is fitted and measured on them.

use crate::{Bucket, Error, Form, Kind, readout};

/// One labelled answer: logits in the declared order of the options, and the index of the option
/// that is right. Logits are finite and the index is one of theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    form: Form,
    logits: Vec<f64>,
    label: usize,
    own: f64,
    kin: Kin,
}

/// What a row is never parted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kin {
    /// Nothing.
    Alone,
    /// The other rows of one record.
    Record(u64),
    /// The other rows of one group.
    Group(u64),
}

/// The least probability that becomes a logit: answers that were rounded to two decimals hold
/// zeros that stand for anything below 0.005.
pub const LEAST: f64 = 1e-6;

impl Row {
    /// A row of raw logits. At least two, all finite.
    pub fn new(form: Form, logits: Vec<f64>, label: usize) -> Result<Row, Error> {
        if logits.len() < 2 || (form == Form::Whether && logits.len() != 2) {
            let what = format!("a row of form {} with {} logits", form.name(), logits.len());
            return Err(Error::new(Kind::Rows, what)
                .with_hint("two for noul (false, then true), at least two for the others"));
        }
        if label >= logits.len() {
            let what = format!("label {label} of a row that has {} options", logits.len());
            return Err(Error::new(Kind::Rows, what).with_hint("labels are counted from 0"));
        }
        if logits.iter().any(|z| !z.is_finite()) {
            return Err(Error::new(Kind::Number, "a row holds a logit that is no finite number"));
        }
        Ok(Row { form, logits, label, own: 1.0, kin: Kin::Alone })
    }

    /// A row of probabilities, as services give them: its logits are their logarithms, of
    /// [`LEAST`] at least.
    pub fn from_probabilities(form: Form, p: &[f64], label: usize) -> Result<Row, Error> {
        let sound = |p: &f64| (0.0..=1.0).contains(p);
        let sum: f64 = p.iter().sum();
        if !p.iter().all(sound) || (sum - 1.0).abs() > 0.05 {
            return Err(Error::new(Kind::Number, "a row's numbers are no distribution"));
        }
        Row::new(form, p.iter().map(|p| p.max(LEAST).ln()).collect(), label)
    }

    /// The same row as one of a record that has several questions, by a number of the record's. A
    /// split never divides a record: its rows are about one state. A row of a group stays in that.
    pub fn of_record(mut self, record: u64) -> Row {
        if !matches!(self.kin, Kin::Group(_)) {
            self.kin = Kin::Record(record);
        }
        self
    }

    /// The same row as one of a group, such as the messages of one customer; 0 is no group. A split
    /// never divides a group.
    pub fn in_group(mut self, group: u64) -> Row {
        if group != 0 {
            self.kin = Kin::Group(group);
        }
        self
    }

    /// The same row with what its logits are divided by while no map is fitted: the backend's
    /// [`temperature`](crate::Backend::temperature) for its question. 1 where nobody says.
    pub fn with_own(mut self, temperature: f64) -> Row {
        self.own = temperature;
        self
    }

    /// The answer as it is without a map: what a user sees before calibration.
    pub fn plain(&self) -> Scored {
        Scored::at(self, self.own)
    }

    /// The form of its question.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Its logits, in the declared order of the options.
    pub fn logits(&self) -> &[f64] {
        &self.logits
    }

    /// The index of the option that is right.
    pub fn label(&self) -> usize {
        self.label
    }

    /// Its group; 0 for none.
    pub fn group(&self) -> u64 {
        match self.kin {
            Kin::Group(group) => group,
            Kin::Alone | Kin::Record(_) => 0,
        }
    }

    /// Its bucket.
    pub fn bucket(&self) -> Bucket {
        Bucket::of(self.form, self.logits.len())
    }
}

/// A distribution and the index of what was right: what metrics are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Probabilities in the declared order.
    pub p: Vec<f64>,
    /// The index of the option that is right.
    pub label: usize,
}

impl Scored {
    /// The row as it is, its logits divided by `temperature`.
    pub fn at(row: &Row, temperature: f64) -> Scored {
        Scored { p: readout::softmax(&row.logits, temperature), label: row.label }
    }

    /// Its largest probability and whether that is the right option; the first of equals.
    pub fn trial(&self) -> Trial {
        let best = readout::first_largest(&self.p).unwrap_or(0);
        Trial { confidence: self.p[best], correct: best == self.label }
    }
}

/// How sure an answer was, and whether it was right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Its confidence, 0..=1; not a number where there was none.
    pub confidence: f64,
    /// Whether the answer was the right one.
    pub correct: bool,
}

/// Parts rows in two: to fit on, and to report on. `share` is the part to fit on, roughly. The
/// same seed gives the same split, rows of one record or one group stay together, and the order of
/// the rows within each part is kept.
pub fn split(rows: &[Row], share: f64, seed: u64) -> (Vec<Row>, Vec<Row>) {
    let goes_left = |at: usize, row: &Row| {
        let (kind, id) = match row.kin {
            Kin::Alone => (0, at as u64),
            Kin::Record(record) => (1, record),
            Kin::Group(group) => (2, group),
        };
        let mut stream = Stream::new(seed ^ mix(id.wrapping_mul(3).wrapping_add(kind)));
        stream.next() < share
    };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        if goes_left(at, row) { left.push(row.clone()) } else { right.push(row.clone()) }
    }
    (left, right)
}

/// A seeded stream of numbers in 0..1 (SplitMix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014). For
/// splits and simulations; not for secrets.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Stream {
        Stream(seed)
    }

    /// The next number, 0 ≤ x < 1.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The mixing step of SplitMix64.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_at_the_door() {
        let nan = f64::NAN;
        let cases = [
            ("one option", Form::Choose, vec![1.0], 0, Some(Kind::Rows)),
            ("none", Form::Rate, vec![], 0, Some(Kind::Rows)),
            ("three for whether", Form::Whether, vec![1.0, 2.0, 3.0], 0, Some(Kind::Rows)),
            ("label outside", Form::Choose, vec![1.0, 2.0], 2, Some(Kind::Rows)),
            ("not a number", Form::Choose, vec![1.0, nan], 0, Some(Kind::Number)),
            ("infinite", Form::Choose, vec![1.0, f64::INFINITY], 0, Some(Kind::Number)),
            ("sound", Form::Choose, vec![1.0, 2.0], 1, None),
        ];
        for (name, form, logits, label, want) in cases {
            assert_eq!(Row::new(form, logits, label).err().map(|e| e.kind()), want, "{name}");
        }
        let row = Row::from_probabilities(Form::Choose, &[0.0, 1.0], 0).unwrap();
        assert!(row.logits()[0].is_finite(), "a rounded zero is not impossible");
        for p in [[0.5, nan], [0.9, 0.9], [-0.1, 1.1]] {
            assert!(Row::from_probabilities(Form::Choose, &p, 0).is_err(), "{p:?}");
        }
    }

    #[test]
    fn a_split_never_divides_a_group() {
        let row = |i: usize| Row::new(Form::Choose, vec![i as f64, 0.0], 0).unwrap();
        let rows: Vec<Row> = (0..3000).map(|i| row(i).in_group(1 + i as u64 / 3)).collect();
        let (left, right) = split(&rows, 0.5, 7);
        assert_eq!(left.len() + right.len(), rows.len());
        assert!((1300..1700).contains(&left.len()), "{}", left.len());
        assert!(left.iter().all(|l| right.iter().all(|r| r.kin != l.kin)));
        assert_eq!(split(&rows, 0.5, 7), (left.clone(), right), "the same seed");
        assert_ne!(split(&rows, 0.5, 8).0, left, "another seed");
        assert_eq!(split(&rows, 0.0, 7).0.len(), 0);
        assert_eq!(split(&rows, 1.0, 7).1.len(), 0);
    }

    #[test]
    fn a_split_never_divides_a_record() {
        let row = |i: usize| Row::new(Form::Choose, vec![i as f64, 0.0], 0).unwrap();
        // Forty labels a record, and records of one group beside records of none.
        let of = |i: usize| match i / 40 {
            record if record % 5 == 0 => row(i).in_group(9).of_record(record as u64),
            record => row(i).of_record(record as u64).in_group(0),
        };
        let rows: Vec<Row> = (0..4000).map(of).collect();
        for seed in 0..20 {
            let (left, right) = split(&rows, 0.5, seed);
            assert_eq!(left.len() % 40, 0, "seed {seed}");
            assert!(left.iter().all(|l| right.iter().all(|r| r.kin != l.kin)), "seed {seed}");
            assert!((1000..3000).contains(&left.len()), "seed {seed}: {}", left.len());
        }
    }
}
