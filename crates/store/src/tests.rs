//! Paths and what they resolve to, and which names are none.

use std::fs;

use super::*;

/// A folder with a few models in it, where nothing else is.
fn folder() -> (tempfile::TempDir, Roots) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("año nuevo")).unwrap();
    for empty in ["empty", "checkpoint"] {
        fs::create_dir(dir.path().join(empty)).unwrap();
    }
    let names = ["qwen-q4_0.gguf", "qwen-q8_0.gguf", "niño.gguf", "plain", "año nuevo/m.gguf"];
    let more =
        ["checkpoint/config.json", "checkpoint/model.safetensors", "one-00001-of-00001.gguf"];
    let parts =
        ["split-00001-of-00002.gguf", "split-00002-of-00002.gguf", "half-00002-of-00003.gguf"];
    for name in [&names[..], &more, &parts].concat() {
        fs::write(dir.path().join(name), b"GGUF").unwrap();
    }
    // A file with a stored model's name must not be taken for it.
    fs::write(dir.path().join("qwen3:0.6b"), b"GGUF").unwrap();
    std::os::unix::fs::symlink("nowhere.gguf", dir.path().join("link.gguf")).unwrap();
    std::os::unix::fs::symlink("niño.gguf", dir.path().join("good.gguf")).unwrap();
    let roots = Roots {
        here: dir.path().into(),
        home: Some(dir.path().into()),
        ollama: vec![dir.path().join("ollama")],
        hub: Some(dir.path().join("hub")),
    };
    (dir, roots)
}

#[test]
fn paths() {
    let (dir, roots) = folder();
    let here = dir.path();
    let absolute = here.join("niño.gguf").display().to_string();
    let both = &["split-00001-of-00002.gguf", "split-00002-of-00002.gguf"][..];
    let cases: &[(&str, &str, &[&str])] = &[
        ("absolute", absolute.as_str(), &["niño.gguf"]),
        ("dot", "./qwen-q4_0.gguf", &["qwen-q4_0.gguf"]),
        ("dot without extension", "./plain", &["plain"]),
        ("ends in gguf", "niño.gguf", &["niño.gguf"]),
        ("folder, ends in gguf", "año nuevo/m.gguf", &["año nuevo/m.gguf"]),
        ("up", "./año nuevo/../plain", &["año nuevo/../plain"]),
        ("home", "~/qwen-q8_0.gguf", &["qwen-q8_0.gguf"]),
        ("prefix", "path:plain", &["plain"]),
        ("prefix settles doubt", "path:qwen3:0.6b", &["qwen3:0.6b"]),
        ("dot settles doubt", "./qwen3:0.6b", &["qwen3:0.6b"]),
        ("link", "good.gguf", &["good.gguf"]),
        ("load-01: the second part", "split-00002-of-00002.gguf", both),
        ("load-01: the first part", "./split-00001-of-00002.gguf", both),
        ("load-03: the only part", "one-00001-of-00001.gguf", &["one-00001-of-00001.gguf"]),
    ];
    for (name, given, want) in cases {
        let found = resolve(given, &roots).unwrap_or_else(|e| panic!("{name}: {e}"));
        let want: Vec<_> = want.iter().map(|file| here.join(file)).collect();
        assert_eq!(found.weights, want, "{name}");
        assert_eq!(found.claimed, vec![None; want.len()], "{name}");
        assert_eq!((found.store, found.form), (Store::Path, Form::Gguf), "{name}");
        assert!(found.weights.iter().all(|path| path.is_absolute()), "{name}");
        let again = resolve(&found.name, &Roots::default()).unwrap();
        assert_eq!(again.weights, found.weights, "{name}: {}", found.name);
    }
    let found = resolve("./checkpoint", &roots).unwrap();
    assert_eq!(found.form, Form::Checkpoint);
    assert_eq!(found.weights, [here.join("checkpoint/model.safetensors")]);
}

#[test]
fn refusals() {
    let (dir, roots) = folder();
    let here = dir.path();
    let root = here.display();
    let looked = format!("looked in\n  Ollama store {root}/ollama: not there\n");
    let parts = "2 of the 3 parts of this model are missing: half-00001-of-00003.gguf, half-00003";
    let cases: &[(&str, &str, Kind, &[&str])] = &[
        ("empty", "", Kind::Invalid, &["empty", "hint: `recinto models` lists"]),
        ("blank", "  ", Kind::Invalid, &["empty"]),
        ("zero byte", "./a\0b.gguf", Kind::Invalid, &["U+0000"]),
        ("nothing after prefix", "path:", Kind::Invalid, &["path:"]),
        ("nothing after ollama", "ollama:", Kind::Invalid, &["after `ollama:`"]),
        ("address", "https://u:clave@h/m.gguf", Kind::Invalid, &["nothing is downloaded"]),
        ("stdin", "-", Kind::Invalid, &["standard input"]),
        ("no name at all", "a b c", Kind::Invalid, &["`a b c` cannot be the name of a path"]),
        ("no model", "ollama:a/b/c/d", Kind::Invalid, &["of an Ollama model (more than `host/"]),
        ("no repository", "hf:a/b/c", Kind::Invalid, &["of a repository (`org/repo` has"]),
        (
            "bare word",
            "plain",
            Kind::Missing,
            &["called `plain`", &looked, "`./plain` is that one"],
        ),
        ("planted", "qwen3:0.6b", Kind::Missing, &["`./qwen3:0.6b` is that", &looked]),
        ("checkpoint, bare", "checkpoint", Kind::Missing, &["`./checkpoint` is that"]),
        ("host", "hf.co/o/n:Q4_K_M", Kind::Missing, &["Ollama store"]),
        ("hub", "org/repo@main", Kind::Missing, &["Hugging Face cache", "/hub: not there"]),
        ("other user", "~root/m.gguf", Kind::Invalid, &["another user"]),
        ("folder", ".", Kind::NotAFile, &["is a folder", "niño.gguf", "qwen-q4_0.gguf"]),
        ("empty folder", "./empty", Kind::NotAFile, &["is a folder", "no .gguf files"]),
        ("device", "/dev/null", Kind::NotAFile, &["not a regular file"]),
        ("dangling", "link.gguf", Kind::Missing, &["is a link to nowhere.gguf"]),
        ("no folder", "no/such/m.gguf", Kind::Missing, &["folder is missing", "is there"]),
        ("file as folder", "./plain/m.gguf", Kind::Missing, &["does not exist"]),
        ("empty near", "empty/m.gguf", Kind::Missing, &["has no .gguf files"]),
        ("parts", "half-00002-of-00003.gguf", Kind::Missing, &[parts, "must be in"]),
    ];
    for (name, given, kind, parts) in cases {
        let error = resolve(given, &roots).expect_err(name);
        assert_eq!(error.kind(), *kind, "{name}: {error}");
        for part in *parts {
            assert!(error.to_string().contains(part), "{name}: {part} not in: {error}");
        }
        assert!(!error.to_string().contains("clave"), "{name}: {error}");
    }
    let error = resolve("qwen-q4.gguf", &roots).unwrap_err().to_string();
    let want = format!("{root}/qwen-q4.gguf does not exist\nhint: in that folder: qwen-q4_0.gguf");
    assert!(error.starts_with(&want), "{error}");
    let error = resolve("~/m.gguf", &Roots { home: None, ..roots }).unwrap_err().to_string();
    assert!(error.contains("HOME is not set"), "{error}");
}
