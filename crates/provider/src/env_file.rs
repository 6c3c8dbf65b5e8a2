//! Reads the settings in a `.env` file, if the file can be trusted.
//!
//! Only values whose names begin with `RECINTO_` leave this module; nothing is put into the
//! environment of the process. Other values in such files are often keys: errors name lines, and
//! never show them.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::{
    config::nearest,
    error::{Error, Kind},
    policies::POLICY_VARIABLE,
    secret::SECRETS,
    settings::{PREFIX, Source, variables},
    trusted::{self, Rules},
};

/// What to do about a file that is refused.
const IGNORE: &str = "`--no-env-file` runs without it";

/// Which `.env` file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnvFile {
    /// `.env` in the working directory, if it is there; never one of a folder above.
    #[default]
    Here,
    /// This one; it must be there.
    At(PathBuf),
    /// None.
    Ignored,
}

/// The settings of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file, absolute; `None` when none was read.
    pub path: Option<PathBuf>,
    /// Key, value and line, in the file's order; every key is a known one and stands once.
    pub values: Vec<(&'static str, String, usize)>,
    /// Secrets that are set, and in which line.
    pub secrets: Vec<(&'static str, usize)>,
    /// Names of all that is set, sorted.
    pub names: Vec<String>,
}

impl Found {
    /// A line of it.
    pub fn source(&self, line: usize) -> Source {
        Source::EnvFile { path: self.path.clone().unwrap_or_default(), line }
    }

    /// The folder that paths in it begin at.
    pub fn folder(&self) -> Option<&Path> {
        self.path.as_deref().and_then(Path::parent)
    }
}

/// Reads the file that `which` means, seen from the folder `here`.
pub(crate) fn read(which: &EnvFile, here: &Path) -> Result<Found, Error> {
    let (path, must) = match which {
        EnvFile::Ignored => return Ok(Found::default()),
        EnvFile::Here => (here.join(".env"), false),
        EnvFile::At(path) => (here.join(path), true),
    };
    let rules = Rules { kind: Kind::EnvFile, must, root_too: false, ignore: IGNORE };
    let Some(text) = trusted::read(&path, &rules)? else { return Ok(Found::default()) };
    let found = of_text(&path, &text)?;
    Ok(Found { path: Some(path), ..found })
}

/// What the text of the file `path` says.
pub(crate) fn of_text(path: &Path, text: &str) -> Result<Found, Error> {
    parse(text).map_err(|(line, what, hint)| {
        let what = format!("{}, line {line}: {what}", path.display());
        Error::new(Kind::EnvFile, what).hint(hint)
    })
}

/// The value of the secret `name` in the file at `path`, read again: it is kept nowhere.
#[cfg(feature = "remote")]
pub(crate) fn secret(path: &Path, name: &str) -> Result<Option<Zeroizing<String>>, Error> {
    let rules = Rules { kind: Kind::EnvFile, must: true, root_too: false, ignore: IGNORE };
    let Some(text) = trusted::read(path, &rules)? else { return Ok(None) };
    let mut found = None;
    for (key, value) in dotenvy::from_read_iter(text.as_bytes()).flatten() {
        let value = Zeroizing::new(value);
        if key == name && !value.is_empty() && found.is_none() {
            found = Some(value);
        }
    }
    Ok(found)
}

/// The settings in `text`, which secrets it has, and the names of all that it sets; a fault is a
/// line, what is wrong there, and what to do about it.
fn parse(text: &str) -> Result<Found, (usize, String, String)> {
    let mut found = Found::default();
    let known = variables();
    let all = || format!("known: {}", known.join(", "));
    for item in dotenvy::from_read_iter(text.as_bytes()) {
        let (key, value) = match item {
            Ok((key, value)) => (key, Zeroizing::new(value)),
            // The library's own text would show the line, which may hold a key.
            Err(dotenvy::Error::LineParse(bad, _)) => {
                let first = Zeroizing::new(bad);
                let first = first.trim_end().lines().next().unwrap_or_default().trim();
                let line = text.lines().position(|line| line.trim() == first).unwrap_or(0) + 1;
                return Err((line, "not of the form KEY=value".into(), all()));
            }
            Err(_) => {
                return Err((1, "the file cannot be read as lines of KEY=value".into(), all()));
            }
        };
        if let Some(secret) = SECRETS.iter().find(|secret| **secret == key)
            && !value.is_empty()
        {
            found.secrets.push((*secret, lines_of(text, &key).first().copied().unwrap_or(1)));
        }
        if !value.is_empty() {
            found.names.push(key.clone());
        }
        if !key.starts_with(PREFIX) || SECRETS.contains(&key.as_str()) {
            continue;
        }
        let lines = lines_of(text, &key);
        let line = lines.first().copied().unwrap_or(1);
        if key == POLICY_VARIABLE {
            let what = format!("{key} has no place here");
            let hint = "only the environment itself names a policy: a file beside the data must \
                        not decide what may leave";
            return Err((line, what, hint.into()));
        }
        let Some(variable) = known.iter().find(|known| **known == key) else {
            return Err((line, format!("unknown key {key}"), nearest(&key, &known)));
        };
        if found.values.iter().any(|(before, ..)| before == variable) {
            let again = lines.get(1).copied().unwrap_or(line);
            return Err((again, format!("{key} is set again, first in line {line}"), all()));
        }
        found.values.push((variable, value.to_string(), line));
    }
    found.names.sort_unstable();
    Ok(found)
}

/// The lines, from 1, that set `key`.
fn lines_of(text: &str, key: &str) -> Vec<usize> {
    let sets = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.lines().enumerate().filter(|(_, line)| sets(line)).map(|(i, _)| i + 1).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::trusted::MAX_BYTES;

    #[test]
    fn texts() {
        let model = |value: &str, line| Ok(vec![("RECINTO_MODEL", value.to_owned(), line)]);
        let bad = |line, what: &str| Err((line, what.to_owned()));
        let cases = [
            ("plain", "RECINTO_MODEL=/a/b.gguf\n", model("/a/b.gguf", 1)),
            ("others are ignored", "A=1\n\nRECINTO_MODEL=x\nB=2", model("x", 3)),
            (
                "export, quotes, ñ",
                "# hola\nexport RECINTO_MODEL='año nuevo'\n",
                model("año nuevo", 2),
            ),
            ("crlf", "A=1\r\nRECINTO_MODEL=x\r\n", model("x", 2)),
            ("comment after", "RECINTO_MODEL=x # note\n", model("x", 1)),
            ("no key", "", Ok(vec![])),
            ("unknown key", "A=1\nRECINTO_MODLE=x\n", bad(2, "unknown key RECINTO_MODLE")),
            (
                "twice",
                "RECINTO_MODEL=x\nA=1\nRECINTO_MODEL=y\n",
                bad(3, "RECINTO_MODEL is set again, first in line 1"),
            ),
            (
                "a policy",
                "\nRECINTO_POLICY=/tmp/otra.toml\n",
                bad(2, "RECINTO_POLICY has no place here"),
            ),
            ("no line of the form", "A=1\nhola canary\n", bad(2, "not of the form KEY=value")),
            ("open quote", "A=1\nB='canary\nC=2\n", bad(2, "not of the form KEY=value")),
        ];
        for (name, text, want) in cases {
            let found =
                parse(text).map(|found| found.values).map_err(|(line, what, _)| (line, what));
            assert_eq!(found, want, "{name}");
        }
    }

    #[test]
    fn trust() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".env");
        assert_eq!(read(&EnvFile::Here, dir.path()), Ok(Found::default()), "none is there");
        let error = read(&EnvFile::At("no.env".into()), dir.path()).unwrap_err().to_string();
        assert!(error.contains("no.env: cannot read it"), "{error}");
        fs::write(&path, "\u{feff}RECINTO_THREADS=2\nKEY=canary\nHF_TOKEN=canary\n").unwrap();
        let chmod = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for (name, mode, refused) in
            [("mine", 0o600, false), ("readable", 0o644, false), ("writable", 0o646, true)]
        {
            chmod(mode);
            match read(&EnvFile::Here, dir.path()) {
                Ok(found) => {
                    assert!(!refused, "{name}");
                    assert_eq!(found.path.as_deref(), Some(path.as_path()), "{name}");
                    assert_eq!(found.values, [("RECINTO_THREADS", "2".into(), 1)], "{name}");
                    assert_eq!(found.secrets, [("HF_TOKEN", 3)], "{name}");
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(refused && text.contains("others may write to it (mode"), "{text}");
                    assert!(!text.contains("canary"), "{text}");
                }
            }
        }
        assert_eq!(read(&EnvFile::Ignored, dir.path()), Ok(Found::default()), "ignored");
        chmod(0o600);
        fs::create_dir(dir.path().join("below")).unwrap();
        let below = read(&EnvFile::Here, &dir.path().join("below"));
        assert_eq!(below, Ok(Found::default()), "a folder above is not searched");
        for (name, bytes, part) in [
            ("latin-1", &b"A=\xf1\nRECINTO_MODEL=x"[..], "not UTF-8 (at byte 2)"),
            ("large", &vec![b'\n'; MAX_BYTES as usize + 1], "larger than"),
        ] {
            fs::write(&path, bytes).unwrap();
            let error = read(&EnvFile::Here, dir.path()).expect_err(name).to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}
