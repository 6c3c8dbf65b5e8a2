//! Artefacts: canonical JSON that has one spelling and a digest; the calibration of one model.

use std::collections::BTreeMap;

use recinto_receipt::{Digest, canonical_bytes, sha256};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Bucket, Error, Form, Fraction, Identity, Kind, Row,
    calibrate::{self, Fitted, Method},
    metrics,
    rows::{Scored, Trial, split},
};

/// The schema of calibrations that this version writes and reads.
pub const SCHEMA: u32 = 1;

/// What is kept in a file: JSON in one spelling (keys sorted, no blanks, fractions as text), with a
/// `schema` in it. So its digest names it, and a changed byte is noticed.
pub trait Artefact: Serialize + DeserializeOwned {
    /// What it is, for messages.
    const NAME: &'static str;
    /// The schema that this version writes and reads.
    const SCHEMA: u32 = SCHEMA;

    /// Refuses numbers that no fit gives: what is read need not be what was written.
    fn check(&self) -> Result<(), Error>;

    /// The canonical bytes.
    fn to_bytes(&self) -> Vec<u8> {
        canonical_bytes(self)
    }

    /// SHA-256 of the canonical bytes.
    fn digest(&self) -> Digest {
        sha256(&self.to_bytes())
    }

    /// Reads canonical bytes; one line break after them is allowed.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        let (bytes, name) = (bytes.strip_suffix(b"\n").unwrap_or(bytes), Self::NAME);
        let head: Head = serde_json::from_slice(bytes).map_err(|e| Error::json(name, &e))?;
        if head.schema != Self::SCHEMA {
            let (found, known) = (head.schema, Self::SCHEMA);
            let what = format!("{name} of schema {found}; this version reads {known}");
            return Err(Error::new(Kind::Schema, what).with_hint(
                "fit it again with this version, or use it with the one that wrote it",
            ));
        }
        let read: Self = serde_json::from_slice(bytes).map_err(|e| Error::json(name, &e))?;
        if read.to_bytes() != bytes {
            return Err(Error::new(
                Kind::NotCanonical,
                format!("{name} not in its canonical form"),
            )
            .with_hint("it was edited or formatted; its digest would be another one"));
        }
        read.check()?;
        Ok(read)
    }
}

/// Fitted maps for one [`Identity`], by bucket and by form. Holds numbers and digests only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    schema: u32,
    identity: Identity,
    /// Seconds since 1970, as the caller said.
    made: u64,
    buckets: BTreeMap<Bucket, Entry>,
    forms: BTreeMap<Form, Entry>,
}

/// One fitted map, and what it did to rows that it was not fitted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The map.
    pub map: Fitted,
    /// Rows that it was fitted on.
    pub rows: u64,
    /// Fewest and most options of these rows, by the buckets that they are of.
    pub options: BTreeMap<Bucket, [u64; 2]>,
    /// Rows that it was measured on.
    pub measured: u64,
    /// Their calibration error (15 bins) and loss without the map, as answers are then given: with
    /// the model's own temperature, where it has one. Absent without such rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Figures>,
    /// The same with the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Figures>,
}

impl Entry {
    /// Whether it holds for a question with `options` options: where rows of its bucket were fitted
    /// on. The last bucket has no end, so there it holds between the fewest and the most options of
    /// those rows.
    pub fn covers(&self, form: Form, options: usize) -> bool {
        let bucket = Bucket::of(form, options);
        let seen = self.options.get(&bucket);
        let within = |[fewest, most]: &[u64; 2]| (*fewest..=*most).contains(&(options as u64));
        seen.is_some_and(|seen| !bucket.size.is_open() || within(seen))
    }

    /// Refuses counts that no rows have.
    fn check(&self, form: Form) -> Result<(), Error> {
        let of = |bucket: &Bucket, count: u64| {
            usize::try_from(count).is_ok_and(|count| Bucket::of(form, count) == *bucket)
        };
        let sound = |(bucket, [fewest, most]): (&Bucket, &[u64; 2])| {
            (2..=*most).contains(fewest) && of(bucket, *fewest) && of(bucket, *most)
        };
        if !self.options.iter().all(sound) {
            let what = format!("the map for {} holds counts of options that none has", form.name());
            return Err(Error::new(Kind::Number, what));
        }
        self.map.check(form)
    }
}

/// Two figures of a set of rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Expected calibration error in 15 bins of equal width.
    pub ece: Fraction,
    /// Mean negative log-likelihood.
    pub loss: Fraction,
}

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The map for yes or no; other forms get a temperature.
    pub whether: Method,
    /// The fewest rows to give a bucket its own map; below, the one of its form is used.
    pub bucket_rows: usize,
    /// The share of the rows to fit on; the others are measured on.
    pub share: f64,
    /// The seed of the split.
    pub seed: u64,
}

impl Default for Settings {
    /// Upstream demands 2,000 rows for a bucket of its own.
    fn default() -> Settings {
        Settings { whether: Method::Temperature, bucket_rows: 2000, share: 0.5, seed: 0 }
    }
}

