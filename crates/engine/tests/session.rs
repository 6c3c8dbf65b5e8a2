//! Sessions: positions, chunks, threads, limits, cancelling, damaged weights.

use crate::common;

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use common::{bits, open, sink, tiny};
use recinto_engine::{
    Finish, Kind, Level, Model, OpenOptions, Piece, Request, SessionOptions, Stop, Want,
};

const ARCHITECTURES: [&str; 6] =
    ["llama-plain", "llama-quant", "qwen2-quant", "qwen3-plain", "gemma3-1b-like", "gemma3-quant"];

fn ids(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| (i * 37 + 11) % 250).collect()
}

/// Logits of the last of `ids`, fed in pieces of the given sizes (the last one repeats).
fn last_logits(model: &Model, ids: &[u32], sizes: &[usize]) -> Vec<u32> {
    let mut session = model.session(&SessionOptions::default()).unwrap();
    let mut left = ids;
    let mut sizes = sizes.iter().chain(std::iter::repeat(sizes.last().unwrap()));
    loop {
        let (now, rest) = left.split_at((*sizes.next().unwrap()).min(left.len()));
        let out = bits(session.feed(now, Want::Last, &Stop::never()).unwrap());
        left = rest;
        if left.is_empty() {
            return out;
        }
    }
}

#[test]
fn the_same_bits_for_any_threads_and_chunks() {
    for name in ARCHITECTURES {
        let ids = ids(100);
        let want = last_logits(&open(name, 1), &ids, &[100]);
        for (threads, sizes) in [(1, vec![1]), (2, vec![100]), (3, vec![7, 1, 30]), (2, vec![33])] {
            let got = last_logits(&open(name, threads), &ids, &sizes);
            assert!(got == want, "{name}: {threads} threads, pieces {sizes:?}");
        }
    }
}

#[test]
fn the_same_bits_across_a_page_border() {
    let model = open("qwen2-plain", 2);
    let context = model.program().context.unwrap_or(0) as usize;
    assert!(context >= 300, "the tiny model must reach a second page");
    let ids = ids(300);
    assert!(last_logits(&model, &ids, &[300]) == last_logits(&model, &ids, &[255, 1, 1, 43]));
}

#[test]
fn the_same_bits_on_every_level() {
    for name in ARCHITECTURES {
        let ids = ids(40);
        let at = |level| {
            let options =
                OpenOptions { level: Some(level), threads: Some(1), ..OpenOptions::default() };
            match Model::open(&tiny(name), &options) {
                Ok(model) => Some(last_logits(&model, &ids, &[40])),
                Err(error) if *error.kind() == Kind::Machine => None,
                Err(error) => panic!("{name}: {error}"),
            }
        };
        let want = at(Level::Portable).expect("every machine has it");
        for level in Level::all().filter(|level| *level != Level::Portable) {
            match at(level) {
                Some(got) => assert!(got == want, "{name} at {}", level.name()),
                None => println!("note: this CPU has no level {}", level.name()),
            }
        }
    }
}

#[test]
fn all_and_last_agree() {
    let model = open("llama-plain", 2);
    let ids = ids(20);
    let mut session = model.session(&SessionOptions::default()).unwrap();
    let all = bits(session.feed(&ids, Want::All, &Stop::never()).unwrap());
    let width = model.program().vocabulary;
    for n in [1, 7, 20] {
        let want = &all[(n - 1) * width..n * width];
        assert!(last_logits(&model, &ids[..n], &[n]) == want, "position {n}");
    }
}

#[test]
fn truncating_goes_back_exactly() {
    for name in ["llama-plain", "gemma3-1b-like"] {
        let model = open(name, 1);
        let ids = ids(30);
        let mut session = model.session(&SessionOptions::default()).unwrap();
        session.feed(&ids, Want::None, &Stop::never()).unwrap();
        session.truncate(12).unwrap();
        assert_eq!(session.position(), 12);
        let again = bits(session.feed(&ids[12..20], Want::Last, &Stop::never()).unwrap());
        assert!(again == last_logits(&model, &ids[..20], &[20]), "{name}");
    }
}

