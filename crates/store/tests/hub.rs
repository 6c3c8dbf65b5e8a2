//! Names of the Hugging Face cache, on trees made here.

use crate::common;

use std::{fs, os::unix::fs::symlink, path::Path};

use common::fails;
use recinto_store::{Files, Form, Kind, Note, Odd, Roots, Store, licence, list, meanings, resolve};
use recinto_testkit::stores::{Ollama, Repository, trace};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

fn roots(dir: &Path) -> Roots {
    let (ollama, hub) = (vec![dir.join("ollama")], Some(dir.join("hub")));
    Roots { here: dir.into(), home: Some(dir.into()), ollama, hub }
}

fn repo(dir: &Path, name: &str) -> Repository {
    Repository::new(&dir.join("hub"), name)
}

fn names(files: &Files) -> Vec<String> {
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.weights.iter().map(name).collect()
}

/// LOAD-05, and the other ways to say a revision.
#[test]
fn revisions() {
    let dir = tempfile::tempdir().unwrap();
    let main = format!("{ONE}\n");
    repo(dir.path(), "o/n")
        .reference("main", &main)
        .reference("v1", TWO)
        .reference("refs/pr/1", TWO)
        .file(ONE, "m.gguf", b"GGUF one")
        .file(TWO, "m.gguf", b"GGUF two");
    repo(dir.path(), "gpt2").file(ONE, "g.gguf", b"GGUF");
    repo(dir.path(), "o/many").file(ONE, "m.gguf", b"GGUF").file(TWO, "m.gguf", b"GGUF");
    repo(dir.path(), "o/lost").reference("main", TWO).file(ONE, "m.gguf", b"GGUF");
    repo(dir.path(), "o/none").reference("main", ONE);
    repo(dir.path(), "o/evil").reference("main", "../../x").file(ONE, "m.gguf", b"GGUF");
    let cases = [
        ("o/n", "GGUF one"),
        ("hf:o/n", "GGUF one"),
        ("o/n@main", "GGUF one"),
        ("o/n@v1", "GGUF two"),
        ("o/n@refs/pr/1", "GGUF two"),
        (&format!("o/n@{TWO}"), "GGUF two"),
        ("gpt2", "GGUF"),
        (&format!("o/many@{ONE}"), "GGUF"),
    ];
    for (name, bytes) in cases {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(fs::read_to_string(&files.weights[0]).unwrap(), bytes, "{name}");
        assert_eq!(files.claimed, [Some(recinto_receipt::sha256(bytes.as_bytes()))], "{name}");
        let again = resolve(&files.name, &roots(dir.path())).unwrap();
        assert_eq!((again.weights, files.store), (files.weights, Store::Hub), "{name}");
    }
    let only = resolve("gpt2", &roots(dir.path())).unwrap();
    assert_eq!(only.notes, [Note::OnlySnapshot { commit: ONE.into() }]);
    let cases: &[(&str, Kind, &[&str])] = &[
        ("o/many", Kind::Ambiguous, &["2 snapshots and no main branch", ONE, TWO]),
        ("o/n@v2", Kind::Missing, &["no revision `v2`", "main, v1", ONE]),
        ("o/lost", Kind::Missing, &["whose snapshot is not there", ONE]),
        ("o/none", Kind::Missing, &["has no snapshot"]),
        ("o/evil", Kind::Missing, &["whose snapshot is not there"]),
        ("o/m", Kind::Missing, &["called `o/m`", "6 models, nearest: o/n,", "/ollama: not there"]),
        ("hf:o/n@../x", Kind::Invalid, &["a branch, a tag or a commit"]),
    ];
    for (name, kind, parts) in cases {
        fails(resolve(name, &roots(dir.path())), *kind, parts);
    }
}

