//! `org/repo[@revision][:quant or file]`: what a name in the Hugging Face cache says.

/// Most characters of an organisation or a repository. Source: the hub's own rule.
const LONGEST: usize = 96;
/// Most characters of a revision or a file.
const LONGEST_PATH: usize = 1024;

/// A name; the organisation may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// `org/repo` or `repo`.
    pub repo: String,
    /// A branch, a tag or a commit; the main branch when `None`.
    pub revision: Option<String>,
    /// A quantization, or a file below the snapshot.
    pub pick: Option<String>,
}

impl Name {
    /// The name in `text`; an error says which part cannot be.
    pub fn read(text: &str) -> Result<Name, &'static str> {
        let (rest, pick) = match text.split_once(':') {
            Some((rest, pick)) => (rest, Some(pick)),
            None => (text, None),
        };
        let (repo, revision) = match rest.split_once('@') {
            Some((repo, revision)) => (repo, Some(revision)),
            None => (rest, None),
        };
        if !(repo.split('/').count() <= 2 && repo.split('/').all(plain)) {
            return Err("`org/repo` has letters, digits, `_`, `-` and `.`");
        }
        if revision.is_some_and(|revision| !below(revision)) {
            return Err("after `@` stands a branch, a tag or a commit");
        }
        if pick.is_some_and(|pick| !below(pick)) {
            return Err("after `:` stands a quantization or a file of the repository");
        }
        Ok(Name {
            repo: repo.into(),
            revision: revision.map(Into::into),
            pick: pick.map(Into::into),
        })
    }

    /// The repository's folder in the cache.
    pub fn folder(&self) -> String {
        format!("models--{}", self.repo.replace('/', "--"))
    }
}

/// The repository that a folder of the cache holds.
pub(crate) fn of_folder(folder: &str) -> Option<String> {
    let rest = folder.strip_prefix("models--")?;
    let parts: Vec<&str> = rest.split("--").collect();
    (parts.len() <= 2 && parts.iter().all(|part| plain(part))).then(|| parts.join("/"))
}

/// A part of a repository's name; `--` is what the cache puts between parts.
fn plain(part: &str) -> bool {
    let byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (1..=LONGEST).contains(&part.len())
        && part.bytes().all(byte)
        && !part.starts_with(['.', '-'])
        && !part.contains("..")
        && !part.contains("--")
}

/// Whether a text is a path that cannot leave the folder it is put below.
pub(crate) fn below(path: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= LONGEST_PATH && path.split('/').all(part) && !path.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let name = |repo: &str, revision: Option<&str>, pick: Option<&str>| {
            let (revision, pick) = (revision.map(Into::into), pick.map(Into::into));
            Some(Name { repo: repo.into(), revision, pick })
        };
        let cases = [
            ("org/repo", name("org/repo", None, None)),
            ("gpt2", name("gpt2", None, None)),
            ("org/repo@main", name("org/repo", Some("main"), None)),
            ("org/repo@refs/pr/1:Q4_K", name("org/repo", Some("refs/pr/1"), Some("Q4_K"))),
            ("org/repo:BF16/niño.gguf", name("org/repo", None, Some("BF16/niño.gguf"))),
            ("o/r:a@b.gguf", name("o/r", None, Some("a@b.gguf"))),
            ("org/repo@../../etc", None),
            ("org/repo:../x.gguf", None),
            ("org/repo:/x.gguf", None),
            ("org/repo:", None),
            ("org/repo@", None),
            ("a/b/c", None),
            ("../repo", None),
            ("a--b/c", None),
            ("a..b", None),
            ("", None),
            ("niño/x", None),
        ];
        for (text, want) in cases {
            assert_eq!(Name::read(text).ok(), want, "{text}");
        }
        let folder = Name::read("org/re-po.x").unwrap().folder();
        assert_eq!(folder, "models--org--re-po.x");
        assert_eq!(of_folder(&folder).as_deref(), Some("org/re-po.x"));
        for folder in ["datasets--org--x", "models--a--b--c", "models--", ".locks"] {
            assert_eq!(of_folder(folder), None, "{folder}");
        }
    }
}