#[test]
fn what_cannot_be_fed_is_a_named_error() {
    let model = open("llama-plain", 1);
    let vocabulary = model.program().vocabulary as u32;
    let mut session =
        model.session(&SessionOptions { context: Some(8), ..SessionOptions::default() }).unwrap();
    let never = Stop::never();
    let kind =
        |result: Result<&mut [f32], recinto_engine::Error>| result.unwrap_err().kind().clone();
    assert_eq!(kind(session.feed(&[], Want::Last, &never)), Kind::Request);
    assert_eq!(kind(session.feed(&[vocabulary], Want::Last, &never)), Kind::Request);
    let overflow = Kind::Overflow { needed: 9, available: 8 };
    assert_eq!(kind(session.feed(&[1; 9], Want::Last, &never)), overflow);
    assert_eq!(session.position(), 0);
    session.feed(&[1; 8], Want::Last, &never).unwrap();
    assert_eq!(
        kind(session.feed(&[1], Want::Last, &never)),
        Kind::Overflow { needed: 1, available: 0 }
    );

    let context = |n| SessionOptions { context: Some(n), ..SessionOptions::default() };
    assert_eq!(*model.session(&context(0)).err().unwrap().kind(), Kind::Request);
    assert_eq!(*model.session(&context(usize::MAX)).err().unwrap().kind(), Kind::Request);
    let threads = OpenOptions { threads: Some(0), ..OpenOptions::default() };
    let error = Model::open(&tiny("llama-plain"), &threads).err().unwrap();
    assert_eq!(*error.kind(), Kind::Machine);
}

#[test]
fn too_long_a_prompt_generates_nothing() {
    // CTX-01 of docs/cases.md.
    let model = open("qwen2-plain", 1);
    let mut session =
        model.session(&SessionOptions { context: Some(64), ..SessionOptions::default() }).unwrap();
    let fact = "La clave del armario es 4711.\n";
    let filler = "Nada de esto importa. ".repeat(20);
    let request = Request::user(format!("{fact}{filler}¿Cuál es la clave?"));
    let mut pieces = 0;
    let mut count = |_: Piece<'_>| {
        pieces += 1;
        ControlFlow::Continue(())
    };
    let error = session.reply(&request, &Stop::never(), &mut count).err().unwrap();
    match error.kind() {
        Kind::Overflow { needed, available: 64 } => assert!(*needed > 64),
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("64") && !error.to_string().contains("4711"), "{error}");
    assert_eq!((pieces, session.position()), (0, 0));
}

#[test]
fn cancelling_a_long_prompt_returns_soon_and_leaves_a_usable_session() {
    // EMB-05 of docs/cases.md, on a model whose prompt takes seconds.
    let name = "qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf";
    let path = recinto_testkit::models().map(|folder| folder.join(name));
    let Some(path) = path.filter(|path| path.exists()) else {
        return recinto_testkit::skipped("cancelling_a_long_prompt", "qwen05 is not there");
    };
    let model = Model::open(&path, &OpenOptions::default()).unwrap();
    model.digests().unwrap();
    let long: Vec<u32> = (0..8000u32).map(|i| (i * 7919 + 13) % 30000).collect();
    let mut session = model.session(&SessionOptions::default()).unwrap();
    for (wait, by_deadline) in [(700, false), (900, true)] {
        let flag = Arc::new(AtomicBool::new(false));
        let due = Instant::now() + Duration::from_millis(wait);
        let stop = Stop::new(Arc::clone(&flag), by_deadline.then_some(due));
        if !by_deadline {
            let flag = Arc::clone(&flag);
            std::thread::spawn(move || {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                flag.store(true, Ordering::Relaxed);
            });
        }
        let error = session.feed(&long, Want::Last, &stop).map(|_| ()).unwrap_err();
        // What is promised is 200 ms; the bound leaves room for a machine that is busy.
        let late = due.elapsed();
        assert!(late < Duration::from_millis(1000), "{late:?} after it was asked to stop");
        println!("stopped {} ms after it was asked to", late.as_millis());
        assert_eq!(*error.kind(), if by_deadline { Kind::Deadline } else { Kind::Cancelled });
        let at = session.position();
        assert!(at < long.len() && at.is_multiple_of(256), "stands at a whole block: {at}");
        assert_eq!(session.ids(), &long[..at]);
        // Going on from there gives the bits of one run.
        session.truncate(at.min(256)).unwrap();
        let at = session.position();
        let got = bits(session.feed(&long[at..at + 8], Want::Last, &Stop::never()).unwrap());
        assert!(got == last_logits(&model, &long[..at + 8], &[at + 8]));
        session.truncate(0).unwrap();
    }
}

