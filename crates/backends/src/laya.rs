//! Laya: an encoder that reads a question, its options and the state at once, and gives a score at
//! the marker before each option.
//!
//! The prompt, the budgets and the readout are those of the reference runtime (package `laya`
//! 0.4.15), token for token; `tests/golden/laya` has its answers. Source: that package's
//! documentation and behaviour.

mod llama_cpp;
mod python;
mod row;
mod setup;

use std::path::{Path, PathBuf};

use recinto_engine::{Encoder, OpenOptions, Places, Stop, Text};
use recinto_judge::{
    Abilities, Backend, Evidence, Form, Model, Reading, Shown, State, Truncation, Unavailable,
    Usage, check::Readout,
};
use recinto_receipt::Digest;

pub use row::{Layout, Reader, Row};
use setup::Setup;

use crate::long::Long;

/// Rows of windows that are read at once.
const ROWS: usize = 16;

/// A Laya checkpoint, opened.
pub struct Laya {
    encoder: Encoder,
    setup: Setup,
    reader: Reader,
    digest: Digest,
    long: Long,
    stop: Stop,
    /// Why the last reading failed.
    trouble: Option<recinto_engine::Error>,
}

impl Laya {
    /// Opens the checkpoint in the folder `path`, and waits for the digest of its files.
    ///
    /// # Errors
    ///
    /// As [`Encoder::open`]; and a checkpoint that is none of Laya's, or whose configuration or
    /// vocabulary lacks what the prompt is made of.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Laya, recinto_engine::Error> {
        Laya::open_files(std::slice::from_ref(&path.to_owned()), options, Stop::never())
    }

    /// The same of the files `paths`; `stop` ends the wait for the digest, and readings.
    ///
    /// # Errors
    ///
    /// As [`Laya::open`]; and `stop`.
    pub fn open_files(
        paths: &[PathBuf],
        options: &OpenOptions,
        stop: Stop,
    ) -> Result<Laya, recinto_engine::Error> {
        let encoder = Encoder::open_files(paths, options)?;
        let setup = Setup::of(&encoder)?;
        let digest = encoder.model().digests_until(&stop)?.weights;
        let reader = setup.reader;
        Ok(Laya { encoder, setup, reader, digest, long: Long::Refuse, stop, trouble: None })
    }

    /// Whether a model of this encoder's architecture is read in this way.
    pub fn reads(encoder: &Encoder) -> bool {
        setup::is_laya(encoder)
    }

    /// The same with other budgets of tokens: of a whole row, and of the question with its options.
    pub fn with_budgets(mut self, row: usize, head: usize) -> Laya {
        (self.reader.row, self.reader.head) = (row, head);
        self
    }

    /// The same for texts of strangers: marks of the vocabulary that stand in a state or a question
    /// are letters like any other, where the reference makes the marks themselves of them; yes and no
    /// stand under the letters A and B, where the reference shows `true` and `false`, unless the
    /// question has words of its own; and what does not fit is refused, where the reference cuts it.
    pub fn guarded(mut self) -> Laya {
        self.reader.guarded = true;
        self
    }

    /// The same with another fate of a state that does not fit. Only where texts are guarded:
    /// otherwise it is cut, as the reference does.
    pub fn with_long(mut self, long: Long) -> Laya {
        self.long = long;
        self
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// How rows are made.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The row that is read for a question about a state.
    ///
    /// # Errors
    ///
    /// A question without instructions or options, an order that is no permutation of them, or
    /// markers that do not fit: an answer about some of the options would be none.
    pub fn row(&self, state: &State, shown: &Shown<'_>) -> Result<Row, Unavailable> {
        self.reader.row(self.encoder.tokenizer(), &self.setup.marks, state, shown)
    }

    /// The logit of each slot of each row.
    fn logits(&mut self, rows: &[Row]) -> Result<Vec<Vec<f64>>, Unavailable> {
        let types: Vec<Vec<u32>> =
            rows.iter().map(|row| vec![row.type_id(); row.ids.len()]).collect();
        let texts: Vec<Text<'_>> = rows
            .iter()
            .zip(&types)
            .map(|(row, types)| Text {
                ids: &row.ids,
                types,
                rows: &row.markers,
                places: row.places.as_ref().map(|(positions, parts)| Places { positions, parts }),
            })
            .collect();
        let read = self.encoder.read(&texts, &self.stop).map_err(|error| match error.kind() {
            recinto_engine::Kind::NonFinite { .. } => Unavailable::NotANumber,
            recinto_engine::Kind::Overflow { needed, available } => {
                Unavailable::TooLong { tokens: *needed as u64, room: *available as u64 }
            }
            _ => {
                self.trouble = Some(error);
                Unavailable::Failed
            }
        })?;
        Ok(read.iter().map(|row| row.iter().map(|z| f64::from(*z)).collect()).collect())
    }
}