/// LOAD-09, and the other ways to choose a file.
#[test]
fn quantizations_and_files() {
    let dir = tempfile::tempdir().unwrap();
    repo(dir.path(), "o/n")
        .reference("main", ONE)
        .file(ONE, "BF16/m-00001-of-00002.gguf", b"GGUF 1")
        .file(ONE, "BF16/m-00002-of-00002.gguf", b"GGUF 2")
        .file(ONE, "m-Q4_K_M.gguf", b"GGUF 3")
        .file(ONE, "m-IQ4_K.gguf", b"GGUF 4")
        .file(ONE, "mmproj-BF16.gguf", b"GGUF eyes")
        .file(ONE, "README.md", b"---\nlicense: apache-2.0\n---\n");
    repo(dir.path(), "o/one").reference("main", ONE).plain(ONE, "only.gguf", b"GGUF").file(
        ONE,
        "mmproj-F16.gguf",
        b"GGUF eyes",
    );
    repo(dir.path(), "o/half").reference("main", ONE).file(ONE, "m-00002-of-00003.gguf", b"GGUF");
    let pair = &["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"][..];
    let cases: &[(&str, &[&str])] = &[
        ("o/n:BF16", pair),
        ("o/n:bf16", pair),
        ("o/n:m-00002-of-00002.gguf", pair),
        ("o/n:BF16/m", pair),
        ("o/n:BF16/m-00001-of-00002.gguf", pair),
        ("o/n:Q4_K_M", &["m-Q4_K_M.gguf"]),
        ("o/n@main:m-Q4_K_M.gguf", &["m-Q4_K_M.gguf"]),
        ("o/n:m-Q4_K_M", &["m-Q4_K_M.gguf"]),
        ("o/n:IQ4_K", &["m-IQ4_K.gguf"]),
        ("o/one", &["only.gguf"]),
        ("hf:o/one:only.gguf", &["only.gguf"]),
    ];
    for (name, want) in cases {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(names(&files), *want, "{name}");
        assert_eq!(files.claimed.len(), want.len(), "{name}");
    }
    assert_eq!(resolve("o/one", &roots(dir.path())).unwrap().claimed, [None], "a real file");
    let choices = "choose one: o/n:BF16, o/n:IQ4_K, o/n:Q4_K_M";
    let parts = "m-00001-of-00003.gguf is missing, m-00003-of-00003.gguf is missing";
    let cases: &[(&str, Kind, &[&str])] = &[
        ("o/n", Kind::Ambiguous, &["3 models could be meant", choices]),
        ("o/n:Q4_K", Kind::Missing, &["it has no `Q4_K`", "it has BF16, IQ4_K, Q4_K_M"]),
        ("o/n:mmproj-BF16.gguf", Kind::Missing, &["it has no `mmproj-BF16.gguf`"]),
        ("o/n:../../x.gguf", Kind::Invalid, &["`o/n:../../x.gguf`"]),
        ("o/half", Kind::Missing, &[parts]),
    ];
    for (name, kind, parts) in cases {
        match *kind {
            Kind::Invalid => {
                fails(resolve(&format!("hf:{name}"), &roots(dir.path())), *kind, parts)
            }
            _ => fails(resolve(name, &roots(dir.path())), *kind, parts),
        }
    }
    let files = resolve("o/n:BF16", &roots(dir.path())).unwrap();
    let stated = licence::stated(&files, None);
    assert_eq!((stated[0].id.as_deref(), stated[0].source), (Some("apache-2.0"), "model card"));
}

