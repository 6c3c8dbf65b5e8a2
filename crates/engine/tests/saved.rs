//! Saved sessions: gone on with exactly, and refused when they are not this model's.

use crate::common;

use std::io::{self, Read, Write};

use common::{ARCHITECTURES, ids, last, machines, open, session, tiny};
use recinto_engine::{Error, Kind, KvType, Model, OpenOptions, SessionOptions, Stop, Want};
use recinto_receipt::sha256;

fn options(kv: KvType) -> SessionOptions {
    SessionOptions { kv, ..SessionOptions::default() }
}

fn saved(model: &Model, kv: KvType, n: usize) -> Vec<u8> {
    let mut one = session(model, kv);
    if n > 0 {
        one.feed(&ids(n, 0), Want::None, &Stop::never()).unwrap();
    }
    let mut bytes = Vec::new();
    one.save(&mut bytes).unwrap();
    bytes
}

/// A reader that gives what it has in small pieces.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let some = to.len().min(7).min(self.0.len());
        to[..some].copy_from_slice(&self.0[..some]);
        self.0 = &self.0[some..];
        Ok(some)
    }
}

#[test]
fn what_was_saved_goes_on_exactly() {
    let tail = ids(6, 9);
    for name in ARCHITECTURES {
        for kv in KvType::ALL {
            for n in [0, 1, 256, 530] {
                let model = open(name, 2);
                let bytes = saved(&model, kv, n);
                let want = last(&mut session(&model, kv), &[ids(n, 0), tail.clone()].concat());
                for (machine, model) in machines(name) {
                    let here = format!("{machine}, {kv}, {n} positions");
                    // What stands behind it in a stream is not touched.
                    let stream = [&bytes[..], b"detr\xc3\xa1s"].concat();
                    let mut slow = Slow(&stream);
                    let mut again = model.resume(&mut slow, &options(kv)).unwrap();
                    assert_eq!(slow.0, "detrás".as_bytes(), "{here}");
                    assert_eq!((again.ids(), again.kv()), (&ids(n, 0)[..], kv), "{here}");
                    let mut twice = Vec::new();
                    again.save(&mut twice).unwrap();
                    assert!(twice == bytes, "{here}: saved again");
                    assert!(last(&mut again, &tail) == want, "{here}");
                }
            }
        }
    }
}

#[test]
fn what_was_forgotten_is_not_in_the_file() {
    let model = open("qwen2-quant", 1);
    for kv in KvType::ALL {
        let mut one = session(&model, kv);
        one.feed(&ids(400, 0), Want::None, &Stop::never()).unwrap();
        one.truncate(300).unwrap();
        let mut bytes = Vec::new();
        one.save(&mut bytes).unwrap();
        assert!(bytes == saved(&model, kv, 300), "{kv}");
    }
}

fn refused(model: &Model, bytes: &[u8], options: &SessionOptions) -> Error {
    model.resume(&mut &bytes[..], options).err().expect("a refusal")
}

/// The bytes with a checksum that fits.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 32;
    let digest = sha256(&bytes[..body]);
    bytes[body..].copy_from_slice(digest.as_bytes());
    bytes
}

#[test]
fn damage_is_found_wherever_it_is() {
    let model = open("gemma3-1b-like", 1);
    for kv in [KvType::Bf16, KvType::Q8_0] {
        let bytes = saved(&model, kv, 20);
        for at in (0..bytes.len()).step_by(7).chain(bytes.len() - 33..bytes.len()) {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            let error = refused(&model, &bad, &options(kv));
            // A wrong length reads too far, or asks for more than the context has.
            let fits = matches!(error.kind(), Kind::Saved | Kind::Overflow { .. });
            assert!(fits, "{kv}, byte {at}: {error}");
        }
        for len in (0..bytes.len()).step_by(11).chain([bytes.len() - 1]) {
            let error = refused(&model, &bytes[..len], &options(kv));
            assert_eq!(*error.kind(), Kind::Saved, "{kv}, cut to {len}: {error}");
        }
    }
}