impl Backend for Laya {
    fn model(&self) -> Model {
        let precision = self.encoder.model().precision();
        Model::Local { digest: self.digest, dtype: precision.name().into() }
    }

    fn reading(&self) -> String {
        let Reader { row, head, guarded, .. } = self.reader;
        let kind = if guarded { "markers-guarded/2" } else { "markers/1" };
        // Other budgets cut otherwise, so answers are others.
        let own = (row, head) == (self.setup.reader.row, self.setup.reader.head);
        let budgets = if own { String::new() } else { format!(":{row}:{head}") };
        format!("{kind}{budgets}{}", if guarded { self.long.word() } else { "" })
    }

    fn abilities(&self) -> Abilities {
        Abilities { options: self.reader.most_options(), readout: Readout::Markers }
    }

    fn temperature(&self, form: Form, options: usize) -> f64 {
        self.setup.temperatures.as_ref().map_or(1.0, |published| published.at(form, options))
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.as_ref().map(ToString::to_string)
    }

    fn ended(&self) -> bool {
        let kind = self.trouble.as_ref().map(recinto_engine::Error::kind);
        matches!(kind, Some(recinto_engine::Kind::Changed))
    }

    fn read(
        &mut self,
        state: &State,
        shown: &[Shown<'_>],
    ) -> Result<Vec<Result<Reading, Unavailable>>, Unavailable> {
        self.trouble = None;
        let made: Vec<Result<Row, Unavailable>> =
            shown.iter().map(|shown| self.row(state, shown)).collect();
        let rows: Vec<Row> = made.iter().flatten().cloned().collect();
        let mut read = self.readings(&rows)?.into_iter();
        let mut out = Vec::with_capacity(shown.len());
        for (shown, row) in shown.iter().zip(made) {
            out.push(match row {
                Ok(_) => read.next().ok_or(Unavailable::Failed),
                Err(Unavailable::TooLong { .. }) if self.long == Long::Windows => {
                    self.read_windows(state, shown)
                }
                Err(why) => Err(why),
            });
        }
        Ok(out)
    }
}

impl Laya {
    /// What is read of each row.
    fn readings(&mut self, rows: &[Row]) -> Result<Vec<Reading>, Unavailable> {
        let reading = |(row, logits): (&Row, Vec<f64>)| Reading {
            evidence: Evidence::Logits(logits),
            // A score a marker: nothing else could have been said.
            mass: None,
            truncation: Truncation {
                state_tokens: row.state_tokens,
                dropped: row.dropped,
                options_alike: row.alike,
                windows: None,
            },
            model: None,
            usage: Usage { input_tokens: row.ids.len() as u64, output_tokens: 0 },
        };
        Ok(rows.iter().zip(self.logits(rows)?).map(reading).collect())
    }

    /// A question about a state that does not fit at once.
    fn read_windows(&mut self, state: &State, shown: &Shown<'_>) -> Result<Reading, Unavailable> {
        let tokenizer = self.encoder.tokenizer();
        let (plan, rows) = self.reader.windows(tokenizer, &self.setup.marks, state, shown)?;
        let mut readings = Vec::with_capacity(rows.len());
        // Some at a time: what is computed with grows with the rows.
        for rows in rows.chunks(ROWS) {
            readings.extend(self.readings(rows)?.into_iter().map(Ok));
        }
        let temperature = self.temperature(shown.question.form(), shown.order.len());
        plan.answer(shown, readings, temperature)
    }
}
