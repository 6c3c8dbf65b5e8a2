//! A value of the file with its place, so that every fault names where it is.

use serde_json::Value;

use crate::{
    Error,
    error::{Kind, shown},
    load::MAX_PIECES,
};

/// A value and how to get there, such as `normalizer.normalizers[1]`.
pub(crate) struct Part<'j> {
    pub value: &'j Value,
    place: String,
}

pub(crate) fn invalid(what: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, what)
}

impl<'j> Part<'j> {
    pub(crate) fn root(value: &'j Value) -> Part<'j> {
        Part { value, place: String::new() }
    }

    fn at(&self, value: &'j Value, name: &str) -> Part<'j> {
        let dot = if self.place.is_empty() { "" } else { "." };
        Part { value, place: format!("{}{dot}{}", self.place, shown(name)) }
    }

    /// The field `name`, unless it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<Part<'j>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(self.at(value, name))
    }

    pub(crate) fn need(&self, name: &str) -> Result<Part<'j>, Error> {
        self.get(name).ok_or_else(|| {
            let place = self.at(self.value, name).place;
            Error::new(Kind::Missing, format!("`{place}` is missing in tokenizer.json"))
        })
    }

    fn wrong(&self, wanted: &str) -> Error {
        let what = format!("`{}` in tokenizer.json is not {wanted}", self.place);
        Error::new(Kind::WrongType, what)
    }

    pub(crate) fn str(&self) -> Result<&'j str, Error> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    pub(crate) fn number(&self) -> Result<f64, Error> {
        self.value.as_f64().ok_or_else(|| self.wrong("a number"))
    }

    /// An index in a vocabulary.
    pub(crate) fn id(&self) -> Result<u32, Error> {
        let id = self.value.as_u64().ok_or_else(|| self.wrong("an id"))?;
        if id >= MAX_PIECES as u64 {
            let what =
                format!("`{}` in tokenizer.json is {id}; ids end at {MAX_PIECES}", self.place);
            return Err(invalid(what));
        }
        Ok(id as u32)
    }

    pub(crate) fn array(&self) -> Result<impl Iterator<Item = Part<'j>> + use<'j>, Error> {
        let list = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        let place = self.place.clone();
        let part = move |(at, value)| Part { value, place: format!("{place}[{at}]") };
        Ok(list.iter().enumerate().map(part))
    }

    /// Names and values of an object.
    pub(crate) fn entries(&self) -> Result<impl Iterator<Item = (&'j str, Part<'j>)>, Error> {
        let map = self.value.as_object().ok_or_else(|| self.wrong("an object"))?;
        Ok(map.iter().map(|(name, value)| (name.as_str(), self.at(value, name))))
    }

    /// A truth value that may be absent.
    pub(crate) fn flag(&self, name: &str, usual: bool) -> Result<bool, Error> {
        match self.get(name) {
            None => Ok(usual),
            Some(part) => part.value.as_bool().ok_or_else(|| part.wrong("true or false")),
        }
    }

    /// A text that may be absent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'j str>, Error> {
        self.get(name).map(|part| part.str()).transpose()
    }

    /// The field `type`, which every step has.
    pub(crate) fn kind(&self) -> Result<&'j str, Error> {
        self.need("type")?.str()
    }

    /// What this engine does not have: the word and its place.
    pub(crate) fn unsupported(&self, what: &str, word: &str) -> Error {
        let text = format!("{what} `{}` of tokenizer.json is not supported", shown(word));
        Error::new(Kind::Unsupported, text).hint(format!(
            "it stands at `{}`; leaving it out would give wrong ids silently",
            self.place
        ))
    }

    /// Refuses a field that is there and is neither null, false, empty nor zero.
    pub(crate) fn refuse(&self, name: &str) -> Result<(), Error> {
        let Some(part) = self.get(name) else { return Ok(()) };
        let idle = match part.value {
            Value::Bool(flag) => !flag,
            Value::String(text) => text.is_empty(),
            Value::Number(number) => number.as_f64() == Some(0.0),
            _ => false,
        };
        if idle { Ok(()) } else { Err(self.unsupported("the option", name)) }
    }
}
