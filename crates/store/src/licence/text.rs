//! Which licence a text is: its title stands at the beginning, and of one that allows any use the
//! rest says nothing that takes some of it back.

use super::{
    Use,
    known::{KNOWN, Known},
};

/// Characters at the beginning of a text in which marks are looked for.
const BEGINNING: usize = 4000;
/// The first mark of an open licence stands within so many bytes of the beginning: above it may
/// stand whose the copyright is.
const TITLE: usize = 600;
/// Words that may stand before a title, each once.
const BEFORE: &[&str] =
    &["creative commons legal code", "creative commons", "licensed under", "license:", "the"];

/// How the text of an open licence looks. Source: the licences' own texts.
struct Shape {
    id: &'static str,
    /// One of these is the first that it says.
    begins: &'static [&'static str],
    /// Bytes that it has at most, with single spaces.
    most: usize,
    /// Parts of it that would sound as if it took something back.
    own: &'static [&'static str],
}

const fn shape(
    id: &'static str,
    most: usize,
    begins: &'static [&'static str],
    own: &'static [&'static str],
) -> Shape {
    Shape { id, begins, most, own }
}

const BSD: &[&str] = &[
    "bsd",
    "new bsd",
    "modified bsd",
    "simplified bsd",
    "copyright",
    "redistribution and use in source and binary",
];
/// What the licences of the Free Software Foundation say of passing copies on.
const GNU: &[&str] = &[
    "impose any further restrictions on the",
    "considered \"further restrictions\" within",
    "is a further restriction, you may remove",
    "contains a further restriction but permits",
    "the further restriction does not survive",
    "only for noncommercial distribution and only",
    "only occasionally and noncommercially, and only",
    "gives no permission to license the work in any other way",
];

/// A row for each open licence that is known by its text.
const SHAPES: &[Shape] = &[
    shape("apache-2.0", 13_000, &["apache license", "copyright"], &[]),
    shape(
        "mit",
        2_500,
        &["mit license", "expat license", "copyright", "permission is hereby"],
        &[],
    ),
    shape("bsd-3-clause", 3_000, BSD, &[]),
    shape("bsd-2-clause", 3_000, BSD, &[]),
    shape("isc", 1_800, &["isc license", "copyright", "permission to use, copy, modify"], &[]),
    shape("cc0-1.0", 8_000, &["cc0 1.0 universal"], &[]),
    shape("cc-by-sa-4.0", 22_000, &["attribution-sharealike 4.0"], &[]),
    shape("cc-by-4.0", 22_000, &["attribution 4.0 international"], &[]),
    shape("cc-by-3.0", 22_000, &["attribution 3.0"], &[]),
    shape(
        "unlicense",
        2_000,
        &["this is free and unencumbered software", "unlicense"],
        &["for any purpose, commercial or non-commercial, and by any means"],
    ),
    shape("agpl-3.0", 37_000, &["gnu affero general public license"], GNU),
    shape("lgpl-2.1", 28_000, &["gnu lesser general public license"], GNU),
    shape("lgpl-3.0", 9_000, &["gnu lesser general public license"], GNU),
    shape("gpl-3.0", 37_000, &["gnu general public license"], GNU),
    shape("gpl-2.0", 20_000, &["gnu general public license"], GNU),
    shape("mpl-2.0", 18_000, &["mozilla public license"], &[]),
];

/// What no open licence says but in its own parts, with single spaces and in lower case.
const QUALIFIED: &[&str] = &[
    "academic",
    "acceptable use",
    "additional restriction",
    "commercial use",
    "commercially",
    "commons clause",
    "evaluation only",
    "evaluation purposes",
    "for evaluation",
    "further restriction",
    "internal use",
    "may not be used",
    "no permission",
    "non commercial",
    "non-commercial",
    "non-production",
    "noncommercial",
    "not for ",
    "not under the",
    "personal use",
    "research only",
    "research purposes",
    "research use",
    "the weights",
];

/// The row of the licence that `text` is.
pub(super) fn known(text: &str) -> Option<&'static Known> {
    let lower: String = text.chars().flat_map(char::to_lowercase).collect();
    let words = lower.split_whitespace().collect::<Vec<&str>>().join(" ");
    let beginning: String = words.chars().take(BEGINNING).collect();
    let has = |row: &&Known, text: &str| row.marks.iter().all(|mark| text.contains(mark));
    let (open, closed): (Vec<&Known>, Vec<&Known>) =
        KNOWN.iter().partition(|row| row.allows == Use::Open);
    // Beside terms that allow less, an open licence is that of something else.
    let less = closed.iter().any(|row| has(row, &words));
    let plain = |row: &&&Known| !less && has(row, &beginning) && is_plain(row, &words);
    let found = open.iter().find(plain);
    found.or_else(|| closed.iter().find(|row| has(row, &beginning))).copied()
}

