//! Opening: pinned copies, and digests that are known from an earlier run.

use crate::common;

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use common::{
    bits, ids,
    remake::{changed, keys, tensors},
    sink, tiny,
};
use recinto_engine::{
    Held, Kind, Model, OpenOptions, Origin, Pin, Receipt, Request, SessionOptions, Stop, Verify,
    Want,
};
use recinto_receipt::sha256;

/// Longer than the age a file's state must have to be remembered.
const SETTLED: Duration = Duration::from_millis(2100);

fn pinned() -> OpenOptions {
    OpenOptions { pin: Pin::Memory, ..OpenOptions::default() }
}

fn cached(folder: &Path) -> OpenOptions {
    OpenOptions { digest_cache: Some(folder.to_owned()), ..OpenOptions::default() }
}

fn logits(model: &Model) -> Vec<u32> {
    let mut session = model.session(&SessionOptions::default()).unwrap();
    bits(session.feed(&ids(60, 0), Want::All, &Stop::never()).unwrap())
}

#[test]
fn a_pinned_model_has_the_same_bits_and_the_same_digest() {
    for name in ["llama-quant", "qwen2-quant", "qwen2-plain", "qwen3-plain", "gemma3-quant"] {
        let mapped = Model::open(&tiny(name), &OpenOptions::default()).unwrap();
        let copy = Model::open(&tiny(name), &pinned()).unwrap();
        assert!(logits(&mapped) == logits(&copy), "{name}");
        let (mapped, copy) = (mapped.digests().unwrap(), copy.digests().unwrap());
        let whole = sha256(&fs::read(tiny(name)).unwrap());
        assert_eq!((mapped.weights, copy.weights), (whole, whole), "{name}");
        assert_eq!((mapped.weights_held, copy.weights_held), (Held::Mapped, Held::Pinned));
        assert_eq!(
            (mapped.weights_origin, copy.weights_origin),
            (Origin::Computed, Origin::Computed)
        );
    }
}

#[test]
fn a_real_file_pinned_answers_the_same() {
    let test = "a_real_file_pinned_answers_the_same";
    let name = "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf";
    let path = recinto_testkit::models().map(|folder| folder.join(name));
    let Some(path) = path.filter(|path| path.exists()) else {
        return recinto_testkit::skipped(test, "smollm2 is not there");
    };
    let mut request = Request::user("¿Cuál es la capital del Perú?");
    request.options.max_tokens = 8;
    let [mapped, copy] = [OpenOptions::default(), pinned()].map(|options| {
        let model = Model::open(&path, &options).unwrap();
        model.reply(&request, &Stop::never(), &mut sink()).unwrap()
    });
    assert!(!mapped.text.is_empty());
    assert_eq!(mapped.receipt.output, copy.receipt.output);
    assert_eq!(mapped.digests.weights, copy.digests.weights);
}

#[test]
fn a_pinned_model_does_not_follow_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("modelo.gguf");
    for options in [OpenOptions::default(), pinned()] {
        fs::copy(tiny("qwen2-plain"), &path).unwrap();
        let model = Model::open(&path, &options).unwrap();
        let before = model.digests().unwrap().weights;
        // In place, the last byte, which is a weight's.
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::OpenOptions::new().write(true).open(&path).unwrap().write_all(&bytes).unwrap();
        let mut request = Request::user("hola");
        request.options.max_tokens = 2;
        match (options.pin, model.reply(&request, &Stop::never(), &mut sink())) {
            (Pin::Off, Err(error)) => assert_eq!(*error.kind(), Kind::Changed),
            (Pin::Memory, Ok(reply)) => {
                assert_eq!(reply.digests.weights, before);
                let fresh = Model::open(&tiny("qwen2-plain"), &OpenOptions::default()).unwrap();
                assert!(logits(&model) == logits(&fresh));
                let record = Receipt::from_bytes(&reply.receipt.to_bytes()).unwrap();
                assert_eq!(record.model.weights, Some(Held::Pinned));
                assert_eq!(record.model.digest_origin, Some(Origin::Computed));
            }
            (pin, Ok(_)) => panic!("{pin:?}: the change was not seen"),
            (pin, Err(error)) => panic!("{pin:?}: {error}"),
        }
    }
}

