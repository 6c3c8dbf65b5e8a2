//! Names of an Ollama store, on trees made here.

use crate::common;

use std::{fs, os::unix::fs::symlink, path::Path};

use common::fails;
use recinto_store::{Kind, Note, Odd, Omitted, Roots, Store, list, meanings, resolve};
use recinto_testkit::stores::{Ollama, trace};

const HOST: &str = "registry.ollama.ai";

fn roots(dir: &Path) -> Roots {
    let ollama = vec![dir.join("modelos")];
    Roots { here: dir.into(), home: Some(dir.into()), ollama, hub: None }
}

fn at(dir: &Path) -> Ollama {
    Ollama(dir.join("modelos"))
}

/// LOAD-15: tags, name spaces, hosts, and every kind of layer.
#[test]
fn names_and_layers() {
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    let system = "Responde en español, señor.".as_bytes();
    store.model(
        &format!("{HOST}/library/orca/7b"),
        &[
            ("model", b"GGUF seven"),
            ("template", b"{{ .Prompt }}"),
            ("params", br#"{"stop":["<|im_end|>"],"temperature":0.7,"mirostat":1}"#),
            ("system", system),
            ("license", b"Apache License Version 2.0"),
            ("messages", br#"[{"role":"user","content":"hola"}]"#),
            ("projector", b"eyes"),
            ("adapter", b"a"),
            ("adapter", b"b"),
        ],
    );
    store.model(&format!("{HOST}/library/orca/latest"), &[("model", b"GGUF latest")]);
    store.model(&format!("{HOST}/me/orca/7b"), &[("model", b"GGUF mine")]);
    store.model("hf.co/o/n/Q4_K_M", &[("model", b"GGUF hub")]);
    store.model("localhost:5000/a/b/latest", &[("model", b"GGUF port")]);
    let cases = [
        ("orca:7b", "GGUF seven", "registry.ollama.ai/library/orca:7b"),
        ("orca", "GGUF latest", "registry.ollama.ai/library/orca:latest"),
        ("Orca:7B", "GGUF seven", "registry.ollama.ai/library/Orca:7B"),
        ("library/orca:7b", "GGUF seven", "registry.ollama.ai/library/orca:7b"),
        ("me/orca:7b", "GGUF mine", "registry.ollama.ai/me/orca:7b"),
        ("hf.co/o/n:Q4_K_M", "GGUF hub", "hf.co/o/n:Q4_K_M"),
        ("ollama:hf.co/o/n:q4_k_m", "GGUF hub", "hf.co/o/n:q4_k_m"),
        ("localhost:5000/a/b", "GGUF port", "localhost:5000/a/b:latest"),
    ];
    for (name, bytes, whole) in cases {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(fs::read_to_string(&files.weights[0]).unwrap(), bytes, "{name}");
        assert_eq!((files.store, &files.name), (Store::Ollama, &format!("ollama:{whole}")));
        let claimed = recinto_receipt::sha256(bytes.as_bytes());
        assert_eq!(files.claimed, [Some(claimed)], "{name}");
        assert_eq!(resolve(&files.name, &roots(dir.path())).unwrap().weights, files.weights);
    }
    let files = resolve("orca:7b", &roots(dir.path())).unwrap();
    let layers = &files.layers;
    assert_eq!(layers.template.as_deref(), Some("{{ .Prompt }}"));
    assert_eq!(layers.system.as_deref().map(str::as_bytes), Some(system));
    assert_eq!(
        (&layers.params.stop[..], layers.params.temperature),
        (&["<|im_end|>".into()][..], Some(0.7))
    );
    assert_eq!((layers.licences.len(), layers.messages[0].content.as_str()), (1, "hola"));
    let params = br#"{"stop":["<|im_end|>"],"temperature":0.7,"mirostat":1}"#;
    let messages = br#"[{"role":"user","content":"hola"}]"#;
    let digests: [(&str, &[u8]); 3] =
        [("system", system), ("params", params), ("messages", messages)];
    for (kind, bytes) in digests {
        assert_eq!(layers.digest(kind), Some(recinto_receipt::sha256(bytes)), "{kind}");
    }
    assert_eq!(layers.digest("license"), None, "it changes no answer");
    assert_eq!(layers.unsupported, [("projector".into(), 1), ("adapter".into(), 2)]);
    let notes = [
        Note::UnsupportedLayers { kind: "projector".into(), count: 1 },
        Note::UnsupportedLayers { kind: "adapter".into(), count: 2 },
        Note::IgnoredParameter { name: "mirostat".into() },
    ];
    assert_eq!(files.notes, notes);
    fails(
        resolve("orca:8b", &roots(dir.path())),
        Kind::Missing,
        &["called `orca:8b`", "5 models, nearest: orca:7b, me/orca:7b"],
    );
}

/// LOAD-11: only digests open blobs, and only below `blobs`.
#[test]
fn nothing_outside_the_store_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    let secret = dir.path().join("secreto");
    fs::write(&secret, "GGUF clave").unwrap();
    let hex = store.blob(b"GGUF");
    let manifest = |digest: &str| {
        let media = "application/vnd.ollama.image.model";
        format!(r#"{{"layers":[{{"mediaType":"{media}","digest":"{digest}","size":4}}]}}"#)
    };
    let bad = [
        ("short", format!("sha256:{}", &hex[1..])),
        ("long", format!("sha256:{hex}0")),
        ("path", "sha256:../../secreto".into()),
        ("hash", format!("sha512:{hex}")),
        ("empty", String::new()),
        ("bare", "../../secreto".into()),
    ];
    for (tag, digest) in &bad {
        store.manifest(&format!("{HOST}/library/m/{tag}"), &manifest(digest));
        let found = resolve(&format!("m:{tag}"), &roots(dir.path()));
        fails(
            found,
            Kind::Broken,
            &[&format!("m:{tag}: its manifest is broken"), "64 hexadecimal digits"],
        );
    }
    for (tag, digest) in [("colon", format!("sha256:{hex}")), ("dash", format!("sha256-{hex}"))] {
        store.manifest(&format!("{HOST}/library/m/{tag}"), &manifest(&digest));
        resolve(&format!("m:{tag}"), &roots(dir.path())).unwrap();
    }
    // Links out of the store, for a blob, a manifest and a folder of manifests.
    let other = "1".repeat(64);
    symlink(&secret, store.path(&other)).unwrap();
    store.manifest(&format!("{HOST}/library/m/linked"), &manifest(&format!("sha256:{other}")));
    fails(resolve("m:linked", &roots(dir.path())), Kind::Outside, &["out of the store"]);
    let outside = dir.path().join("fuera");
    fs::create_dir_all(outside.join("x")).unwrap();
    fs::write(outside.join("x/latest"), manifest(&format!("sha256:{hex}"))).unwrap();
    let library = dir.path().join("modelos/manifests").join(HOST).join("library");
    symlink(outside.join("x/latest"), library.join("m/out")).unwrap();
    symlink(outside.join("x"), library.join("x")).unwrap();
    for name in ["m:out", "x"] {
        fails(resolve(name, &roots(dir.path())), Kind::Outside, &["out of the store"]);
    }
    for name in ["../m", "m:../../x", "a/../../b"] {
        assert!(resolve(&format!("ollama:{name}"), &roots(dir.path())).is_err(), "{name}");
    }
}

/// LOAD-13: one tag that is broken leaves the others; and what else can be wrong with one.
#[test]
fn one_broken_tag_leaves_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    let place = |tag: &str| format!("{HOST}/library/m/{tag}");
    store.model(&place("good"), &[("model", b"GGUF")]);
    store.manifest(&place("zero"), "");
    store.manifest(&place("half"), "{\"layers\":");
    let gone = store.model(&place("gone"), &[("model", b"GGUF gone")]);
    let digest = recinto_receipt::sha256(b"GGUF gone").to_string();
    fs::remove_file(store.path(&digest)).unwrap();
    let text = fs::read_to_string(&gone).unwrap();
    store.model(&place("cut"), &[("model", b"GGUF cut")]);
    fs::write(store.path(&recinto_receipt::sha256(b"GGUF cut").to_string()), b"GGU").unwrap();
    store.model(&place("changed"), &[("model", b"GGUF"), ("system", b"uno")]);
    fs::write(store.path(&recinto_receipt::sha256(b"uno").to_string()), b"dos").unwrap();
    store.model(&place("params"), &[("model", b"GGUF"), ("params", b"[]")]);
    store.model(&place("tensors"), &[("tensor", b"1"), ("tensor", b"2"), ("json", b"{}")]);
    store.manifest(&place("large"), &format!("{text}{}", " ".repeat(9 << 20)));
    fs::create_dir_all(dir.path().join("modelos/manifests").join(place("folder"))).unwrap();
    let expected = store.path(&digest).display().to_string();
    let cases: &[(&str, Kind, &[&str])] = &[
        ("zero", Kind::Broken, &["m:zero: its manifest", "it is empty", "`ollama pull m:zero`"]),
        ("half", Kind::Broken, &["no JSON"]),
        ("gone", Kind::Missing, &["m:gone", &digest, &expected, "does not exist"]),
        ("cut", Kind::Broken, &["has 3 bytes, and its manifest says 8"]),
        ("changed", Kind::Broken, &["not that of its name"]),
        ("params", Kind::Broken, &["it is no JSON object"]),
        ("tensors", Kind::Unsupported, &["no GGUF", "`tensor`, `json`"]),
        ("large", Kind::Broken, &["more than the 8388608 bytes"]),
        ("folder", Kind::NotAFile, &["not a regular file"]),
    ];
    for (tag, kind, parts) in cases {
        fails(resolve(&format!("m:{tag}"), &roots(dir.path())), *kind, parts);
    }
    resolve("m:good", &roots(dir.path())).unwrap();
    let listing = list(&roots(dir.path()), None);
    let mut names: Vec<(&str, bool)> =
        listing.entries.iter().map(|e| (e.name.as_str(), e.files.is_ok())).collect();
    names.retain(|(_, good)| *good);
    assert_eq!(names, [("m:good", true)]);
    assert_eq!(listing.entries.len(), cases.len() + 1, "the broken ones are listed too");
}

/// Manifests of newer stores go first; lists of forms; names that other programs made.
#[test]
fn newer_stores() {
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    let place = |name: &str| format!("{HOST}/library/{name}");
    store.model(&place("m/latest"), &[("model", b"GGUF old")]);
    store.newer(&place("m/latest"), &store.text(&[("model", b"GGUF new")]));
    let read = |name: &str| {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        (fs::read_to_string(&files.weights[0]).unwrap(), files.notes)
    };
    assert_eq!(read("m"), ("GGUF new".into(), vec![]));
    // A link into nowhere leaves the name to the older folder.
    store.model(&place("d/latest"), &[("model", b"GGUF old")]);
    let link = store.newer(&place("d/latest"), &store.text(&[("model", b"GGUF newer")]));
    fs::remove_file(link.read_link().unwrap()).unwrap();
    assert_eq!(read("d").0, "GGUF old");
    // Children of a list: the GGUF, whatever comes first.
    let child = |bytes: &'static [u8], runner: &str, format: &str| {
        let digest = store.blob(store.text(&[("model", bytes)]).as_bytes());
        format!(
            r#"{{"digest":"sha256:{digest}","runner":"{runner}","format":"{format}","size":1}}"#
        )
    };
    let list_of = |children: &[String]| {
        let media = "application/vnd.ollama.manifest.list.v2+json";
        format!(r#"{{"mediaType":"{media}","manifests":[{}]}}"#, children.join(","))
    };
    let mlx = child(b"tensors", "mlx", "safetensors");
    let (own, plain) =
        (child(b"GGUF own", "ollama", "gguf"), child(b"GGUF cpp", "llamacpp", "gguf"));
    store.newer(&place("l/latest"), &list_of(&[mlx.clone(), own.clone()]));
    assert_eq!(read("l"), ("GGUF own".into(), vec![]));
    store.newer(&place("b/latest"), &list_of(&[mlx.clone(), own, plain]));
    assert_eq!(read("b"), ("GGUF cpp".into(), vec![Note::Chosen { runner: "llamacpp".into() }]));
    store.newer(&place("x/latest"), &list_of(&[mlx]));
    let found = resolve("x", &roots(dir.path()));
    fails(found, Kind::Unsupported, &["none of its forms is GGUF: safetensors for mlx"]);
    let inner = store.blob(list_of(&[]).as_bytes());
    let nested = format!(r#"{{"digest":"sha256:{inner}","runner":"ollama","format":"gguf"}}"#);
    store.newer(&place("n/latest"), &list_of(&[nested]));
    fails(resolve("n", &roots(dir.path())), Kind::Broken, &["a list within a list"]);
    // Shadows are neither listed nor taken for `latest`.
    store.newer(&place("llamacpp/0a1b2c3d4e5f"), &store.text(&[("model", b"GGUF shadow")]));
    fails(resolve("llamacpp", &roots(dir.path())), Kind::Missing, &["called `llamacpp`"]);
    let entries = list(&roots(dir.path()), Some(Store::Ollama)).entries;
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["b:latest", "d:latest", "l:latest", "m:latest", "n:latest", "x:latest"]);
}

/// LOAD-17: a store of somebody else, read-only: it is read, and not a byte is written.
#[test]
fn a_copied_read_only_store() {
    let dir = tempfile::tempdir().unwrap();
    let first = Ollama(dir.path().join("aquí"));
    first.model(&format!("{HOST}/library/m/latest"), &[("model", b"GGUF"), ("system", b"hola")]);
    let moved = dir.path().join("otro sitio");
    fs::rename(&first.0, &moved).unwrap();
    set_modes(&moved, true);
    let before = trace(&moved);
    let roots = Roots { ollama: vec![moved.clone()], ..Roots::default() };
    assert_eq!(resolve("m", &roots).unwrap().layers.system.as_deref(), Some("hola"));
    assert_eq!(list(&roots, None).entries.len(), 1);
    assert_eq!(trace(&moved), before);
    set_modes(&moved, false);
}

/// Takes or gives back the right to write below `folder`.
fn set_modes(folder: &Path, locked: bool) {
    use std::os::unix::fs::PermissionsExt;
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(folder, if locked { 0o555 } else { 0o755 });
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_modes(&path, locked);
        } else {
            mode(&path, if locked { 0o444 } else { 0o644 });
        }
    }
}

