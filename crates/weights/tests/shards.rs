//! Models in several files: found, checked, opened as one; or refused by name.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use recinto_testkit::gguf::{Builder, Value};
use recinto_weights::{File, Kind, Rewrite, TensorInfo};

/// Shard `no` of `count`, from 0, of a model of `all` tensors, with those called `names`.
fn shard(no: u16, count: u16, all: i32, names: &[&str]) -> Builder {
    let mut builder = Builder::new()
        .key("split.no", no)
        .key("split.count", count)
        .key("split.tensors.count", all);
    if no == 0 {
        builder = builder.key("general.architecture", "tiny").key("general.name", "año");
    }
    for name in names {
        let value = name.bytes().map(f32::from).sum::<f32>();
        builder = builder.floats(name, &[2, 2], &[value, 1.0, f32::from(no), 3.0]);
    }
    builder
}

/// Three shards of a model with four tensors; the first one has the metadata and no tensor.
fn three() -> [Builder; 3] {
    [shard(0, 3, 4, &[]), shard(1, 3, 4, &["uno", "dos"]), shard(2, 3, 4, &["tres", "cuatro"])]
}

/// One of the three.
fn shard_of(no: usize) -> Builder {
    three().into_iter().nth(no).unwrap()
}

fn write(folder: &Path, name: &str, builder: &Builder) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, builder.build()).unwrap();
    path
}

/// Writes all of them under the names of the tools.
fn set(folder: &Path, stem: &str, builders: &[Builder]) -> Vec<PathBuf> {
    let count = builders.len();
    let named = |(at, builder): (usize, &Builder)| {
        write(folder, &format!("{stem}-{:05}-of-{count:05}.gguf", at + 1), builder)
    };
    builders.iter().enumerate().map(named).collect()
}

fn four_tensors(file: &File, name: &str) {
    assert_eq!(file.metadata().str("general.name").unwrap(), Some("año"), "{name}");
    assert_eq!(file.shards().len(), 3, "{name}");
    let names: Vec<&str> = file.tensors().iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["uno", "dos", "tres", "cuatro"], "{name}");
    for (index, info) in file.tensors().iter().enumerate() {
        assert_eq!(file.find(&info.name), Some(index), "{name}");
        let value = info.name.bytes().map(f32::from).sum::<f32>();
        let want: Vec<u8> = [value, 1.0, info.shard as f32, 3.0].map(f32::to_le_bytes).concat();
        assert!(file.tensor(index).bytes == want, "{name}: {}", info.name);
    }
    let size: usize = file.shards().iter().map(|shard| shard.bytes().len()).sum();
    assert_eq!(file.size(), size as u64);
}

#[test]
fn any_shard_leads_to_all_of_them() {
    // LOAD-01 of docs/cases.md.
    let folder = tempfile::tempdir().unwrap();
    let paths = set(folder.path(), "modelo de ñu-00007", &three());
    for path in &paths {
        let file = File::open(path).unwrap_or_else(|e| panic!("{e}"));
        four_tensors(&file, &path.display().to_string());
        let found: Vec<_> = file.shards().iter().filter_map(|shard| shard.path()).collect();
        assert_eq!(found, paths);
        assert!(file.unchanged());
    }
    four_tensors(&File::open_all(&paths).unwrap(), "all paths");
    let bytes = three().map(|builder| builder.build()).to_vec();
    four_tensors(&File::from_shards(bytes).unwrap(), "bytes");
    // Names that lead nowhere, as a store may have them, in their order.
    let blobs: Vec<PathBuf> = ["a", "c", "b"].map(|name| folder.path().join(name)).to_vec();
    for (from, to) in paths.iter().zip(&blobs) {
        std::fs::copy(from, to).unwrap();
    }
    four_tensors(&File::open_all(&blobs).unwrap(), "blobs");
    // One of them is written to.
    let file = File::open(&paths[1]).unwrap();
    std::fs::OpenOptions::new().append(true).open(&paths[2]).unwrap().set_len(1).unwrap();
    assert!(!file.unchanged());
}

#[test]
fn a_set_of_links_is_followed_where_the_links_are() {
    let folder = tempfile::tempdir().unwrap();
    let (blobs, names) = (folder.path().join("blobs"), folder.path().join("snapshot"));
    std::fs::create_dir(&blobs).unwrap();
    std::fs::create_dir(&names).unwrap();
    for (at, builder) in three().iter().enumerate() {
        let blob = write(&blobs, &format!("etag{at}"), builder);
        let name = format!("m-{:05}-of-00003.gguf", at + 1);
        std::os::unix::fs::symlink(blob, names.join(name)).unwrap();
    }
    four_tensors(&File::open(&names.join("m-00002-of-00003.gguf")).unwrap(), "links");
    // A link to nothing is a missing shard.
    std::fs::remove_file(blobs.join("etag2")).unwrap();
    let error = File::open(&names.join("m-00001-of-00003.gguf")).err().unwrap();
    assert!(error.to_string().contains("m-00003-of-00003.gguf is missing"), "{error}");
}

