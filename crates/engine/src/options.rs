//! How a reply is made: one table of options, checked before anything runs.

use std::{collections::BTreeMap, time::Duration};

use recinto_chat::Moment;
use serde::{Deserialize, Serialize};

use crate::{
    batch::BLOCK,
    error::{Error, Kind},
};

/// How a reply is made. [`Options::default`] is greedy: the likeliest token each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// 0 takes the likeliest token; above, logits are divided by it before drawing.
    pub temperature: f32,
    /// Draw among the `top_k` likeliest; 0 is off.
    pub top_k: usize,
    /// Draw among the likeliest whose probabilities reach this sum; 1 is off.
    pub top_p: f32,
    /// Draw among those at least this fraction as likely as the likeliest; 0 is off.
    pub min_p: f32,
    /// Divides positive and multiplies negative logits of recent tokens; 1 is off.
    pub repeat_penalty: f32,
    /// How many recent tokens the three penalties look at.
    pub repeat_last_n: usize,
    /// Taken once from the logit of each recent token; 0 is off.
    pub presence_penalty: f32,
    /// Taken from the logit of a recent token for each time it appears; 0 is off.
    pub frequency_penalty: f32,
    /// Added to the logit of a token id.
    pub logit_bias: BTreeMap<u32, f32>,
    /// Fixes the draws; the reply carries the one that was used.
    pub seed: Option<u64>,
    /// Most tokens to generate.
    pub max_tokens: usize,
    /// Texts that end the reply; they are not part of it.
    pub stop: Vec<String>,
    /// Whether a model that can think aloud does; `None` leaves it to its template.
    pub thinking: Option<bool>,
    /// Most tokens of thought; a model that has not ended its thought by then is made to. `None`
    /// is no limit of its own.
    pub thinking_tokens: Option<usize>,
    /// Tells how likely each token of the reply was, with so many of the likeliest beside it;
    /// `None` tells nothing.
    pub logprobs: Option<usize>,
    /// The date a template may ask for, `YYYY-MM-DD`; `None` is today in UTC, and the reply then
    /// carries it.
    pub date: Option<String>,
    /// Longest time for the whole reply.
    #[serde(with = "seconds")]
    pub deadline: Option<Duration>,
    /// Positions of a prompt that are read at once; changes speed and memory, never a bit.
    pub block: usize,
}

/// Longest deadline; beyond it the clock itself would overflow.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Most tokens of the list beside each token of a reply.
const MOST_ALTERNATIVES: usize = 100;

impl Default for Options {
    fn default() -> Options {
        Options {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repeat_penalty: 1.0,
            repeat_last_n: 64,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: BTreeMap::new(),
            seed: None,
            max_tokens: 1024,
            stop: Vec::new(),
            thinking: None,
            thinking_tokens: None,
            logprobs: None,
            date: None,
            deadline: None,
            block: BLOCK,
        }
    }
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|d| d.as_secs_f64()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(from)?;
        seconds
            .map(|s| Duration::try_from_secs_f64(s).map_err(|_| D::Error::custom("not a time")))
            .transpose()
    }
}

impl Options {
    /// Names that [`Options::set`] knows.
    pub const KEYS: &[&str] = &[
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "repeat_penalty",
        "repeat_last_n",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "seed",
        "max_tokens",
        "stop",
        "thinking",
        "thinking_tokens",
        "logprobs",
        "date",
        "deadline",
        "block",
    ];