/// The service's store often may not be read: that is said, and the other one still serves.
#[test]
fn a_store_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let closed = dir.path().join("servicio");
    fs::create_dir_all(closed.join("manifests")).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let own = at(dir.path());
    own.model(&format!("{HOST}/library/m/latest"), &[("model", b"GGUF")]);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let roots = Roots { ollama: vec![own.0.clone(), closed.clone()], ..Roots::default() };
    recinto_testkit::as_ordinary_user(|| {
        resolve("m", &roots).unwrap();
        let part = format!("{}: cannot be read (permission denied)", closed.display());
        fails(resolve("n", &roots), Kind::Missing, &[&part]);
        let listing = list(&roots, None);
        assert_eq!((listing.entries.len(), listing.closed.len()), (1, 1));
        assert!(!listing.closed[0].absent && listing.closed[0].why == "permission denied");
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What is in a store and cannot be a name is counted, with the reason.
#[test]
fn what_no_name_leads_to_is_counted() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    store.model(&format!("{HOST}/library/m/latest"), &[("model", b"GGUF")]);
    let manifests = dir.path().join("modelos/manifests");
    let library = manifests.join(HOST).join("library");
    store.manifest(&format!("{HOST}/library/m/año"), "");
    store.manifest(&format!("{HOST}/library/m/dos palabras"), "");
    store.manifest(&format!("{HOST}/library/m/.DS_Store"), "");
    fs::write(library.join("m").join(OsStr::from_bytes(b"\xff")), "").unwrap();
    fs::write(library.join("suelto"), "").unwrap();
    symlink(library.join("m"), library.join("enlace")).unwrap();
    store.manifest(&format!("{HOST}/library/llamacpp/0a1b2c3d4e5f"), "");
    let listing = list(&roots(dir.path()), None);
    assert_eq!(listing.entries.len(), 1, "{:?}", listing.entries);
    let row = |why, count, first: &str| Omitted {
        store: Store::Ollama,
        root: dir.path().join("modelos"),
        why,
        count,
        first: library.join(first),
    };
    let want = [
        row(Odd::Name, 3, "m/año"),
        row(Odd::Shape, 1, "suelto"),
        row(Odd::Link, 1, "enlace"),
        row(Odd::Foreign, 1, "llamacpp/0a1b2c3d4e5f"),
    ];
    assert_eq!(listing.omitted, want);
}

/// A folder of names that may not be read hides nothing in silence, neither in the list nor where
/// a name is looked for.
#[test]
fn a_folder_of_names_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    for name in ["library/m", "ella/n", "él/n"] {
        store.model(&format!("{HOST}/{name}/latest"), &[("model", b"GGUF")]);
    }
    let closed = dir.path().join("modelos/manifests").join(HOST).join("ella");
    let chmod = |mode| fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o000);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    recinto_testkit::as_ordinary_user(|| {
        let listing = list(&roots(dir.path()), None);
        assert_eq!(listing.entries.len(), 1);
        assert_eq!((&listing.closed[0].root, listing.closed[0].absent), (&closed, false));
        assert_eq!(listing.closed[0].why, "permission denied");
        let part = format!("    {}: cannot be read (permission denied)", closed.display());
        fails(resolve("ella/n", &roots(dir.path())), Kind::Missing, &["called `ella/n`", &part]);
        resolve("m", &roots(dir.path())).unwrap();
    });
    chmod(0o755);
}