/// Whether a text in which an open licence was found is that licence and nothing more.
fn is_plain(row: &Known, words: &str) -> bool {
    let Some(shape) = SHAPES.iter().find(|shape| shape.id == row.id) else { return false };
    let rest = title(words);
    let begins = shape.begins.iter().any(|begin| rest.starts_with(begin));
    // All that says which of several it is stands near the title.
    let near = row.marks[..1].iter().all(|mark| words.find(mark).is_some_and(|at| at <= TITLE));
    if !(begins && near && words.len() <= shape.most) {
        return false;
    }
    let other = shape.own.iter().fold(words.to_owned(), |text, own| text.replace(own, " "));
    !QUALIFIED.iter().any(|phrase| other.contains(phrase))
}

/// A text from its title on: marks and words that may stand before one are left out.
fn title(words: &str) -> &str {
    let bare = |text| str::trim_start_matches(text, |c: char| !c.is_alphanumeric());
    BEFORE.iter().fold(bare(words), |rest, before| match rest.strip_prefix(before) {
        Some(after) if after.starts_with(' ') => bare(after),
        _ => rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<&'static str> {
        known(text).map(|row| row.id)
    }

    const MIT: &str = "MIT License\n\nCopyright (c) 2026 Año\n\nPermission is hereby granted, free \
                       of charge, to any person obtaining a copy, to deal in it without \
                       restriction.";
    const APACHE: &str = "Apache License\nVersion 2.0, January 2004";
    const UNLICENSE: &str = "This is free and unencumbered software released into the public domain.\n\nAnyone is free \
         to copy, modify, publish, use, compile, sell, or\ndistribute this software, either in \
         source code form or as a compiled\nbinary, for any purpose, commercial or \
         non-commercial, and by any\nmeans.";

    /// Real beginnings.
    #[test]
    fn texts_are_known_by_how_they_begin() {
        let cases = [
            (
                "                Apache License\n           Version 2.0, January 2004\n",
                Some("apache-2.0"),
            ),
            (
                "Copyright 2026 Año\n\nLicensed under the Apache License, Version 2.0 (the \"License\")",
                Some("apache-2.0"),
            ),
            (
                "# The MIT License (MIT)\n\nCopyright © 2026\n\nPermission is hereby granted, free of \
              charge, to any\nperson … without\nrestriction",
                Some("mit"),
            ),
            (
                "MIT License\n\nPermission is hereby granted, free of charge, to any\nperson … \
              without\nrestriction",
                Some("mit"),
            ),
            (
                "Copyright (c) The Regents of the University of California.\nAll rights reserved.\n\n\
              Redistribution and use in source and binary forms … 3. Neither the name of the \
              University",
                Some("bsd-3-clause"),
            ),
            (
                "BSD 2-Clause License\n\nCopyright (c) 2026, Año\n\nRedistribution and use in source \
              and binary forms",
                Some("bsd-2-clause"),
            ),
            (
                "ISC License\n\nCopyright (c) 2026\n\nPermission to use, copy, modify, and/or \
              distribute this software",
                Some("isc"),
            ),
            (
                "Creative Commons Legal Code\n\nCC0 1.0 Universal\n\n    CREATIVE COMMONS CORPORATION \
              IS NOT A LAW FIRM",
                Some("cc0-1.0"),
            ),
            ("CC0 1.0 Universal", Some("cc0-1.0")),
            (
                "Attribution 4.0 International\n\n=======================\n\nCreative Commons \
              Corporation (\"Creative Commons\") is not a law firm",
                Some("cc-by-4.0"),
            ),
            (
                "Attribution 4.0 International\n\nThese are not exhaustive, and do not\nform part of \
                 our licenses.",
                Some("cc-by-4.0"),
            ),
            ("Creative Commons Attribution 4.0 International Public License", Some("cc-by-4.0")),
            ("Creative Commons Legal Code\n\nAttribution 3.0 Unported\n", Some("cc-by-3.0")),
            ("Attribution-ShareAlike 4.0 International\n\n====", Some("cc-by-sa-4.0")),
            ("Attribution-NonCommercial 4.0 International", Some("cc-by-nc-4.0")),
            ("Attribution-NonCommercial-ShareAlike 4.0 International", Some("cc-by-nc-sa-4.0")),
            (UNLICENSE, Some("unlicense")),
            (&format!("The Unlicense\n\n{UNLICENSE}"), Some("unlicense")),
            (
                "                    GNU AFFERO GENERAL PUBLIC LICENSE\n   Version 3, 19 November 2007",
                Some("agpl-3.0"),
            ),
            (
                "                  GNU LESSER GENERAL PUBLIC LICENSE\n  Version 2.1, February 1999",
                Some("lgpl-2.1"),
            ),
            (
                "                   GNU LESSER GENERAL PUBLIC LICENSE\n     Version 3, 29 June 2007",
                Some("lgpl-3.0"),
            ),
            (
                "                    GNU GENERAL PUBLIC LICENSE\n     Version 3, 29 June 2007\n … You \
              may not impose any further restrictions on the exercise of the rights",
                Some("gpl-3.0"),
            ),
            (
                "                    GNU GENERAL PUBLIC LICENSE\n   Version 2, June 1991\n … (This \
              alternative is\nallowed only for noncommercial distribution and only if you",
                Some("gpl-2.0"),
            ),
            (
                "Mozilla Public License Version 2.0\n==================================\n",
                Some("mpl-2.0"),
            ),
            ("Mozilla Public License, version 2.0\n\n1. Definitions", Some("mpl-2.0")),
            ("LLAMA 3.2 COMMUNITY LICENSE AGREEMENT\nLlama 3.2 Version", Some("llama3.2")),
            ("**Llama 3.2** **Acceptable Use Policy**", None),
            ("Llama 3.2 Acceptable Use Policy", Some("llama3.2")),
            ("META LLAMA 3 COMMUNITY LICENSE AGREEMENT", Some("llama3")),
            ("Gemma Terms of Use \n\nLast modified", Some("gemma")),
            ("Qwen RESEARCH LICENSE AGREEMENT", Some("qwen-research")),
            ("Licencia propia: solo los lunes", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(id(text), want, "{text}");
        }
    }

    /// Whole texts, where a system of the Debian kind keeps them.
    #[test]
    fn whole_texts() {
        let cases = [
            ("Apache-2.0", "apache-2.0"),
            ("BSD", "bsd-3-clause"),
            ("CC0-1.0", "cc0-1.0"),
            ("GPL-2", "gpl-2.0"),
            ("GPL-3", "gpl-3.0"),
            ("LGPL-2.1", "lgpl-2.1"),
            ("LGPL-3", "lgpl-3.0"),
            ("MPL-2.0", "mpl-2.0"),
        ];
        for (file, want) in cases {
            let path = std::path::Path::new("/usr/share/common-licenses").join(file);
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            assert_eq!(id(&text), Some(want), "{file}");
            assert_eq!(id(&format!("{text}\nNo commercial use.")), None, "{file} and more");
            assert_eq!(id(&format!("Not the\n{text}")), None, "{file} after more");
        }
    }

    #[test]
    fn an_open_text_with_more_in_it_is_one_of_its_own() {
        assert_eq!((id(MIT), id(APACHE)), (Some("mit"), Some("apache-2.0")));
        let cases = [
            format!("NON COMMERCIAL LICENSE. Derived from code under {APACHE}."),
            format!("{APACHE}\n\nCommons Clause License Condition v1.0"),
            format!("This model is NOT under the {APACHE}."),
            format!("{MIT}\nNo commercial use whatsoever."),
            format!("{MIT}\nNo permission is hereby granted."),
            format!("{MIT}\n{}", "Y además otra cosa. ".repeat(200)),
            format!("{}{APACHE}", "Palabras antes. ".repeat(60)),
            format!("Solo los lunes. {MIT}"),
            "Weights are for research purposes only. No commercial use. The documentation is under \
             Creative Commons Attribution 4.0 International."
                .into(),
            "Non-commercial use only. The data set is CC0 1.0 Universal".into(),
            "El conjunto de datos es CC0 1.0 Universal; los pesos, de nadie".into(),
            "This is not under the GNU General Public License version 3".into(),
            "Parts are under the GNU Lesser General Public License version 3".into(),
            "Not under the GNU Affero General Public License version 3".into(),
            "See the Mozilla Public License 2.0 for the code".into(),
            "NOT free and unencumbered software".into(),
            "The Unlicense does not apply: not free and unencumbered software; no \
             commercial use"
                .into(),
            "Attribution-ShareAlike 4.0 International. The weights: research only.".into(),
            "Código: Attribution-ShareAlike 4.0 International".into(),
            format!("{UNLICENSE}\nNon-commercial only."),
            "GNU General Public License version 3\nYou may not impose any further restrictions on \
             the rest. Further restrictions: none but friends."
                .into(),
        ];
        for text in cases {
            assert_eq!(id(&text), None, "{text}");
        }
        let text = format!("{APACHE}\n{}Llama 3 Community License", "Palabras. ".repeat(500));
        assert_eq!(id(&text), None, "terms far below");
        let text = format!("{APACHE}\nLlama 3 Community License");
        assert_eq!(id(&text), Some("llama3"), "terms beside it");
    }

    #[test]
    fn every_open_licence_that_is_known_by_its_text_has_a_shape() {
        let open: Vec<&str> =
            KNOWN.iter().filter(|row| row.allows == Use::Open).map(|row| row.id).collect();
        let shapes: Vec<&str> = SHAPES.iter().map(|shape| shape.id).collect();
        for id in &open {
            assert!(shapes.contains(id), "{id}");
        }
        assert_eq!(open.len(), shapes.len());
    }
}
