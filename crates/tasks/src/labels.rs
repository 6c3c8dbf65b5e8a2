//! What can be decided: labels, what each means, and whether `nothing` is one of the answers.

use crate::error::{Error, Kind};

/// Most labels of one task.
const MOST: usize = 10_000;

/// One label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// What is answered.
    pub name: String,
    /// When it fits; read by the model beside the name.
    pub description: Option<String>,
}

impl Label {
    /// A label that speaks for itself.
    pub fn new(name: impl Into<String>) -> Label {
        Label { name: name.into(), description: None }
    }

    /// The same with what it means.
    pub fn described(mut self, description: impl Into<String>) -> Label {
        self.description = Some(description.into());
        self
    }
}

/// The answer that none of the labels fits, in words of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nothing(pub Label);

impl Default for Nothing {
    fn default() -> Nothing {
        Nothing(Label::new("nothing").described("none of the other labels fits"))
    }
}

/// Labels that a decision is among: at least one, none empty, none twice; with `nothing`, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Sorted, so that neither a prompt nor a bit hangs on the order in which they were given.
    labels: Vec<Label>,
    nothing: Option<Nothing>,
}

impl Labels {
    /// These labels.
    ///
    /// # Errors
    ///
    /// No label, too many, an empty one, one that begins or ends with blanks, one with a control
    /// character, one twice. The error says which by number, in the order that was given.
    pub fn new(labels: impl IntoIterator<Item = Label>) -> Result<Labels, Error> {
        let mut labels: Vec<Label> = labels.into_iter().collect();
        if labels.is_empty() {
            return Err(Error::new(Kind::Task, "no label to decide for"));
        }
        if labels.len() > MOST {
            let what = format!("{} labels; {MOST} are allowed", labels.len());
            return Err(Error::new(Kind::Task, what));
        }
        for (at, label) in labels.iter().enumerate() {
            checked(&label.name, &format!("label {}", at + 1))?;
        }
        labels.sort_by(|a, b| a.name.cmp(&b.name));
        if labels.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(Error::new(Kind::Task, "a label stands twice among the labels"));
        }
        Ok(Labels { labels, nothing: None })
    }

    /// The same where the answer may be that none of them fits.
    ///
    /// # Errors
    ///
    /// Its wording is one of the labels, or could not be one.
    pub fn or_nothing(mut self, nothing: Nothing) -> Result<Labels, Error> {
        checked(&nothing.0.name, "the wording of `nothing`")?;
        if self.labels.iter().any(|label| label.name == nothing.0.name) {
            let what = "the wording of `nothing` is one of the labels";
            return Err(Error::new(Kind::Task, what).hint("give it other words"));
        }
        self.nothing = Some(nothing);
        Ok(self)
    }

    /// The labels, sorted.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// How `nothing` is worded, where it is one of the answers.
    pub fn nothing(&self) -> Option<&Label> {
        self.nothing.as_ref().map(|nothing| &nothing.0)
    }

    /// Everything that can be answered: the labels, sorted, and `nothing` last.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Label> {
        self.labels.iter().chain(self.nothing())
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.answers().map(|label| label.name.clone()).collect()
    }

    /// What `name` decides: `Some(None)` is nothing.
    pub(crate) fn decided(&self, name: &str) -> Option<Option<String>> {
        if self.nothing().is_some_and(|nothing| nothing.name == name) {
            return Some(None);
        }
        let at = self.labels.binary_search_by(|label| label.name.as_str().cmp(name)).ok()?;
        Some(Some(self.labels[at].name.clone()))
    }
}

fn checked(name: &str, what: &str) -> Result<(), Error> {
    let fault = match name {
        "" => "is empty",
        name if name.trim() != name => "begins or ends with blanks",
        name if name.contains(char::is_control) => "has a control character",
        _ => return Ok(()),
    };
    Err(Error::new(Kind::Task, format!("{what} {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_label_is_named() {
        let cases: [(&str, &[&str], &str); 6] = [
            ("none", &[], "no label"),
            ("empty", &["sí", ""], "label 2 is empty"),
            ("blanks", &["sí", "no "], "label 2 begins or ends with blanks"),
            ("twice", &["año", "no", "año"], "twice"),
            ("lines", &["a\nb"], "label 1 has a control character"),
            ("tab", &["a", "b\tc"], "label 2 has a control character"),
        ];
        for (name, labels, part) in cases {
            let error = Labels::new(labels.iter().map(|l| Label::new(*l))).expect_err(name);
            assert_eq!(error.kind(), &Kind::Task, "{name}");
            assert!(error.to_string().contains(part), "{name}: {error}");
        }
        let many = (0..=MOST).map(|n| Label::new(format!("l{n}")));
        assert!(Labels::new(many).is_err_and(|error| error.to_string().contains("10001 labels")));
    }

    #[test]
    fn nothing_has_words_of_its_own() {
        let labels = || Labels::new(["pagos", "acceso"].map(Label::new)).unwrap();
        let with = labels().or_nothing(Nothing(Label::new("otro"))).unwrap();
        assert_eq!(with.names(), ["acceso", "pagos", "otro"]);
        assert_eq!(with.decided("otro"), Some(None));
        assert_eq!(with.decided("pagos"), Some(Some("pagos".into())));
        assert_eq!(with.decided("nothing"), None);
        assert_eq!(labels().decided("otro"), None);
        for word in ["pagos", "", " otro"] {
            assert!(labels().or_nothing(Nothing(Label::new(word))).is_err(), "{word:?}");
        }
    }
}