/// Two stores with one name: the same manifest is no doubt, another is an error that names both.
#[test]
fn two_stores_with_one_name() {
    let dir = tempfile::tempdir().unwrap();
    let (own, service) = (at(dir.path()), Ollama(dir.path().join("servicio")));
    let place = |name: &str| format!("{HOST}/library/{name}/latest");
    for store in [&own, &service] {
        store.model(&place("igual"), &[("model", b"GGUF same")]);
    }
    own.model(&place("m"), &[("model", b"GGUF mine")]);
    service.model(&place("m"), &[("model", b"GGUF theirs")]);
    service.model(&place("solo"), &[("model", b"GGUF theirs")]);
    own.manifest(&place("roto"), "");
    service.model(&place("roto"), &[("model", b"GGUF theirs")]);
    let roots = |stores: &[&Ollama]| Roots {
        ollama: stores.iter().map(|store| store.0.clone()).collect(),
        ..Roots::default()
    };
    let both = roots(&[&own, &service]);
    assert_eq!(resolve("igual", &both).unwrap().root, own.0);
    assert_eq!(resolve("solo", &both).unwrap().root, service.0);
    let blob = |store: &Ollama, bytes: &[u8]| {
        let path = store.path(&recinto_receipt::sha256(bytes).to_string());
        format!("  OLLAMA_MODELS={}  {}", store.0.display(), path.display())
    };
    let (mine, theirs) = (blob(&own, b"GGUF mine"), blob(&service, b"GGUF theirs"));
    for name in ["m", "ollama:m", "M:LATEST"] {
        let what = "is another model in each of 2 Ollama stores";
        fails(resolve(name, &both), Kind::Ambiguous, &[what, &mine, &theirs]);
        assert_eq!(meanings(name, &both).len(), 2, "{name}");
    }
    fails(resolve("roto", &both), Kind::Ambiguous, &["another model in each"]);
    for (stores, want) in [(roots(&[&own]), &own), (roots(&[&service]), &service)] {
        assert_eq!(resolve("m", &stores).unwrap().root, want.0);
    }
}