#[test]
fn a_context_larger_than_memory_is_a_typed_error() {
    // EMB-07 of docs/cases.md: a file that claims two thousand million positions.
    let mut bytes = std::fs::read(tiny("qwen2-plain")).unwrap();
    let key = b"qwen2.context_length";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len();
    assert_eq!(bytes[at..at + 4], 4u32.to_le_bytes(), "the value is a u32");
    bytes[at + 4..at + 8].copy_from_slice(&2_000_000_000u32.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.gguf");
    std::fs::write(&path, bytes).unwrap();
    let model = Model::open(&path, &OpenOptions::default()).unwrap();
    let error = model
        .session(&SessionOptions { context: Some(2_000_000_000), ..SessionOptions::default() })
        .err()
        .unwrap();
    assert_eq!(*error.kind(), Kind::Memory);
    assert!(error.to_string().contains("MiB needed"), "{error}");
    // Without a wish of its own a session takes pages only as they fill.
    let mut session = model.session(&SessionOptions::default()).unwrap();
    session.feed(&ids(3), Want::Last, &Stop::never()).unwrap();
}

#[test]
fn a_deadline_in_the_past_reads_nothing() {
    let model = open("llama-plain", 1);
    let mut session = model.session(&SessionOptions::default()).unwrap();
    let stop = Stop::never().with_deadline(Some(Instant::now()));
    let error = session.feed(&[1, 2, 3], Want::Last, &stop).map(|_| ()).unwrap_err();
    assert_eq!((error.kind(), session.position()), (&Kind::Deadline, 0));
}

#[test]
fn two_and_eight_threads_share_one_model() {
    // EMB-03 of docs/cases.md.
    let model = open("llama-quant", 2);
    let want = last_logits(&model, &ids(60), &[60]);
    for callers in [2, 8] {
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..callers)
                .map(|i| {
                    let model = model.clone();
                    scope.spawn(move || last_logits(&model, &ids(60), &[7 + i]))
                })
                .collect();
            for run in runs {
                assert!(run.join().unwrap() == want);
            }
        });
    }
}

