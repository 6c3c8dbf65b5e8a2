//! What the model card beside a model says of its licence: `license`, `license_name` and
//! `license_link` of the front matter between the first two `---`.
//!
//! Source: the hub's documentation of model cards. The front matter is YAML; what is read of it
//! here are values at its top: plain, quoted, listed, folded, commented. Anything else is no value.

use std::path::Path;

use crate::{files::Card, read};

/// The name of a card.
pub(crate) const FILE: &str = "README.md";

/// Bytes of a card that are read, and lines of its front matter.
const MAX_CARD: u64 = 1 << 20;
const MAX_LINES: usize = 400;
/// Most values of one key, and most bytes of one.
const MAX_VALUES: usize = 16;
const MAX_VALUE: usize = 100;
const MAX_LINK: usize = 500;

/// What the card at `path` says; `None` where there is none that can be read.
pub(crate) fn at(path: &Path) -> Option<Card> {
    let bytes = read::bounded(path, MAX_CARD).ok()?;
    Some(said(&String::from_utf8_lossy(&bytes)))
}

/// `license`, and `license_name` where that says `other` or nothing.
fn said(card: &str) -> Card {
    let front = front(card);
    let of = |key: &str, most: usize| {
        let fits =
            |value: &String| (1..=most).contains(&value.len()) && !value.contains(char::is_control);
        let mut values: Vec<String> = values(&front, key).into_iter().filter(fits).collect();
        values.truncate(MAX_VALUES);
        values
    };
    let (mut licences, names) = (of("license", MAX_VALUE), of("license_name", MAX_VALUE));
    let other = licences.iter().position(|id| id.eq_ignore_ascii_case("other"));
    match other {
        Some(at) if !names.is_empty() => drop(licences.splice(at..=at, names)),
        None if licences.is_empty() => licences = names,
        _ => {}
    }
    Card { licences, link: of("license_link", MAX_LINK).into_iter().next() }
}

/// The lines of the front matter; none without its end.
fn front(card: &str) -> Vec<&str> {
    let mut lines = card.trim_start_matches('\u{feff}').lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Vec::new();
    }
    lines.take(MAX_LINES).take_while(|line| !matches!(line.trim_end(), "---" | "...")).collect()
}

/// The values of `key` at the top of the front matter; the first place that has it counts.
fn values(front: &[&str], key: &str) -> Vec<String> {
    let mut lines = front.iter();
    let Some(first) = lines.find_map(|line| after_key(line, key)) else { return Vec::new() };
    // What belongs to it: lines that are indented, empty, or items of a list at the margin.
    let below: Vec<&str> = lines
        .map(|line| line.trim_end())
        .take_while(|line| line.is_empty() || line.starts_with([' ', '\t', '#']) || is_item(line))
        .collect();
    let mut scalar = uncommented(first).trim().to_owned();
    if scalar.starts_with(['|', '>']) {
        let text: Vec<&str> = below.iter().map(|line| line.trim()).collect();
        return one(&text.join(" "));
    }
    let rest = below.iter().map(|line| uncommented(line).trim()).filter(|line| !line.is_empty());
    let rest: Vec<&str> = rest.collect();
    if scalar.is_empty() && rest.first().is_some_and(|line| is_item(line)) {
        let items = rest.iter().filter_map(|line| line.strip_prefix('-'));
        return items.flat_map(|item| one(item.trim())).collect();
    }
    // A plain value, or a list in brackets, may go on below.
    for line in rest {
        if !scalar.is_empty() {
            scalar.push(' ');
        }
        scalar.push_str(line);
    }
    match scalar.strip_prefix('[').map(|list| list.strip_suffix(']')) {
        Some(Some(list)) => split(list).iter().flat_map(|item| one(item)).collect(),
        Some(None) => Vec::new(),
        None => one(&scalar),
    }
}

fn is_item(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

/// What stands after `key:`, which may be quoted, at the margin.
fn after_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let quote = line.chars().next().filter(|c| ['"', '\''].contains(c));
    let bare = line.strip_prefix(|c| Some(c) == quote).unwrap_or(line).strip_prefix(key)?;
    let bare = match quote {
        Some(quote) => bare.strip_prefix(quote)?,
        None => bare,
    };
    let value = bare.trim_start().strip_prefix(':')?;
    (value.is_empty() || value.starts_with([' ', '\t'])).then_some(value)
}

/// The line without a comment: `#` at its beginning or after a blank, outside of quotes.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return &line[..at],
            // Within a word it is an apostrophe.
            None if ['"', '\''].contains(&c) && " \t[,-".contains(before) => quote = Some(c),
            None => {}
        }
        before = c;
    }
    line
}