/// LOAD-07: one good link and one broken.
#[test]
fn broken_links_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    repo(dir.path(), "o/n").reference("main", ONE).file(ONE, "good-Q8_0.gguf", b"GGUF").link(
        ONE,
        "bad-Q4_0.gguf",
        &"0".repeat(64),
    );
    let secret = dir.path().join("secreto.gguf");
    fs::write(&secret, b"GGUF").unwrap();
    let out = repo(dir.path(), "o/out").reference("main", ONE).file(ONE, "ok-Q8_0.gguf", b"GGUF");
    symlink(&secret, out.0.join("snapshots").join(ONE).join("out-Q4_0.gguf")).unwrap();
    symlink(dir.path(), out.0.join("snapshots").join(ONE).join("folder")).unwrap();
    // Blobs of another repository are out too.
    out.link(ONE, "other-Q5_0.gguf", "../../models--o--n/blobs/../../../secreto.gguf");
    // A snapshot that is a link could lead anywhere.
    let linked = repo(dir.path(), "o/linked").reference("main", ONE);
    fs::create_dir_all(dir.path().join("fuera")).unwrap();
    fs::write(dir.path().join("fuera/m.gguf"), b"GGUF").unwrap();
    fs::create_dir_all(linked.0.join("snapshots")).unwrap();
    symlink(dir.path().join("fuera"), linked.0.join("snapshots").join(ONE)).unwrap();
    fails(resolve("o/linked", &roots(dir.path())), Kind::Missing, &["has no snapshot"]);
    fs::remove_dir_all(&linked.0).unwrap();
    let good = resolve("o/n", &roots(dir.path())).unwrap();
    assert_eq!(names(&good), ["good-Q8_0.gguf"]);
    let [Note::BrokenFile { file, why }] = &good.notes[..] else { panic!("{:?}", good.notes) };
    assert!(file == "bad-Q4_0.gguf" && why.contains("which is not there"), "{why}");
    fails(
        resolve("o/n:Q4_0", &roots(dir.path())),
        Kind::Missing,
        &["o/n: bad-Q4_0.gguf is a link to ../../blobs/000", "`hf download o/n`"],
    );
    for pick in ["Q4_0", "Q5_0"] {
        let found = resolve(&format!("o/out:{pick}"), &roots(dir.path()));
        fails(found, Kind::Missing, &["is a link out of its repository"]);
    }
    let listing = list(&roots(dir.path()), Some(Store::Hub));
    let rows: Vec<(&str, bool)> =
        listing.entries.iter().map(|entry| (entry.name.as_str(), entry.files.is_ok())).collect();
    let want = [
        ("o/n:Q4_0", false),
        ("o/n:Q8_0", true),
        ("o/out:Q8_0", true),
        ("o/out:Q5_0", false),
        ("o/out:Q4_0", false),
    ];
    assert_eq!(rows, want);
}

#[test]
fn checkpoints_and_other_repositories() {
    let dir = tempfile::tempdir().unwrap();
    repo(dir.path(), "o/check").reference("main", ONE).file(ONE, "config.json", b"{}").file(
        ONE,
        "model.safetensors",
        b"tensors",
    );
    repo(dir.path(), "o/words").reference("main", ONE).file(ONE, "tokenizer.json", b"{}");
    let before = trace(dir.path());
    let found = resolve("o/check", &roots(dir.path())).unwrap();
    assert_eq!((found.form, names(&found)), (Form::Checkpoint, vec!["model.safetensors".into()]));
    let found = resolve("o/words", &roots(dir.path()));
    fails(found, Kind::Unsupported, &["has no .gguf file that is a model"]);
    let listing = list(&roots(dir.path()), None);
    assert_eq!(listing.entries.len(), 1, "repositories without a model are not listed");
    assert!(listing.closed[0].absent, "there is no Ollama store");
    assert_eq!(trace(dir.path()), before, "nothing was written");
}

/// A name that two stores have is nobody's until a prefix says whose; files here plant nothing.
#[test]
fn doubt_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    repo(dir.path(), "org/repo").reference("main", ONE).file(ONE, "m.gguf", b"GGUF hub");
    let store = Ollama(dir.path().join("ollama"));
    store.model("registry.ollama.ai/org/repo/latest", &[("model", b"GGUF ollama")]);
    store.model("registry.ollama.ai/library/qwen3/0.6b", &[("model", b"GGUF cached")]);
    fs::create_dir(dir.path().join("org")).unwrap();
    for planted in ["org/repo", "qwen3:0.6b"] {
        fs::write(dir.path().join(planted), b"GGUF planted").unwrap();
    }
    let lines = ["`org/repo` is in two stores", "  ollama:org/repo  ", "  hf:org/repo  "];
    fails(resolve("org/repo", &roots(dir.path())), Kind::Ambiguous, &lines);
    let cases = [
        ("ollama:org/repo", "GGUF ollama"),
        ("hf:org/repo", "GGUF hub"),
        ("path:org/repo", "GGUF planted"),
        ("./org/repo", "GGUF planted"),
        ("org/repo@main", "GGUF hub"),
        // The repository has no such file.
        ("org/repo:latest", "GGUF ollama"),
        ("qwen3:0.6b", "GGUF cached"),
    ];
    for (name, want) in cases {
        let found = resolve(name, &roots(dir.path()));
        let files = found.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(fs::read_to_string(&files.weights[0]).unwrap(), want, "{name}");
    }
}

