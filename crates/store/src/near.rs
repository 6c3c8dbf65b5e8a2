//! Which names in a folder are close to one that is not there.

use std::path::Path;

use crate::read;

/// Most names in a hint.
const MAX_NAMES: usize = 5;

/// The `.gguf` names in `folder`, sorted; empty when the folder cannot be read.
pub(crate) fn models_in(folder: &Path) -> Vec<String> {
    let names = read::entries(folder).unwrap_or_default().into_iter().map(|entry| entry.0);
    names.filter(|name| name.to_ascii_lowercase().ends_with(".gguf")).collect()
}

/// At most five of `names`, the nearest to `wanted` first. A tag, or what stands before the last
/// `/`, counts only where `wanted` has one too.
pub fn nearest(wanted: &str, names: Vec<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let bare = |name: &str| -> String {
        let (path, tag) = name.rsplit_once(':').map_or((name, ""), |(path, tag)| (path, tag));
        let last = path.rsplit('/').next().unwrap_or(path);
        let path = if wanted.contains('/') { path } else { last };
        let tagged = wanted.contains(':') && !tag.is_empty();
        if tagged { format!("{path}:{tag}") } else { path.to_owned() }
    };
    let mut scored: Vec<(usize, usize, String)> = names
        .into_iter()
        .map(|name| {
            let low = name.to_lowercase();
            (distance(&wanted, &bare(&low)), distance(&wanted, &low), name)
        })
        .collect();
    scored.sort();
    scored.into_iter().take(MAX_NAMES).map(|(_, _, name)| name).collect()
}

/// Levenshtein's distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let cases = [("", "", 0), ("a", "", 1), ("niño", "nino", 1), ("q4_0", "q4_k_m", 3)];
        for (a, b, want) in cases {
            assert_eq!(distance(a, b), want, "{a} {b}");
        }
    }

    #[test]
    fn what_was_not_asked_for_does_not_count() {
        let names = || ["told:latest", "orca:7b", "me/orca:7b"].map(str::to_owned).to_vec();
        let cases = [
            ("tolt", "told:latest"),
            ("orca:8b", "orca:7b"),
            ("Orca", "orca:7b"),
            ("mi/orca", "me/orca:7b"),
        ];
        for (wanted, first) in cases {
            assert_eq!(nearest(wanted, names())[0], first, "{wanted}");
        }
    }
}
