//! What holds a model that is opened to its bytes: the lock, its store's claims, who may write.

use std::path::{Path, PathBuf};

use recinto_engine::{Claim, Claimant, Model, Verify};
use recinto_store::{Files, Roots};

use crate::{
    Error, Kind, Settings,
    lock::{self, Entry, InForce},
    trust,
};

/// What a lock says of the model that is opened.
pub(crate) struct Held {
    lock: Option<InForce>,
    entry: Option<Entry>,
    /// That the lock does not have it.
    note: Option<String>,
}

impl Held {
    /// What the lock of `settings` says of the model called `name`, which led to `files`.
    pub fn of(
        settings: &Settings,
        name: &str,
        files: &Files,
        roots: &Roots,
    ) -> Result<Held, Error> {
        let lock = InForce::find(settings)?;
        let found = lock.as_ref().and_then(|lock| lock.entry(name, files, roots));
        if let Some((_, entry)) = found.filter(|(locked, _)| *locked == name)
            && let Some(error) = entry.elsewhere(name, files.store.name())
        {
            return Err(error);
        }
        let entry = found.map(|(_, entry)| entry.clone());
        let note = match &lock {
            Some(InForce { path, lock }) if entry.is_none() => {
                let what = format!("{name} is not in {}", path.display());
                if lock.strict && lock.models.is_empty() {
                    let what = format!("{} is strict and has no model in it", path.display());
                    return Err(Error::new(Kind::Locked, what).hint(
                        "nothing runs under it; `recinto lock` with a name adds one, `--no-lock` \
                         goes without",
                    ));
                }
                if lock.strict {
                    return Err(Error::new(Kind::Locked, format!("{what}, which is strict"))
                        .hint("`recinto lock` with its name adds it; `--no-lock` goes without"));
                }
                Some(what)
            }
            _ => None,
        };
        Ok(Held { lock, entry, note })
    }

    fn strict(&self) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.lock.strict)
    }

    /// Which digests count; `None` leaves it to the caller.
    pub fn verify(&self, settings: &Settings) -> Option<Verify> {
        let locked = self.entry.as_ref().and(self.lock.as_ref());
        let locked = locked.and_then(|lock| lock.lock.verify(settings));
        locked.or(settings.verify.as_ref().map(|setting| setting.value))
    }

    /// What the model's parts must be by the lock, and its files by their store.
    pub fn claims(&self, files: &Files) -> Vec<Claim> {
        let beside = lock::beside(&files.layers);
        let locked = self.entry.iter().flat_map(|entry| entry.claims(&beside));
        let stored = files.weights.iter().enumerate().filter_map(|(file, path)| {
            let claimed = files.claimed.get(file).copied().flatten();
            let claim = |digest| Claim { by: Claimant::Store, ..Claim::weights(digest) };
            Some(Claim { file, ..claimed.map(claim).or_else(|| self::claimed(path))? })
        });
        locked.chain(stored).collect()
    }

    /// What should be known of the files and of those that decide with them; under a strict lock
    /// nobody else may be able to change one.
    pub fn warnings(&self, files: &Files, model: &Model) -> Result<Vec<String>, Error> {
        let lock = self.lock.as_ref().map(|lock| lock.path.as_path());
        let others = [model.arch_file(), lock].into_iter().flatten();
        let files = files.weights.iter().chain(&files.beside).map(PathBuf::as_path);
        let mut found = trust::warnings(files.chain(others));
        if self.strict() && !found.is_empty() {
            let what = format!("the lock is strict, and {}", found.join("; "));
            return Err(Error::new(Kind::Locked, what)
                .hint("take the permission away (`chmod o-w`), or keep the file elsewhere"));
        }
        found.extend(self.note.clone());
        Ok(found)
    }
}

/// What the name of a file says of its bytes: stores of blobs name them by their SHA-256
/// (`sha256-` and 64 digits in an Ollama store, 64 digits in the `blobs` of the Hugging Face cache,
/// where the names that people see are links).
fn claimed(path: &Path) -> Option<Claim> {
    let path = path.canonicalize().ok()?;
    let name = path.file_name()?.to_str()?;
    let blobs = || path.parent()?.file_name().filter(|folder| *folder == "blobs");
    let digits = match name.strip_prefix("sha256-") {
        Some(digits) => digits,
        None => blobs().map(|_| name)?,
    };
    Some(Claim { by: Claimant::Store, ..Claim::weights(digits.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_claim_a_digest() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("blobs")).unwrap();
        let digits = "ab".repeat(32);
        let cases = [
            ("ollama", format!("blobs/sha256-{digits}"), true),
            ("ollama, elsewhere", format!("sha256-{digits}"), true),
            ("hub", format!("blobs/{digits}"), true),
            ("digits in another folder", digits.clone(), false),
            ("of Git", format!("blobs/{}", &digits[..40]), false),
            ("a half", format!("blobs/sha256-{}", &digits[..62]), false),
            ("capitals", format!("blobs/sha256-{}", digits.to_uppercase()), false),
            ("ollama, long ago", format!("blobs/sha256:{digits}"), true),
            ("a name", "blobs/año.gguf".into(), false),
        ];
        for (name, file, claims) in cases {
            std::fs::write(at(&file), "").unwrap();
            let link = at("link.gguf");
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(at(&file), &link).unwrap();
            for path in [at(&file), link] {
                let found = claimed(&path);
                assert_eq!(found.is_some(), claims, "{name}");
                let same = found.is_none_or(|c| c.digest.unwrap().to_string() == digits);
                assert!(same, "{name}");
            }
        }
        assert_eq!(claimed(&at("nada")), None);
    }
}
