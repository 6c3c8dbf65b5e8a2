//! A lock and stores: what a store keeps beside the weights is pinned too, an entry holds for a
//! model by whatever name it is asked for, and settings that lead nowhere are named.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recinto_engine::{Kind as EngineKind, OpenOptions};
use recinto_provider::{
    Error, Flags, Kind, Local, Lock, Settings, Surroundings,
    lock::{Entry, InForce},
};
use recinto_receipt::sha256;
use recinto_store::Roots;
use recinto_testkit::stores::{Ollama, Repository};

const HOST: &str = "registry.ollama.ai/library";
const SYSTEM: &[u8] = "Responde en español.".as_bytes();
const PARAMS: &[u8] = br#"{"temperature":0.5}"#;
const MESSAGES: &[u8] = br#"[{"role":"user","content":"hola"}]"#;

fn tiny(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    fs::read(root.join(name).with_extension("gguf")).expect("a tiny model")
}

/// A strict lock without models.
fn empty() -> Lock {
    let mut lock = Lock::default();
    lock.strict = true;
    lock
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    fn ollama(&self) -> Ollama {
        Ollama(self.dir.path().join("modelos"))
    }

    fn lock_file(&self) -> PathBuf {
        self.dir.path().join("recinto.lock")
    }

    fn settings(&self, flags: Flags) -> Settings {
        let (here, root) = (self.dir.path().into(), self.dir.path().into());
        let around = Surroundings { variables: Vec::new(), here, root };
        Settings::resolve_from(&flags, &around).unwrap()
    }

    fn roots(&self) -> Roots {
        Roots {
            here: self.dir.path().into(),
            home: Some(self.dir.path().into()),
            ollama: vec![self.ollama().0],
            hub: Some(self.dir.path().join("hub")),
        }
    }

    fn open(&self, name: &str, lock: &str) -> Result<Local, Error> {
        self.open_in(name, lock, &self.roots())
    }

    fn open_in(&self, name: &str, lock: &str, roots: &Roots) -> Result<Local, Error> {
        let flags = Flags { model: Some(name.into()), lock: Some(lock.into()), ..Flags::default() };
        Local::open_in(&self.settings(flags), roots, OpenOptions::default())
    }

    fn locked(&self, name: &str) -> Result<Local, Error> {
        self.open(name, self.lock_file().to_str().unwrap())
    }

    /// Locks these models as they are.
    fn lock(&self, names: &[&str], strict: bool) {
        let mut lock = Lock::default();
        lock.strict = strict;
        for name in names {
            let entry = Entry::of(&self.open(name, "none").unwrap()).unwrap();
            lock.models.insert((*name).into(), entry);
        }
        fs::write(self.lock_file(), lock.to_text()).unwrap();
    }
}

#[track_caller]
fn refused(found: Result<Local, Error>, name: &str, kind: Kind, parts: &[&str]) {
    let error = found.err().unwrap_or_else(|| panic!("{name}: it was opened"));
    assert_eq!(*error.kind(), kind, "{name}: {error}");
    let text = error.to_string();
    parts.iter().for_each(|part| assert!(text.contains(part), "{name}: {part} not in: {text}"));
}