/// What cannot be listed is counted; folders of a snapshot that may not be read are said.
#[test]
fn what_is_left_out_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    repo(dir.path(), "o/n").reference("main", ONE).file(ONE, "m-Q8_0.gguf", b"GGUF");
    repo(dir.path(), "o/año").reference("main", ONE).file(ONE, "m.gguf", b"GGUF");
    repo(dir.path(), "a/b/c").reference("main", ONE);
    repo(dir.path(), "o/words").reference("main", ONE).file(ONE, "tokenizer.json", b"{}");
    fs::write(dir.path().join("hub/models--o--suelto"), "").unwrap();
    fs::write(dir.path().join("hub/version.txt"), "1").unwrap();
    fs::create_dir(dir.path().join("hub/datasets--o--d")).unwrap();
    symlink(dir.path().join("nada"), dir.path().join("hub/models--o--roto")).unwrap();
    let listing = list(&roots(dir.path()), Some(Store::Hub));
    let found: Vec<(Odd, usize)> = listing.omitted.iter().map(|o| (o.why, o.count)).collect();
    let want = [(Odd::Name, 2), (Odd::Shape, 1), (Odd::Link, 1), (Odd::Empty, 1)];
    assert_eq!((listing.entries.len(), found.as_slice()), (1, &want[..]));

    let deep = repo(dir.path(), "o/n").file(ONE, "BF16/m-BF16.gguf", b"GGUF");
    let folder = deep.0.join("snapshots").join(ONE).join("BF16");
    let chmod = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o000);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    recinto_testkit::as_ordinary_user(|| {
        let files = resolve("o/n", &roots(dir.path())).unwrap();
        let closed = Note::ClosedFolder { folder: "BF16/".into(), why: "permission denied".into() };
        assert_eq!((names(&files), files.notes), (vec!["m-Q8_0.gguf".to_owned()], vec![closed]));
    });
    chmod(0o755);
}

/// A part of more parts than there are is refused, in a cache as by its path.
#[test]
fn a_lone_part_of_very_many() {
    let dir = tempfile::tempdir().unwrap();
    let part = "m-00001-of-99999.gguf";
    repo(dir.path(), "o/n").reference("main", ONE).file(ONE, part, b"GGUF");
    let found = resolve("o/n", &roots(dir.path()));
    fails(found, Kind::Missing, &["is one of 99999 parts"]);
    fs::write(dir.path().join(part), b"GGUF").unwrap();
    let parts = ["99998 of the 99999 parts of this model are missing: m-00002-of-99999.gguf, "];
    fails(resolve(part, &roots(dir.path())), Kind::Missing, &parts);
}

/// A repository that has nothing which could be meant leaves its name to the other store.
#[test]
fn a_repository_without_what_is_asked_for_is_in_no_way() {
    let dir = tempfile::tempdir().unwrap();
    let store = Ollama(dir.path().join("ollama"));
    for name in ["me/orca/latest", "library/orca/7b", "library/orca/latest", "o/words/latest"] {
        store.model(&format!("registry.ollama.ai/{name}"), &[("model", b"GGUF ollama")]);
    }
    fs::create_dir_all(dir.path().join("hub/models--me--orca/.no_exist")).unwrap();
    repo(dir.path(), "orca").reference("main", ONE).file(ONE, "m-Q8_0.gguf", b"GGUF hub");
    repo(dir.path(), "o/words").reference("main", ONE).file(ONE, "tokenizer.json", b"{}");
    for name in ["me/orca", "orca:7b", "o/words"] {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(files.store, Store::Ollama, "{name}");
    }
    assert_eq!(resolve("orca:Q8_0", &roots(dir.path())).unwrap().store, Store::Hub);
    fails(resolve("orca", &roots(dir.path())), Kind::Ambiguous, &["in two stores"]);
    let both: Vec<Store> = meanings("orca", &roots(dir.path())).iter().map(|f| f.store).collect();
    assert_eq!(both, [Store::Ollama, Store::Hub]);
    fails(resolve("hf:me/orca", &roots(dir.path())), Kind::Missing, &["has no snapshot"]);
}