#[test]
fn damaged_weights_are_located() {
    let whole = std::fs::read(tiny("llama-plain")).unwrap();
    let file = recinto_weights::File::from_bytes(whole.clone()).unwrap();
    let index = file.find("blk.0.ffn_down.weight").unwrap();
    let at =
        file.tensor(index).bytes.as_ptr() as usize - file.shards()[0].bytes().as_ptr() as usize;
    let mut damaged = whole;
    damaged[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.gguf");
    std::fs::write(&path, damaged).unwrap();
    let model = Model::open(&path, &OpenOptions::default()).unwrap();
    for want in [Want::Last, Want::None] {
        let mut session = model.session(&SessionOptions::default()).unwrap();
        let error = session.feed(&ids(9), want, &Stop::never()).map(|_| ()).unwrap_err();
        let Kind::NonFinite { line, layer } = error.kind() else { panic!("{error}") };
        let text = model.program().text.lines().nth(*line as usize - 1).unwrap();
        assert_eq!(*layer, Some(0), "{error}");
        assert!(text.contains("ffn_down"), "{error}");
        assert_eq!(session.position(), 0);
    }
}

#[test]
fn a_reply_says_what_made_it() {
    let model = open("qwen2-plain", 2);
    let mut request = Request::user("¿Qué hora es?");
    request.options.max_tokens = 12;
    request.options.temperature = 0.8;
    let first = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
    let seed = first.options.seed.expect("the effective seed");
    // PROB-11 of docs/cases.md: the reported seed gives the same text again.
    request.options.seed = Some(seed);
    let second = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert_eq!(first.text, second.text);
    assert_eq!(first.receipt.output, second.receipt.output);
    let others = (0..8).filter(|other| {
        request.options.seed = Some(seed + 1 + other);
        let reply = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
        reply.receipt.output != first.receipt.output
    });
    assert!(others.count() > 0, "the seed decides nothing");
    let bytes = std::fs::read(tiny("qwen2-plain")).unwrap();
    assert_eq!(first.digests.weights, recinto_receipt::sha256(&bytes));
    let text = &model.program().text;
    assert_eq!(first.digests.architecture, recinto_receipt::sha256(text.as_bytes()));
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(first.digests.engine, recinto_receipt::sha256(&own));
    let record = recinto_engine::Receipt::from_bytes(&first.receipt.to_bytes()).unwrap();
    assert_eq!(record, first.receipt);
    assert_eq!(first.usage.output_tokens.min(12), first.usage.output_tokens);
}

#[test]
fn a_second_turn_reads_only_what_is_new() {
    let model = open("qwen2-plain", 1);
    let mut request = Request::user("Hola");
    request.options.max_tokens = 5;
    let mut session = model.session(&SessionOptions::default()).unwrap();
    let first = session.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert_eq!(first.usage.cached_tokens, 0);
    let again = session.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert_eq!(again.usage.cached_tokens, again.usage.prompt_tokens - 1);
    assert_eq!(again.text, first.text);
}

/// Options that make the model say `piece` again and again.
fn always(model: &Model, piece: &str, max_tokens: usize) -> Request {
    let id = model.tokenizer().find(piece).expect(piece);
    let mut request = Request::user("Hola");
    request.options.logit_bias = [(id, 1e6)].into();
    request.options.max_tokens = max_tokens;
    request
}

#[test]
fn every_way_a_reply_can_end() {
    let model = open("qwen2-plain", 1);
    let run = |request: &Request, stop: &Stop, sink: &mut recinto_engine::Sink<'_>| {
        let reply = model.reply(request, stop, sink).unwrap();
        (reply.text.clone(), reply.finish.clone(), reply.usage.output_tokens)
    };
    let never = Stop::never();
    let mut request = always(&model, "a", 5);
    assert_eq!(run(&request, &never, &mut sink()), ("aaaaa".into(), Finish::Length, 5));
    // A stop string that spans tokens is not part of the reply, and nothing of it is streamed.
    request.options.stop = vec!["zz".into(), "aaa".into()];
    let mut streamed = String::new();
    let mut keep = |piece: Piece<'_>| {
        if let Piece::Text(text) = piece {
            streamed.push_str(text);
        }
        ControlFlow::Continue(())
    };
    assert_eq!(run(&request, &never, &mut keep), (String::new(), Finish::Stop(1), 3));
    assert_eq!(streamed, "");
    for end in model.tokenizer().ends() {
        let mut request = Request::user("Hola");
        request.options.logit_bias = [(*end, 1e6)].into();
        assert_eq!(run(&request, &never, &mut sink()), (String::new(), Finish::End, 1), "{end}");
    }
    // The sink, the flag and the deadline, all while text is being made; what came stays.
    let request = always(&model, "a", 200);
    let mut break_at_once = |_: Piece<'_>| ControlFlow::Break(());
    assert_eq!(run(&request, &never, &mut break_at_once), ("a".into(), Finish::Cancelled, 1));
    let flag = Arc::new(AtomicBool::new(false));
    let stop = Stop::new(Arc::clone(&flag), None);
    let mut raise = |_: Piece<'_>| {
        flag.store(true, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    assert_eq!(run(&request, &stop, &mut raise), ("a".into(), Finish::Cancelled, 1));
    let mut request = always(&model, "a", 200);
    request.options.deadline = Some(Duration::from_secs(2));
    let mut oversleep = |_: Piece<'_>| {
        std::thread::sleep(Duration::from_millis(2100));
        ControlFlow::Continue(())
    };
    assert_eq!(run(&request, &never, &mut oversleep), ("a".into(), Finish::Deadline, 1));
    // The end of the context ends a reply too, and says so.
    let request = always(&model, "a", 10_000);
    let mut session =
        model.session(&SessionOptions { context: Some(40), ..SessionOptions::default() }).unwrap();
    let reply = session.reply(&request, &never, &mut sink()).unwrap();
    assert_eq!(reply.finish, Finish::Length);
    assert_eq!(reply.usage.prompt_tokens + reply.usage.output_tokens, 40);
    assert!(reply.notes.iter().any(|note| note.contains("end of the context")));
}

