//! Models in several files: the same bits, and a digest for each file.

use crate::common;

use std::{fs, io::Write, path::PathBuf, time::Duration};

use common::{ARCHITECTURES, bits, ids, remake::shards, sink, tiny};
use recinto_engine::{
    Held, Kind, Model, OpenOptions, Origin, Pin, Receipt, Request, SessionOptions, Stop, Verify,
    Want,
};
use recinto_receipt::{Digest, of_files, sha256};
use recinto_testkit::gguf::Builder;

fn logits(model: &Model) -> Vec<u32> {
    let mut session = model.session(&SessionOptions::default()).unwrap();
    bits(session.feed(&ids(60, 0), Want::All, &Stop::never()).unwrap())
}

fn digests(paths: &[PathBuf]) -> Vec<Digest> {
    paths.iter().map(|path| sha256(&fs::read(path).unwrap())).collect()
}

fn pinned() -> OpenOptions {
    OpenOptions { pin: Pin::Memory, ..OpenOptions::default() }
}

#[test]
fn a_model_in_several_files_has_the_same_bits() {
    // LOAD-01 of docs/cases.md.
    let folder = tempfile::tempdir().unwrap();
    for name in ARCHITECTURES {
        let want = logits(&Model::open(&tiny(name), &OpenOptions::default()).unwrap());
        let paths = shards(&tiny(name), folder.path(), name, 3);
        for path in &paths {
            let model = Model::open(path, &OpenOptions::default()).unwrap();
            assert!(logits(&model) == want, "{name}: {}", path.display());
            assert_eq!(model.path(), paths[0], "{name}");
        }
        let model = Model::open(&paths[1], &pinned()).unwrap();
        assert!(logits(&model) == want, "{name}, pinned");
        // As a store may have them: names that tell nothing.
        let blobs: Vec<PathBuf> =
            (0..3).map(|i| folder.path().join(format!("{name}-blob-{i}"))).collect();
        paths.iter().zip(&blobs).for_each(|(from, to)| fs::rename(from, to).unwrap());
        let model = Model::open_files(&blobs, &OpenOptions::default()).unwrap();
        assert!(logits(&model) == want, "{name}, blobs");
        let error = Model::open(&blobs[1], &OpenOptions::default()).err().unwrap();
        assert_eq!(*error.kind(), Kind::Open);
        assert!(error.what().contains("is shard 2 of 3"), "{error}");
    }
}

#[test]
fn a_receipt_names_every_file() {
    // PRV-03 of docs/cases.md.
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(&tiny("qwen2-plain"), folder.path(), "año", 3);
    let each = digests(&paths);
    let list: String = each.iter().map(|digest| format!("{digest}\n")).collect();
    let mut records = Vec::new();
    for options in [OpenOptions::default(), pinned()] {
        let model = Model::open(&paths[2], &options).unwrap();
        let mut request = Request::user("¿Qué tal?");
        request.options.max_tokens = 3;
        request.options.seed = Some(5);
        let reply = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
        let record = Receipt::from_bytes(&reply.receipt.to_bytes()).unwrap();
        let names = record.model.shards.iter().map(|shard| shard.file.as_str());
        assert!(names.eq((1..=3).map(|no| format!("año-0000{no}-of-00003.gguf"))));
        let sizes = paths.iter().map(|path| fs::metadata(path).unwrap().len());
        assert!(record.model.shards.iter().map(|shard| shard.size).eq(sizes.clone()));
        assert!(record.model.shards.iter().map(|shard| &shard.digest).eq(&each));
        assert_eq!(record.model.size, sizes.sum::<u64>());
        assert_eq!(
            (record.model.digest, of_files(&each)),
            (sha256(list.as_bytes()), record.model.digest)
        );
        assert_eq!(record.model.file, "año-00001-of-00003.gguf");
        assert_eq!(record.template, Some(sha256(model.template().unwrap().as_bytes())));
        assert_eq!(record.tokenizer, Some(reply.digests.tokenizer));
        assert_eq!(record.engine.version, recinto_engine::VERSION);
        assert!(record.options.contains_key("seed") && !record.options.contains_key("kv"));
        records.push(record);
    }
    // The same request gives the same bytes, but for the times and where the weights lay.
    let [mut one, mut two] = [records[0].clone(), records[1].clone()];
    assert_ne!(one.model.weights, two.model.weights);
    for record in [&mut one, &mut two] {
        record.model.weights = Some(Held::Mapped);
        record.times = records[0].times;
    }
    one.model.asked = two.model.asked.clone();
    assert_eq!(one.to_bytes(), two.to_bytes());

    // Of a model in one file the record is as it was, and the vocabulary's digest is the same.
    let whole = Model::open(&tiny("qwen2-plain"), &OpenOptions::default()).unwrap();
    let whole = whole.digests().unwrap();
    assert!(whole.shards.is_empty());
    assert_eq!(Some(whole.tokenizer), one.tokenizer);
    assert_eq!(whole.weights, sha256(&fs::read(tiny("qwen2-plain")).unwrap()));
}

