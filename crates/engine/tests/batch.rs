//! Many sequences in one step: the bits of each alone, whatever else is in it.

use crate::common;

use std::sync::{Arc, atomic::AtomicBool};

use common::{ARCHITECTURES, bits, ids, last, machines, open, session};
use recinto_engine::{Feed, Kind, KvType, Model, Session, SessionOptions, Stop, Want};

/// What one sequence of a step is: ids before, ids in the step, what is wanted.
type Row = (usize, usize, Want);

/// Steps of sequences that stand and go differently.
const STEPS: &[(&str, &[Row])] = &[
    ("one", &[(40, 1, Want::Last)]),
    ("decode of three", &[(3, 1, Want::Last), (250, 1, Want::Last), (0, 1, Want::Last)]),
    (
        "prefill and decode",
        &[(0, 90, Want::Last), (20, 1, Want::Last), (255, 2, Want::All), (100, 40, Want::None)],
    ),
    ("all of some", &[(7, 30, Want::All), (0, 3, Want::None), (1, 30, Want::All)]),
    ("nothing wanted", &[(0, 20, Want::None), (30, 1, Want::None)]),
    ("more than a block", &[(0, 150, Want::Last), (0, 200, Want::All), (9, 1, Want::Last)]),
    ("a block's last id", &[(0, 64, Want::Last), (0, 64, Want::Last), (0, 1, Want::Last)]),
];

fn stand(model: &Model, kv: KvType, seed: u32, before: usize) -> Session {
    let mut session = session(model, kv);
    if before > 0 {
        session.feed(&ids(before, seed), Want::None, &Stop::never()).unwrap();
    }
    session
}

#[test]
fn every_sequence_gets_the_bits_it_would_get_alone() {
    for name in ARCHITECTURES {
        for (step, rows) in STEPS {
            // Types are mixed too: sequence i keeps its keys and values in type i.
            let kind = |i: usize| KvType::ALL[i % 3];
            let tail = |i: usize, n: usize| ids(n, 50 + i as u32);
            let model = open(name, 1);
            let want: Vec<Vec<u32>> = rows
                .iter()
                .enumerate()
                .map(|(i, (before, n, want))| {
                    let mut alone = stand(&model, kind(i), i as u32, *before);
                    bits(alone.feed(&tail(i, *n), *want, &Stop::never()).unwrap())
                })
                .collect();
            for (machine, model) in machines(name) {
                for block in [256, 64] {
                    let here = format!("{machine}, {step}, blocks of {block}");
                    let mut batch = model.batch(block).unwrap();
                    let stands = rows.iter().enumerate();
                    let stands = stands.map(|(i, row)| stand(&model, kind(i), i as u32, row.0));
                    let mut sessions: Vec<Session> = stands.collect();
                    let tails: Vec<Vec<u32>> =
                        rows.iter().enumerate().map(|(i, row)| tail(i, row.1)).collect();
                    let feeds = sessions.iter_mut().zip(&tails).zip(*rows);
                    let mut feeds: Vec<Feed<'_>> = feeds
                        .map(|((session, ids), row)| Feed { session, ids, want: row.2 })
                        .collect();
                    model.step(&mut batch, &mut feeds, &Stop::never()).unwrap();
                    for (i, want) in want.iter().enumerate() {
                        assert!(bits(batch.logits(i)) == *want, "{here}: sequence {i}");
                    }
                    assert!(batch.logits(rows.len()).is_empty());
                    for ((session, tail), row) in sessions.iter().zip(&tails).zip(*rows) {
                        assert_eq!(session.position(), row.0 + row.1, "{here}");
                        assert_eq!(&session.ids()[row.0..], tail, "{here}");
                    }
                }
            }
        }
    }
}

