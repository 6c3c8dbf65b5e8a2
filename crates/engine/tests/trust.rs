//! What a model is by its digests, before anything comes out of it; and files that change.

use crate::common;

use std::{
    fs,
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use common::{ids, sink, tiny};
use recinto_engine::{
    Claim, Claimant, Kind, Model, OpenOptions, Part, Piece, Pin, Receipt, Request, SessionOptions,
    Stop, Verdict, Want,
};
use recinto_receipt::sha256;

/// Longer than a step of the clock that file systems take their times from.
const STEP: Duration = Duration::from_millis(20);

/// Something that happens to a file, named.
type Change<'c> = (&'c str, &'c dyn Fn(&Path));

fn request() -> Request {
    let mut request = Request::user("¿Qué tal?");
    request.options.max_tokens = 24;
    request.options.seed = Some(7);
    request
}

fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("modelo.gguf");
    fs::copy(tiny(name), &path).unwrap();
    (dir, path)
}

/// Flips one bit of the last byte, which is a weight's.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all(&bytes).unwrap();
}

#[test]
fn a_file_that_changes_during_a_reply_gives_none() {
    let other = |path: &Path| path.with_extension("otro");
    let changes: [Change<'_>; 6] = [
        ("written to in place", &flip),
        ("the same bytes again", &|path| {
            let bytes = fs::read(path).unwrap();
            fs::OpenOptions::new().write(true).open(path).unwrap().write_all(&bytes).unwrap();
        }),
        ("longer", &|path| {
            fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"x").unwrap();
        }),
        // Not by a page: what is mapped can still be read.
        ("cut by a byte", &|path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }),
        ("replaced", &|path| fs::rename(other(path), path).unwrap()),
        ("removed", &|path| fs::remove_file(path).unwrap()),
    ];
    for (name, change) in changes {
        for pin in Pin::all() {
            let (_dir, path) = copy("llama-plain");
            fs::copy(&path, other(&path)).unwrap();
            std::thread::sleep(STEP);
            let model = Model::open(&path, &OpenOptions { pin, ..OpenOptions::default() }).unwrap();
            let mut session = model.session(&SessionOptions::default()).unwrap();
            let mut pieces = 0;
            let mut once = |_: Piece<'_>| {
                pieces += 1;
                if pieces == 1 {
                    change(&path);
                }
                ControlFlow::Continue(())
            };
            let reply = session.reply(&request(), &Stop::never(), &mut once);
            assert!(pieces > 0, "{name}: the tiny model says something");
            let mut again = 0;
            let mut count = |_: Piece<'_>| {
                again += 1;
                ControlFlow::Continue(())
            };
            let next = model.reply(&request(), &Stop::never(), &mut count);
            if pin == Pin::Memory {
                // The copy has no file any more.
                assert_eq!(reply.unwrap().text, next.unwrap().text, "{name}");
                continue;
            }
            let error = reply.err().unwrap_or_else(|| panic!("{name}: not noticed"));
            assert_eq!(*error.kind(), Kind::Changed, "{name}: {error}");
            assert!(error.to_string().contains("modelo.gguf changed or was replaced"), "{error}");
            // Nothing more comes of it, not a word.
            assert_eq!((next.err().map(|e| e.kind().clone()), again), (Some(Kind::Changed), 0));
            assert_eq!(*model.digests().unwrap_err().kind(), Kind::Changed, "{name}");
        }
    }
}

/// A reply does not go on to its end over a file that is no longer the one that was opened.
#[test]
fn a_reply_stops_soon_after_a_change() {
    let changes: [Change<'_>; 3] = [
        ("written to in place", &flip),
        ("cut by a byte", &|path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }),
        ("replaced", &|path| {
            let next = path.with_extension("otro");
            fs::copy(path, &next).unwrap();
            fs::rename(next, path).unwrap();
        }),
    ];
    for (name, change) in changes {
        let (_dir, path) = copy("llama-plain");
        std::thread::sleep(STEP);
        let model = Model::open(&path, &OpenOptions::default()).unwrap();
        let whole = model.reply(&request(), &Stop::never(), &mut sink()).unwrap();
        let mut session = model.session(&SessionOptions::default()).unwrap();
        let mut pieces = 0;
        let mut slow = |_: Piece<'_>| {
            pieces += 1;
            if pieces == 1 {
                change(&path);
                // Longer than what may pass between two looks.
                std::thread::sleep(Duration::from_millis(300));
            }
            ControlFlow::Continue(())
        };
        let error = session.reply(&request(), &Stop::never(), &mut slow).err().expect(name);
        assert_eq!(*error.kind(), Kind::Changed, "{name}: {error}");
        assert!(whole.usage.output_tokens > 8, "the reply would be longer");
        assert!(pieces <= 2, "{name}: {pieces} pieces came after the change");
    }
}

