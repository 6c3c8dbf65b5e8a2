//! The licence that a repository's model card names: `license:` between the first two `---`.

use super::snapshot::Entry;
use crate::read;

/// Bytes of a card that are read, and lines of its front matter.
const MAX_CARD: u64 = 1 << 20;
const MAX_LINES: usize = 400;

/// The licence in `README.md`, if it names one.
pub(super) fn licence(entries: &[Entry]) -> Option<String> {
    let card = entries.iter().find(|entry| entry.file == "README.md")?;
    let bytes = read::bounded(card.place.as_ref().ok()?, MAX_CARD).ok()?;
    named(&String::from_utf8_lossy(&bytes))
}

/// `license`, or `license_name` where that says `other`.
fn named(card: &str) -> Option<String> {
    let mut lines = card.trim_start_matches('\u{feff}').lines();
    (lines.next()?.trim_end() == "---").then_some(())?;
    let front: Vec<&str> =
        lines.take(MAX_LINES).take_while(|line| line.trim_end() != "---").collect();
    let value = |key: &str| {
        let lines = front.iter().filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let value = lines.map(|value| value.trim().trim_matches(['"', '\''])).next()?;
        let plain = (1..=100).contains(&value.len()) && !value.contains(char::is_control);
        plain.then(|| value.to_owned())
    };
    match value("license") {
        Some(other) if other == "other" => value("license_name").or(Some(other)),
        licence => licence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards() {
        let cases = [
            ("---\nlicense: apache-2.0\n---\n# Señal", Some("apache-2.0")),
            ("\u{feff}---\r\nlanguage: es\r\nlicense: \"mit\"\r\n---\r\n", Some("mit")),
            ("---\nlicense: other\nlicense_name: qwen-research\n---\n", Some("qwen-research")),
            ("---\nlicense: other\n---\n", Some("other")),
            ("---\ntags: [a]\n---\nlicense: mit\n", None),
            ("# license: mit\n", None),
            ("---\nlicense:\n---\n", None),
            ("", None),
        ];
        for (card, want) in cases {
            assert_eq!(named(card).as_deref(), want, "{card:?}");
        }
    }
}