#[test]
fn a_panic_of_the_sink_is_the_callers() {
    let model = open("qwen2-plain", 1);
    let request = always(&model, "a", 5);
    let mut bad = |_: Piece<'_>| -> ControlFlow<()> { panic!("mine") };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        model.reply(&request, &Stop::never(), &mut bad).map(|_| ())
    }));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
}

#[test]
fn held_text_reaches_the_sink_when_a_reply_is_cancelled() {
    let model = open("qwen2-plain", 1);
    let mut request = always(&model, "a", 200);
    // All of it could still become the stop string, so all of it is held back.
    request.options.stop = vec!["a".repeat(30)];
    let flag = Arc::new(AtomicBool::new(false));
    let stop = Stop::new(Arc::clone(&flag), Some(Instant::now() + Duration::from_millis(1500)));
    let mut streamed = String::new();
    let mut keep = |piece: Piece<'_>| {
        if let Piece::Text(text) = piece {
            streamed.push_str(text);
        }
        ControlFlow::Continue(())
    };
    request.options.max_tokens = 20;
    let reply = model.reply(&request, &stop, &mut keep).unwrap();
    assert_eq!((reply.finish.clone(), reply.text.as_str()), (Finish::Length, &*"a".repeat(20)));
    assert_eq!(streamed, reply.text);
}

#[test]
fn reasoning_and_answer_are_kept_apart() {
    let model = open("qwen3-plain", 1);
    let open_tag = model.tokenizer().find("<think>").expect("a vocabulary with tags");
    let close_tag = model.tokenizer().find("</think>").expect("a vocabulary with tags");
    let mut request = Request::user("¿Por qué?");
    request.options.max_tokens = 4;
    // A bias that forces the opening tag: everything after it is reasoning.
    request.options.logit_bias = [(open_tag, 1e6)].into();
    let (mut thought, mut said) = (String::new(), String::new());
    let mut pieces = |piece: Piece<'_>| {
        match piece {
            Piece::Reasoning(text) => thought.push_str(text),
            Piece::Text(text) => said.push_str(text),
        }
        ControlFlow::Continue(())
    };
    let reply = model.reply(&request, &Stop::never(), &mut pieces).unwrap();
    assert_eq!((reply.text.as_str(), said.as_str()), ("", ""));
    assert_eq!(
        (reply.reasoning.as_str(), thought.as_str()),
        ("<think><think><think>", "<think><think><think>")
    );
    assert!(reply.notes.iter().any(|note| note.contains("still thinking")), "{:?}", reply.notes);
    // Where nothing was opened, a closing tag is text like any other.
    request.options.logit_bias = [(close_tag, 1e6)].into();
    let reply = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("", "</think></think></think></think>")
    );
    request.options.thinking = Some(false);
    let prompt = model.prompt(&request).unwrap();
    assert!(
        prompt.text.ends_with("<think>\n\n</think>\n\n"),
        "the template closes thinking at once"
    );
}

#[test]
fn a_template_that_leaves_every_message_out_is_refused() {
    let original = open("qwen2-plain", 1);
    let template = original.template().expect("a template").as_bytes();
    let mut bytes = std::fs::read(tiny("qwen2-plain")).unwrap();
    let at = bytes.windows(template.len()).position(|window| window == template).unwrap();
    bytes[at..at + template.len()].fill(b'x');
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deaf.gguf");
    std::fs::write(&path, bytes).unwrap();
    let model = Model::open(&path, &OpenOptions::default()).unwrap();
    let error =
        model.reply(&Request::user("¿Me oyes?"), &Stop::never(), &mut sink()).err().unwrap();
    assert_eq!(*error.kind(), Kind::Template);
    assert!(error.to_string().contains("leaves every message out"), "{error}");
}
