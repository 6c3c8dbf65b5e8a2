//! What licences allow, as far as a table of known ones tells; and an operator's list of those
//! that may run. No legal advice: a mark says where to read first.

mod known;
mod text;

use std::{collections::BTreeSet, fmt, str::FromStr};

use recinto_receipt::Digest;
use recinto_weights::Metadata;

use self::known::{ALIASES, KNOWN, RULES};
use crate::{Error, Files, Kind, layers::plain};

/// What a licence asks of those who use the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// A licence of the open-source kind: any use.
    Open,
    /// Any use within terms that are the publisher's own.
    Terms,
    /// Research or other use without commerce only.
    NonCommercial,
    /// The licence is none of the known ones.
    Unknown,
    /// No licence is stated.
    Missing,
}

impl Use {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Use::Open => "open",
            Use::Terms => "terms of use",
            Use::NonCommercial => "non-commercial",
            Use::Unknown => "not a known licence",
            Use::Missing => "not stated",
        }
    }
}

/// A licence that something says a model is under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Licence {
    /// Its id, in lower case; `None` for a text that is none of the known ones.
    pub id: Option<String>,
    /// What it allows.
    pub allows: Use,
    /// Who says so: `general.license`, `model card`, `layer`.
    pub source: &'static str,
}

impl Licence {
    /// The licence with this id.
    pub fn of_id(id: &str, source: &'static str) -> Licence {
        let id = folded(id);
        let known = KNOWN.iter().find(|row| row.id == id).map(|row| row.allows);
        let rule = || RULES.iter().find(|(part, _)| format!("-{id}-").contains(part));
        let allows = known.or_else(|| rule().map(|rule| rule.1)).unwrap_or(Use::Unknown);
        Licence { id: Some(id), allows, source }
    }

    /// The licence with this text, known by its beginning; of one that allows any use the text
    /// must say nothing else.
    pub fn of_text(text: &str, source: &'static str) -> Licence {
        match text::known(text) {
            Some(row) => Licence { id: Some(row.id.into()), allows: row.allows, source },
            None => Licence::own(source),
        }
    }

    /// Something is stated, and it is none of the known licences and no id.
    fn own(source: &'static str) -> Licence {
        Licence { id: None, allows: Use::Unknown, source }
    }
}

impl Licence {
    /// The word that a list of allowed licences can have for it; `None` for a text of its own and
    /// for a name that no list can hold.
    pub fn word(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| is_word(id))
    }
}

/// Whether a text can stand in a list of allowed licences as an id.
fn is_word(text: &str) -> bool {
    let byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+');
    let reserved = ["all", "none"].iter().any(|word| text.eq_ignore_ascii_case(word));
    (1..=60).contains(&text.len()) && text.bytes().all(byte) && !reserved
}

impl fmt::Display for Licence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id.as_deref().unwrap_or("a text of its own"))
    }
}

/// An id as it is compared: lower case, `-` for what separates, other spellings resolved.
fn folded(id: &str) -> String {
    let id = plain(id.trim()).to_lowercase().replace([' ', '_'], "-");
    ALIASES.iter().find(|row| row.0 == id).map_or(id, |row| row.1.to_owned())
}

/// Most licences that a file states under one key.
const MOST: usize = 64;

/// What a file says under a key of its licence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said<'a> {
    /// A text, or a list of some; none where the file has no such key.
    Texts(Vec<&'a str>),
    /// A value that is neither.
    Other,
}

impl<'a> Said<'a> {
    /// The texts in it that are not blank, one after the other; `cut` at commas too.
    fn texts(&self, cut: bool) -> Vec<&'a str> {
        let Said::Texts(texts) = self else { return Vec::new() };
        let parts = |text: &&'a str| -> Vec<&'a str> {
            if cut { text.split(',').collect() } else { vec![*text] }
        };
        let texts = texts.iter().flat_map(parts).map(str::trim);
        texts.filter(|text| !text.is_empty()).take(MOST + 1).collect()
    }

    /// Whether something stands there that can be no licence: another value, commas alone, or
    /// more than are looked at.
    fn odd(&self) -> bool {
        let (cut, whole) = (self.texts(true).len(), self.texts(false).len());
        *self == Said::Other || (cut == 0 && whole > 0) || cut.max(whole) > MOST
    }
}

/// The keys of a file's licence.
const ID: &str = "general.license";
const NAME: &str = "general.license.name";

