//! The product of everything that may not change a bit: level, threads, chunks, company in a step,
//! fused or not, mapped or pinned; on a tiny model of each shipped architecture and on a real file.

use crate::goldens;

use std::path::Path;

use goldens::{folder, ids, open, record, session};
use recinto_engine::{
    Digest, Feed, Level, Model, NUMERICS, OpenOptions, Pin, Session, SessionOptions, Stop, Want,
};
use recinto_kernels::Kernels;
use recinto_receipt::sha256;

/// How the ids are fed.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// In pieces of these lengths, over and over.
    Pieces(&'static [usize]),
    /// In pieces, between two sessions that are fed other ids, other numbers of them.
    InCompany(&'static [usize]),
    /// In pieces, every instruction alone.
    Unfused(&'static [usize]),
}

const WAYS: &[Way] = &[
    Way::Pieces(&[1]),
    Way::Pieces(&[5, 16, 3, 64]),
    Way::Pieces(&[4096]),
    Way::InCompany(&[1]),
    Way::InCompany(&[7, 2, 33]),
    Way::Unfused(&[11, 1, 40]),
];

/// The logits of all positions of `prompt`.
fn logits(model: &Model, prompt: &[u32], way: Way) -> Vec<f32> {
    let stop = Stop::never();
    let new = || model.session(&SessionOptions::default()).expect("a session");
    let mut main = session(model, 64);
    let (Way::Pieces(pieces) | Way::InCompany(pieces) | Way::Unfused(pieces)) = way;
    if let Way::Unfused(_) = way {
        main.start_profile();
    }
    let mut company: [Session; 2] = [new(), new()];
    let mut batch = model.batch(48).expect("a batch");
    let (mut all, mut rest, mut turn) = (Vec::new(), prompt, 0);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(pieces[turn % pieces.len()]));
        match way {
            Way::InCompany(_) => {
                let [before, after] = &mut company;
                let one = &prompt[..1 + turn % 3.min(prompt.len())];
                let other = &prompt[prompt.len() - 1..];
                let mut feeds = [
                    Feed { session: before, ids: one, want: Want::Last },
                    Feed { session: &mut main, ids: now, want: Want::All },
                    Feed { session: after, ids: other, want: Want::None },
                ];
                model.step(&mut batch, &mut feeds, &stop).expect("a step");
                all.extend_from_slice(batch.logits(1));
            }
            _ => all.extend_from_slice(main.feed(now, Want::All, &stop).expect("a feed")),
        }
        (rest, turn) = (later, turn + 1);
    }
    all
}

fn hash(logits: &[f32]) -> Digest {
    assert!(logits.iter().all(|v| v.is_finite()), "not a number");
    let bytes: Vec<u8> = logits.iter().flat_map(|v| v.to_le_bytes()).collect();
    sha256(&bytes)
}

/// Runs the product; the one hash that comes out of all of it.
fn everywhere(path: &Path, prompt: &[u32], levels: &[Level]) -> Digest {
    let mut found: Option<(Digest, String)> = None;
    for level in levels {
        for threads in [1, 2, 3] {
            for pin in [Pin::Off, Pin::Memory] {
                let options = OpenOptions {
                    level: Some(*level),
                    threads: Some(threads),
                    pin,
                    ..OpenOptions::default()
                };
                let model = open(path, &options).expect("a model");
                for way in WAYS {
                    let here = format!("{}, {threads} threads, {pin:?}, {way:?}", level.name());
                    let digest = hash(&logits(&model, prompt, *way));
                    match &found {
                        None => found = Some((digest, here)),
                        Some((first, there)) => assert!(
                            digest == *first,
                            "{}: other bits at {here} than at {there}",
                            path.display()
                        ),
                    }
                }
            }
        }
    }
    found.expect("every machine has a level").0
}

#[test]
fn tiny_models_of_every_architecture() {
    let levels: Vec<Level> = Kernels::available().iter().map(|k| k.level()).collect();
    let tiny = folder().join("tiny");
    for name in [
        "llama-quant",
        "qwen2-quant",
        "qwen3-quant",
        "gemma3-quant",
        "llama-low-bits",
        "llama-codebooks",
        "llama-ternary",
    ] {
        let prompt = ids(&record(&tiny.join(format!("{name}.json")))["ids"]);
        everywhere(&tiny.join(format!("{name}.gguf")), &prompt, &levels);
    }
}

/// The hash that every machine must find for the real file at this `NUMERICS`: 40 ids, all logits.
const SMOLLM2: &str = "4dee6ae4539ecd6c97e10346fb94f8574d5d899ed33034e3a4c8b28de8948e2d";

#[test]
fn a_real_file() {
    let test = "a_real_file";
    let Some(models) = recinto_testkit::models() else {
        recinto_testkit::skipped(test, "RECINTO_TEST_MODELS is not set");
        return;
    };
    let path = models.join("smollm2-135m-instruct");
    let file = std::fs::read_dir(&path).expect("the folder of smollm2").find_map(|entry| {
        let path = entry.ok()?.path();
        path.extension().is_some_and(|e| e == "gguf").then_some(path)
    });
    let file = file.expect("a .gguf of smollm2");
    // The portable level is minutes slow here; tiny models hold it to the same bits.
    let levels: Vec<Level> = Kernels::available().iter().map(|k| k.level()).collect();
    let fast: Vec<Level> =
        levels.iter().copied().filter(|level| *level != Level::Portable).collect();
    let prompt: Vec<u32> = (0..40).map(|i| (i * 7919 + 13) % 49_000).collect();
    let found = everywhere(&file, &prompt, if fast.is_empty() { &levels } else { &fast });
    assert_eq!(found.to_string(), SMOLLM2, "the stored bits of numerics {NUMERICS}");
}
