//! Amounts of money, exact: whole numbers of millionths of a currency's unit, never a float.

use std::{fmt, str::FromStr};

use crate::error::{Error, Kind};

/// Millionths of one.
pub(crate) const MICROS: u64 = 1_000_000;

/// A number with at most six digits after the point, in millionths; `None` for any other text.
pub(crate) fn micros(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > 6 {
        return None;
    }
    let scale = 10u64.pow(6 - u32::try_from(rest.len()).ok()?);
    let rest = rest.parse::<u64>().ok()?.checked_mul(scale)?;
    whole.parse::<u64>().ok()?.checked_mul(MICROS)?.checked_add(rest)
}

/// A currency, as `EUR` (ISO 4217 has the list; any three capitals are one here).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Currency([u8; 3]);

impl FromStr for Currency {
    type Err = Error;

    /// # Errors
    ///
    /// Text that is not three capital letters.
    fn from_str(text: &str) -> Result<Currency, Error> {
        match <[u8; 3]>::try_from(text.as_bytes()) {
            Ok(letters) if letters.iter().all(u8::is_ascii_uppercase) => Ok(Currency(letters)),
            _ => Err(Error::new(Kind::Policy, "a currency is three capital letters, as in `EUR`")),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

/// An amount in a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money {
    /// Millionths of the currency's unit.
    pub micros: u64,
    /// The currency.
    pub currency: Currency,
}

impl FromStr for Money {
    type Err = Error;

    /// # Errors
    ///
    /// Text that is not of the form `5.00 EUR`.
    fn from_str(text: &str) -> Result<Money, Error> {
        let form = || {
            Error::new(Kind::Policy, "an amount is needed")
                .hint("as in `5.00 EUR`, with at most six digits after the point")
        };
        let (amount, currency) = text.split_once(' ').ok_or_else(form)?;
        Ok(Money { micros: micros(amount).ok_or_else(form)?, currency: currency.parse()? })
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = format!("{:06}", self.micros % MICROS);
        let (cents, below) = rest.split_at(2);
        let whole = self.micros / MICROS;
        write!(f, "{whole}.{cents}{} {}", below.trim_end_matches('0'), self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        let cases = [
            ("5 EUR", Some((5_000_000, "5.00 EUR"))),
            ("5.00 EUR", Some((5_000_000, "5.00 EUR"))),
            ("0.1 USD", Some((100_000, "0.10 USD"))),
            ("0.000001 MXN", Some((1, "0.000001 MXN"))),
            ("12.3456 EUR", Some((12_345_600, "12.3456 EUR"))),
            ("18446744073709.551615 EUR", Some((u64::MAX, "18446744073709.551615 EUR"))),
            ("18446744073709.551616 EUR", None),
            ("99999999999999999999 EUR", None),
            ("0.0000001 EUR", None),
            ("5", None),
            ("5 eur", None),
            ("5 EURO", None),
            ("5 €", None),
            ("5,00 EUR", None),
            ("-5 EUR", None),
            ("+5 EUR", None),
            ("1e3 EUR", None),
            ("5. EUR", None),
            (".5 EUR", None),
            ("inf EUR", None),
            ("5  EUR", None),
            ("", None),
        ];
        for (text, want) in cases {
            let found = text.parse::<Money>();
            let shown = found.as_ref().ok().map(|money| (money.micros, money.to_string()));
            assert_eq!(shown, want.map(|(n, text)| (n, text.to_owned())), "{text}: {found:?}");
        }
    }
}