#[test]
fn what_a_store_keeps_beside_the_weights_is_pinned() {
    let (place, bytes) = (Place::new(), tiny("qwen2-plain"));
    let at = format!("{HOST}/orca/7b");
    let mut layers: Vec<(&str, &[u8])> =
        vec![("model", &bytes), ("system", SYSTEM), ("params", PARAMS), ("messages", MESSAGES)];
    place.ollama().model(&at, &layers);
    place.lock(&["orca:7b"], true);
    let local = place.locked("orca:7b").unwrap();
    let claims = local.model().digests().unwrap().claims;
    let by_lock = claims.iter().filter(|claim| claim.part.name() != "weights");
    let parts: Vec<&str> = by_lock.map(|claim| claim.part.name()).collect();
    let want = ["tokenizer", "template", "system", "parameters", "messages", "architecture"];
    assert_eq!(parts, want);
    assert!(claims.iter().all(|claim| claim.matches), "{claims:?}");

    let shown = |bytes: &[u8]| format!("sha256:{}", sha256(bytes));
    let mismatch = || Kind::Engine(EngineKind::Mismatch);
    let changes: [(usize, &str, &[u8]); 3] = [
        (1, "system", "Responde en inglés.".as_bytes()),
        (2, "parameters", br#"{"temperature":0.9}"#),
        (3, "messages", br#"[{"role":"user","content":"chao"}]"#),
    ];
    for (index, part, other) in changes {
        let good = std::mem::replace(&mut layers[index].1, other);
        place.ollama().model(&at, &layers);
        let both = format!("{part} {}, and the lock file says {}", shown(other), shown(good));
        refused(place.locked("orca:7b"), part, mismatch(), &[&both]);
        let layer = layers.remove(index);
        place.ollama().model(&at, &layers);
        let none = format!("{part} none, and the lock file says {}", shown(good));
        refused(place.locked("orca:7b"), part, mismatch(), &[&none]);
        layers.insert(index, (layer.0, good));
    }
    // One that was not there when the model was locked.
    place.ollama().model(&at, &layers[..1]);
    place.lock(&["orca:7b"], false);
    place.ollama().model(&at, &layers[..2]);
    let new = format!("system {}, and the lock file says none", shown(SYSTEM));
    refused(place.locked("orca:7b"), "new", mismatch(), &[&new]);
}

#[test]
fn an_entry_holds_by_whatever_name_a_model_is_asked_for() {
    let (place, bytes) = (Place::new(), tiny("qwen2-plain"));
    let store = place.ollama();
    let layers: [(&str, &[u8]); 2] = [("model", &bytes), ("system", SYSTEM)];
    store.model(&format!("{HOST}/orca/7b"), &layers);
    store.model(&format!("{HOST}/orca/latest"), &layers);
    store.model(&format!("{HOST}/orca/otra"), &[layers[0], ("system", b"Otra cosa.")]);
    store.model(&format!("{HOST}/otro/latest"), &[("model", &tiny("llama-plain"))]);
    place.lock(&["orca:7b"], true);
    let blob = store.path(&sha256(&bytes).to_string());
    let by_path = blob.to_str().unwrap();
    let mismatch = || Kind::Engine(EngineKind::Mismatch);
    for name in ["orca:7b", "ollama:orca:7b", "Orca:7B", "library/orca:7b", "orca"] {
        let local = place.locked(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let claims = local.model().digests().unwrap().claims;
        assert!(claims.iter().any(|claim| claim.part.name() == "system"), "{name}");
    }
    // The same weights, asked otherwise.
    refused(place.locked("orca:otra"), "orca:otra", mismatch(), &["system sha256:"]);
    refused(place.locked(by_path), "its blob", mismatch(), &["system none"]);
    let parts = ["otro is not in ", "which is strict"];
    refused(place.locked("otro"), "otro", Kind::Locked, &parts);
    // Each follows its own entry where it has one.
    place.lock(&["orca:7b", "orca:otra", by_path], true);
    for name in ["ollama:orca:otra", "orca:otra", by_path, "orca"] {
        place.locked(name).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    // A spelling of the same name does not slip past its entry when the weights change.
    place.lock(&["orca:7b"], true);
    let mut changed = bytes.clone();
    changed.extend([0]);
    store.model(&format!("{HOST}/orca/7b"), &[("model", &changed), layers[1]]);
    // The digest may be there when the model is open, or only later.
    let found = place.locked("ollama:orca:7b").and_then(|local| Ok(local.model().digests()?));
    let error = found.unwrap_err().to_string();
    assert!(error.contains("the lock file says"), "{error}");
}

#[test]
fn a_name_must_be_of_the_store_that_its_entry_says() {
    let (place, bytes) = (Place::new(), tiny("qwen2-plain"));
    let manifest = place.ollama().model("registry.ollama.ai/o/n/latest", &[("model", &bytes)]);
    place.lock(&["o/n"], false);
    place.locked("o/n").unwrap();
    fs::remove_file(manifest).unwrap();
    let commit = "1".repeat(40);
    let repo = Repository::new(&place.dir.path().join("hub"), "o/n");
    repo.reference("main", &commit).file(&commit, "m.gguf", &bytes);
    let parts = ["o/n is of the Hugging Face cache, and the lock has it of the Ollama store"];
    refused(place.locked("o/n"), "o/n", Kind::Locked, &parts);
    place.lock(&["o/n"], false);
    place.locked("o/n").unwrap();
}

#[test]
fn settings_that_lead_nowhere_are_named() {
    let (place, bytes) = (Place::new(), tiny("qwen2-plain"));
    fs::write(place.dir.path().join("m.gguf"), bytes).unwrap();
    fs::write(place.lock_file(), empty().to_text()).unwrap();
    let empty = ["recinto.lock is strict and has no model in it", "`recinto lock` with a name"];
    refused(place.locked("m.gguf"), "an empty strict lock", Kind::Locked, &empty);
    let gone = place.dir.path().join("nada.lock");
    let parts = [&format!("--lock: {}: cannot read it", gone.display())[..], "`--no-lock`"];
    refused(place.open("m.gguf", gone.to_str().unwrap()), "no lock", Kind::LockFile, &parts);
    for (folder, what) in [("nada", "is not there"), ("m.gguf", "is no folder")] {
        let folder = place.dir.path().join(folder).display().to_string();
        let settings = place.settings(Flags { arch_dir: Some(folder.clone()), ..Flags::default() });
        let error = settings.arch_folder().unwrap_err().to_string();
        assert!(error.contains(&format!("--arch-dir: {folder} {what}")), "{error}");
        let around = Surroundings {
            variables: vec![("RECINTO_ARCH_DIR".into(), folder.into())],
            here: place.dir.path().into(),
            root: place.dir.path().into(),
        };
        let settings = Settings::resolve_from(&Flags::default(), &around).unwrap();
        let error = settings.arch_folder().unwrap_err().to_string();
        assert!(error.contains("environment variable RECINTO_ARCH_DIR: "), "{error}");
    }
}

/// A byte-order mark before a file that decides something changes nothing, in all of them alike.
#[test]
fn a_mark_before_the_text() {
    let place = Place::new();
    let lock = empty();
    fs::write(place.lock_file(), format!("\u{feff}{}", lock.to_text())).unwrap();
    let found = InForce::read(place.lock_file(), true).unwrap().unwrap();
    assert_eq!(found.lock, lock);
    for (file, text) in [(".env", "RECINTO_THREADS=3\n"), ("recinto.toml", "threads = 3\n")] {
        let place = Place::new();
        fs::write(place.dir.path().join(file), format!("\u{feff}{text}")).unwrap();
        let threads = place.settings(Flags::default()).threads;
        assert_eq!(threads.map(|setting| setting.value), Some(3), "{file}");
    }
}

/// A name that several stores have is the one of the lock.
#[test]
fn a_locked_name_is_in_no_doubt() {
    let (qwen, llama) = (tiny("qwen2-plain"), tiny("llama-plain"));
    let commit = "1".repeat(40);
    for store in ["ollama", "hf"] {
        let place = Place::new();
        let in_ollama =
            || place.ollama().model(&format!("{HOST}/orca/latest"), &[("model", &qwen)]);
        let in_hub = || {
            let repo = Repository::new(&place.dir.path().join("hub"), "orca");
            repo.reference("main", &commit).file(&commit, "m.gguf", &llama);
        };
        // Locked while only one has it.
        match store {
            "ollama" => drop(in_ollama()),
            _ => in_hub(),
        }
        place.lock(&["orca"], true);
        drop(in_ollama());
        let _ = fs::remove_dir_all(place.dir.path().join("hub"));
        in_hub();
        let doubt = Kind::Name(recinto_store::Kind::Ambiguous);
        refused(place.open("orca", "none"), store, doubt, &["in two stores"]);
        assert_eq!(place.locked("orca").unwrap().store(), store);
    }
    // Two stores of Ollama: the one that has the locked bytes.
    let place = Place::new();
    let service = Ollama(place.dir.path().join("servicio"));
    place.ollama().model(&format!("{HOST}/orca/latest"), &[("model", &qwen)]);
    place.lock(&["orca"], true);
    service.model(&format!("{HOST}/orca/latest"), &[("model", &llama)]);
    for ollama in [[place.ollama().0, service.0.clone()], [service.0.clone(), place.ollama().0]] {
        let roots = Roots { ollama: ollama.to_vec(), ..place.roots() };
        let doubt = Kind::Name(recinto_store::Kind::Ambiguous);
        refused(place.open_in("orca", "none", &roots), "two", doubt, &["each of 2 Ollama stores"]);
        let lock = place.lock_file();
        let local = place.open_in("orca", lock.to_str().unwrap(), &roots).unwrap();
        assert_eq!(local.files().root, place.ollama().0);
    }
}

/// Files that decide what the name is are warned of as the weights are.
#[test]
fn others_may_not_change_what_decides() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let manifest =
        place.ollama().model(&format!("{HOST}/orca/latest"), &[("model", &tiny("qwen2-plain"))]);
    place.lock(&["orca"], true);
    assert_eq!(place.locked("orca").unwrap().warnings(), [""; 0]);
    fs::set_permissions(&manifest, fs::Permissions::from_mode(0o666)).unwrap();
    let warned = format!("{}: everybody may write to it", manifest.display());
    refused(place.locked("orca"), "a manifest", Kind::Locked, &["the lock is strict", &warned]);
    assert!(place.open("orca", "none").unwrap().warnings()[0].starts_with(&warned));
}
