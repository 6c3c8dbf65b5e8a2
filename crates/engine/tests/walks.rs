//! Walks at random through all that sessions can do: wherever one stands, it goes on with the bits
//! of a session that was fed the same ids from the start.

use crate::common;

use std::collections::HashMap;

use common::{bits, ids, last, open, session};
use recinto_engine::{Feed, Kind, KvType, Mark, Model, Session, SessionOptions, Stop, Want};

/// Numbers that look drawn: xorshift (Marsaglia 2003).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Most positions of a walk: three pages.
const ROOM: usize = 700;

struct Walk<'a> {
    model: &'a Model,
    options: SessionOptions,
    sessions: Vec<Session>,
    marks: Vec<Mark>,
    known: HashMap<Vec<u32>, Vec<u32>>,
    draw: Draw,
}

impl Walk<'_> {
    /// Bits after `ids`, of a session that has done nothing else.
    fn want(&mut self, ids: &[u32]) -> Vec<u32> {
        let (model, kv) = (self.model, self.options.kv);
        self.known.entry(ids.to_vec()).or_insert_with(|| last(&mut session(model, kv), ids)).clone()
    }

    /// The next ids of a session with `room` left; one at least.
    fn next(&mut self, room: usize) -> Vec<u32> {
        let n = [1, 1, 3, 40, 256, 300][self.draw.below(6)].min(room);
        ids(n, self.draw.below(3) as u32)
    }

    /// Several at once, in an order and a block of their own.
    fn step(&mut self) {
        let mut batch = self.model.batch([1, 7, 64, 256][self.draw.below(4)]).unwrap();
        let rooms: Vec<usize> = self.sessions.iter().map(|s| ROOM - s.position()).collect();
        let fed: Vec<Vec<u32>> = rooms.into_iter().map(|room| self.next(room)).collect();
        let skip = self.draw.below(self.sessions.len() + 1);
        let mut sessions = std::mem::take(&mut self.sessions);
        let some = sessions.iter_mut().zip(&fed).enumerate();
        let some = some.filter(|(at, (_, ids))| *at != skip && !ids.is_empty());
        let mut feeds: Vec<Feed<'_>> =
            some.map(|(_, (session, ids))| Feed { session, ids, want: Want::Last }).collect();
        self.model.step(&mut batch, &mut feeds, &Stop::never()).unwrap();
        let stand: Vec<Vec<u32>> = feeds.iter().map(|feed| feed.session.ids().to_vec()).collect();
        for (at, ids) in stand.iter().enumerate() {
            let got = bits(batch.logits(at));
            assert!(got == self.want(ids), "{} positions in a step", ids.len());
        }
        self.sessions = sessions;
    }

    fn go(&mut self) {
        let at = self.draw.below(self.sessions.len());
        let position = self.sessions[at].position();
        match self.draw.below(10) {
            0..3 => self.step(),
            3 if self.sessions.len() < 4 => {
                let fork = self.sessions[at].fork().unwrap();
                self.sessions.push(fork);
            }
            3 => drop(self.sessions.swap_remove(at)),
            4 => {
                let mark = self.sessions[at].mark().unwrap();
                self.marks.push(mark);
            }
            5 if !self.marks.is_empty() => {
                let mark = self.draw.below(self.marks.len());
                self.sessions[at].rewind(&self.marks[mark]).unwrap();
                if self.draw.below(2) == 0 {
                    self.marks.swap_remove(mark);
                }
            }
            6 => {
                let to = [0, position / 2, position.saturating_sub(2)][self.draw.below(3)];
                match self.sessions[at].truncate(to) {
                    Ok(()) => assert_eq!(self.sessions[at].position(), to),
                    Err(error) => {
                        assert_eq!(*error.kind(), Kind::Forgotten, "{error}");
                        assert_eq!(self.sessions[at].position(), position, "nothing changes");
                    }
                }
            }
            7 => {
                let mut bytes = Vec::new();
                self.sessions[at].save(&mut bytes).unwrap();
                let again = self.model.resume(&mut &bytes[..], &self.options).unwrap();
                self.sessions[at] = again;
            }
            8 => {
                // Refused in whole, for all of them.
                let before: Vec<usize> = self.sessions.iter().map(Session::position).collect();
                let long = ids(ROOM + 1, 0);
                let fed = self.sessions.iter_mut().enumerate().map(|(i, session)| {
                    let ids = if i == at { &long[..] } else { &long[..1] };
                    Feed { session, ids, want: Want::Last }
                });
                let mut feeds: Vec<Feed<'_>> = fed.collect();
                let mut batch = self.model.batch(256).unwrap();
                let error = self.model.step(&mut batch, &mut feeds, &Stop::never()).unwrap_err();
                assert!(matches!(error.kind(), Kind::Overflow { .. }), "{error}");
                let after: Vec<usize> = self.sessions.iter().map(Session::position).collect();
                assert_eq!(after, before);
            }
            _ => {
                let ids = self.next(ROOM - position);
                if !ids.is_empty() {
                    let got = last(&mut self.sessions[at], &ids);
                    let all = self.sessions[at].ids().to_vec();
                    assert!(got == self.want(&all), "{} positions", all.len());
                }
            }
        }
    }
}

#[test]
fn wherever_a_walk_leads_the_bits_are_those_of_the_ids() {
    for name in ["qwen2-quant", "gemma3-1b-like"] {
        let model = open(name, 2);
        for (seed, kv) in KvType::ALL.into_iter().enumerate() {
            let options = SessionOptions { context: Some(ROOM), kv };
            let sessions = vec![model.session(&options).unwrap()];
            let draw = Draw(0x9e37_79b9 + seed as u64);
            let (marks, known) = (Vec::new(), HashMap::new());
            let mut walk = Walk { model: &model, options, sessions, marks, known, draw };
            (0..300).for_each(|_| walk.go());
            assert!(walk.known.len() > 25, "{name}, {kv}: {}", walk.known.len());
        }
    }
}

#[test]
fn a_step_of_nothing_is_a_step() {
    let model = open("qwen2-quant", 1);
    let mut batch = model.batch(16).unwrap();
    model.step(&mut batch, &mut [], &Stop::never()).unwrap();
    assert!(batch.logits(0).is_empty());
    let mut one = session(&model, KvType::Bf16);
    let mut feeds = [Feed { session: &mut one, ids: &[5], want: Want::None }];
    model.step(&mut batch, &mut feeds, &Stop::never()).unwrap();
    assert!(batch.logits(0).is_empty() && batch.logits(usize::MAX).is_empty());
    assert_eq!(one.position(), 1);
}