#[test]
fn forks_decode_together_as_they_would_apart() {
    let model = open("gemma3-quant", 2);
    let mut first = stand(&model, KvType::Bf16, 0, 300);
    let mut forks: Vec<Session> = (0..9).map(|_| first.fork().unwrap()).collect();
    let mut batch = model.batch(256).unwrap();
    let mut logits: Vec<Vec<u32>> = Vec::new();
    for turn in 0..4u32 {
        let next: Vec<[u32; 1]> = (0..9).map(|i| [(i * 7 + turn * 31) % 250]).collect();
        let feeds = forks.iter_mut().zip(&next);
        let feeds = feeds.map(|(session, ids)| Feed { session, ids, want: Want::Last });
        let mut feeds: Vec<Feed<'_>> = feeds.collect();
        model.step(&mut batch, &mut feeds, &Stop::never()).unwrap();
        logits = (0..9).map(|i| bits(batch.logits(i))).collect();
    }
    let working = batch.bytes();
    for (i, logits) in logits.iter().enumerate() {
        let mut alone = stand(&model, KvType::Bf16, 0, 300);
        let tail: Vec<u32> = (0..4).map(|turn| (i as u32 * 7 + turn * 31) % 250).collect();
        assert!(last(&mut alone, &tail) == *logits, "fork {i}");
    }
    // What was forked has not moved.
    let want = last(&mut stand(&model, KvType::Bf16, 0, 300), &[1]);
    assert!(last(&mut first, &[1]) == want);
    assert!(working > 0 && batch.bytes() == working);
}

#[test]
fn what_cannot_be_fed_stops_all_before_anything_is_computed() {
    let (model, other) = (open("llama-plain", 1), open("llama-plain", 1));
    let vocabulary = model.program().vocabulary as u32;
    let small = SessionOptions { context: Some(8), ..SessionOptions::default() };
    let mut batch = model.batch(256).unwrap();
    type Bad<'a> = (&'a str, Session, Vec<u32>, Kind);
    let overflow = Kind::Overflow { needed: 9, available: 8 };
    let cases: [Bad<'_>; 4] = [
        ("no ids", session(&model, KvType::Bf16), vec![], Kind::Request),
        ("an id too large", session(&model, KvType::Bf16), vec![vocabulary], Kind::Request),
        ("too many", model.session(&small).unwrap(), vec![1; 9], overflow),
        ("of another model", session(&other, KvType::Bf16), vec![1], Kind::Request),
    ];
    for (name, mut bad, bad_ids, kind) in cases {
        let mut good = session(&model, KvType::Bf16);
        let mut feeds = [
            Feed { session: &mut good, ids: &[1, 2, 3], want: Want::Last },
            Feed { session: &mut bad, ids: &bad_ids, want: Want::Last },
        ];
        let error = model.step(&mut batch, &mut feeds, &Stop::never()).unwrap_err();
        assert_eq!(*error.kind(), kind, "{name}");
        assert_eq!((good.position(), bad.position()), (0, 0), "{name}");
        assert!(batch.logits(0).is_empty(), "{name}");
        assert!(last(&mut good, &[1]) == last(&mut session(&model, KvType::Bf16), &[1]));
    }
    for block in [0, 4097] {
        assert_eq!(*model.batch(block).err().unwrap().kind(), Kind::Request);
    }
    model.step(&mut batch, &mut [], &Stop::never()).unwrap();
}

#[test]
fn a_stop_leaves_every_session_at_a_block_it_read_whole() {
    let model = open("qwen2-quant", 1);
    let mut batch = model.batch(64).unwrap();
    let (mut one, mut two) = (session(&model, KvType::Bf16), session(&model, KvType::F16));
    let stop = Stop::new(Arc::new(AtomicBool::new(true)), None);
    let mut feeds = [
        Feed { session: &mut one, ids: &ids(100, 0), want: Want::All },
        Feed { session: &mut two, ids: &ids(9, 1), want: Want::Last },
    ];
    let error = model.step(&mut batch, &mut feeds, &stop).unwrap_err();
    assert_eq!(*error.kind(), Kind::Cancelled);
    assert_eq!((one.position(), two.position()), (0, 0));
    // The same batch and the same sessions serve on.
    let mut feeds = [Feed { session: &mut one, ids: &ids(100, 0), want: Want::Last }];
    model.step(&mut batch, &mut feeds, &Stop::never()).unwrap();
    let want = last(&mut session(&model, KvType::Bf16), &ids(100, 0));
    assert!(bits(batch.logits(0)) == want);
}

#[test]
fn working_memory_follows_the_block_not_the_prompt() {
    for name in ["qwen2-quant", "gemma3-quant"] {
        let model = open(name, 2);
        let sizes = [256, 300, 1024].map(|n| {
            let mut one = session(&model, KvType::Bf16);
            last(&mut one, &ids(n, 0));
            (one.working_bytes(), one.kv_bytes())
        });
        assert_eq!(sizes[0].0, sizes[1].0, "{name}: a little more than a block");
        assert_eq!(sizes[0].0, sizes[2].0, "{name}: four blocks");
        assert!(sizes[2].1 > sizes[0].1, "{name}: only keys and values grow");
    }
}