/// Every licence that is stated of a model: by the file's `general.license` (an id, or several with
/// commas between or in a list) and `general.license.name`, by the model card beside it, and by the
/// texts its store keeps. `file` has the keys of the file, where it can be read.
pub fn stated(files: &Files, file: Option<Metadata<'_>>) -> Vec<Licence> {
    let said = |key: &str| match file.map(|file| file.texts(key)) {
        Some(Ok(texts)) => Said::Texts(texts),
        Some(Err(_)) => Said::Other,
        None => Said::Texts(Vec::new()),
    };
    stated_by(files, &said(ID), &said(NAME))
}

fn stated_by(files: &Files, license: &Said<'_>, name: &Said<'_>) -> Vec<Licence> {
    let (ids, names) = (license.texts(true), name.texts(false));
    let other = |id: &&str| id.eq_ignore_ascii_case("other");
    let mut found = Vec::new();
    // The name is that of what has no id.
    let named = !names.is_empty() && (ids.is_empty() || ids.iter().any(other));
    let ids = ids.iter().filter(|id| !(named && other(id)));
    found.extend(ids.map(|id| Licence::of_id(id, ID)));
    if named {
        found.extend(names.iter().map(|name| Licence::of_id(name, NAME)));
    }
    let odd = [(license, ID), (name, NAME)].into_iter().filter(|(said, _)| said.odd());
    found.extend(odd.map(|(_, source)| Licence::own(source)));
    found.extend(files.card.licences.iter().map(|id| Licence::of_id(id, "model card")));
    found.extend(files.layers.licences.iter().map(|text| Licence::of_text(text, "layer")));
    let mut seen = BTreeSet::new();
    found.retain(|licence| seen.insert(licence.id.clone()));
    found
}

/// What the strictest of the stated licences allows.
pub fn strictest(stated: &[Licence]) -> Use {
    stated.iter().map(|licence| licence.allows).max().unwrap_or(Use::Missing)
}

/// What an operator lets run: ids of licences, and digests of weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    ids: BTreeSet<String>,
    digests: BTreeSet<Digest>,
}

impl Allowed {
    /// Whether all of the stated licences are on the list; none stated is none allowed.
    pub fn licences(&self, stated: &[Licence]) -> bool {
        let listed =
            |licence: &Licence| licence.id.as_ref().is_some_and(|id| self.ids.contains(id));
        !stated.is_empty() && stated.iter().all(listed)
    }

    /// Whether weights with this digest are on the list, whatever their licence.
    pub fn digest(&self, digest: &Digest) -> bool {
        self.digests.contains(digest)
    }
}

