//! The known licences: what each allows, how its text begins, and other ways to write its id.

use super::Use;

/// A licence that is known by its id, and how the first lines of its text begin.
pub(super) struct Known {
    pub id: &'static str,
    pub allows: Use,
    /// All of these stand near the beginning of its text, in lower case with single spaces.
    pub marks: &'static [&'static str],
}

const fn known(id: &'static str, allows: Use, marks: &'static [&'static str]) -> Known {
    Known { id, allows, marks }
}

/// Known licences; of those whose texts begin alike, the one that says more goes first.
///
/// Source: SPDX's list, the hub's list of licence ids, and the licences' own texts.
pub(super) const KNOWN: &[Known] = &[
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
    known("agpl-3.0", Use::Open, &["gnu affero general public license", "version 3"]),
    known("lgpl-2.1", Use::Open, &["gnu lesser general public license", "version 2.1"]),
    known("lgpl-3.0", Use::Open, &["gnu lesser general public license", "version 3"]),
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
pub(super) const ALIASES: &[(&str, &str)] = &[
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
pub(super) const RULES: &[(&str, Use)] = &[
    ("non-commercial", Use::NonCommercial),
    ("noncommercial", Use::NonCommercial),
    ("-nc-", Use::NonCommercial),
    ("research", Use::NonCommercial),
    ("non-production", Use::NonCommercial),
    ("llama", Use::Terms),
    ("gemma", Use::Terms),
];