/// What a closed folder hides goes before what another store has: it is said.
#[test]
fn a_closed_folder_on_the_way() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (own, service) = (at(dir.path()), Ollama(dir.path().join("servicio")));
    for store in [&own, &service] {
        store.model(
            &format!("{HOST}/library/m/latest"),
            &[("model", store.0.as_os_str().as_encoded_bytes())],
        );
    }
    own.model(&format!("{HOST}/library/n/latest"), &[("model", b"GGUF")]);
    let hub = recinto_testkit::stores::Repository::new(&dir.path().join("hub"), "m");
    let one = "1".repeat(40);
    let hub = hub.reference("main", &one).file(&one, "m.gguf", b"GGUF hub");
    let folder = own.0.join("manifests").join(HOST).join("library/m");
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(dir.path(), 0o755);
    chmod(&folder, 0o000);
    let ollama = vec![own.0.clone(), service.0.clone()];
    let both = Roots { ollama, ..Roots::default() };
    let with_hub = Roots {
        ollama: vec![own.0.clone()],
        hub: Some(dir.path().join("hub")),
        ..Roots::default()
    };
    recinto_testkit::as_ordinary_user(|| {
        let closed = format!("cannot read {}: permission denied", folder.display());
        let other = format!("OLLAMA_MODELS={}", service.0.display());
        fails(resolve("m", &both), Kind::Io, &[&closed, "goes before", &other]);
        resolve("n", &both).unwrap();
        let files = resolve("m", &with_hub).unwrap();
        let root = own.0.clone();
        let why = "permission denied".into();
        assert_eq!(files.notes, [Note::ClosedStore { store: Store::Ollama, root, why }]);
    });
    chmod(&folder, 0o755);
    let cache = hub.0.parent().unwrap();
    chmod(cache, 0o000);
    recinto_testkit::as_ordinary_user(|| {
        let files = resolve("m", &with_hub).unwrap();
        let note = files.notes.first().map(ToString::to_string).unwrap_or_default();
        assert!(note.contains("may have this name too; it cannot be read"), "{note}");
    });
    chmod(cache, 0o755);
}

