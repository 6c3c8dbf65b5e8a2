//! What tokens cost, as the operator says it: by provider and model, per million.

use std::{collections::BTreeMap, str::FromStr};

use crate::{
    amount::{Currency, micros},
    destination::is_model,
    error::{Error, Kind},
    read,
    remotes::{LOCAL, Remote},
    tree::{Entry, Fault, Value},
};

/// The price of a million tokens, in millionths of the currency's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Of what is sent.
    pub input: u64,
    /// Of what is answered.
    pub output: u64,
}

/// The prices that are known. One that is not is not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    currency: Option<Currency>,
    rows: BTreeMap<(String, String), Price>,
}

const WORDS: &str = "currency, and \"PROVIDER/MODEL\" for each price";

impl Prices {
    /// Reads the entries of a table `[prices]`.
    ///
    /// # Errors
    ///
    /// An unknown provider, a price that is no exact number, prices without a currency.
    pub fn read(entries: &[Entry]) -> Result<Prices, Fault> {
        let mut out = Prices::default();
        for entry in entries {
            if entry.key == "currency" {
                let read = Currency::from_str(read::text(entry)?);
                out.currency = Some(read.map_err(|e| Fault::new(entry.value_at, e.what()))?);
                continue;
            }
            let Some((provider, model)) = entry.key.split_once('/') else {
                return Err(read::unknown(entry.at, "word", &entry.key, WORDS));
            };
            if provider == LOCAL {
                return Err(Fault::new(entry.at, "`local` has no price: nobody bills for it"));
            }
            if Remote::from_name(provider).is_none() {
                return Err(read::unknown(entry.at, "provider", provider, &Remote::known()));
            }
            if !is_model(model) {
                return Err(Fault::new(
                    entry.at,
                    "a whole name of a model is needed after the `/`",
                )
                .hint("visible ASCII; there is no wildcard"));
            }
            out.rows.insert((provider.into(), model.into()), price(entry)?);
        }
        match (out.currency, entries.iter().find(|entry| entry.key != "currency")) {
            (None, Some(entry)) => Err(Fault::new(entry.at, "prices without a `currency`")
                .hint("as in `currency = \"EUR\"`")),
            _ => Ok(out),
        }
    }

    /// These and `other` together; where both have a price the dearer one counts, so that no file
    /// makes cheap what another one limits.
    ///
    /// # Errors
    ///
    /// Two currencies.
    pub fn and(&self, other: &Prices) -> Result<Prices, Error> {
        let currency = match (self.currency, other.currency) {
            (Some(one), Some(two)) if one != two => {
                let what = format!("prices in {one} and prices in {two}");
                return Err(Error::new(Kind::Policy, what).hint("use one currency in all files"));
            }
            (one, two) => one.or(two),
        };
        let mut rows = self.rows.clone();
        for (name, price) in &other.rows {
            let row = rows.entry(name.clone()).or_insert(*price);
            *row =
                Price { input: row.input.max(price.input), output: row.output.max(price.output) };
        }
        Ok(Prices { currency, rows })
    }

    /// The price of a model, and its currency.
    pub fn of(&self, provider: &str, model: &str) -> Option<(Price, Currency)> {
        let row = self.rows.get(&(provider.to_owned(), model.to_owned()))?;
        Some((*row, self.currency?))
    }
}

fn price(entry: &Entry) -> Result<Price, Fault> {
    let form = || {
        Fault::new(entry.value_at, "a price is needed for `input` and for `output`").hint(
            "per million tokens, with at most six digits after the point, as in \
             `{ input = 3, output = 15.5 }`",
        )
    };
    let (mut input, mut output) = (None, None);
    for part in read::table(entry).map_err(|_| form())? {
        let number = match &part.value {
            Value::Word(word) | Value::Text(word) => micros(word),
            _ => None,
        };
        let number = number.ok_or_else(form)?;
        match part.key.as_str() {
            "input" => input = Some(number),
            "output" => output = Some(number),
            word => return Err(read::unknown(part.at, "word", word, "input, output")),
        }
    }
    match (input, output) {
        (Some(input), Some(output)) => Ok(Price { input, output }),
        _ => Err(form()),
    }
}
