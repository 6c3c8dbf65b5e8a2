//! Going on after a fork, a mark, a truncation: the bits of a session that read the same ids
//! from the start.

use crate::common;

use common::{ARCHITECTURES, bits, ids, last, machines, open, session, sink};
use recinto_engine::{Kind, KvType, Model, Request, SessionOptions, Stop, Want};

/// `head` and `tail` fed from the start, in one piece.
fn from_start(model: &Model, kv: KvType, head: &[u32], tail: &[u32]) -> Vec<u32> {
    last(&mut session(model, kv), &[head, tail].concat())
}

#[test]
fn a_fork_a_mark_and_its_rewind_go_on_exactly() {
    let base = ids(300, 0);
    let [a, b, c] = [1, 2, 3].map(|seed| ids(9, seed));
    for name in ARCHITECTURES {
        for kv in KvType::ALL {
            // No bit depends on the machine, so one of them gives all that is compared with.
            let model = open(name, 2);
            let want_a = from_start(&model, kv, &base, &a);
            let want_b = from_start(&model, kv, &base, &b);
            let want_c = from_start(&model, kv, &base[..290], &c);
            let want_early = from_start(&model, kv, &base[..251], &c);
            for (machine, model) in machines(name) {
                let here = format!("{machine}, {kv}");
                let mut one = session(&model, kv);
                one.feed(&base[..251], Want::None, &Stop::never()).unwrap();
                let early = one.mark().unwrap();
                one.feed(&base[251..290], Want::None, &Stop::never()).unwrap();
                let mark = one.mark().unwrap();
                assert_eq!((mark.position(), mark.ids()), (290, &base[..290]));
                one.feed(&base[290..], Want::None, &Stop::never()).unwrap();

                let mut two = one.fork().unwrap();
                assert_eq!((two.ids(), two.kv(), two.context()), (&base[..], kv, one.context()));
                // Both write into what was one page.
                assert!(last(&mut two, &b) == want_b, "{here}: the fork");
                assert!(last(&mut one, &a) == want_a, "{here}: the forked");
                let mut three = two.fork().unwrap();
                drop(two);

                one.rewind(&mark).unwrap();
                assert_eq!(one.ids(), &base[..290]);
                assert!(last(&mut one, &c) == want_c, "{here}: rewound");
                // A mark serves as often as one likes, and sessions beside its own.
                three.rewind(&mark).unwrap();
                assert!(last(&mut three, &c) == want_c, "{here}: a fork rewound");
                one.rewind(&early).unwrap();
                assert!(last(&mut one, &c) == want_early, "{here}: rewound over a page");
                // Forwards too: the mark holds what lay there.
                one.rewind(&mark).unwrap();
                drop((mark, early));
                assert!(last(&mut one, &c) == want_c, "{here}: rewound and the mark gone");
            }
        }
    }
}

#[test]
fn truncating_goes_back_exactly_or_says_that_it_cannot() {
    let long = ids(600, 0);
    let tail = ids(7, 5);
    for name in ARCHITECTURES {
        let model = open(name, 2);
        let windowed = model.program().caches.iter().any(|cache| cache.window.is_some());
        for kv in KvType::ALL {
            for (fed, back, reachable) in [
                (200, 12, true),
                (600, 598, true),
                (600, 520, true),
                // A window of 8 before 519 ends on the page that 600 still sees.
                (600, 519, true),
                (600, 518, !windowed),
                (600, 100, !windowed),
                (600, 0, true),
                (263, 255, !windowed),
                (262, 255, true),
            ] {
                let here = format!("{name}, {kv}: from {fed} to {back}");
                let mut one = session(&model, kv);
                one.feed(&long[..fed], Want::None, &Stop::never()).unwrap();
                match one.truncate(back) {
                    Ok(()) => {
                        assert!(reachable, "{here} must not be possible");
                        assert_eq!(one.ids(), &long[..back], "{here}");
                        let want = from_start(&model, kv, &long[..back], &tail);
                        assert!(last(&mut one, &tail) == want, "{here}");
                    }
                    Err(error) => {
                        assert!(!reachable, "{here}: {error}");
                        assert_eq!(*error.kind(), Kind::Forgotten, "{here}");
                        assert_eq!(one.ids(), &long[..fed], "{here}: nothing changed");
                        let want = from_start(&model, kv, &long[..fed], &tail);
                        assert!(last(&mut one, &tail) == want, "{here}");
                    }
                }
            }
        }
    }
}

