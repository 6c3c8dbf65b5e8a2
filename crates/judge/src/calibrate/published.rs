//! Temperatures that come with a checkpoint (`rl_agent_config.json` of Laya and its kin).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{as_published, clamp};
use crate::{Bucket, Error, Form, Kind};

/// A checkpoint's own temperatures: by bucket, else by form. All are clamped.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    forms: BTreeMap<Form, f64>,
    buckets: BTreeMap<Bucket, f64>,
}

impl Published {
    /// Reads the keys `temperature` (three values: choice, score, noul) and
    /// `temperature_by_options` (a map such as `{"choice:3-5": 1.76}`, or null) of a
    /// configuration.
    pub fn from_config(temperature: &Value, by_options: &Value) -> Result<Published, Error> {
        let wrong = |what: &str, hint: &str| Error::new(Kind::Json, what).with_hint(hint);
        let [choose, rate, whether] = temperature.as_array().map_or(&[][..], Vec::as_slice) else {
            return Err(wrong("temperatures of a checkpoint", "three: choice, score, noul"));
        };
        let forms = [(Form::Choose, choose), (Form::Rate, rate), (Form::Whether, whether)];
        let forms = forms.map(|(form, value)| (form, as_published(value)));
        let mut buckets = BTreeMap::new();
        match by_options {
            Value::Null => {}
            Value::Object(map) => {
                for (key, value) in map {
                    let bucket: Bucket = key.parse()?;
                    buckets.insert(bucket, as_published(value));
                }
            }
            _ => return Err(wrong("temperatures by options", "a map such as choice:3-5 to 1.76")),
        }
        Ok(Published { forms: forms.into(), buckets })
    }

    /// The temperature for a question with `options` options.
    pub fn at(&self, form: Form, options: usize) -> f64 {
        let of_bucket = self.buckets.get(&Bucket::of(form, options));
        of_bucket.or_else(|| self.forms.get(&form)).map_or(1.0, |t| clamp(*t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The English checkpoint, as published.
    #[test]
    fn the_english_checkpoint() {
        let by_options = json!({
            "choice:2": 1.9063563346862793, "choice:3-5": 1.7601518630981445,
            "choice:6-10": 1.0000158548355103, "choice:11+": 0.10058280825614929,
            "score:3-5": 1.2514300346374512, "noul:2": 1.983399510383606,
        });
        let list = json!([1.6369030475616455, 1.2514300346374512, 1.983399510383606]);
        let published = Published::from_config(&list, &by_options).unwrap();
        let cases = [
            (Form::Choose, 2, 1.9063563346862793),
            (Form::Choose, 4, 1.7601518630981445),
            (Form::Choose, 77, 0.5),
            (Form::Rate, 5, 1.2514300346374512),
            (Form::Rate, 10, 1.2514300346374512),
            (Form::Whether, 2, 1.983399510383606),
        ];
        for (form, options, want) in cases {
            assert_eq!(published.at(form, options), want, "{form:?} {options}");
        }
        let plain = Published::from_config(&json!([1, 1, 1]), &Value::Null).unwrap();
        assert_eq!(plain.at(Form::Choose, 3), 1.0);
        for (list, map) in [
            (json!([1, 1]), json!({})),
            (json!(1.5), json!({})),
            (Value::Null, Value::Null),
            (json!([1, 1, 1]), json!({"choice:3": 1})),
            (json!([1, 1, 1]), json!([1])),
        ] {
            assert!(Published::from_config(&list, &map).is_err(), "{list} {map}");
        }
    }
}