/// The digest of the vocabulary as `docs/receipts.md` explains it, from the bytes of the file.
#[test]
fn the_digest_of_the_vocabulary_can_be_checked() {
    let path = tiny("qwen2-plain");
    let bytes = fs::read(&path).unwrap();
    let file = recinto_weights::File::open(&path).unwrap();
    let names: Vec<&str> = file.metadata().iter().map(|(name, _)| name).collect();
    // Where each entry begins: its name's length and the name, in the file's order.
    let mut starts = Vec::new();
    for name in &names {
        let head = [&(name.len() as u64).to_le_bytes()[..], name.as_bytes()].concat();
        let from = starts.last().copied().unwrap_or(0);
        starts.push(from + bytes[from..].windows(head.len()).position(|w| w == head).unwrap());
    }
    let (first, last) = ("tokenizer.ggml.model", "tokenizer.ggml.padding_token_id");
    let mut stored = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if name.starts_with("tokenizer.") && *name != "tokenizer.chat_template" {
            let end =
                starts.get(at + 1).copied().unwrap_or_else(|| starts[at] + 8 + name.len() + 8);
            stored.extend_from_slice(&bytes[starts[at]..end]);
        }
    }
    assert!(names.contains(&first) && names.contains(&last));
    let model = Model::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(model.digests().unwrap().tokenizer, sha256(&stored));
    // Another vocabulary, another digest; another template, the same.
    let same = |name: &str, change: &dyn Fn(Builder) -> Builder| {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("otro.gguf");
        fs::write(&other, common::remake::changed(&path, change)).unwrap();
        let other = Model::open(&other, &OpenOptions::default()).unwrap().digests().unwrap();
        assert_eq!(other.tokenizer == sha256(&stored), name == "template", "{name}");
    };
    same("template", &|b| b.replace("tokenizer.chat_template", "{{ messages[0].content }}"));
    same("vocabulary", &|b| b.replace("tokenizer.ggml.add_bos_token", true));
}

#[test]
fn each_file_is_remembered_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(&tiny("qwen2-plain"), folder.path(), "m", 3);
    std::thread::sleep(Duration::from_millis(2100));
    let cache = folder.path().join("caché");
    let options = OpenOptions { digest_cache: Some(cache), ..OpenOptions::default() };
    let origins = |options: &OpenOptions| {
        let digests = Model::open(&paths[0], options).unwrap().digests().unwrap();
        let each: Vec<Digest> = digests.shards.iter().map(|shard| shard.digest).collect();
        assert_eq!(each, self::digests(&paths));
        let origins: Vec<Origin> = digests.shards.iter().map(|s| s.digest_origin).collect();
        (origins, digests.weights_origin)
    };
    use Origin::{Cached, Computed};
    assert_eq!(origins(&options), (vec![Computed; 3], Computed));
    assert_eq!(origins(&options), (vec![Cached; 3], Cached));
    let always = OpenOptions { verify: Verify::Always, ..options.clone() };
    assert_eq!(origins(&always), (vec![Computed; 3], Computed));
    let copy = OpenOptions { pin: Pin::Memory, ..options.clone() };
    assert_eq!(origins(&copy), (vec![Computed; 3], Computed));
    // One of them is another file now: it alone is hashed, and the whole is not called computed.
    let other = folder.path().join("new");
    fs::copy(&paths[1], &other).unwrap();
    fs::rename(&other, &paths[1]).unwrap();
    assert_eq!(origins(&options), (vec![Cached, Computed, Cached], Cached));
}

#[test]
fn a_shard_that_changes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for options in [OpenOptions::default(), pinned()] {
        let paths = shards(&tiny("qwen2-plain"), folder.path(), "m", 2);
        let model = Model::open(&paths[0], &options).unwrap();
        let before = logits(&model);
        let mut bytes = fs::read(&paths[1]).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::OpenOptions::new().write(true).open(&paths[1]).unwrap().write_all(&bytes).unwrap();
        match (options.pin, model.digests()) {
            (Pin::Off, result) => assert_eq!(*result.err().unwrap().kind(), Kind::Changed),
            (Pin::Memory, result) => {
                let found = result.unwrap();
                assert_ne!(found.shards[1].digest, sha256(&bytes), "that of the copy");
                assert!(logits(&model) == before);
            }
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(&tiny("llama-plain"), folder.path(), "m", 4);
    fs::remove_file(&paths[2]).unwrap();
    let error = Model::open(&paths[0], &OpenOptions::default()).err().unwrap();
    assert_eq!(*error.kind(), Kind::Open);
    assert!(error.what().ends_with("m-00003-of-00004.gguf is missing"), "{error}");
    let given = [paths[1].clone(), paths[0].clone(), paths[3].clone()];
    let error = Model::open_files(&given, &OpenOptions::default()).err().unwrap();
    assert!(error.what().contains("shard 3 of 4 is missing"), "{error}");
    assert!(Model::open_files(&[], &OpenOptions::default()).is_err());
}
