//! What data is, in the operator's words: `internal`, `phi`, `client:acme`.

use std::{collections::BTreeSet, fmt, str::FromStr};

use crate::error::{Error, Kind};

/// The word for data that nobody labelled.
pub const UNLABELLED: &str = "unlabelled";
/// Most bytes of a label.
pub const MAX_BYTES: usize = 64;
/// Most labels of one request, so that a line of the log holds them.
pub const MAX_LABELS: usize = 16;

const FORM: &str = "a label is 1 to 64 of a-z, 0-9, `.`, `_` and `-`, with `:` between two parts, as \
                    in `internal` or `client:acme`; there is no wildcard, and no letter with an accent";

/// A label: lower-case ASCII, so that one label has one spelling. `unlabelled` is one that only
/// policies write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

impl Label {
    /// The label of what has none.
    pub fn unlabelled() -> Label {
        Label(UNLABELLED.into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = Error;

    /// # Errors
    ///
    /// Text that is no label; it is not repeated, since it may be anything.
    fn from_str(text: &str) -> Result<Label, Error> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        let part = |part: &str| !part.is_empty() && part.bytes().all(plain);
        let fits = text.len() <= MAX_BYTES && text.split(':').all(part);
        match fits {
            true => Ok(Label(text.into())),
            false => Err(Error::new(Kind::Label, "a text that is no label").hint(FORM)),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The labels of one request: at least one, for `unlabelled` stands where nobody said another.
/// Labels are added and never taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(BTreeSet<Label>);

impl Default for Labels {
    fn default() -> Labels {
        Labels([Label::unlabelled()].into())
    }
}

impl Labels {
    /// The labels in `texts`; `unlabelled` where there are none.
    ///
    /// # Errors
    ///
    /// A text that is no label, `unlabelled` beside others, more than `MAX_LABELS`.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Labels, Error> {
        let mut found = BTreeSet::new();
        for text in texts {
            found.insert(text.as_ref().parse()?);
            if found.len() > MAX_LABELS {
                let what = format!("more than {MAX_LABELS} labels on one request");
                return Err(Error::new(Kind::Label, what));
            }
        }
        if found.len() > 1 && found.contains(&Label::unlabelled()) {
            return Err(Error::new(Kind::Label, "`unlabelled` stands beside other labels")
                .hint("leave it out: it means that there is none"));
        }
        Ok(if found.is_empty() { Labels::default() } else { Labels(found) })
    }

    /// These and `others` together, as a request has them that joins texts.
    ///
    /// # Errors
    ///
    /// More than `MAX_LABELS`.
    pub fn and(&self, others: &Labels) -> Result<Labels, Error> {
        let all = self.iter().chain(others.iter()).filter(|label| label.0 != UNLABELLED);
        Labels::new(all.map(Label::as_str).collect::<BTreeSet<_>>())
    }

    /// Each of them, in the order of their bytes.
    pub fn iter(&self) -> impl Iterator<Item = &Label> {
        self.0.iter()
    }

    /// Whether nobody labelled the request.
    pub fn is_unlabelled(&self) -> bool {
        self.0.contains(&Label::unlabelled())
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<&str> = self.iter().map(Label::as_str).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let long = "a".repeat(MAX_BYTES);
        let cases = [
            ("a word", "internal", true),
            ("two parts", "client:acme", true),
            ("marks", "iso_27001.a-b:x:y", true),
            ("digits", "2026", true),
            ("the longest", &long, true),
            ("of policies", UNLABELLED, true),
            ("empty", "", false),
            ("too long", &format!("{long}a"), false),
            ("capitals", "PHI", false),
            ("an accent", "clínico", false),
            ("ñ", "cliente:peña", false),
            ("blank", "client acme", false),
            ("wildcard", "*", false),
            ("half a wildcard", "client:*", false),
            ("no second part", "client:", false),
            ("no first part", ":acme", false),
            ("line", "phi\n", false),
            ("¿", "¿phi?", false),
        ];
        for (name, text, want) in cases {
            match text.parse::<Label>() {
                Ok(label) => assert!(want && label.as_str() == text, "{name}"),
                Err(error) => {
                    assert!(!want && error.kind() == Kind::Label, "{name}: {error}");
                    assert!(text.is_empty() || !error.what().contains(text), "{name}: {error}");
                }
            }
        }
    }

    #[test]
    fn sets() {
        let set = |texts: &[&str]| Labels::new(texts).map(|labels| labels.to_string());
        assert_eq!(set(&[]).unwrap(), "unlabelled");
        assert_eq!(set(&["unlabelled"]).unwrap(), "unlabelled");
        assert_eq!(set(&["phi", "internal", "phi"]).unwrap(), "internal, phi");
        assert!(set(&["phi", "unlabelled"]).is_err());
        assert!(set(&["phi", "Ñ"]).is_err());
        let many: Vec<String> = (0..=MAX_LABELS).map(|n| format!("l{n}")).collect();
        assert!(Labels::new(&many[..MAX_LABELS]).is_ok() && Labels::new(&many).is_err());
        let (none, phi) = (Labels::default(), Labels::new(["phi"]).unwrap());
        assert_eq!(none.and(&phi).unwrap(), phi, "what is labelled in part is labelled");
        assert_eq!(phi.and(&Labels::new(["a"]).unwrap()).unwrap().to_string(), "a, phi");
        assert!(none.and(&none).unwrap().is_unlabelled() && !phi.is_unlabelled());
    }
}
