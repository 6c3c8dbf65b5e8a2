//! A report on labelled answers: figures with intervals, a reliability diagram, the curve of risk
//! against coverage. As a page (nothing is fetched, no scripts), as a picture, as text.

mod figure;
mod glyphs;
mod page;
mod pixels;

use crate::{
    Error, Form, Gate, Kind, Scored, Trial,
    bounds::{Interval, clopper_pearson, wilson},
    metrics::{self, Bin, Point},
};

/// Bins of the diagram.
pub const BINS: usize = 10;
/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// What labelled answers show.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    form: Form,
    rows: Vec<Scored>,
    trials: Vec<Trial>,
    bins: Vec<Bin>,
    curve: Vec<Point>,
    gate: Option<Gate>,
}

/// A row of the table of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The interval around it, where there is one.
    pub interval: Option<Interval>,
    /// What it means.
    pub says: &'static str,
}

impl Report {
    /// A report on answers of one form. Refuses no rows, and rows with what is no probability.
    pub fn new(title: impl Into<String>, form: Form, rows: Vec<Scored>) -> Result<Report, Error> {
        if rows.is_empty() {
            return Err(Error::new(Kind::Rows, "a report on no rows").with_hint("label some"));
        }
        let sound =
            |row: &Scored| row.label < row.p.len() && row.p.iter().all(|p| (0.0..=1.0).contains(p));
        if let Some(at) = rows.iter().position(|row| !sound(row)) {
            let what = format!("row {} is no distribution with a label", at + 1);
            return Err(Error::new(Kind::Rows, what));
        }
        let trials: Vec<Trial> = rows.iter().map(Scored::trial).collect();
        let bins = metrics::equal_width(&trials, BINS);
        let curve = metrics::risk_coverage(&trials);
        Ok(Report { title: title.into(), form, rows, trials, bins, curve, gate: None })
    }

    /// The same with a gate's thresholds in it.
    pub fn with_gate(mut self, gate: Gate) -> Report {
        self.gate = Some(gate);
        self
    }

    /// All figures.
    pub fn figures(&self) -> Vec<Figure> {
        let (t, n) = (&self.trials, self.trials.len() as u64);
        let hits = t.iter().filter(|t| t.correct).count() as u64;
        let plain = |name, value, says| Figure { name, value, interval: None, says };
        let area = metrics::risk_area(t);
        let mut out = vec![
            plain("rows", n as f64, "labelled answers"),
            Figure {
                name: "accuracy",
                value: metrics::accuracy(t),
                interval: Some(clopper_pearson(hits, n, CONFIDENCE)),
                says: "share that is right",
            },
            plain(
                "ece",
                metrics::calibration_error(&metrics::equal_width(t, 15)),
                "mean gap of confidence and accuracy, 15 bins of equal width",
            ),
            plain(
                "adaptive ece",
                metrics::calibration_error(&metrics::equal_count(t, 15)),
                "the same, 15 bins of equal counts",
            ),
            plain("mce", metrics::largest_gap(&metrics::equal_width(t, 15)), "largest gap"),
            plain("brier", metrics::brier(&self.rows), "squared error over all options, 0 to 2"),
            plain(
                "brier, confidence",
                metrics::brier_of_confidence(t),
                "squared error of the confidence, 0 to 1",
            ),
            plain("log loss", metrics::log_loss(&self.rows), "nothing is clipped"),
            plain("aurc", area, "mean risk over all coverages"),
            plain("excess aurc", area - metrics::least_risk_area(t), "above the best ranking"),
        ];
        if self.form == Form::Rate {
            let value = metrics::ranked_score(&self.rows);
            out.push(plain("rps", value, "ranked probability score, 0 to 1"));
        }
        for (risk, name) in
            [(0.01, "coverage at 1 %"), (0.05, "coverage at 5 %"), (0.1, "coverage at 10 %")]
        {
            let value = metrics::coverage_at_risk(t, risk);
            out.push(plain(name, value, "what these rows show; no promise, see the gate"));
        }
        out
    }

    /// The bins of the diagram, each with Wilson's interval of its accuracy.
    pub fn bins(&self) -> Vec<(Bin, Interval)> {
        let interval = |bin: &Bin| wilson(bin.hits, bin.rows, CONFIDENCE);
        self.bins.iter().map(|bin| (*bin, interval(bin))).collect()
    }

    /// The page: one file of HTML with the diagram in it.
    pub fn html(&self) -> Result<String, Error> {
        page::html(self)
    }

    /// The diagram as SVG.
    pub fn svg(&self) -> Result<String, Error> {
        figure::svg(self)
    }

    /// The diagram as PNG. The same rows give the same bytes on every machine: text is drawn with
    /// our own glyphs.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        figure::png(self)
    }

    /// The diagram in characters, for a terminal.
    pub fn text(&self) -> String {
        use std::fmt::Write;
        const WIDTH: usize = 40;
        let mut out = String::from("confidence  rows  accuracy (95 % interval)\n");
        for (bin, interval) in self.bins() {
            let at = |x: f64| ((x * WIDTH as f64) as usize).min(WIDTH - 1);
            let mut bar = vec![' '; WIDTH];
            if bin.rows > 0 {
                bar[at(interval.low)..=at(interval.high)].fill('-');
                bar[at(bin.confidence)] = '|';
                bar[at(bin.accuracy())] = 'o';
            }
            let bar: String = bar.into_iter().collect();
            let (low, high, rows) = (bin.low, bin.high, bin.rows);
            // Writing to a text cannot fail.
            let _ = writeln!(out, "{low:.1} .. {high:.1} {rows:6}  [{bar}]");
        }
        out.push_str("o accuracy   | mean confidence   - interval\n");
        out
    }

    /// Thresholds that a gate certified for answers like these.
    fn thresholds(&self) -> Vec<f64> {
        let Some(gate) = &self.gate else { return Vec::new() };
        gate.cells()
            .iter()
            .filter(|(cell, _)| cell.bucket.form == self.form)
            .filter_map(|(_, fit)| match fit.finding {
                crate::gate::Finding::Certified(c) => Some(c.threshold.0),
                _ => None,
            })
            .collect()
    }
}
