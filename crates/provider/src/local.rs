//! The provider that is this process: an opened model, no socket.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use recinto_engine::{
    Claim, Claimant, Model, OpenOptions, Piece, Reply, Request, SessionOptions, Stop, Verify,
};

use crate::{
    Error, Identity, Kind, Name, Provider, Settings,
    lock::{Entry, InForce},
    trust,
};

/// A model of this disk, opened in this process.
pub struct Local {
    model: Model,
    name: String,
    path: PathBuf,
    session: SessionOptions,
    warnings: Vec<String>,
}

impl Local {
    /// Opens the model that `settings` names. What `settings` says of threads, level, arch files,
    /// pinning and verifying goes before what `options` says; sessions store keys and values as
    /// `settings` has it and have the context that `options` asks for.
    ///
    /// Where a lock holds and has the model, its parts must be what it says, and the digest of the
    /// weights is computed unless `settings` say otherwise. A file whose name in a store is its
    /// SHA-256 must have it.
    ///
    /// # Errors
    ///
    /// No model is set, its name leads to no file, the file cannot be run, or the lock cannot be
    /// read or does not let it run.
    pub fn open(settings: &Settings, options: OpenOptions) -> Result<Local, Error> {
        let name = settings.model()?.value.clone();
        let path = recinto_store::resolve(&name)?.weights;
        let held = Held::of(settings, &name, &path)?;
        let mut claims = options.claims;
        claims.extend(held.entry.iter().flat_map(Entry::claims));
        claims.extend(claimed(&path));
        let options = OpenOptions {
            arch_dir: settings.arch_dir.as_ref().map(|s| s.value.clone()).or(options.arch_dir),
            threads: settings.threads.as_ref().map(|s| s.value).or(options.threads),
            level: settings.level.as_ref().map(|s| s.value).or(options.level),
            pin: settings.pin.as_ref().map_or(options.pin, |s| s.value),
            verify: held.verify(settings).unwrap_or(options.verify),
            name: Some(name.clone()),
            claims,
            session: settings.session(options.session.context),
            ..options
        };
        let model = Model::open(&path, &options)?;
        let warnings = held.warnings(&path, &model)?;
        Ok(Local { model, name, path, session: options.session, warnings })
    }

    /// The same with sessions made by `options`.
    pub fn with_session(mut self, options: SessionOptions) -> Local {
        self.session = options;
        self
    }

    /// The opened model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Which store the name was found in, by the word that is its prefix in names.
    pub fn store(&self) -> &str {
        "path"
    }

    /// What should be known of the files: who else may change them, and that no lock names them.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// What a lock says of the model that is opened.
struct Held {
    lock: Option<InForce>,
    entry: Option<Entry>,
    /// That the lock does not have it.
    note: Option<String>,
}

impl Held {
    fn of(settings: &Settings, name: &str, path: &Path) -> Result<Held, Error> {
        let lock = InForce::find(settings)?;
        let entry = lock.as_ref().and_then(|lock| lock.entry(name, path)).cloned();
        let note = match &lock {
            Some(InForce { path, lock }) if entry.is_none() => {
                let what = format!("{name} is not in {}", path.display());
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
    fn verify(&self, settings: &Settings) -> Option<Verify> {
        let locked = self.entry.as_ref().and(self.lock.as_ref());
        let locked = locked.and_then(|lock| lock.lock.verify(settings));
        locked.or(settings.verify.as_ref().map(|setting| setting.value))
    }

    /// What should be known of the files; under a strict lock nobody else may be able to change one.
    fn warnings(&self, path: &Path, model: &Model) -> Result<Vec<String>, Error> {
        let lock = self.lock.as_ref().map(|lock| lock.path.as_path());
        let mut found =
            trust::warnings([Some(path), model.arch_file(), lock].into_iter().flatten());
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

impl Provider for Local {
    fn identity(&self) -> Identity {
        Identity {
            provider: Name::Local,
            model: self.name.clone(),
            path: Some(self.path.clone()),
            warnings: self.warnings.clone(),
        }
    }

    fn complete(
        &self,
        request: &Request,
        stop: &Stop,
        sink: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Reply, Error> {
        Ok(self.model.session(&self.session)?.reply(request, stop, sink)?)
    }
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