#[test]
fn only_the_model_that_made_it_goes_on_with_it() {
    let model = open("llama-plain", 1);
    let bytes = saved(&model, KvType::Bf16, 30);
    let change = |at: usize, to: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        sealed(bytes)
    };
    let huge = u64::MAX.to_le_bytes();
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("another file", b"GGUF".repeat(100), "not a saved session"),
        ("another format", change(16, &[9]), "format"),
        ("another revision", change(20, &[0xff, 0xff]), "numerics"),
        ("another architecture", change(24, &[0; 32]), "architecture"),
        ("other weights", change(56, &[0; 32]), "weights"),
        ("another type", change(88, &[2]), "another type"),
        ("an absurd length", change(92, &huge), "positions"),
        ("an absurd number of layers", change(100, &huge[..4]), "layers"),
        ("absurd heads", change(104, &huge[..4]), "layers"),
    ];
    for (name, bytes, word) in cases {
        let error = refused(&model, &bytes, &SessionOptions::default());
        assert!(error.to_string().contains(word), "{name}: {error}");
        assert!(matches!(error.kind(), Kind::Saved | Kind::Overflow { .. }), "{name}: {error}");
    }
    let unknown = change(124 + 20 * (model.program().caches.len() - 1), &[0xff; 4]);
    let error = refused(&model, &unknown, &SessionOptions::default());
    assert!(error.to_string().contains("token id"), "{error}");

    // The same architecture with other weights, and another architecture.
    for other in ["llama-tied", "qwen3-plain"] {
        let error = refused(&open(other, 1), &bytes, &SessionOptions::default());
        assert_eq!(*error.kind(), Kind::Saved, "{other}: {error}");
    }
    let error = refused(&model, &bytes, &options(KvType::F16));
    assert_eq!(error.what_to_do(), Some("ask for the type it was saved with"));
    let small = SessionOptions { context: Some(29), ..SessionOptions::default() };
    let overflow = Kind::Overflow { needed: 30, available: 29 };
    assert_eq!(*refused(&model, &bytes, &small).kind(), overflow);
    // What a length within the context claims is read as it comes, and ends.
    let error = refused(&model, &change(92, &1000u64.to_le_bytes()), &SessionOptions::default());
    assert_eq!(*error.kind(), Kind::Saved, "{error}");
    assert!(error.to_string().contains("too early"), "{error}");
}

#[test]
fn a_short_session_of_another_model_is_named_as_such() {
    // An empty one of few layers ends before the header of a model with many would.
    for name in ["llama-plain", "qwen2-quant", "qwen3-plain"] {
        let bytes = saved(&open(name, 1), KvType::Bf16, 0);
        for other in ARCHITECTURES.into_iter().filter(|other| *other != name) {
            let error = refused(&open(other, 1), &bytes, &SessionOptions::default());
            let text = error.to_string();
            assert!(text.contains("of another ") || text.contains("of other "), "{name}: {text}");
        }
    }
}

#[test]
fn forged_keys_and_values_end_in_numbers_or_in_an_error() {
    for name in ["qwen2-quant", "gemma3-1b-like"] {
        for (machine, model) in machines(name) {
            for kv in KvType::ALL {
                let whole = saved(&model, kv, 40);
                let ids_end = 104 + 20 * model.program().caches.len() + 4 * 40;
                for byte in [0x00, 0x7f, 0x80, 0xff] {
                    let mut bytes = whole.clone();
                    let end = bytes.len() - 32;
                    bytes[ids_end..end].fill(byte);
                    let bytes = sealed(bytes);
                    let mut again = model.resume(&mut &bytes[..], &options(kv)).unwrap();
                    let fed = again.feed(&[5, 6], Want::All, &Stop::never());
                    match fed.map(|logits| logits.iter().all(|x| x.is_finite())) {
                        Ok(finite) => assert!(finite, "{machine}, {kv}, {byte:#x}"),
                        Err(error) => {
                            let kind = error.kind();
                            let numbers = matches!(kind, Kind::NonFinite { .. });
                            assert!(numbers, "{machine}, {kv}, {byte:#x}: {error}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_model_that_changed_under_way_neither_saves_nor_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::copy(tiny("llama-plain"), &path).unwrap();
    let model = Model::open(&path, &OpenOptions::default()).unwrap();
    let bytes = saved(&model, KvType::Bf16, 5);
    let file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    (&file).write_all(b"x").unwrap();
    let mut out = Vec::new();
    let error = session(&model, KvType::Bf16).save(&mut out).unwrap_err();
    assert_eq!((error.kind(), out.len()), (&Kind::Changed, 0));
    assert_eq!(*refused(&model, &bytes, &SessionOptions::default()).kind(), Kind::Changed);
}

#[test]
fn a_disk_that_fails_is_told_apart() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
    let model = open("llama-plain", 1);
    let one = session(&model, KvType::Bf16);
    assert_eq!(*one.save(&mut Full).unwrap_err().kind(), Kind::Transfer);
    let error = model.resume(&mut Broken, &SessionOptions::default()).err().unwrap();
    assert_eq!(*error.kind(), Kind::Transfer);
}
