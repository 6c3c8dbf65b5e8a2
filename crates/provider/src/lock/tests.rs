//! The lock's text, whose files are believed, and which entry a name means.

use std::{fs, os::unix::fs::PermissionsExt};

use recinto_store::Roots;

use super::*;

fn digest(byte: u8) -> Digest {
    Digest::from_bytes([byte; 32])
}

fn entry(file: &str, weights: u8) -> Entry {
    Entry {
        store: "path".into(),
        weights: vec![Weights { file: file.into(), digest: digest(weights) }],
        tokenizer: digest(2),
        template: Some(digest(3)),
        system: None,
        parameters: None,
        messages: None,
        architecture: digest(4),
    }
}

fn lock() -> Lock {
    let mut lock = Lock { strict: true, ..Lock::default() };
    lock.models.insert("./ñandú.gguf".into(), entry("ñandú.gguf", 1));
    let bare = Entry {
        template: None,
        store: "ollama".into(),
        system: Some(digest(5)),
        parameters: Some(digest(6)),
        messages: Some(digest(7)),
        ..entry("sha256-0", 9)
    };
    lock.models.insert("qwen3:0.6b".into(), bare);
    lock
}

#[test]
fn the_text_is_written_down() {
    let d = |byte: u8| format!("\"sha256:{}\"", format!("{byte:02x}").repeat(32));
    let want = [
        "{\n  \"recinto_lock\": 1,\n  \"strict\": true,\n  \"models\": {\n",
        "    \"./ñandú.gguf\": {\n      \"store\": \"path\",\n      \"weights\": [\n        {\n",
        &format!("          \"file\": \"ñandú.gguf\",\n          \"digest\": {}\n", d(1)),
        &format!("        }}\n      ],\n      \"tokenizer\": {},\n", d(2)),
        &format!("      \"template\": {},\n      \"architecture\": {}\n    }},\n", d(3), d(4)),
        "    \"qwen3:0.6b\": {\n      \"store\": \"ollama\",\n      \"weights\": [\n        {\n",
        &format!("          \"file\": \"sha256-0\",\n          \"digest\": {}\n", d(9)),
        &format!("        }}\n      ],\n      \"tokenizer\": {},\n", d(2)),
        &format!("      \"system\": {},\n      \"parameters\": {},\n", d(5), d(6)),
        &format!("      \"messages\": {},\n", d(7)),
        &format!("      \"architecture\": {}\n    }}\n  }}\n}}\n", d(4)),
    ];
    assert_eq!(lock().to_text(), want.concat());
    assert_eq!(Lock::from_text(&lock().to_text()), Ok(lock()));
    assert_eq!(Lock::from_text(&Lock::default().to_text()), Ok(Lock::default()));
}

#[test]
fn other_text_is_refused() {
    let text = lock().to_text();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let one = "\"recinto_lock\": 1";
    let again = "\"qwen3:0.6b\": {";
    let twice = {
        let from = text.find(again).unwrap();
        let block = &text[from..text.rfind("\n  }\n}").unwrap()];
        text.replacen(block, &format!("{block},\n    {block}"), 1)
    };
    let files: Vec<&str> = text.split("      \"weights\": [\n").collect();
    let none = files[1].split_once("      ],\n").unwrap().1;
    let none = format!("{}      \"weights\": [],\n{none}", files[0]);
    let cases = [
        ("empty", String::new(), "not a lock file"),
        ("another file", "secreto".into(), "not a lock file (line 1, column 1)"),
        ("cut", text[..text.len() - 3].into(), "not a lock file"),
        ("no version", with(one, "\"version\": 1"), "not a lock file"),
        ("newer", with(one, "\"recinto_lock\": 2"), "of version 2; this program reads 1"),
        ("newer, with more in it", with(one, "\"recinto_lock\": 7, \"x\": []"), "of version 7"),
        ("older", with(one, "\"recinto_lock\": 0"), "of version 0"),
        ("unknown word", with("\"strict\"", "\"stric\""), "not a lock file"),
        ("a half digest", with(&"01".repeat(32), &"01".repeat(31)), "not a lock file"),
        ("capitals", with("sha256:", "SHA256:"), "not a lock file"),
        ("a blank more", with(": true", ":  true"), "not as `recinto lock` writes it"),
        ("another order", with("./ñ", "z/ñ"), "not as `recinto lock` writes it"),
        ("a name twice", twice, "not as `recinto lock` writes it"),
        ("nothing after it", text.trim_end().into(), "not as `recinto lock` writes it"),
        ("a null", with("\"architecture\"", "\"template\": null,\n      \"architecture\""), "lock"),
        ("no such store", with("\"ollama\"", "\"olama\""), "none of path, ollama, hf"),
        ("no weights", none + "", "not a lock file"),
        ("deep", "[".repeat(100_000), "not a lock file"),
    ];
    for (name, text, part) in cases {
        let error = Lock::from_text(&text).expect_err(name);
        assert_eq!(*error.kind(), Kind::LockFile, "{name}");
        let shown = error.to_string();
        assert!(shown.contains(part) && shown.contains("hint: "), "{name}: {shown}");
        assert!(!shown.contains("secreto"), "{name}: {shown}");
    }
    let mut bare = lock();
    bare.models.get_mut("qwen3:0.6b").unwrap().weights.clear();
    let error = Lock::from_text(&bare.to_text()).unwrap_err().to_string();
    assert!(error.contains("`qwen3:0.6b` has no weights"), "{error}");
}

