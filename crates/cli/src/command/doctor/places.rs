//! Files and folders: settings, the model's name, the stores of other programs, the cache.

use std::{io, path::Path};

use recinto_arch::Origin;
use recinto_os::owner::{self, Facts};
use recinto_provider::{Name, Settings, Surroundings, lock::InForce};
use recinto_store::{Root, Store};

use super::{
    check::Check,
    stores::{self, Look},
};
use crate::{failure::Failure, open};

const SETTINGS: &str = "settings";
const STORES: &str = "models";

/// Whether the settings can be read, and whether the model's name leads somewhere.
pub fn settings(settings: &Result<Settings, Failure>) -> Vec<Check> {
    let settings = match settings {
        Ok(settings) => settings,
        Err(failure) => {
            let text = failure.text.as_deref().unwrap_or_default();
            let (what, hint) = text.split_once("\nhint: ").unwrap_or((text, ""));
            let hint = if hint.is_empty() { "`recinto status` shows every setting" } else { hint };
            return vec![Check::ok(SETTINGS, "settings", what).fault(hint)];
        }
    };
    let files: Vec<String> = settings
        .env_file
        .iter()
        .chain(&settings.files)
        .map(|path| path.display().to_string())
        .collect();
    let found = match files.is_empty() {
        true => "no file was read; flags, environment and defaults".into(),
        false => files.join(", "),
    };
    let model = match &settings.model {
        None => Check::ok(SETTINGS, "model", "not set")
            .note("give --model, or say RECINTO_MODEL or `model` in a file of settings"),
        Some(setting) if settings.provider() != Name::Local => {
            let found = format!("{} ({})", setting.value, setting.source);
            Check::ok(SETTINGS, "model", found)
        }
        Some(setting) => match open::files(&setting.value) {
            Ok(files) => {
                let first = files.weights.first().map(|path| path.display().to_string());
                let path = first.unwrap_or(files.name);
                Check::ok(SETTINGS, "model", format!("{path} ({})", setting.source))
            }
            Err(failure) => {
                let text = failure.text.unwrap_or_default();
                let (what, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
                let hint = if hint.is_empty() { "`recinto status` says more" } else { hint };
                Check::ok(SETTINGS, "model", format!("{what} ({})", setting.source)).fault(hint)
            }
        },
    };
    let mut checks = vec![Check::ok(SETTINGS, "files", found), model];
    checks.extend(arch_dir(settings));
    checks.push(lock(settings));
    checks
}

/// An error as a check: what is wrong, and what to do.
fn wrong(name: &str, text: &str) -> Check {
    let (what, hint) = text.split_once("\nhint: ").unwrap_or((text, "`recinto status` says more"));
    Check::ok(SETTINGS, name, what).fault(hint)
}

/// Whether the folder with more architectures is there, and what is in it can be read.
fn arch_dir(settings: &Settings) -> Option<Check> {
    const NAME: &str = "arch_dir";
    let setting = settings.arch_dir.as_ref()?;
    let archs = match open::archs(settings) {
        Ok(archs) => archs,
        Err(failure) => return Some(wrong(NAME, &failure.text.unwrap_or_default())),
    };
    let own = archs.list().filter(|row| *row.origin != Origin::BuiltIn);
    let (bad, good): (Vec<_>, Vec<_>) = own.partition(|row| row.error.is_some());
    let at = format!("{} ({})", setting.value.display(), setting.source);
    let check = Check::ok(SETTINGS, NAME, format!("{at}: {} of use", good.len()));
    Some(match bad.first() {
        Some(row) => {
            check.note(format!("`recinto arch list` says what is wrong with {}", row.name))
        }
        None if good.is_empty() => check.note("a name.arch file there would be one"),
        None => check,
    })
}

/// Which lock holds, and whether it can be read.
fn lock(settings: &Settings) -> Check {
    const NAME: &str = "lock";
    match InForce::find(settings) {
        Err(error) => wrong(NAME, &error.to_string()),
        Ok(None) => Check::ok(SETTINGS, NAME, "none"),
        Ok(Some(InForce { path, lock })) => {
            let strict = if lock.strict { "strict, " } else { "" };
            let (count, at) = (lock.models.len(), path.display());
            let check = Check::ok(SETTINGS, NAME, format!("{at}: {strict}{count} in it"));
            match count {
                0 if lock.strict => check.fault("nothing runs under it: `recinto lock NAME`"),
                0 => check.note("`recinto lock NAME` adds a model"),
                _ => check,
            }
        }
    }
}

/// Whether each folder in which names are looked up is there and can be read.
pub fn stores(around: &Surroundings) -> Vec<Check> {
    let mut roots = Root::from_env(&|name| around.value(name), &around.here);
    // It is the machine's own folder, which another root has elsewhere.
    for root in roots.iter_mut().filter(|root| root.from == Root::SERVICE) {
        if let Ok(below) = root.path.strip_prefix("/") {
            root.path = around.root.join(below);
        }
    }
    roots.iter().map(store).collect()
}

fn store(root: &Root) -> Check {
    let Root { store, from, path, named } = root;
    let name = match store {
        Store::Hub => "Hugging Face",
        _ => "Ollama",
    };
    let at = format!("{} ({from})", path.display());
    let check = |found: &str| Check::ok(STORES, name, format!("{at}: {found}"));
    let again = format!("correct {from}, or unset it if no program uses it");
    let way = "join the group that may, or copy the file; it is only read, never written";
    let told = |check: Check, hint: &str| if *named { check.fault(hint) } else { check.note(hint) };
    match stores::look(*store, path) {
        Look::Ok(what) => check(what),
        Look::Absent if *named => check("not there").fault(again),
        Look::Absent => check("not there"),
        Look::NoStore => told(check("no store there"), &again),
        Look::Closed(part) => told(check(&format!("this user may not read {part}")), way),
        Look::Partly(what) => check(&what).note(way),
        Look::Broken(what) => told(check(&what), &again),
    }
}

/// The folder in which digests of models are remembered.
pub fn cache(around: &Surroundings) -> Check {
    const NAME: &str = "digest cache";
    let Some(folder) = around.cache_folder() else {
        return Check::ok(STORES, NAME, "none: neither XDG_CACHE_HOME nor HOME is a whole path")
            .note("without it each process computes the digest of its model again");
    };
    let check = |found: &str| Check::ok(STORES, NAME, format!("{}: {found}", folder.display()));
    match Facts::at(&folder) {
        Ok(_) if !folder.is_dir() => {
            check("it is no folder").fault("move it away: the digest cache would be made there")
        }
        Ok(facts) if !facts.is_mine() => {
            check("it belongs to another user").fault("no digest is remembered; set XDG_CACHE_HOME")
        }
        Ok(facts) if facts.writable_by_others() => {
            let what = format!("others may write to it (mode {:04o})", facts.mode);
            check(&what).fault("`chmod go-w` makes it yours alone; until then it is not used")
        }
        Ok(_) if !owner::may_write(&folder) => {
            check("this user may not write to it").note("no new digest is remembered")
        }
        Ok(_) => check("this user's own"),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            missing(check("made when first used"), &folder)
        }
        Err(e) => check(&e.to_string()).note("no digest is remembered"),
    }
}