#[test]
fn a_copy_that_does_not_fit_is_refused_before_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("enorme.gguf");
    // One tensor more, which no step reads, of 2³⁸ floats: a TiB, in a file with a hole.
    let bytes = changed(&tiny("llama-plain"), |b| b);
    let file = recinto_weights::File::from_bytes(bytes).unwrap();
    let builder = tensors(keys(&file), &file, 0, file.tensors().len());
    let bytes = builder.tensor_raw("rope.freqs", &[1 << 38], 0, &[]).build();
    std::fs::write(&path, &bytes).unwrap();
    let all = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    if all.set_len(bytes.len() as u64 + (1 << 40)).is_err() {
        return recinto_testkit::skipped("a_copy_that_does_not_fit", "no file of a TiB here");
    }
    let error = Model::open(&path, &pinned()).err().expect("a TiB does not fit");
    assert_eq!(*error.kind(), Kind::Memory, "{error}");
    let text = error.to_string();
    assert!(text.starts_with("not enough memory: 10485"), "{text}");
    assert!(text.contains("\n  weights          1048578 MiB  a copy in this process\n"), "{text}");
    assert!(text.contains("hint: `--pin off`"), "{text}");
    // Mapped it takes no memory; its digest would take minutes.
    let error = Model::open(&path, &OpenOptions::default()).err().expect("most is never read");
    assert_eq!(*error.kind(), Kind::Open, "{error}");
    assert!(error.to_string().contains("MiB, of which the model reads 1\nhint: "), "{error}");
    let any = OpenOptions { any_size: true, ..OpenOptions::default() };
    assert!(logits(&Model::open(&path, &any).unwrap()).len() > 1);
    // A hole behind the tensors, which nothing names.
    let path = folder.path().join("cola.gguf");
    std::fs::copy(tiny("llama-plain"), &path).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let error = Model::open(&path, &OpenOptions::default()).err().expect("a hole at its end");
    assert!(error.to_string().contains("of which the model reads"), "{error}");
}

#[test]
fn a_context_that_does_not_fit_is_refused_with_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("largo.gguf");
    let long = 2_000_000_000u32;
    let bytes = changed(&tiny("qwen2-plain"), |b| b.replace("qwen2.context_length", long));
    std::fs::write(&path, bytes).unwrap();
    let session = SessionOptions { context: Some(long as usize), ..SessionOptions::default() };
    let options = OpenOptions { session: session.clone(), ..OpenOptions::default() };
    let error = Model::open(&path, &options).err().expect("2·10⁹ positions do not fit");
    assert_eq!(*error.kind(), Kind::Memory, "{error}");
    let text = error.to_string();
    assert!(text.contains("2000000000 positions as bf16\n"), "{text}");
    assert!(text.contains("hint: a smaller `--context`, `--kv q8_0` or"), "{text}");
    // Who wants it all the same gets the model; the session asks again.
    let model = Model::open(&path, &OpenOptions { any_size: true, ..options }).unwrap();
    assert_eq!(*model.session(&session).err().unwrap().kind(), Kind::Memory);
    let need = Model::open(&path, &OpenOptions::default()).unwrap().need().clone();
    assert_eq!(need.positions, 256, "a session without a wish takes pages as they fill");
}

/// A model of its own, older than a cache asks for, and a folder for the cache.
fn settled() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (path, folder) = (dir.path().join("año.gguf"), dir.path().join("caché/recinto"));
    fs::copy(tiny("qwen2-plain"), &path).unwrap();
    (dir, path, folder)
}

fn origin(path: &Path, options: &OpenOptions) -> Origin {
    let digests = Model::open(path, options).unwrap().digests().unwrap();
    assert_eq!(digests.weights, sha256(&fs::read(path).unwrap()));
    digests.weights_origin
}