#[test]
fn whose_files_are_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("año.lock");
    assert_eq!(InForce::read(path.clone(), false), Ok(None), "none is there");
    assert!(InForce::read(path.clone(), true).is_err(), "one that was named");
    fs::write(&path, lock().to_text()).unwrap();
    for (name, mode, refused) in [
        ("mine", 0o600, None),
        ("readable", 0o644, None),
        ("for everybody", 0o666, Some("others may write to it (mode 0666)")),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        match (InForce::read(path.clone(), false), refused) {
            (Ok(Some(found)), None) => assert_eq!(found.lock, lock(), "{name}"),
            (Err(error), Some(part)) => {
                assert_eq!(*error.kind(), Kind::LockFile, "{name}");
                assert!(error.to_string().contains(part), "{name}: {error}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "{}").unwrap();
    let error = InForce::read(path.clone(), false).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: not a lock file", path.display())), "{error}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(InForce::read(path.clone(), false).is_err(), "a folder");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, lock().to_text()).unwrap();
    // Who is not root cannot give files away.
    if std::os::unix::fs::chown(&path, Some(64_242), None).is_ok() {
        let error = InForce::read(path, false).unwrap_err().to_string();
        assert!(error.contains("owned by another user"), "{error}");
    }
}

#[test]
fn a_file_has_more_than_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("below")).unwrap();
    for name in ["ñandú.gguf", "otro.gguf", "qwen3:0.6b"] {
        fs::write(at(name), "").unwrap();
    }
    std::os::unix::fs::symlink(at("ñandú.gguf"), at("below/link.gguf")).unwrap();
    let found = InForce { path: at("recinto.lock"), lock: lock() };
    let whole = at("ñandú.gguf").display().to_string();
    let roots = Roots { here: folder.path().into(), ..Roots::default() };
    let cases = [
        ("its own", "./ñandú.gguf", "ñandú.gguf", Some(1)),
        ("without the dot", "ñandú.gguf", "ñandú.gguf", Some(1)),
        ("whole", &whole, "ñandú.gguf", Some(1)),
        ("a link to it", "below/link.gguf", "below/link.gguf", Some(1)),
        ("the same name, elsewhere", "./ñandú.gguf", "otro.gguf", Some(1)),
        ("another file", "./otro.gguf", "otro.gguf", None),
        ("of a store", "qwen3:0.6b", "otro.gguf", Some(9)),
        ("a file with a name of a store", "path:qwen3:0.6b", "qwen3:0.6b", None),
        ("gone", "./nada.gguf", "nada.gguf", None),
    ];
    for (name, asked, file, want) in cases {
        let Ok(files) = recinto_store::resolve(&format!("path:{file}"), &roots) else {
            assert_eq!(want, None, "{name}");
            continue;
        };
        let entry = found.entry(asked, &files, &roots);
        assert_eq!(entry.map(|row| row.1.weights[0].digest), want.map(digest), "{name}");
    }
}

#[test]
fn parts_are_compared() {
    let locked = entry("a.gguf", 1);
    assert!(locked.compare(&locked).iter().all(|row| row.matches));
    let kept = Beside { part: Part::System, digest: digest(5) };
    let claimed = |entry: &Entry, beside: &[Beside]| -> Vec<(Part, bool)> {
        entry.claims(beside).iter().map(|claim| (claim.part, claim.digest.is_some())).collect()
    };
    let file = [Part::Weights, Part::Tokenizer, Part::Template].map(|part| (part, true));
    let (system, arch) = ((Part::System, false), (Part::Architecture, true));
    assert_eq!(claimed(&locked, &[]), [&file[..], &[arch]].concat());
    assert_eq!(claimed(&locked, &[kept]), [&file[..], &[system, arch]].concat());
    let told = Entry { system: Some(digest(5)), ..locked.clone() };
    assert_eq!(claimed(&told, &[])[3], (Part::System, true));
    let second = Weights { file: "b.gguf".into(), digest: digest(8) };
    let two = Entry { weights: vec![locked.weights[0].clone(), second], ..locked.clone() };
    let cases = [
        ("weights", entry("b.gguf", 7), vec![(Part::Weights, 0)]),
        ("template gone", Entry { template: None, ..locked.clone() }, vec![(Part::Template, 0)]),
        ("a file more", two, vec![(Part::Weights, 1)]),
        ("instructions", told, vec![(Part::System, 0)]),
        (
            "two parts",
            Entry { tokenizer: digest(7), architecture: digest(7), ..locked.clone() },
            vec![(Part::Tokenizer, 0), (Part::Architecture, 0)],
        ),
        ("another name only", entry("z.gguf", 1), vec![]),
    ];
    for (name, found, want) in cases {
        for rows in [locked.compare(&found), found.compare(&locked)] {
            let changed = rows.iter().filter(|row| !row.matches);
            assert_eq!(changed.map(|r| (r.part, r.file)).collect::<Vec<_>>(), want, "{name}");
        }
    }
}