#[test]
fn windowed_layers_let_go_of_their_pages() {
    let model = open("gemma3-1b-like", 1);
    let caches = &model.program().caches;
    let windows = caches.iter().filter(|cache| cache.window.is_some()).count();
    assert!(windows > 0 && windows < caches.len(), "layers of both kinds");
    let mut one = session(&model, KvType::Bf16);
    let bytes: Vec<usize> = ids(1000, 0)
        .chunks(100)
        .map(|ids| {
            one.feed(ids, Want::None, &Stop::never()).unwrap();
            one.kv_bytes()
        })
        .collect();
    let page = bytes[0] / caches.len();
    // 1,000 positions are four pages; the last window lies in the fourth.
    assert_eq!(bytes[9], page * (4 * (caches.len() - windows) + windows));
    // At 500 and 300 the window lies in the second page.
    assert_eq!(bytes[4], page * (2 * (caches.len() - windows) + windows));
    // A mark keeps what it needs, and what it keeps is not freed by anybody else.
    let mut two = session(&model, KvType::Bf16);
    two.feed(&ids(200, 1), Want::None, &Stop::never()).unwrap();
    let mark = two.mark().unwrap();
    two.feed(&ids(700, 2), Want::None, &Stop::never()).unwrap();
    assert_eq!(*two.truncate(200).unwrap_err().kind(), Kind::Forgotten);
    two.rewind(&mark).unwrap();
    let want = from_start(&model, KvType::Bf16, &ids(200, 1), &ids(5, 3));
    assert!(last(&mut two, &ids(5, 3)) == want);
}

#[test]
fn what_is_needed_of_a_fork_is_only_what_it_writes() {
    let model = open("llama-quant", 1);
    let mut one = session(&model, KvType::Bf16);
    one.feed(&ids(512, 0), Want::None, &Stop::never()).unwrap();
    let fork = one.fork().unwrap();
    assert_eq!((fork.kv_bytes(), fork.working_bytes()), (one.kv_bytes(), 0));
    assert!(one.working_bytes() > 0);
}

#[test]
fn marks_of_others_are_refused() {
    let (one, other) = (open("llama-plain", 1), open("llama-plain", 1));
    let mut here = session(&one, KvType::Bf16);
    here.feed(&ids(20, 0), Want::None, &Stop::never()).unwrap();
    let mark = here.mark().unwrap();
    let error = session(&other, KvType::Bf16).rewind(&mark).unwrap_err();
    assert_eq!(*error.kind(), Kind::Request);
    let options = SessionOptions { context: Some(10), ..SessionOptions::default() };
    let mut small = one.session(&options).unwrap();
    let error = small.rewind(&mark).unwrap_err();
    assert_eq!(*error.kind(), Kind::Overflow { needed: 20, available: 10 });
    // The type of keys and values comes with what is returned to.
    let mut bytes = session(&one, KvType::Q8_0);
    bytes.feed(&ids(3, 0), Want::None, &Stop::never()).unwrap();
    bytes.rewind(&mark).unwrap();
    assert_eq!((bytes.kv(), bytes.position()), (KvType::Bf16, 20));
}

#[test]
fn the_types_of_keys_and_values_differ_and_are_close() {
    for name in ["llama-quant", "gemma3-quant"] {
        let model = open(name, 1);
        let all: Vec<Vec<f32>> = KvType::ALL
            .into_iter()
            .map(|kv| {
                let mut one = session(&model, kv);
                one.feed(&ids(40, 0), Want::Last, &Stop::never()).unwrap().to_vec()
            })
            .collect();
        let spread = all[1].iter().fold(0f32, |m, x| m.max(x.abs()));
        for (kv, logits) in KvType::ALL.into_iter().zip(&all) {
            let gap = logits.iter().zip(&all[1]).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(gap < 0.05 * spread, "{name}, {kv}: {gap} of {spread}");
            assert!(kv == KvType::F16 || bits(logits) != bits(&all[1]), "{name}, {kv}");
        }
    }
}