#[test]
fn a_whole_file_may_bear_the_name_of_a_shard() {
    // LOAD-03 of docs/cases.md; a merged file has a count of 0, an undivided one of 1.
    let whole = || Builder::new().key("general.name", "año").floats("uno", &[1], &[1.0]);
    let cases = [
        ("model-00001-of-00001.gguf", whole()),
        ("merged-00001-of-00003.gguf", whole().key("split.count", 0u16)),
        ("one-00001-of-00001.gguf", whole().key("split.count", 1u16).key("split.no", 0u16)),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, builder) in cases {
        let file = File::open(&write(folder.path(), name, &builder)).expect(name);
        assert_eq!((file.shards().len(), file.tensors().len()), (1, 1), "{name}");
    }
}

#[test]
fn siblings_follow_from_the_name() {
    let cases: [(&str, &[&str]); 9] = [
        ("/m/a-00002-of-00002.gguf", &["/m/a-00001-of-00002.gguf", "/m/a-00002-of-00002.gguf"]),
        ("año-1-00001-of-00001.gguf", &["año-1-00001-of-00001.gguf"]),
        ("/m/a.gguf", &[]),
        ("/m/a-1-of-2.gguf", &[]),
        ("/m/a-00001-of-00002.bin", &[]),
        ("/m/a-000x1-of-00002.gguf", &[]),
        ("/m/a-+0001-of-+0002.gguf", &[]),
        ("/m/a-00001-of-00000.gguf", &[]),
        ("/m/a-00001-of-99999.gguf", &[]),
    ];
    for (path, want) in cases {
        let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
        assert_eq!(recinto_weights::siblings(Path::new(path)), want, "{path}");
    }
}

#[test]
fn what_is_missing_or_renamed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let paths = set(at, "falta", &three());
    std::fs::remove_file(&paths[0]).unwrap();
    std::fs::remove_file(&paths[2]).unwrap();
    let renamed = write(at, "solo.gguf", &three()[1]);
    let swapped = write(at, "otro-00003-of-00003.gguf", &three()[1]);
    let miscounted = write(at, "otro-00002-of-00004.gguf", &three()[1]);
    let mut many = vec![shard(0, 500, 1, &["uno"])];
    many.extend((1..500).map(|no| shard(no, 500, 1, &[])));
    let first = write(at, "m-00001-of-00500.gguf", &many[0]);
    let cases = [
        (
            &paths[1],
            Kind::Missing,
            &["shard 2 of 3", "falta-00001-of-00003.gguf and", "falta-00003-of-00003.gguf are"][..],
        ),
        (&renamed, Kind::Unsupported, &["solo.gguf is shard 2 of 3", "its name does not lead"]),
        (&swapped, Kind::Invalid, &["shard 2 of 3 by what it holds", "by its name shard 3 of 3"]),
        (&miscounted, Kind::Invalid, &["by its name shard 2 of 4"]),
        (&first, Kind::Missing, &["m-00009-of-00500.gguf and 491 more are missing"]),
    ];
    for (path, kind, says) in cases {
        let error = File::open(path).err().unwrap_or_else(|| panic!("{}", path.display()));
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(says.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.lines().count() <= 2 && text.len() < 2000, "{text}");
    }
}