#[test]
fn nothing_is_written_unless_asked() {
    let (dir, path, _) = settled();
    std::thread::sleep(SETTLED);
    for _ in 0..2 {
        assert_eq!(origin(&path, &OpenOptions::default()), Origin::Computed);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_known_file_is_not_hashed_again() {
    let (_dir, path, folder) = settled();
    let cache = cached(&folder);
    assert_eq!(origin(&path, &cache), Origin::Computed);
    assert!(!folder.exists(), "a state this young is not remembered");
    std::thread::sleep(SETTLED);
    let always = OpenOptions { verify: Verify::Always, ..cache.clone() };
    assert_eq!(origin(&path, &always), Origin::Computed);
    assert!(!folder.exists(), "`always` leaves the cache alone");
    assert_eq!(origin(&path, &cache), Origin::Computed);
    assert_eq!(origin(&path, &cache), Origin::Cached);
    let model = Model::open(&path, &cache).unwrap();
    let mut request = Request::user("¿Qué tal?");
    request.options.max_tokens = 2;
    let reply = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert_eq!(reply.receipt.model.digest_origin, Some(Origin::Cached));
    assert_eq!(reply.receipt.model.digest, sha256(&fs::read(&path).unwrap()));
    assert_eq!(origin(&path, &always), Origin::Computed);
    let copy = OpenOptions { pin: Pin::Memory, ..cache.clone() };
    assert_eq!(origin(&path, &copy), Origin::Computed, "a copy is always hashed");

    // The same length and the same time of its content, other bytes: the inode's time tells.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::OpenOptions::new().write(true).open(&path).unwrap().write_all(&bytes).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
    assert_eq!(origin(&path, &cache), Origin::Computed, "written to");
    // Another file under the same name.
    let other = path.with_extension("new");
    fs::copy(tiny("qwen2-quant"), &other).unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(origin(&path, &cache), Origin::Computed, "replaced");
}

#[test]
fn who_has_a_computed_digest_has_it_remembered() {
    let (_dir, path, folder) = settled();
    std::thread::sleep(SETTLED);
    for pin in [Pin::Off, Pin::Memory] {
        let options = OpenOptions { pin, ..cached(&folder) };
        for _ in 0..20 {
            let _ = fs::remove_dir_all(&folder);
            let model = Model::open(&path, &options).unwrap();
            model.digests().unwrap();
            // A process could end here.
            let names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
            assert!(names.len() == 1 && names[0].file_name() == "digests", "{pin:?}: {names:?}");
        }
    }
}

#[test]
fn a_cache_that_cannot_be_trusted_is_none() {
    let (_dir, path, folder) = settled();
    let cache = cached(&folder);
    std::thread::sleep(SETTLED);
    assert_eq!(origin(&path, &cache), Origin::Computed);
    let file = folder.join("digests");
    let good = fs::read(&file).unwrap();
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cases = [
        ("as it was", good.clone(), 0o700, 0o600, Origin::Cached),
        ("readable", good.clone(), 0o755, 0o644, Origin::Cached),
        ("others may write it", good.clone(), 0o700, 0o606, Origin::Computed),
        ("others may replace it", good.clone(), 0o707, 0o600, Origin::Computed),
        ("a bit of a digest", flipped(good.len() - 2), 0o700, 0o600, Origin::Computed),
        ("a bit of the form", flipped(3), 0o700, 0o600, Origin::Computed),
        ("cut", good[..good.len() - 1].to_vec(), 0o700, 0o600, Origin::Computed),
        ("empty", Vec::new(), 0o700, 0o600, Origin::Computed),
    ];
    for (name, bytes, of_folder, of_file, want) in cases {
        chmod(&folder, 0o700);
        let _ = fs::remove_file(&file);
        fs::write(&file, bytes).unwrap();
        chmod(&file, of_file);
        chmod(&folder, of_folder);
        assert_eq!(origin(&path, &cache), want, "{name}");
    }
    // A place where no folder can be is no reason not to answer.
    let nowhere = cached(&path.join("below"));
    for _ in 0..2 {
        assert_eq!(origin(&path, &nowhere), Origin::Computed);
    }
}