#[test]
fn the_type_of_keys_and_values_is_a_word() {
    let text = r#"{"context":64,"kv":"q8_0"}"#;
    let options: SessionOptions = serde_json::from_str(text).unwrap();
    assert_eq!(options, SessionOptions { context: Some(64), kv: KvType::Q8_0 });
    assert_eq!(serde_json::to_string(&options).unwrap(), text);
    assert_eq!(serde_json::from_str::<SessionOptions>("{}").unwrap(), SessionOptions::default());
    let error = serde_json::from_str::<SessionOptions>(r#"{"kv":"q4_0"}"#).unwrap_err();
    assert!(error.to_string().contains("bf16, f16 or q8_0"), "{error}");
}

#[test]
fn a_conversation_of_a_windowed_model_goes_on_from_its_prompt() {
    // What is said again after a long reply is not read again, although its windows are gone.
    let model = open("gemma3-1b-like", 1);
    let mut one = session(&model, KvType::Bf16);
    let filler = "Érase una vez un ñandú. ".repeat(8);
    let mut request = Request::user(format!("{filler}¿Qué pasó?"));
    request.options.max_tokens = 300;
    // Never an end, so that the reply is long enough to leave the page of its prompt.
    let ends = model.tokenizer().ends().iter().map(|id| (*id, -1e9));
    request.options.logit_bias = ends.collect();
    let first = one.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert!(first.usage.output_tokens == 300, "{:?}", first.usage);
    let read = first.usage.prompt_tokens;
    let again = one.reply(&request, &Stop::never(), &mut sink()).unwrap();
    assert_eq!((again.usage.cached_tokens, &again.text), (read - 1, &first.text));
    // Another prompt is read from the start, and answered as by a session of its own.
    let mut other = request.clone();
    other.messages = Request::user("¿Y mañana?").messages;
    let here = one.reply(&other, &Stop::never(), &mut sink()).unwrap();
    let alone = model.reply(&other, &Stop::never(), &mut sink()).unwrap();
    assert_eq!((here.text.clone(), here.usage.output_tokens), (alone.text.clone(), 300));
}

#[test]
fn a_receipt_names_a_type_that_is_not_the_default() {
    let model = open("qwen2-quant", 1);
    let mut request = Request::user("¿Qué hora es?");
    request.options.max_tokens = 2;
    for (kv, word) in
        [(KvType::Bf16, None), (KvType::F16, Some("f16")), (KvType::Q8_0, Some("q8_0"))]
    {
        let reply = session(&model, kv).reply(&request, &Stop::never(), &mut sink()).unwrap();
        let receipt = serde_json::to_value(&reply.receipt).unwrap();
        assert_eq!(receipt["options"]["kv"].as_str(), word, "{kv}");
    }
}

/// What holds no position is let go of, and what is read afterwards has the same bits.
#[test]
fn trimming_lets_go_of_what_holds_nothing() {
    let (long, tail) = (ids(700, 0), ids(7, 5));
    for name in ARCHITECTURES {
        let model = open(name, 1);
        for kv in KvType::ALL {
            let mut one = session(&model, kv);
            one.feed(&long[..700], Want::None, &Stop::never()).unwrap();
            let (bytes, working) = (one.kv_bytes(), one.working_bytes());
            assert!(working > 0, "{name}");
            one.truncate(0).unwrap();
            one.feed(&long[..200], Want::None, &Stop::never()).unwrap();
            one.trim();
            assert!(one.kv_bytes() < bytes, "{name}, {kv}: pages behind 200 are gone");
            assert_eq!((one.working_bytes(), one.ids()), (0, &long[..200]), "{name}, {kv}");
            assert_eq!((one.common(&long), one.common(&tail)), (200, 0));
            let want = from_start(&model, kv, &long[..200], &tail);
            assert!(last(&mut one, &tail) == want, "{name}, {kv}");
        }
    }
}

/// Where prompts parted is a place to return to, also for models whose windows forget it.
#[test]
fn the_place_where_prompts_part_is_kept() {
    let prompt = |head: &str, tail: &str| Request {
        completion: true,
        options: recinto_engine::Options { max_tokens: 2, ..Default::default() },
        ..Request::user(format!("{}{}", head.repeat(24), format!("{tail} ").repeat(160)))
    };
    let asked = [("ñandú ", "uno"), ("ñandú ", "dos"), ("ñandú ", "tres"), ("pez ", "dos")];
    for name in ARCHITECTURES {
        let model = open(name, 1);
        let windowed = model.program().caches.iter().any(|cache| cache.window.is_some());
        let ids = asked.map(|(head, tail)| model.prompt(&prompt(head, tail)).unwrap().ids);
        let parted = ids[0].iter().zip(ids[1].iter()).take_while(|(a, b)| a == b).count();
        assert!(parted > 80 && ids[1].len() - parted > 260, "{name}: {parted}, a page behind");
        let mut one = model.session(&SessionOptions::default()).unwrap();
        let mut cached = Vec::new();
        for (head, tail) in asked {
            let request = prompt(head, tail);
            let warm = one.reply(&request, &Stop::never(), &mut sink()).unwrap();
            let cold = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
            assert_eq!(warm.text, cold.text, "{name}: {head}{tail}");
            assert_eq!(warm.receipt.output, cold.receipt.output, "{name}: {head}{tail}");
            assert_eq!(warm.usage.prompt_tokens, cold.usage.prompt_tokens, "{name}");
            cached.push(warm.usage.cached_tokens);
        }
        let second = if windowed { 0 } else { parted };
        assert_eq!(cached[..3], [0, second, parted], "{name}");
        assert!(cached[3] < 20, "{name}: {cached:?}");
    }
}