    /// Sets one option from text, as `-o key=value` does. `logit_bias` takes `id:value` pairs
    /// with commas; `stop` adds one text; `deadline` is in seconds.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        fn read<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, Error> {
            value.trim().parse().map_err(|_| {
                let form = match key {
                    "logit_bias" => "pairs `id:value`, as in 42:-1.5",
                    "deadline" => "seconds, a year at the most",
                    "top_k" | "repeat_last_n" | "seed" | "max_tokens" | "block"
                    | "thinking_tokens" | "logprobs" => "a whole number from 0",
                    _ => "a number",
                };
                Error::new(Kind::Request, format!("option `{key}` must be {form}"))
            })
        }
        match key {
            "temperature" => self.temperature = read(key, value)?,
            "top_k" => self.top_k = read(key, value)?,
            "top_p" => self.top_p = read(key, value)?,
            "min_p" => self.min_p = read(key, value)?,
            "repeat_penalty" => self.repeat_penalty = read(key, value)?,
            "repeat_last_n" => self.repeat_last_n = read(key, value)?,
            "presence_penalty" => self.presence_penalty = read(key, value)?,
            "frequency_penalty" => self.frequency_penalty = read(key, value)?,
            "seed" => self.seed = Some(read(key, value)?),
            "max_tokens" => self.max_tokens = read(key, value)?,
            "block" => self.block = read(key, value)?,
            "thinking_tokens" => self.thinking_tokens = Some(read(key, value)?),
            "logprobs" => self.logprobs = Some(read(key, value)?),
            "stop" => self.stop.push(value.to_owned()),
            "date" => self.date = Some(value.to_owned()),
            "deadline" => {
                let time = Duration::try_from_secs_f64(read(key, value)?)
                    .ok()
                    .filter(|time| *time <= LONGEST)
                    .ok_or_else(|| {
                        let what = "option `deadline` must be seconds, a year at the most";
                        Error::new(Kind::Request, what)
                    })?;
                self.deadline = Some(time);
            }
            "thinking" => {
                self.thinking = Some(match value {
                    "true" | "on" | "yes" | "1" => true,
                    "false" | "off" | "no" | "0" => false,
                    _ => {
                        let what = "option `thinking`: true or false is expected";
                        return Err(Error::new(Kind::Request, what));
                    }
                });
            }
            "logit_bias" => {
                for pair in value.split(',') {
                    let Some((id, bias)) = pair.split_once(':') else {
                        let what = "option `logit_bias`: pairs `id:value` are expected";
                        return Err(Error::new(Kind::Request, what));
                    };
                    self.logit_bias.insert(read(key, id)?, read(key, bias)?);
                }
            }
            other => {
                return Err(Error::new(Kind::Request, format!("unknown option `{other}`"))
                    .hint(format!("known: {}", Options::KEYS.join(", "))));
            }
        }
        Ok(())
    }

    /// Checks every bound; the error names the option and what is allowed.
    pub fn check(&self, vocabulary: usize) -> Result<(), Error> {
        let bad = |key: &str, allowed: &str| {
            Err(Error::new(Kind::Request, format!("option `{key}` must be {allowed}")))
        };
        // Written so that NaN is refused too.
        // Dividing by less would overflow, and no draw could tell it from greedy.
        let warm = self.temperature >= 1e-3 && self.temperature.is_finite();
        if !(self.temperature == 0.0 || warm) {
            return bad("temperature", "0, or a finite number of at least 0.001");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return bad("top_p", "above 0 and at most 1");
        }
        if !(self.min_p >= 0.0 && self.min_p <= 1.0) {
            return bad("min_p", "from 0 to 1");
        }
        if !(self.repeat_penalty > 0.0 && self.repeat_penalty.is_finite()) {
            return bad("repeat_penalty", "above 0");
        }
        if !self.presence_penalty.is_finite() {
            return bad("presence_penalty", "a number");
        }
        if !self.frequency_penalty.is_finite() {
            return bad("frequency_penalty", "a number");
        }
        if self.max_tokens == 0 {
            return bad("max_tokens", "1 or more");
        }
        if !(1..=4096).contains(&self.block) {
            return bad("block", "from 1 to 4096");
        }
        if self.logprobs.is_some_and(|n| n > MOST_ALTERNATIVES) {
            return bad("logprobs", &format!("from 0 to {MOST_ALTERNATIVES}"));
        }
        if self.deadline.is_some_and(|time| time.is_zero() || time > LONGEST) {
            return bad("deadline", "above 0 and a year or less");
        }
        if self.date.as_deref().is_some_and(|date| Moment::from_date(date).is_none()) {
            return bad("date", "a day as YYYY-MM-DD");
        }
        if self.stop.iter().any(String::is_empty) {
            return bad("stop", "a text that is not empty");
        }
        if self.logit_bias.values().any(|bias| !bias.is_finite()) {
            return bad("logit_bias", "finite numbers; a large negative one bans a token");
        }
        if let Some(id) = self.logit_bias.keys().find(|id| **id as usize >= vocabulary) {
            let allowed = format!("of ids below {vocabulary}; {id} is not");
            return bad("logit_bias", &allowed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_checked_by_name() {
        let base = Options::default;
        let cases = [
            ("temperature", Options { temperature: -1.0, ..base() }),
            ("temperature", Options { temperature: f32::NAN, ..base() }),
            ("temperature", Options { temperature: 1e-40, ..base() }),
            ("top_p", Options { top_p: 0.0, ..base() }),
            ("min_p", Options { min_p: f32::NAN, ..base() }),
            ("repeat_penalty", Options { repeat_penalty: 0.0, ..base() }),
            ("presence_penalty", Options { presence_penalty: f32::INFINITY, ..base() }),
            ("max_tokens", Options { max_tokens: 0, ..base() }),
            ("block", Options { block: 0, ..base() }),
            ("logprobs", Options { logprobs: Some(101), ..base() }),
            ("deadline", Options { deadline: Some(Duration::MAX), ..base() }),
            ("deadline", Options { deadline: Some(Duration::ZERO), ..base() }),
            ("date", Options { date: Some("2025-02-29".into()), ..base() }),
            ("date", Options { date: Some("99999999999999999999".into()), ..base() }),
            ("stop", Options { stop: vec![String::new()], ..base() }),
            ("logit_bias", Options { logit_bias: [(7, f32::NEG_INFINITY)].into(), ..base() }),
            ("logit_bias", Options { logit_bias: [(100, 1.0)].into(), ..base() }),
        ];
        for (name, options) in cases {
            let error = options.check(100).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")), "{name}: {error}");
        }
        base().check(100).unwrap();
        Options { date: Some("2024-02-29".into()), ..base() }.check(100).unwrap();
    }

    #[test]
    fn every_key_can_be_set_and_read_back() {
        let mut options = Options::default();
        for key in Options::KEYS {
            let value = match *key {
                "logit_bias" => "3:1.5,4:-2",
                "thinking" => "on",
                "date" => "2026-01-31",
                "stop" => "señal",
                _ => "1",
            };
            options.set(key, value).unwrap_or_else(|e| panic!("{key}: {e}"));
            if !matches!(*key, "stop" | "date") {
                assert!(options.set(key, "ninguno").is_err(), "{key}");
            }
        }
        assert!(options.set("temprature", "1").is_err());
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<Options>(&json).unwrap(), options);
        assert!(serde_json::from_str::<Options>("{\"topk\":1}").is_err());
    }
}
