//! Turning a model's confidence into a share of right answers, from labelled rows.
//!
//! Temperature scaling for every form; Platt's line and isotonic regression for yes or no only,
//! where they can move the border at one half, which temperature cannot.

mod isotonic;
mod platt;
mod published;
mod temperature;

pub use isotonic::Isotonic;
pub use platt::Platt;
pub use published::Published;
pub use temperature::{HIGHEST, LOWEST, Temperature, as_published, clamp};

use serde::{Deserialize, Serialize};

use crate::{Error, Form, Fraction, Kind, Row, readout};

/// Which map to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Logits divided by one number. Never changes which option is first.
    Temperature,
    /// σ(a · logit + b), for yes or no.
    Platt,
    /// A rising step map, for yes or no, with [`ISOTONIC_ROWS`] rows or more.
    Isotonic,
}

/// The fewest rows that anything is fitted on.
pub const LEAST_ROWS: usize = 10;
/// The fewest rows that an isotonic map is fitted on: with fewer it follows the noise.
pub const ISOTONIC_ROWS: usize = 1000;

/// A fitted map from logits to probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "method")]
pub enum Fitted {
    /// Divide by a temperature.
    Temperature {
        /// What logits are divided by.
        temperature: Fraction,
    },
    /// Yes or no through a line.
    Platt(Platt),
    /// Yes or no through steps.
    Isotonic(Isotonic),
}

impl Fitted {
    /// Probabilities of finite logits in the declared order.
    pub fn apply(&self, logits: &[f64]) -> Vec<f64> {
        match (self, logits) {
            (Fitted::Temperature { temperature }, _) => readout::softmax(logits, temperature.0),
            (Fitted::Platt(line), [no, yes]) => of_yes(line.apply(yes - no)),
            (Fitted::Isotonic(steps), [no, yes]) => of_yes(steps.apply(yes - no)),
            // Only rows of two are fitted with these; `check` refuses others.
            _ => vec![f64::NAN; logits.len()],
        }
    }

    /// Which map it is.
    pub fn method(&self) -> Method {
        match self {
            Fitted::Temperature { .. } => Method::Temperature,
            Fitted::Platt(_) => Method::Platt,
            Fitted::Isotonic(_) => Method::Isotonic,
        }
    }

    /// The temperature, where the map is one.
    pub fn temperature(&self) -> Option<f64> {
        match self {
            Fitted::Temperature { temperature } => Some(temperature.0),
            _ => None,
        }
    }

    /// Refuses numbers that no fit gives: what is read from a file need not be what was written.
    pub(crate) fn check(&self, form: Form) -> Result<(), Error> {
        let whether = form == Form::Whether;
        let sound = match self {
            Fitted::Temperature { temperature } => (LOWEST..=HIGHEST).contains(&temperature.0),
            Fitted::Platt(line) => whether && line.is_sound(),
            Fitted::Isotonic(steps) => whether && steps.is_sound(),
        };
        if sound {
            return Ok(());
        }
        let what = format!("the map for {} holds numbers that no fit gives", form.name());
        Err(Error::new(Kind::Number, what))
    }
}

fn of_yes(p: f64) -> Vec<f64> {
    vec![1.0 - p, p]
}

/// Fits one map on rows. The rows have one form; options may differ in number.
pub fn fit(method: Method, rows: &[Row]) -> Result<Fitted, Error> {
    if rows.len() < LEAST_ROWS {
        let what = format!("{} labelled rows; a fit needs {LEAST_ROWS}", rows.len());
        return Err(Error::new(Kind::NotDetermined, what).with_hint("label more rows"));
    }
    let form = rows[0].form();
    if rows.iter().any(|row| row.form() != form) {
        return Err(
            Error::new(Kind::Rows, "rows of different forms").with_hint("fit each form on its own")
        );
    }
    if method != Method::Temperature && form != Form::Whether {
        let what = format!("this map is for noul; the rows are of form {}", form.name());
        return Err(Error::new(Kind::Rows, what).with_hint("use temperature"));
    }
    match method {
        Method::Temperature => {
            let fitted = temperature::fit(rows)?;
            Ok(Fitted::Temperature { temperature: Fraction(fitted.clamped) })
        }
        Method::Platt => platt::fit(&pairs(rows)).map(Fitted::Platt),
        Method::Isotonic => {
            if rows.len() < ISOTONIC_ROWS {
                let what = format!("{} rows; isotonic needs {ISOTONIC_ROWS}", rows.len());
                return Err(Error::new(Kind::NotDetermined, what).with_hint("use temperature"));
            }
            isotonic::fit(&pairs(rows)).map(Fitted::Isotonic)
        }
    }
}

/// The temperature of rows with its limits and loss; see [`Temperature`].
pub fn fit_temperature(rows: &[Row]) -> Result<Temperature, Error> {
    temperature::fit(rows)
}

/// Logit of yes against no, and whether yes is right.
fn pairs(rows: &[Row]) -> Vec<(f64, bool)> {
    rows.iter().map(|row| (row.logits()[1] - row.logits()[0], row.label() == 1)).collect()
}