/// Of several files the one that is named in full goes first: path, name, quantization.
#[test]
fn what_is_named_in_full_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, files: &[&str]| {
        let repo = repo(dir.path(), name).reference("main", ONE);
        files.iter().fold(repo, |repo, file| repo.file(ONE, file, file.as_bytes()));
    };
    put("o/r", &["m.gguf", "sub/m.gguf", "n.gguf", "sub/n.gguf", "sub/k.gguf"]);
    put("o/u", &["m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf", "m-UD-Q5_K_M.gguf"]);
    put("o/i", &["Model-imatrix-Q4_K_M.gguf", "imatrix.gguf", "Model.imatrix.gguf"]);
    put("o/s", &["m.gguf", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
    let cases = [
        ("o/r:m.gguf", "m.gguf"),
        ("o/r:m", "m.gguf"),
        ("o/r:sub/m.gguf", "sub/m.gguf"),
        ("o/r:sub/m", "sub/m.gguf"),
        ("o/r:k", "sub/k.gguf"),
        ("o/u:Q4_K_M", "m-Q4_K_M.gguf"),
        ("o/u:q4_k_m", "m-Q4_K_M.gguf"),
        ("o/u:UD-Q4_K_M", "m-UD-Q4_K_M.gguf"),
        ("o/u:Q5_K_M", "m-UD-Q5_K_M.gguf"),
        ("o/i", "Model-imatrix-Q4_K_M.gguf"),
        ("o/i:Q4_K_M", "Model-imatrix-Q4_K_M.gguf"),
        ("o/i:imatrix.gguf", "imatrix.gguf"),
        ("o/s:m.gguf", "m.gguf"),
        ("o/s:m-00002-of-00002.gguf", "m-00001-of-00002.gguf"),
    ];
    let read = |files: &Files| fs::read_to_string(&files.weights[0]).unwrap();
    for (name, want) in cases {
        let files = resolve(name, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(read(&files), want, "{name}");
        let again = resolve(&files.name, &roots(dir.path())).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.weights, files.weights, "{name}: {}", files.name);
    }
    let found = resolve("o/i:imatrix", &roots(dir.path()));
    fails(found, Kind::Missing, &["it has no `imatrix`"]);
    // Every name of the list leads to its own files.
    for entry in list(&roots(dir.path()), Some(Store::Hub)).entries {
        let files = resolve(&entry.name, &roots(dir.path()));
        let files = files.unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        assert_eq!(files.weights, entry.files.unwrap().weights, "{}", entry.name);
    }
}

/// What is given by its path has the card beside it, as by its name.
#[test]
fn cards_beside_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let card = b"---\nlicense: cc-by-nc-4.0\n---\n";
    let held = repo(dir.path(), "o/n")
        .reference("main", ONE)
        .file(ONE, "m.gguf", b"GGUF")
        .file(ONE, "BF16/m-BF16.gguf", b"GGUF deep")
        .file(ONE, "README.md", card);
    let at = |path: &str| dir.path().join(path);
    for folder in ["check", "solo", "otro"] {
        fs::create_dir(at(folder)).unwrap();
    }
    for file in ["check/config.json", "check/model.safetensors", "check/tokenizer.json"] {
        fs::write(at(file), "{}").unwrap();
    }
    fs::write(at("check/README.md"), card).unwrap();
    fs::write(at("solo/m.gguf"), "GGUF").unwrap();
    fs::create_dir(at("solo/README.md")).unwrap();
    let snapshot = held.0.join("snapshots").join(ONE);
    symlink(snapshot.join("m.gguf"), at("otro/enlace.gguf")).unwrap();
    let in_snapshot = |file: &str| snapshot.join(file).display().to_string();
    let cases: &[(&str, &str, &[&str])] = &[
        ("a file of a snapshot", &in_snapshot("m.gguf"), &["cc-by-nc-4.0"]),
        ("deep in it", &in_snapshot("BF16/m-BF16.gguf"), &["cc-by-nc-4.0"]),
        ("a link to it", "./otro/enlace.gguf", &["cc-by-nc-4.0"]),
        ("a checkpoint", "./check", &["cc-by-nc-4.0"]),
        ("a folder for a card", "./solo/m.gguf", &[]),
    ];
    for (name, path, want) in cases {
        let files = resolve(path, &roots(dir.path())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(files.card.licences, *want, "{name}");
    }
    let files = resolve("./check", &roots(dir.path())).unwrap();
    assert_eq!(files.beside, ["config.json", "tokenizer.json"].map(|f| at("check").join(f)));
    let files = resolve("o/n:m.gguf", &roots(dir.path())).unwrap();
    assert_eq!(files.beside, [held.0.join("refs/main")]);
}