/// Why a form or a bucket has no map.
#[derive(Clone, Debug, PartialEq)]
pub struct Skipped {
    /// The form.
    pub form: Form,
    /// The bucket; `None` for the form as a whole.
    pub bucket: Option<Bucket>,
    /// The reason.
    pub error: Error,
}

impl Calibration {
    /// Fits maps for every form and bucket that has rows enough, and says which have not.
    pub fn fit(
        identity: Identity,
        made: u64,
        rows: &[Row],
        settings: &Settings,
    ) -> (Calibration, Vec<Skipped>) {
        let mut out = Calibration {
            schema: SCHEMA,
            identity,
            made,
            buckets: BTreeMap::new(),
            forms: BTreeMap::new(),
        };
        let mut skipped = Vec::new();
        let (fit_on, measure_on) = split(rows, settings.share, settings.seed);
        for form in Form::ALL {
            let of_form = |rows: &[Row]| only(rows, |row| row.form() == form);
            let (left, right) = (of_form(&fit_on), of_form(&measure_on));
            if left.is_empty() && right.is_empty() {
                continue;
            }
            match entry(form, &left, &right, settings) {
                Ok(entry) => drop(out.forms.insert(form, entry)),
                Err(error) => skipped.push(Skipped { form, bucket: None, error }),
            }
            let mut buckets: Vec<Bucket> = left.iter().map(Row::bucket).collect();
            buckets.sort_unstable();
            buckets.dedup();
            for bucket in buckets {
                let of_bucket = |rows: &[Row]| only(rows, |row| row.bucket() == bucket);
                let (left, right) = (of_bucket(&left), of_bucket(&right));
                let fitted = if left.len() < settings.bucket_rows {
                    let what =
                        format!("{} rows to fit on, of {}", left.len(), settings.bucket_rows);
                    Err(Error::new(Kind::NotDetermined, what)
                        .with_hint("the map of its form is used"))
                } else {
                    entry(form, &left, &right, settings)
                };
                match fitted {
                    Ok(entry) => drop(out.buckets.insert(bucket, entry)),
                    Err(error) => skipped.push(Skipped { form, bucket: Some(bucket), error }),
                }
            }
        }
        (out, skipped)
    }

    /// Who it was fitted for.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Maps of buckets.
    pub fn buckets(&self) -> &BTreeMap<Bucket, Entry> {
        &self.buckets
    }

    /// Maps of forms, for buckets without their own.
    pub fn forms(&self) -> &BTreeMap<Form, Entry> {
        &self.forms
    }

    /// The map for a question with `options` options: of its bucket, else of its form, where that
    /// [covers](Entry::covers) it; else none, and the answer is as if there were no calibration.
    pub fn map(&self, form: Form, options: usize) -> Option<&Fitted> {
        let of_bucket = self.buckets.get(&Bucket::of(form, options));
        let both = [of_bucket, self.forms.get(&form)];
        both.into_iter().flatten().find(|entry| entry.covers(form, options)).map(|entry| &entry.map)
    }

    /// The calibration, when `identity` is the one that it was fitted for; an error otherwise.
    pub fn for_identity(self, identity: &Identity) -> Result<Calibration, Error> {
        identity.must_be(&self.identity, "the calibration")?;
        Ok(self)
    }
}

impl Artefact for Calibration {
    const NAME: &'static str = "a calibration";

    fn check(&self) -> Result<(), Error> {
        let of_buckets = self.buckets.iter().map(|(bucket, entry)| (bucket.form, entry));
        let of_forms = self.forms.iter().map(|(form, entry)| (*form, entry));
        of_buckets.chain(of_forms).try_for_each(|(form, entry)| entry.check(form))
    }
}

fn only(rows: &[Row], wanted: impl Fn(&Row) -> bool) -> Vec<Row> {
    rows.iter().filter(|row| wanted(row)).cloned().collect()
}

fn entry(form: Form, left: &[Row], right: &[Row], settings: &Settings) -> Result<Entry, Error> {
    let method = if form == Form::Whether { settings.whether } else { Method::Temperature };
    let map = calibrate::fit(method, left)?;
    let mut options = BTreeMap::new();
    for row in left {
        let count = row.logits().len() as u64;
        let [fewest, most] = options.entry(row.bucket()).or_insert([count; 2]);
        (*fewest, *most) = (count.min(*fewest), count.max(*most));
    }
    let plain: Vec<Scored> = right.iter().map(Row::plain).collect();
    let mapped: Vec<Scored> =
        right.iter().map(|row| Scored { p: map.apply(row.logits()), label: row.label() }).collect();
    Ok(Entry {
        map,
        rows: left.len() as u64,
        options,
        measured: right.len() as u64,
        before: figures(&plain),
        after: figures(&mapped),
    })
}

fn figures(rows: &[Scored]) -> Option<Figures> {
    let trials: Vec<Trial> = rows.iter().map(Scored::trial).collect();
    let ece = metrics::calibration_error(&metrics::equal_width(&trials, 15));
    let loss = metrics::log_loss(rows);
    (!rows.is_empty() && !ece.is_nan() && !loss.is_nan())
        .then_some(Figures { ece: Fraction(ece), loss: Fraction(loss) })
}