/// The items of a list in brackets, cut at commas outside of quotes.
fn split(list: &str) -> Vec<&str> {
    let (mut quote, mut from, mut items) = (None, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == ',' => {
                items.push(list[from..at].trim());
                from = at + 1;
            }
            None if ['"', '\''].contains(&c) && list[from..at].trim().is_empty() => quote = Some(c),
            None => {}
        }
    }
    items.push(list[from..].trim());
    items
}

/// The value that a scalar is: quotes taken off; none for null and for maps and lists within.
fn one(scalar: &str) -> Vec<String> {
    let scalar = scalar.trim();
    let quoted = |quote: char| scalar.strip_prefix(quote)?.strip_suffix(quote);
    let value = match (quoted('\''), quoted('"')) {
        (Some(text), _) => text.replace("''", "'"),
        (None, Some(text)) => text.replace("\\\"", "\"").replace("\\\\", "\\"),
        (None, None) if matches!(scalar, "" | "~" | "null" | "Null" | "NULL") => return Vec::new(),
        (None, None) if scalar.starts_with(['{', '[', '&', '*', '"', '\'']) => return Vec::new(),
        (None, None) => scalar.to_owned(),
    };
    vec![value.trim().to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards() {
        let long = format!("---\nlicense: {}\n---\n", "x".repeat(101));
        let cases: [(&str, &[&str]); 27] = [
            ("---\nlicense: apache-2.0\n---\n# Señal", &["apache-2.0"]),
            ("\u{feff}---\r\nlanguage: es\r\nlicense: \"mit\"\r\n---\r\n", &["mit"]),
            ("---\nlicense: other\nlicense_name: qwen-research\n---\n", &["qwen-research"]),
            ("---\nlicense: other\n---\n", &["other"]),
            (
                "---\nlicense: Other\nlicense_name: 'licencia del señor'\n---\n",
                &["licencia del señor"],
            ),
            ("---\nlicense_name: gemma\n---\n", &["gemma"]),
            ("---\nlicense: mit\nlicense_name: x\n---\n", &["mit"]),
            ("---\nlicense: mit # como siempre\n---\n", &["mit"]),
            ("---\nlicense: 'mit' # y más\n---\n", &["mit"]),
            ("---\nlicense: \"a # b\"\n---\n", &["a # b"]),
            ("---\n# license: mit\nlicense : bsd-3-clause\n---\n", &["bsd-3-clause"]),
            ("---\n\"license\": mit\n---\n", &["mit"]),
            ("---\nlicense: [apache-2.0, 'mit', \"a, b\"]\n---\n", &["apache-2.0", "mit", "a, b"]),
            (
                "---\nlicense:\n- apache-2.0 # una\n- mit\nlanguage: es\n---\n",
                &["apache-2.0", "mit"],
            ),
            ("---\nlicense:\n  - other\n  - mit\nlicense_name: x\n---\n", &["x", "mit"]),
            ("---\nlicense:\n  # cuál\n\n  cc-by-nc-4.0\n---\n", &["cc-by-nc-4.0"]),
            ("---\nlicense: >-\n  llama3.2\ntags: [a]\n---\n", &["llama3.2"]),
            ("---\nlicense: [apache-2.0,\n  mit]\n---\n", &["apache-2.0", "mit"]),
            ("---\nlicense: don't\n---\n", &["don't"]),
            ("---\ncard:\n  license: mit\n---\n", &[]),
            ("---\nlicense: null\n---\n", &[]),
            ("---\nlicense: {id: mit}\n---\n", &[]),
            ("---\ntags: [a]\n---\nlicense: mit\n", &[]),
            ("# license: mit\n", &[]),
            ("---\nlicense:\n---\n", &[]),
            (&long, &[]),
            ("", &[]),
        ];
        for (card, want) in cases {
            assert_eq!(said(card).licences, want, "{card:?}");
        }
    }

    #[test]
    fn links() {
        let cases = [
            ("---\nlicense: other\nlicense_link: LICENSE # aquí\n---\n", Some("LICENSE")),
            (
                "---\nlicense_link: https://example.org/año#uno\n---\n",
                Some("https://example.org/año#uno"),
            ),
            (
                "---\nlicense_link: \"https://example.org/a b\"\n---\n",
                Some("https://example.org/a b"),
            ),
            ("---\nlicense: mit\n---\n", None),
        ];
        for (card, want) in cases {
            assert_eq!(said(card).link.as_deref(), want, "{card:?}");
        }
    }
}
