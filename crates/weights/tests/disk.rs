//! Files on a disk: what is refused before a byte is read, and the real models.

use crate::raw;

use std::{os::unix::fs::PermissionsExt, path::PathBuf, time::Instant};

use recinto_weights::{Advice, File, Kind, Value};

#[test]
fn paths_that_are_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("carpeta")).unwrap();
    std::fs::write(at("vacío.gguf"), "").unwrap();
    std::fs::write(at("cerrado.gguf"), raw::valid().0).unwrap();
    std::fs::set_permissions(at("cerrado.gguf"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let status = std::process::Command::new("mkfifo").arg(at("tubo")).status().unwrap();
    assert!(status.success());
    let mut cases = vec![
        ("falta.gguf", Kind::Io, "no such file"),
        ("carpeta", Kind::Missing, "has no .safetensors file"),
        ("tubo", Kind::Io, "a named pipe, not a regular file"),
        ("vacío.gguf", Kind::Truncated, "truncated header"),
        ("vacío.gguf/x", Kind::Io, "cannot open"),
    ];
    // The administrator may read everything.
    if std::fs::File::open(at("cerrado.gguf")).is_err() {
        cases.push(("cerrado.gguf", Kind::Io, "permission denied"));
    }
    for (name, kind, says) in cases {
        let error = File::open(&at(name)).err().unwrap_or_else(|| panic!("{name} was opened"));
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{name}: {text}");
        assert!(text.contains(says), "{name}: {text}");
        assert!(kind != Kind::Io || text.contains(name), "{name}: {text}");
    }
    let error = File::open(std::path::Path::new("/dev/zero")).err().unwrap();
    assert!(error.to_string().contains("a device"), "{error}");
}

#[test]
fn a_file_that_changes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("modelo.gguf");
    std::fs::write(&path, raw::valid().0).unwrap();
    let file = File::open(&path).unwrap();
    file.advise(Advice::WillNeed);
    assert!(file.unchanged());
    let size = file.shards()[0].identity().unwrap().size;
    assert_eq!(size, file.size());
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size + 1).unwrap();
    assert!(!file.unchanged());
}

fn models() -> Option<Vec<PathBuf>> {
    let root = std::env::var_os("RECINTO_TEST_MODELS").filter(|v| !v.is_empty())?;
    let mut out = Vec::new();
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(files) = std::fs::read_dir(folder) else { continue };
        out.extend(files.map(|file| file.unwrap().path()));
    }
    out.retain(|path| path.extension().is_some_and(|e| e == "gguf"));
    out.sort();
    Some(out)
}

#[test]
fn real_files_open_fast() {
    let Some(models) = models() else {
        println!("skipped: real_files_open_fast: RECINTO_TEST_MODELS is not set");
        return;
    };
    assert!(!models.is_empty(), "no .gguf file in the folders of RECINTO_TEST_MODELS");
    for path in models {
        let mut best = f64::INFINITY;
        let mut file = File::open(&path).unwrap();
        for _ in 0..5 {
            let start = Instant::now();
            file = File::open(&path).unwrap();
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        let tokens = file.metadata().strings("tokenizer.ggml.tokens").unwrap();
        let tokens = tokens.map_or(0, |tokens| tokens.count());
        let arrays: usize = file
            .metadata()
            .iter()
            .filter_map(|(_, value)| if let Value::Array(a) = value { Some(a.len()) } else { None })
            .sum();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}: {best:.2} ms, {tokens} pieces, {arrays} elements");
        assert!(tokens > 0, "{name}");
        // A debug build of a checked machine takes longer; a copy of the file, much longer.
        assert!(best < 150.0, "{name}: {best} ms");
    }
}
