//! What prompts begin with is read once, and no bit of a reply depends on it: warm against cold,
//! one request after another and several at once.

use std::{ops::ControlFlow, path::Path};

use recinto_engine::{OpenOptions, Options, Piece, Request, Stop, Usage};
use recinto_provider::{Flags, Local, Provider, Settings, Shape, Surroundings, Turn};

/// Models without and with windows, which forget.
const MODELS: [&str; 4] = ["qwen2-quant", "llama-plain", "qwen3-plain", "gemma3-1b-like"];

fn open(name: &str, cache: &str) -> Local {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tiny");
    let root = tiny.canonicalize().unwrap();
    let model = Some(root.join(format!("{name}.gguf")).display().to_string());
    let flags = Flags { model, prompt_cache: Some(cache.into()), ..Flags::default() };
    let around = Surroundings { variables: Vec::new(), here: root.clone(), root };
    let settings = Settings::resolve_from(&flags, &around).unwrap();
    let options = OpenOptions { threads: Some(1), ..OpenOptions::default() };
    Local::open_in(&settings, &Default::default(), options).unwrap()
}

/// A long beginning that all have, and an end of its own.
fn turn(tail: &str) -> Turn {
    let text = format!("{}\n¿Y {tail}?", "Responde como una señora de Logroño. ".repeat(9));
    let options = Options {
        max_tokens: 5,
        temperature: 0.8,
        seed: Some(7),
        logprobs: Some(2),
        ..Options::default()
    };
    Turn::from(Request { options, ..Request::user(text) })
}

/// What a reply says, to the last bit, and what was read for it.
fn told(local: &Local, turn: &Turn) -> (String, Usage) {
    let mut quiet = |_: Piece<'_>| ControlFlow::Continue(());
    let reply = local.complete(turn, &Stop::never(), &mut quiet).unwrap();
    let bits: Vec<(Option<u32>, u64)> =
        reply.logprobs.iter().map(|one| (one.id, one.logprob.to_bits())).collect();
    (format!("{} {:?} {bits:?}", reply.text, reply.finish), reply.usage)
}

fn read(usage: Usage) -> usize {
    usage.prompt_tokens - usage.cached_tokens
}

#[test]
fn a_common_beginning_is_read_once_with_the_same_bits() {
    let tails = ["el niño", "la cigüeña", "el año", "el niño", "mañana"];
    for name in MODELS {
        let (cold, warm) = (open(name, "off"), open(name, "on"));
        let windowed = cold.model().program().caches.iter().any(|cache| cache.window.is_some());
        let mut counts = Vec::new();
        for tail in tails {
            let (want, whole) = told(&cold, &turn(tail));
            let (found, usage) = told(&warm, &turn(tail));
            assert_eq!(found, want, "{name}: {tail}");
            assert_eq!((whole.cached_tokens, usage.prompt_tokens), (0, whole.prompt_tokens));
            counts.push((read(usage), usage.prompt_tokens));
        }
        assert_eq!(counts[0].0, counts[0].1, "{name}: nothing was there before the first");
        // A window forgets where two prompts part; that place is marked when it is read again.
        let from = if windowed { 2 } else { 1 };
        for (read, all) in &counts[from..] {
            assert!(*read < 60 && *all > 260, "{name}: {counts:?}");
        }
    }
}

#[test]
fn labels_and_shapes_share_a_beginning_too() {
    let labels = ["sí", "no", "quizá"].map(String::from);
    for name in MODELS {
        let (cold, warm) = (open(name, "off"), open(name, "on"));
        let mut counts = Vec::new();
        for tail in ["uno", "dos", "tres"] {
            let want = cold.score(&turn(tail), &labels, &Stop::never()).unwrap();
            let found = warm.score(&turn(tail), &labels, &Stop::never()).unwrap();
            counts.push(read(found.usage));
            let bits = |scores: &recinto_engine::Scores| -> Vec<u64> {
                scores.labels.iter().map(|label| label.logprob.to_bits()).collect()
            };
            assert_eq!(bits(&found), bits(&want), "{name}: {tail}");
            assert_eq!(found.mass.to_bits(), want.mass.to_bits(), "{name}: {tail}");
            let shaped = || turn(tail).shaped(Shape::Labels(labels.to_vec()));
            assert_eq!(told(&warm, &shaped()).0, told(&cold, &shaped()).0, "{name}: {tail}");
        }
        assert!(counts[2] < 60, "{name}: {counts:?}");
    }
}

/// Data of other labels is never compared with what was read before.
#[test]
fn data_of_other_labels_shares_nothing() {
    let local = open("qwen2-quant", "on");
    let labelled = |label: &str| Turn { labels: vec![label.into()], ..turn("el niño") };
    let cached = |turn: &Turn| told(&local, turn).1.cached_tokens;
    assert_eq!(cached(&labelled("client:acme")), 0);
    assert!(cached(&labelled("client:acme")) > 200);
    assert_eq!(cached(&labelled("client:otro")), 0);
    assert_eq!(cached(&turn("el niño")), 0);
}

#[test]
fn several_threads_share_a_model() {
    for name in ["qwen2-quant", "gemma3-1b-like"] {
        let (cold, warm) = (open(name, "off"), open(name, "on"));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (cold, warm) = (&cold, &warm);
                scope.spawn(move || {
                    for round in 0..4 {
                        let tail = format!("{thread} {}", "ñ".repeat(round * thread));
                        let (want, _) = told(cold, &turn(&tail));
                        assert_eq!(told(warm, &turn(&tail)).0, want, "{name}: {tail}");
                    }
                });
            }
        });
        assert!(told(&warm, &turn("3 ")).1.cached_tokens > 200, "{name}: one is kept");
    }
}

/// What was cut, refused or stopped leaves nothing that the next reply would see.
#[test]
fn failures_leave_no_trace() {
    let (cold, warm) = (open("llama-plain", "off"), open("llama-plain", "on"));
    let never = Stop::never();
    told(&warm, &turn("uno"));
    let long = Turn::from(Request::user("ñ".repeat(200_000)));
    let mut quiet = |_: Piece<'_>| ControlFlow::Continue(());
    assert!(warm.complete(&long, &never, &mut quiet).is_err());
    let mut break_off = |_: Piece<'_>| ControlFlow::Break(());
    warm.complete(&turn("dos"), &never, &mut break_off).unwrap();
    let faulty = std::panic::AssertUnwindSafe(|| {
        warm.complete(&turn("tres"), &never, &mut |_| panic!("the caller's own"))
    });
    assert!(std::panic::catch_unwind(faulty).is_err());
    for tail in ["uno", "cuatro"] {
        assert_eq!(told(&warm, &turn(tail)).0, told(&cold, &turn(tail)).0, "{tail}");
    }
}
