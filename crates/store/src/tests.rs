//! Names and what they resolve to: paths, folders, refusals.

use std::fs;

use super::*;

/// A folder with a few models in it.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("año nuevo")).unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for name in ["qwen-q4_0.gguf", "qwen-q8_0.gguf", "niño.gguf", "plain", "año nuevo/m.gguf"] {
        fs::write(dir.path().join(name), b"GGUF").unwrap();
    }
    // A file with a stored model's name must not be taken for it.
    fs::write(dir.path().join("qwen3:0.6b"), b"GGUF").unwrap();
    std::os::unix::fs::symlink("nowhere.gguf", dir.path().join("link.gguf")).unwrap();
    std::os::unix::fs::symlink("niño.gguf", dir.path().join("good.gguf")).unwrap();
    dir
}

#[test]
fn paths() {
    let dir = folder();
    let here = dir.path();
    let absolute = here.join("niño.gguf").display().to_string();
    let cases = [
        ("absolute", absolute.as_str(), "niño.gguf"),
        ("dot", "./qwen-q4_0.gguf", "qwen-q4_0.gguf"),
        ("dot without extension", "./plain", "plain"),
        ("ends in gguf", "niño.gguf", "niño.gguf"),
        ("folder, ends in gguf", "año nuevo/m.gguf", "año nuevo/m.gguf"),
        ("up", "./año nuevo/../plain", "año nuevo/../plain"),
        ("home", "~/qwen-q8_0.gguf", "qwen-q8_0.gguf"),
        ("prefix", "path:plain", "plain"),
        ("prefix settles doubt", "path:qwen3:0.6b", "qwen3:0.6b"),
        ("dot settles doubt", "./qwen3:0.6b", "qwen3:0.6b"),
        ("link", "good.gguf", "good.gguf"),
    ];
    for (name, given, want) in cases {
        let found = resolve_from(given, here, Some(here)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found.weights, here.join(want), "{name}");
        assert!(found.weights.is_absolute(), "{name}");
    }
}

#[test]
fn refusals() {
    let dir = folder();
    let here = dir.path();
    let root = here.display();
    let cases: &[(&str, &str, Kind, &[&str])] = &[
        ("empty", "", Kind::Invalid, &["empty", "hint: give the path"]),
        ("blank", "  ", Kind::Invalid, &["empty"]),
        ("zero byte", "./a\0b.gguf", Kind::Invalid, &["U+0000"]),
        ("nothing after prefix", "path:", Kind::Invalid, &["path:"]),
        ("bare word", "plain", Kind::Store, &["`plain`", "does not read stores yet", ".gguf"]),
        ("planted", "qwen3:0.6b", Kind::Store, &["Ollama store"]),
        ("namespace", "me/orca:7b", Kind::Store, &["Ollama store"]),
        ("host", "hf.co/o/n:Q4_K_M", Kind::Store, &["Ollama store"]),
        ("hub", "org/repo@main", Kind::Store, &["the Hugging Face cache"]),
        ("hub prefix", "hf:org/repo:m.gguf", Kind::Store, &["the Hugging Face cache"]),
        ("ollama prefix", "ollama:qwen3", Kind::Store, &["the Ollama store"]),
        ("other user", "~root/m.gguf", Kind::Invalid, &["another user"]),
        ("folder", ".", Kind::NotAFile, &["is a folder", "niño.gguf, qwen-q4_0.gguf"]),
        ("empty folder", "./empty", Kind::NotAFile, &["is a folder", "no .gguf files"]),
        ("device", "/dev/null", Kind::NotAFile, &["not a regular file"]),
        ("dangling", "link.gguf", Kind::Missing, &["is a link to nowhere.gguf"]),
        ("no folder", "no/such/m.gguf", Kind::Missing, &["folder is missing", "is there"]),
        ("file as folder", "./plain/m.gguf", Kind::Missing, &["does not exist"]),
        ("empty near", "empty/m.gguf", Kind::Missing, &["has no .gguf files"]),
    ];
    for (name, given, kind, parts) in cases {
        let error = resolve_from(given, here, Some(here)).expect_err(name);
        assert_eq!(error.kind(), *kind, "{name}: {error}");
        for part in *parts {
            assert!(error.to_string().contains(part), "{name}: {part} not in: {error}");
        }
    }
    let error = resolve_from("qwen-q4.gguf", here, None).unwrap_err().to_string();
    let want = format!("{root}/qwen-q4.gguf does not exist\nhint: in that folder: qwen-q4_0.gguf");
    assert!(error.starts_with(&want), "{error}");
    let error = resolve_from("~/m.gguf", here, None).unwrap_err().to_string();
    assert!(error.contains("HOME is not set"), "{error}");
}