#[test]
fn what_is_no_set_is_refused() {
    let (a, b, c) = (|| shard_of(0), || shard_of(1), || shard_of(2));
    let cases: Vec<(&str, Vec<Builder>, Kind, &str)> = vec![
        ("wrong order", vec![a(), c(), b()], Kind::Invalid, "is given in place 2"),
        (
            "the first not first",
            vec![b(), a(), c()],
            Kind::Invalid,
            "2 of 3, and is given in place 1",
        ),
        ("one twice", vec![a(), b(), b()], Kind::Invalid, "are both shard 2 of 3"),
        ("one too few", vec![a(), c()], Kind::Missing, "shard 2 of 3 is missing"),
        ("one alone", vec![b()], Kind::Missing, "shard 1 of 3 and shard 3 of 3 are missing"),
        (
            "a whole model among them",
            vec![a(), Builder::new(), c()],
            Kind::Invalid,
            "a whole model, not a shard",
        ),
        ("two whole models", vec![Builder::new(), Builder::new()], Kind::Invalid, "whole model"),
        (
            "another count",
            vec![a(), shard(1, 4, 4, &["uno", "dos"]), c()],
            Kind::Invalid,
            "one is in 3 files, the other in 4",
        ),
        (
            "another number of tensors",
            vec![a(), shard(1, 3, 5, &["uno", "dos"]), c()],
            Kind::Invalid,
            "different numbers of tensors",
        ),
        (
            "another model's key",
            vec![a(), b().key("general.name", "ano"), c()],
            Kind::Invalid,
            "they differ in key `general.name`",
        ),
        (
            "a key of its own",
            vec![a(), b().key("tiny.block_count", 1u32), c()],
            Kind::Invalid,
            "they differ in key `tiny.block_count`",
        ),
        (
            "a tensor too few",
            vec![a(), b(), shard(2, 3, 4, &["tres"])],
            Kind::Invalid,
            "`split.tensors.count` is 4, and the shards have 3",
        ),
        (
            "a tensor twice",
            vec![a(), b(), shard(2, 3, 4, &["tres", "uno"])],
            Kind::Invalid,
            "tensor `uno` is in shard 2 of 3 and in shard 3 of 3",
        ),
        (
            "no number of tensors",
            vec![
                a().without("split.tensors.count"),
                b().without("split.tensors.count"),
                c().without("split.tensors.count"),
            ],
            Kind::Missing,
            "`split.tensors.count` is missing",
        ),
        ("nothing", vec![], Kind::Invalid, "0 files given"),
        ("far too many", (0..513).map(|_| a()).collect(), Kind::Invalid, "513 files given"),
    ];
    for (name, builders, kind, says) in cases {
        let bytes: Vec<Vec<u8>> = builders.iter().map(Builder::build).collect();
        let error = File::from_shards(bytes).err().unwrap_or_else(|| panic!("{name} was opened"));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    // The same key with the same value is no difference; alignment is each shard's own.
    let same = b().key("general.name", "año").alignment(64);
    File::from_shards([a(), same, c()].map(|builder| builder.build()).to_vec()).unwrap();
    // Of two sets with equal headers only the names tell.
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (set(folder.path(), "uno", &three()), set(folder.path(), "dos", &three()));
    let mixed = [one[0].clone(), two[1].clone(), one[2].clone()];
    let error = File::open_all(&mixed).err().unwrap().to_string();
    assert!(error.contains("their names differ") && error.contains("dos-00002"), "{error}");
}

#[test]
fn a_shard_that_is_cut_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = set(folder.path(), "corto", &three());
    let bytes = std::fs::read(&paths[2]).unwrap();
    std::fs::write(&paths[2], &bytes[..bytes.len() - 40]).unwrap();
    let error = File::open(&paths[0]).err().unwrap();
    assert_eq!(error.kind(), Kind::Truncated);
    assert!(error.to_string().contains("corto-00003-of-00003.gguf"), "{error}");
}

struct AsStored;

impl Rewrite for AsStored {
    fn piece(&self, _: &TensorInfo) -> Option<std::num::NonZeroUsize> {
        None
    }

    fn rewrite(&self, _: &TensorInfo, _: usize, _: &[u8], _: &mut [u8]) {}
}

#[test]
fn a_pinned_set_is_seen_shard_by_shard() {
    let folder = tempfile::tempdir().unwrap();
    let paths = set(folder.path(), "copia", &three());
    let mut seen = vec![Vec::new(); 3];
    let mut see = |index: usize, bytes: &[u8]| {
        seen[index].extend_from_slice(bytes);
        ControlFlow::Continue(())
    };
    let file = File::open(&paths[1]).unwrap().pin(2, &AsStored, &mut see).unwrap();
    four_tensors(&file, "pinned");
    assert!(file.is_pinned());
    for (path, seen) in paths.iter().zip(&seen) {
        assert!(std::fs::read(path).unwrap() == *seen, "{}", path.display());
        std::fs::write(path, "x").unwrap();
    }
    four_tensors(&file, "pinned, files gone");
    assert!(file.unchanged());
    assert!(file.shards().iter().all(|shard| shard.identity().is_some()));
}

#[test]
fn entries_are_given_as_they_are_stored() {
    let file = Builder::new()
        .key("general.name", "año")
        .key("tokenizer.a", 7u32)
        .key("b", true)
        .key("tokenizer.ñ", Value::from(["x", "yz"]));
    let file = File::from_bytes(file.build()).unwrap();
    let stored: Vec<&[u8]> = file.metadata().stored(|key| key.starts_with("tokenizer.")).collect();
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let first = [text("tokenizer.a"), vec![4, 0, 0, 0], vec![7, 0, 0, 0]].concat();
    let mut second = [text("tokenizer.ñ"), vec![9, 0, 0, 0], vec![8, 0, 0, 0]].concat();
    second.extend([&2u64.to_le_bytes()[..], &text("x"), &text("yz")].concat());
    assert_eq!(stored, [&first[..], &second[..]]);
}