#[test]
fn nothing_comes_out_of_weights_that_are_not_those_claimed() {
    let good = sha256(&fs::read(tiny("qwen2-plain")).unwrap());
    let (_dir, path) = copy("qwen2-plain");
    let open = |claim: Option<Claim>, allow_mismatch| {
        let claims = claim.into_iter().collect();
        Model::open(&path, &OpenOptions { claims, allow_mismatch, ..OpenOptions::default() })
    };
    let by = |by| Claim { by, ..Claim::weights(good) };
    for claimant in [Claimant::Caller, Claimant::Lock, Claimant::Store] {
        let reply = open(Some(by(claimant)), false).unwrap();
        let reply = reply.reply(&request(), &Stop::never(), &mut sink()).unwrap();
        let verdict = Verdict {
            by: claimant,
            part: Part::Weights,
            file: 0,
            digest: Some(good),
            matches: true,
        };
        assert_eq!(reply.digests.claims, [verdict]);
        let record = Receipt::from_bytes(&reply.receipt.to_bytes()).unwrap();
        assert_eq!(record.model.claims, [verdict]);
        assert_eq!(record.tokenizer, Some(reply.digests.tokenizer));
        assert!(!reply.notes.iter().any(|note| note.contains("let pass")));
    }
    let before = open(None, false).unwrap().reply(&request(), &Stop::never(), &mut sink()).unwrap();
    assert!(before.receipt.model.claims.is_empty());
    flip(&path);
    let bad = sha256(&fs::read(&path).unwrap());
    for claimant in [Claimant::Caller, Claimant::Lock, Claimant::Store] {
        for allow in [false, true] {
            let pass = allow && claimant == Claimant::Store;
            // A digest that is there by then is looked at when the model is opened.
            let model = match open(Some(by(claimant)), allow) {
                Ok(model) => model,
                Err(error) => {
                    assert_eq!((error.kind(), pass), (&Kind::Mismatch, false), "{claimant:?}");
                    continue;
                }
            };
            let mut session = model.session(&SessionOptions::default()).unwrap();
            let ids = ids(5, 0);
            assert!(session.feed(&ids, Want::None, &Stop::never()).is_ok());
            let logits = session.feed(&ids, Want::Last, &Stop::never()).map(|rows| rows.len());
            assert_eq!(logits.is_ok(), pass, "{claimant:?}");
            let mut pieces = 0;
            let mut count = |_: Piece<'_>| {
                pieces += 1;
                ControlFlow::Continue(())
            };
            match model.reply(&request(), &Stop::never(), &mut count) {
                Ok(reply) => {
                    assert!(pass, "{claimant:?}");
                    let found = &reply.receipt.model.claims[0];
                    assert_eq!((found.matches, found.digest), (false, Some(good)));
                    assert_eq!(reply.receipt.model.digest, bad);
                    let note = reply.notes.iter().find(|note| note.starts_with("let pass"));
                    let note = note.expect("a note");
                    assert!(note.contains(&format!("{good:?}")), "{note}");
                    assert!(note.contains(&format!("{bad:?}")), "{note}");
                }
                Err(error) => {
                    assert!(!pass && pieces == 0, "{claimant:?}: {pieces}");
                    let text = error.to_string();
                    assert_eq!(*error.kind(), Kind::Mismatch, "{text}");
                    assert!(text.contains(&format!("weights {bad:?}")), "{text}");
                    assert!(text.contains(&format!("says {good:?}")), "{text}");
                    assert!(model.digests().is_err(), "nor are digests of it reported");
                }
            }
        }
    }
}

#[test]
fn other_parts_are_refused_at_once() {
    let path = tiny("qwen2-plain");
    let digests = Model::open(&path, &OpenOptions::default()).unwrap().digests().unwrap();
    let open =
        |claims, pin| Model::open(&path, &OpenOptions { claims, pin, ..OpenOptions::default() });
    let parts = [Part::Tokenizer, Part::Template, Part::Architecture];
    let claim = |part, digest| Claim { by: Claimant::Lock, part, file: 0, digest };
    let all = parts.map(|part| claim(part, digests.of(part, 0)));
    assert!(open(all.to_vec(), Pin::Off).is_ok());
    for part in parts {
        for digest in [Some(sha256(b"otro")), None] {
            let error = open(vec![claim(part, digest)], Pin::Off).err().expect("a refusal");
            assert_eq!(*error.kind(), Kind::Mismatch);
            assert!(error.to_string().contains(&format!("be: {} ", part.name())), "{error}");
        }
    }
    // With a copy the digest of the weights is there too.
    let error = open(vec![Claim::weights(sha256(b"otro"))], Pin::Memory).err().unwrap();
    assert_eq!(*error.kind(), Kind::Mismatch);
}

#[test]
fn the_tokenizer_has_a_digest() {
    // Computed with the Python package `gguf`: the fields' parts, one after the other.
    let cases = [
        ("llama-plain", "d74b38d6fdb93cfeebcb8cec60730bf9b1a6ecea5d6475497936464b4f01eaf2"),
        ("qwen2-plain", "13237f0557f01bca8db50cfa2822579a1ba8e3b543707953d1044089e8c2eb42"),
        ("gemma3-quant", "99d93be058e6a8caf1dccef6f43b526c881bd9ef60d84be629af7337df63f3fa"),
    ];
    for (name, want) in cases {
        for pin in Pin::all() {
            let options = OpenOptions { pin, ..OpenOptions::default() };
            let digests = Model::open(&tiny(name), &options).unwrap().digests().unwrap();
            assert_eq!(digests.tokenizer.to_string(), want, "{name}");
        }
    }
}
