//! What licences allow, as far as a table of known ones tells; and an operator's list of those
//! that may run. No legal advice: a mark says where to read first.

use std::{collections::BTreeSet, fmt, str::FromStr};

use recinto_receipt::Digest;

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

/// A licence that is known by its id, and how the first lines of its text begin.
struct Known {
    id: &'static str,
    allows: Use,
    /// All of these stand near the beginning of its text, in lower case with single spaces.
    marks: &'static [&'static str],
}

const fn known(id: &'static str, allows: Use, marks: &'static [&'static str]) -> Known {
    Known { id, allows, marks }
}

/// Known licences; of those whose texts begin alike, the one that says more goes first.
///
/// Source: SPDX's list, the hub's list of licence ids, and the licences' own texts.
const KNOWN: &[Known] = &[
    known("apache-2.0", Use::Open, &["apache license", "version 2.0"]),
    known(
        "mit",
        Use::Open,
        &["permission is hereby granted, free of charge", "without restriction"],
    ),
    known(
        "bsd-3-clause",
        Use::Open,
        &["redistribution and use in source and binary", "neither the name"],
    ),
    known("bsd-2-clause", Use::Open, &["redistribution and use in source and binary"]),
    known("isc", Use::Open, &["permission to use, copy, modify, and/or distribute"]),
    known("cc0-1.0", Use::Open, &["cc0 1.0 universal"]),
    known("cc-by-nc-sa-4.0", Use::NonCommercial, &["attribution-noncommercial-sharealike 4.0"]),
    known("cc-by-nc-nd-4.0", Use::NonCommercial, &["attribution-noncommercial-noderivatives 4.0"]),
    known("cc-by-nc-4.0", Use::NonCommercial, &["attribution-noncommercial 4.0"]),
    known("cc-by-sa-4.0", Use::Open, &["attribution-sharealike 4.0"]),
    known("cc-by-4.0", Use::Open, &["attribution 4.0 international"]),
    known("cc-by-3.0", Use::Open, &["attribution 3.0"]),
    known("unlicense", Use::Open, &["free and unencumbered software"]),
    known("agpl-3.0", Use::Open, &["gnu affero general public license"]),
    known("lgpl-3.0", Use::Open, &["gnu lesser general public license"]),
    known("gpl-3.0", Use::Open, &["gnu general public license", "version 3"]),
    known("gpl-2.0", Use::Open, &["gnu general public license", "version 2"]),
    known("mpl-2.0", Use::Open, &["mozilla public license", "2.0"]),
    known("llama4", Use::Terms, &["llama 4 community license"]),
    known("llama3.3", Use::Terms, &["llama 3.3 community license"]),
    known("llama3.3", Use::Terms, &["llama 3.3 acceptable use policy"]),
    known("llama3.2", Use::Terms, &["llama 3.2 community license"]),
    known("llama3.2", Use::Terms, &["llama 3.2 acceptable use policy"]),
    known("llama3.1", Use::Terms, &["llama 3.1 community license"]),
    known("llama3.1", Use::Terms, &["llama 3.1 acceptable use policy"]),
    known("llama3", Use::Terms, &["llama 3 community license"]),
    known("llama3", Use::Terms, &["llama 3 acceptable use policy"]),
    known("llama2", Use::Terms, &["llama 2 community license"]),
    known("llama2", Use::Terms, &["llama 2 acceptable use policy"]),
    known("gemma", Use::Terms, &["gemma terms of use"]),
    known("gemma", Use::Terms, &["gemma prohibited use policy"]),
    known("qwen-research", Use::NonCommercial, &["qwen research license"]),
    known("tongyi-qianwen-research", Use::NonCommercial, &["tongyi qianwen research license"]),
    known("tongyi-qianwen", Use::Terms, &["tongyi qianwen license"]),
    known("qwen", Use::Terms, &["qwen license agreement"]),
    known("mnpl", Use::NonCommercial, &["mistral ai non-production license"]),
    known("mrl", Use::NonCommercial, &["mistral ai research license"]),
    known("deepseek", Use::Terms, &["deepseek license agreement"]),
    known("falcon-llm-license", Use::Terms, &["falcon", "tii"]),
    known("bigscience-openrail-m", Use::Terms, &["bigscience", "openrail"]),
    known("bigcode-openrail-m", Use::Terms, &["bigcode", "openrail"]),
    known("openrail", Use::Terms, &["openrail"]),
    known("exaone", Use::NonCommercial, &["exaone ai model license"]),
    known("lfm1.0", Use::Terms, &["lfm open license"]),
    known("nvidia-open-model-license", Use::Terms, &["nvidia open model license"]),
    known("stabilityai-ai-community", Use::Terms, &["stability ai community license"]),
    known("health-ai-developer-foundations", Use::Terms, &["health ai developer foundations"]),
];

/// Other ways to write an id.
const ALIASES: &[(&str, &str)] = &[
    ("apache", "apache-2.0"),
    ("apache2", "apache-2.0"),
    ("apache2.0", "apache-2.0"),
    ("apache-2", "apache-2.0"),
    ("apache-license-2.0", "apache-2.0"),
    ("mit-license", "mit"),
    ("llama-2", "llama2"),
    ("llama-3", "llama3"),
    ("llama-3.1", "llama3.1"),
    ("llama-3.2", "llama3.2"),
    ("llama-3.3", "llama3.3"),
    ("qwen-license", "qwen"),
];

/// Parts of an id that say what it allows although the id is not in the table: the careful side.
const RULES: &[(&str, Use)] = &[
    ("non-commercial", Use::NonCommercial),
    ("noncommercial", Use::NonCommercial),
    ("-nc-", Use::NonCommercial),
    ("research", Use::NonCommercial),
    ("non-production", Use::NonCommercial),
    ("llama", Use::Terms),
    ("gemma", Use::Terms),
];

/// Bytes at the beginning of a text in which its marks are looked for.
const BEGINNING: usize = 4000;

/// Licences that allow nearly everything: a text that holds one of these and more may allow much
/// less, so the whole of it is looked at. Id, and characters that its text has at most.
const PERMISSIVE: &[(&str, usize)] = &[
    ("apache-2.0", 13_000),
    ("mit", 2_500),
    ("bsd-3-clause", 3_000),
    ("bsd-2-clause", 3_000),
    ("isc", 1_800),
];

/// In a permissive licence's text its name stands within so many characters of the beginning.
const TITLE: usize = 600;

/// What no permissive licence says, with single spaces and in lower case.
const QUALIFIED: &[&str] = &[
    "commons clause",
    "non-commercial",
    "non commercial",
    "noncommercial",
    "commercial use",
    "commercially",
    "research purposes",
    "research use",
    "evaluation only",
    "not under the",
    "no permission",
    "additional restriction",
    "further restriction",
    "acceptable use",
    "may not be used",
];

/// Whether a text in which a permissive licence was found is that licence and nothing more.
fn is_plain(row: &Known, words: &str) -> bool {
    let Some((_, most)) = PERMISSIVE.iter().find(|(id, _)| *id == row.id) else { return true };
    let title = words.find(row.marks[0]).is_some_and(|at| at <= TITLE);
    title && words.len() <= *most && !QUALIFIED.iter().any(|phrase| words.contains(phrase))
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

    /// The licence with this text, known by its beginning; of a licence that allows nearly
    /// everything the text must say nothing else.
    pub fn of_text(text: &str, source: &'static str) -> Licence {
        let lower: String = text.chars().flat_map(char::to_lowercase).collect();
        let words = lower.split_whitespace().collect::<Vec<&str>>().join(" ");
        let beginning: String = words.chars().take(BEGINNING).collect();
        let fits = |row: &&Known| {
            row.marks.iter().all(|mark| beginning.contains(mark)) && is_plain(row, &words)
        };
        match KNOWN.iter().find(fits) {
            Some(row) => Licence { id: Some(row.id.into()), allows: row.allows, source },
            None => Licence { id: None, allows: Use::Unknown, source },
        }
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

/// Every licence that is stated of a model: by the file's `general.license` and
/// `general.license.name`, by the model card beside it, and by the texts its store keeps.
pub fn stated(files: &Files, license: Option<&str>, name: Option<&str>) -> Vec<Licence> {
    let mut found = Vec::new();
    let filled = |text: &&str| !text.trim().is_empty();
    match (license.filter(filled), name.filter(filled)) {
        (Some(id), Some(name)) if id.trim().eq_ignore_ascii_case("other") => {
            found.push(Licence::of_id(name, "general.license.name"));
        }
        (Some(id), _) => found.push(Licence::of_id(id, "general.license")),
        (None, Some(name)) => found.push(Licence::of_id(name, "general.license.name")),
        (None, None) => {}
    }
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
    fn a_permissive_text_with_more_in_it_is_one_of_its_own() {
        let mit = "MIT License\n\nCopyright (c) 2026 Año\n\nPermission is hereby granted, free of \
                   charge, to any person obtaining a copy, to deal in it without restriction.";
        let apache = "Apache License\nVersion 2.0, January 2004";
        let of = |text: &str| Licence::of_text(text, "layer").id;
        assert_eq!(of(mit).as_deref(), Some("mit"));
        assert_eq!(of(apache).as_deref(), Some("apache-2.0"));
        let cases = [
            format!("NON COMMERCIAL LICENSE. Derived from code under {apache}."),
            format!("{apache}\n\nCommons Clause License Condition v1.0"),
            format!("This model is NOT under the {apache}."),
            format!("{mit}\nNo commercial use whatsoever."),
            format!("{mit}\nNo permission is hereby granted."),
            format!("{mit}\n{}", "Y además otra cosa. ".repeat(200)),
            format!("{}{apache}", "Palabras antes. ".repeat(60)),
        ];
        for text in cases {
            assert_eq!(of(&text), None, "{text}");
        }
    }

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

    #[test]
    fn texts_are_known_by_how_they_begin() {
        let cases = [
            (
                "                Apache License\n           Version 2.0, January 2004\n",
                Some("apache-2.0"),
            ),
            (
                "MIT License\n\nPermission is hereby granted, free of charge, to any\nperson … \
                 without\nrestriction",
                Some("mit"),
            ),
            ("LLAMA 3.2 COMMUNITY LICENSE AGREEMENT\nLlama 3.2 Version", Some("llama3.2")),
            ("**Llama 3.2** **Acceptable Use Policy**", None),
            ("Llama 3.2 Acceptable Use Policy", Some("llama3.2")),
            ("META LLAMA 3 COMMUNITY LICENSE AGREEMENT", Some("llama3")),
            ("Gemma Terms of Use \n\nLast modified", Some("gemma")),
            ("Qwen RESEARCH LICENSE AGREEMENT", Some("qwen-research")),
            ("Attribution-NonCommercial 4.0 International", Some("cc-by-nc-4.0")),
            ("Attribution 4.0 International", Some("cc-by-4.0")),
            ("Licencia propia: solo los lunes", None),
            ("", None),
        ];
        for (text, id) in cases {
            assert_eq!(Licence::of_text(text, "layer").id.as_deref(), id, "{text}");
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