/// All letter cases are tried, the one that is written first; and names that end as files do.
#[test]
fn letter_cases_and_endings() {
    let dir = tempfile::tempdir().unwrap();
    let store = at(dir.path());
    let cases = [
        ("library/Mixed/7b", "mixed:7b"),
        ("library/mixed/8b", "Mixed:8B"),
        ("library/Two/latest", "Two"),
        ("library/two/latest", "two"),
        ("o/model.gguf/latest", "o/model.gguf"),
        ("library/solo.gguf/latest", "solo.gguf"),
        ("library/aqui.gguf/latest", "ollama:aqui.gguf"),
    ];
    for (place, _) in cases {
        store.model(&format!("{HOST}/{place}"), &[("model", place.as_bytes())]);
    }
    let file = "hf.co/org/X-GGUF/X-Q4_K_M.gguf";
    store.model(file, &[("model", file.as_bytes())]);
    fs::write(dir.path().join("aqui.gguf"), "aquí").unwrap();
    let more = [(file, "hf.co/org/X-GGUF:X-Q4_K_M.gguf"), ("aquí", "aqui.gguf")];
    for (want, name) in cases.into_iter().chain(more) {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(fs::read_to_string(&files.weights[0]).unwrap(), want, "{name}");
    }
    let found = resolve("nadie.gguf", &roots(dir.path()));
    fails(found, Kind::Missing, &["nadie.gguf does not exist"]);
}
