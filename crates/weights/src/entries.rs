//! Named values made of JSON, laid out as in a GGUF file, so that all readers of keys are one.
//!
//! The mapping: a map's keys are joined with dots, `rope_parameters.rope_theta`; a list of texts,
//! of booleans or of numbers is an array, any other list has its places as keys, `modules.0.type`;
//! null is a key that is not there. Whole numbers are u64, or i64 below 0; a list with a fraction
//! in it is one of f64.

use crate::{
    Element, Error, Kind,
    gguf::{Key, MAX_KEYS},
    json::Json,
    reader::named,
};

/// Entries in the making.
#[derive(Default)]
pub(crate) struct Entries {
    pub bytes: Vec<u8>,
    pub keys: Vec<Key>,
}

impl Entries {
    /// All values of a map under `prefix`, but not those under a key that is `left` out.
    pub fn map(
        &mut self,
        prefix: &str,
        map: &[(String, Json)],
        left: &[&str],
    ) -> Result<(), Error> {
        for (name, value) in map.iter().filter(|(name, _)| !left.contains(&name.as_str())) {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            self.value(&key, value)?;
        }
        Ok(())
    }

    /// One value, or all that lie in it.
    pub fn value(&mut self, key: &str, value: &Json) -> Result<(), Error> {
        match value {
            Json::Null => Ok(()),
            Json::Map(map) => self.map(key, map, &[]),
            Json::List(list) => match Element::of(list) {
                Some(element) => self.array(key, element, list),
                None => list
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, item)| self.value(&format!("{key}.{at}"), item)),
            },
            Json::Str(text) => self.text(key, text),
            scalar => self.scalar(key, scalar),
        }
    }

    /// A text.
    pub fn text(&mut self, key: &str, text: &str) -> Result<(), Error> {
        let start = self.begin(key, Element::Str)?;
        self.bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        let value = self.bytes.len();
        self.bytes.extend_from_slice(text.as_bytes());
        self.end(key, Element::Str, None, start, value);
        Ok(())
    }

    fn scalar(&mut self, key: &str, scalar: &Json) -> Result<(), Error> {
        let Some(element) = Element::of(std::slice::from_ref(scalar)) else { return Ok(()) };
        let start = self.begin(key, element)?;
        let value = self.bytes.len();
        self.bare(element, scalar);
        self.end(key, element, None, start, value);
        Ok(())
    }

    fn array(&mut self, key: &str, element: Element, list: &[Json]) -> Result<(), Error> {
        let start = self.begin(key, Element::Array)?;
        self.bytes.extend_from_slice(&(element as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(list.len() as u64).to_le_bytes());
        let value = self.bytes.len();
        list.iter().for_each(|item| self.bare(element, item));
        self.end(key, Element::Array, Some((element, list.len())), start, value);
        Ok(())
    }

    /// A value without its type; [`Element::of`] says that it has it.
    fn bare(&mut self, element: Element, value: &Json) {
        match (value, element) {
            (Json::Str(text), _) => {
                self.bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                self.bytes.extend_from_slice(text.as_bytes());
            }
            (Json::Bool(truth), _) => self.bytes.push(u8::from(*truth)),
            (Json::U64(v), Element::F64) => self.bytes.extend((*v as f64).to_le_bytes()),
            (Json::I64(v), Element::F64) => self.bytes.extend((*v as f64).to_le_bytes()),
            (Json::U64(v), _) => self.bytes.extend(v.to_le_bytes()),
            (Json::I64(v), _) => self.bytes.extend(v.to_le_bytes()),
            (Json::F64(v), _) => self.bytes.extend(v.to_le_bytes()),
            (Json::Null | Json::List(_) | Json::Map(_), _) => {}
        }
    }

    fn begin(&mut self, key: &str, element: Element) -> Result<usize, Error> {
        named(key, "name of a key")?;
        if self.keys.len() as u64 >= MAX_KEYS {
            let what = format!("the checkpoint's files have more than {MAX_KEYS} values");
            return Err(Error::new(Kind::Invalid, what));
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(&(element as u32).to_le_bytes());
        Ok(start)
    }

    fn end(
        &mut self,
        key: &str,
        element: Element,
        array: Option<(Element, usize)>,
        start: usize,
        value: usize,
    ) {
        let range = value..self.bytes.len();
        self.keys.push(Key { name: key.to_owned(), element, array, range, start });
    }
}

impl Element {
    /// The one type that all values of `list` fit; none for other things than scalars.
    fn of(list: &[Json]) -> Option<Element> {
        let all = |fits: fn(&Json) -> bool| list.iter().all(fits);
        let number = |v: &Json| matches!(v, Json::U64(_) | Json::I64(_) | Json::F64(_));
        if all(|v| matches!(v, Json::Str(_))) {
            Some(Element::Str)
        } else if all(|v| matches!(v, Json::Bool(_))) {
            Some(Element::Bool)
        } else if all(|v| matches!(v, Json::U64(_))) {
            Some(Element::U64)
        } else if all(|v| match v {
            Json::U64(v) => i64::try_from(*v).is_ok(),
            other => matches!(other, Json::I64(_)),
        }) {
            Some(Element::I64)
        } else {
            all(number).then_some(Element::F64)
        }
    }
}