/// As it is written: `apache-2.0,mit,sha256:…`.
impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.ids.iter().cloned();
        let digests = self.digests.iter().map(|digest| format!("sha256:{digest}"));
        f.write_str(&ids.chain(digests).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Allowed {
    type Err = Error;

    fn from_str(text: &str) -> Result<Allowed, Error> {
        let mut allowed = Allowed { ids: BTreeSet::new(), digests: BTreeSet::new() };
        for word in text.split(',').map(str::trim) {
            let bad = |what: &str| {
                Err(Error::new(Kind::Invalid, what.to_owned())
                    .with_hint("as in `apache-2.0,mit,sha256:…`, with commas between"))
            };
            if matches!(word.to_ascii_lowercase().as_str(), "all" | "none") {
                return bad("`all` and `none` are no licences: leave it unset to allow all");
            }
            let prefixed = word.get(..7).filter(|start| start.eq_ignore_ascii_case("sha256:"));
            match prefixed {
                Some(_) => match word.to_ascii_lowercase().parse() {
                    Ok(digest) => drop(allowed.digests.insert(digest)),
                    Err(_) => return bad("`sha256:` needs 64 hexadecimal digits"),
                },
                None if is_word(word) => {
                    allowed.ids.insert(folded(word));
                }
                None => return bad("ids of licences and digests are needed"),
            }
        }
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_what_they_allow() {
        let cases = [
            ("apache-2.0", "apache-2.0", Use::Open),
            ("Apache 2.0", "apache-2.0", Use::Open),
            (" MIT ", "mit", Use::Open),
            ("gemma", "gemma", Use::Terms),
            ("llama3.2", "llama3.2", Use::Terms),
            ("Llama-3.1", "llama3.1", Use::Terms),
            ("llama9", "llama9", Use::Terms),
            ("cc-by-nc-4.0", "cc-by-nc-4.0", Use::NonCommercial),
            ("cc-by-nc-9.9", "cc-by-nc-9.9", Use::NonCommercial),
            ("qwen-research", "qwen-research", Use::NonCommercial),
            ("acme_research_only", "acme-research-only", Use::NonCommercial),
            ("other", "other", Use::Unknown),
            ("licencia-del-señor", "licencia-del-señor", Use::Unknown),
        ];
        for (given, id, allows) in cases {
            let licence = Licence::of_id(given, "model card");
            assert_eq!((licence.id.as_deref(), licence.allows), (Some(id), allows), "{given}");
        }
    }

    /// What a file says under both keys, and the licences of it.
    #[test]
    fn what_a_file_states() {
        let files = Files {
            store: crate::Store::Path,
            name: String::new(),
            root: "/".into(),
            form: crate::Form::Gguf,
            weights: Vec::new(),
            claimed: Vec::new(),
            beside: Vec::new(),
            layers: crate::Layers::default(),
            card: crate::Card::default(),
            notes: Vec::new(),
        };
        let none = || Said::Texts(Vec::new());
        let texts = |texts: &[&'static str]| Said::Texts(texts.to_vec());
        type Row<'a> = (&'a str, Said<'a>, Said<'a>, &'a [Option<&'a str>]);
        let cases: &[Row<'_>] = &[
            ("nothing", none(), none(), &[]),
            ("one", texts(&["MIT"]), none(), &[Some("mit")]),
            (
                "two in one text",
                texts(&["apache-2.0, mit"]),
                none(),
                &[Some("apache-2.0"), Some("mit")],
            ),
            ("a list", texts(&["mit", "gemma"]), none(), &[Some("mit"), Some("gemma")]),
            ("an empty list", texts(&[]), none(), &[]),
            ("blank", texts(&[" "]), none(), &[]),
            ("very many", Said::Texts(vec!["mit"; 65]), none(), &[Some("mit"), None]),
            ("commas alone", texts(&[" ,"]), none(), &[None]),
            ("a number", Said::Other, none(), &[None]),
            ("a number for a name", texts(&["mit"]), Said::Other, &[Some("mit"), None]),
            (
                "a name",
                none(),
                texts(&["Licencia, la del señor"]),
                &[Some("licencia,-la-del-señor")],
            ),
            (
                "a name for other",
                texts(&["other,mit"]),
                texts(&["Gemma"]),
                &[Some("mit"), Some("gemma")],
            ),
            ("a name beside an id", texts(&["mit"]), texts(&["MIT License"]), &[Some("mit")]),
            ("other", texts(&["other"]), none(), &[Some("other")]),
        ];
        let allowed: Allowed = "apache-2.0,mit".parse().unwrap();
        for (name, license, of_name, want) in cases {
            let found = stated_by(&files, license, of_name);
            let ids: Vec<Option<&str>> = found.iter().map(|l| l.id.as_deref()).collect();
            assert_eq!(ids, *want, "{name}");
            let listed = |id: &Option<&str>| matches!(id, Some("mit" | "apache-2.0"));
            let want = !want.is_empty() && want.iter().all(listed);
            assert_eq!(allowed.licences(&found), want, "{name}");
        }
    }

    #[test]
    fn what_an_operator_allows() {
        let hex = "0123456789abcdef".repeat(4);
        let allowed: Allowed = format!("Apache-2.0, mit,sha256:{hex}").parse().unwrap();
        assert_eq!(allowed.to_string(), format!("apache-2.0,mit,sha256:{hex}"));
        let of =
            |ids: &[&str]| ids.iter().map(|id| Licence::of_id(id, "layer")).collect::<Vec<_>>();
        let cases: &[(&str, Vec<Licence>, bool)] = &[
            ("listed", of(&["apache-2.0"]), true),
            ("both", of(&["apache-2.0", "mit"]), true),
            ("one of two", of(&["apache-2.0", "gemma"]), false),
            ("none stated", vec![], false),
            ("a text of its own", vec![Licence::of_text("mía", "layer")], false),
        ];
        for (name, stated, want) in cases {
            assert_eq!(allowed.licences(stated), *want, "{name}");
        }
        assert!(allowed.digest(&hex.parse().unwrap()));
        assert!(!allowed.digest(&"0".repeat(64).parse().unwrap()));
        for text in ["", "mit,", "a b", "sha256:12", "señal", "all", "None", &"x".repeat(61)] {
            let error = text.parse::<Allowed>().unwrap_err().to_string();
            assert!(error.contains("hint: as in"), "{text}: {error}");
        }
        assert_eq!(strictest(&of(&["mit", "gemma"])), Use::Terms);
        assert_eq!(strictest(&[]), Use::Missing);
    }
}