/// A folder that is not there is no fault where it can be made.
fn missing(check: Check, folder: &Path) -> Check {
    let above = folder.ancestors().find(|path| path.exists());
    match above.is_some_and(owner::may_write) {
        true => check,
        false => check.note("it cannot be made there; set XDG_CACHE_HOME"),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{super::check::State, *};

    fn around(root: &Path, pairs: &[(&str, &str)]) -> Surroundings {
        let at = |value: &str| value.replace("ROOT", &root.display().to_string()).into();
        let variables = pairs.iter().map(|(name, value)| ((*name).into(), at(value))).collect();
        Surroundings { variables, here: root.into(), root: root.into() }
    }

    #[test]
    fn stores_of_a_machine() {
        type Pairs = &'static [(&'static str, &'static str)];
        type Want = (&'static str, State, &'static str);
        const HOME: (&str, &str) = ("HOME", "ROOT/home");
        let cases: [(&str, Pairs, &[Want]); 10] = [
            (
                "other things",
                &[("OLLAMA_MODELS", "ROOT/otra"), ("XDG_CACHE_HOME", "ROOT/otra")],
                &[
                    ("OLLAMA_MODELS", State::Fault, "otra (OLLAMA_MODELS): no store there"),
                    ("XDG_CACHE_HOME", State::Ok, "not there"),
                ],
            ),
            ("nobody's", &[], &[("service", State::Ok, ": not there")]),
            (
                "a home without any",
                &[HOME],
                &[
                    ("this user's", State::Ok, ".ollama/models (this user's): not there"),
                    ("service", State::Ok, "not there"),
                    ("this user's", State::Ok, ".cache/huggingface/hub (this user's): not there"),
                ],
            ),
            (
                "named and there",
                &[HOME, ("OLLAMA_MODELS", "ROOT/there"), ("HF_HOME", "ROOT/there")],
                &[
                    ("OLLAMA_MODELS", State::Ok, "there (OLLAMA_MODELS): readable"),
                    // It is where other things are too; its cache comes with the first download.
                    ("HF_HOME", State::Ok, "there/hub (HF_HOME): not there"),
                ],
            ),
            (
                "named and not there",
                &[("OLLAMA_MODELS", "ROOT/no")],
                &[("OLLAMA_MODELS", State::Fault, "not there")],
            ),
            (
                "the cache, named and not there",
                &[("HF_HUB_CACHE", "ROOT/no"), ("OLLAMA_MODELS", "ROOT/there")],
                &[
                    ("OLLAMA_MODELS", State::Ok, ""),
                    ("HF_HUB_CACHE", State::Fault, "no (HF_HUB_CACHE): not there"),
                ],
            ),
            (
                "from the working directory, and below the home",
                &[HOME, ("OLLAMA_MODELS", "there"), ("HF_HUB_CACHE", "~/../there/ñ")],
                &[
                    ("OLLAMA_MODELS", State::Ok, "there (OLLAMA_MODELS): readable"),
                    ("HF_HUB_CACHE", State::Ok, "/home/../there/ñ (HF_HUB_CACHE): readable"),
                ],
            ),
            (
                "a file",
                &[("OLLAMA_MODELS", "ROOT/file")],
                &[("OLLAMA_MODELS", State::Fault, "file")],
            ),
            (
                "the newer name goes first",
                &[("HUGGINGFACE_HUB_CACHE", "ROOT/no"), ("HF_HUB_CACHE", "ROOT/there/ñ")],
                &[("service", State::Ok, ""), ("HF_HUB_CACHE", State::Ok, "ñ (HF_HUB_CACHE): r")],
            ),
            (
                "a cache folder is nobody's promise",
                &[("XDG_CACHE_HOME", "ROOT/no")],
                &[("service", State::Ok, ""), ("XDG_CACHE_HOME", State::Ok, "not there")],
            ),
        ];
        for (name, pairs, want) in cases {
            let root = tempfile::tempdir().unwrap();
            for folder in ["there/manifests", "there/blobs", "there/ñ/models--o--n", "otra/x"] {
                fs::create_dir_all(root.path().join(folder)).unwrap();
            }
            fs::create_dir(root.path().join("home")).unwrap();
            fs::write(root.path().join("file"), "").unwrap();
            let checks = stores(&around(root.path(), pairs));
            assert_eq!(checks.len(), want.len(), "{name}: {checks:?}");
            for (check, (from, state, part)) in checks.iter().zip(want) {
                assert_eq!(check.state, *state, "{name}: {check:?}");
                assert!(check.found.contains(from) && check.found.contains(part), "{check:?}");
                assert_eq!(check.hint.is_some(), *state != State::Ok, "{name}: {check:?}");
            }
        }
    }

    #[test]
    fn the_cache_folder() {
        let root = tempfile::tempdir().unwrap();
        let pairs = [("XDG_CACHE_HOME", "ROOT/c")];
        let look = || cache(&around(root.path(), &pairs));
        assert_eq!(cache(&around(root.path(), &[])).state, State::Note);
        assert_eq!(look().state, State::Ok, "{:?}", look());
        let folder = root.path().join("c/recinto");
        fs::create_dir_all(&folder).unwrap();
        for (mode, state) in [(0o700, State::Ok), (0o777, State::Fault)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(look().state, state, "{mode:o}: {:?}", look());
        }
        fs::remove_dir(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        assert_eq!(look().state, State::Fault, "{:?}", look());
        assert!(!root.path().join("home").exists(), "looking makes nothing");
    }
}
