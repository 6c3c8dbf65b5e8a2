//! What a log of sends says in all: by provider, by label, by day.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use recinto_os::append;
use serde::Serialize;

use crate::{
    destination::is_model,
    error::{Error, Kind},
    label::{Label, MAX_LABELS},
    log::{FORM, Line, MAX_LINE},
    read::is_name,
    time,
};

/// Most damaged lines that are named.
const NAMED: usize = 20;
/// Most different labels and days that are counted; far more than one log has in years.
const MAX_ROWS: usize = 100_000;

/// How much went somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// How often something was sent.
    pub sends: u64,
    /// Bytes of the bodies.
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.sends = self.sends.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// All that was counted.
    pub all: Sum,
    /// By provider and host, as `anthropic at api.anthropic.com`.
    pub providers: BTreeMap<String, Sum>,
    /// By label; a send with two labels counts for both.
    pub labels: BTreeMap<String, Sum>,
    /// By day of UTC.
    pub days: BTreeMap<String, Sum>,
    /// Sends whose line has no digest, because there was no key.
    pub without_digest: u64,
    /// Lines that cannot be read, and were not counted.
    pub damaged: u64,
    /// The first of them, from 1.
    pub damaged_lines: Vec<u64>,
    /// Whether the last line has no end: it was cut, or is being written.
    pub cut: bool,
}

impl Report {
    /// Reads the log at `path`; lines of days before `since` (as `2026-01-31`) do not count. A log
    /// that is not there has no sends.
    ///
    /// # Errors
    ///
    /// A link, what is no regular file, a file that cannot be read; a `since` that is no day.
    pub fn read(path: &Path, since: Option<&str>) -> Result<Report, Error> {
        check_day(since)?;
        let fault = |e: io::Error| {
            Error::new(Kind::Egress, format!("the log of sends {}: {e}", path.display()))
                .hint("`--egress-log FILE` names another one")
        };
        match append::open_to_read(path) {
            Ok(file) => Report::of(BufReader::new(file), since).map_err(fault),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Report::default()),
            Err(e) => Err(fault(e)),
        }
    }

    fn of(mut log: impl BufRead, since: Option<&str>) -> io::Result<Report> {
        let mut report = Report::default();
        let mut bytes = Vec::new();
        let mut number = 0u64;
        while next(&mut log, &mut bytes)? {
            number = number.saturating_add(1);
            let ended = bytes.pop_if(|last| *last == b'\n').is_some();
            match read(&bytes) {
                // A whole line whose end alone is missing was being written; it counts.
                Some(line) => report.add(&line, since),
                None if !ended => {}
                None => {
                    report.damaged = report.damaged.saturating_add(1);
                    if report.damaged_lines.len() < NAMED {
                        report.damaged_lines.push(number);
                    }
                }
            }
            report.cut = !ended;
        }
        Ok(report)
    }

    fn add(&mut self, line: &Line, since: Option<&str>) {
        let day = &line.time[..10];
        if since.is_some_and(|since| day < since) {
            return;
        }
        self.all.add(line.bytes);
        self.without_digest += u64::from(line.digest.is_none());
        let count = |rows: &mut BTreeMap<String, Sum>, name: String| {
            if rows.len() < MAX_ROWS || rows.contains_key(&name) {
                rows.entry(name).or_default().add(line.bytes);
            }
        };
        count(&mut self.providers, format!("{} at {}", line.provider, line.host));
        count(&mut self.days, day.to_owned());
        line.labels.iter().for_each(|label| count(&mut self.labels, label.clone()));
    }
}

/// Whether `since` is a day, where there is one.
fn check_day(since: Option<&str>) -> Result<(), Error> {
    match since {
        Some(day) if !time::is_day(day) => {
            Err(Error::new(Kind::Egress, "that is no day")
                .hint("a day is needed, as in `2026-01-31`"))
        }
        _ => Ok(()),
    }
}

/// The next line with its end; of one that is too long its beginning only. False at the end.
fn next(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    log.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', line)?;
    if line.len() > MAX_LINE && line.last() != Some(&b'\n') {
        // Passed over without being held.
        loop {
            let held = log.fill_buf()?;
            let (len, ended) = match held.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (held.len(), false),
            };
            log.consume(len);
            if ended {
                line.push(b'\n');
            }
            if ended || len == 0 {
                break;
            }
        }
    }
    Ok(!line.is_empty())
}

/// A line of this form in which everything can be.
fn read(bytes: &[u8]) -> Option<Line> {
    let line: Line = (bytes.len() < MAX_LINE).then(|| serde_json::from_slice(bytes).ok())??;
    let labels = (1..=MAX_LABELS).contains(&line.labels.len())
        && line.labels.iter().all(|label| label.parse::<Label>().is_ok());
    let names = is_name(&line.provider) && is_model(&line.model) && is_model(&line.host);
    let fits = line.egress == FORM && time::day_of(&line.time).is_some() && labels && names;
    fits.then_some(line)
}
